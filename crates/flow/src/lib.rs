//! Interactive tools: a conversation is written as one straight-line async function and survives restarts.
//!
//! No future stays alive between turns. [`DynConversation::advance`] runs the function from the top against a
//! [`Journal`] of earlier answers; the first question without an answer suspends it and is returned as
//! [`Turn::Ask`]. The journal can be stored anywhere (a connection, a database, a [sealed token](Seal)), so
//! the conversation can continue later and in another process.
//!
//! This crate implements no protocol, reads no clock and generates no randomness: the host supplies all of
//! these as an [`Env`].
//!
//! ```
//! use flow::{Conversation, DynConversation, Flow, Halt, Journal, Turn, TurnContext, confirm, text};
//! use serde_json::{Map, json};
//!
//! struct Greeting;
//!
//! impl Conversation for Greeting {
//!     type Args = Map<String, serde_json::Value>;
//!     type Reply = String;
//!
//!     async fn run(&self, f: &mut Flow<'_>, _: Self::Args) -> Result<String, Halt> {
//!         let name = f.ask("name", text("What is your name?").length(1..=40)).await?;
//!         let loud = f.ask("loud", confirm("Shall I shout?")).await?;
//!         Ok(if loud { format!("HELLO, {}!", name.to_uppercase()) } else { format!("Hello, {name}.") })
//!     }
//! }
//!
//! # futures_util::FutureExt::now_or_never(async {
//! let mut journal = Journal::default();
//! let arguments = json!({ "loud": true }).as_object().cloned().unwrap(); // answers one question in advance
//! let turn = TurnContext::for_tests(&arguments);
//!
//! let Turn::Ask(asked) = Greeting.advance(&mut journal, None, &turn).await else { panic!() };
//! assert_eq!(asked.question.fields[0].name, "name");
//!
//! let answer = json!({ "name": "Ada" }).as_object().cloned();
//! let Turn::Done(done) = Greeting.advance(&mut journal, answer, &turn).await else { panic!() };
//! assert_eq!(done.reply.get(), "\"HELLO, ADA!\"");
//! # });
//! ```

#![warn(missing_docs)]

mod engine;
mod env;
mod form;
mod form_check;
mod halt;
mod journal;
pub mod patterns;
mod prompt;
mod replay;
mod seal;
pub mod session;
mod simulate;
mod validate;

pub use engine::{Answers, Conversation, DynConversation, FinalReply, PendingQuestion, Turn};
pub use env::{Durability, Entropy, Env, JournalFuture, JournalStore, Progress, TurnContext};
pub use form::{Field, Form, Question};
pub use halt::{Halt, HaltCause};
pub use journal::Journal;
pub use prompt::{
    AnswerKind, AnswerShape, Choice, Choices, Confirm, Custom, Date, File, FileAnswer, Integer, Number,
    OptionalAnswer, Prompt, Text, TypedPrompt, choice, choices, confirm, custom, date, file, integer, number,
    text,
};
pub use replay::Flow;
pub use seal::{Seal, SealError, SealKey, TokenBinding};
pub use simulate::simulate;
pub use validate::{InvalidAnswer, validate_answer};

/// Runs the code blocks of the author guide as doctests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/interactive-tools.md")]
struct AuthorGuideDoctests;
