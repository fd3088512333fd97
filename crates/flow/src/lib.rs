//! Interactive tools: a conversation is written as one straight async function, and survives restarts.
//!
//! There is no live future to keep. [`DynConversation::advance`] runs the function from the top against a [`Journal`]
//! of what was answered before; the first question without an answer suspends it and comes back as
//! [`Turn::Ask`]. Whoever holds the journal (a connection, a database, a [sealed token](Seal)) can go on later,
//! elsewhere, in another process.
//!
//! This crate knows no wire, reads no clock and draws no randomness: the host brings them as an [`Env`].
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

/// The code of the guide for authors, which is run with the examples.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/interactive-tools.md")]
struct AuthorGuideDoctests;
