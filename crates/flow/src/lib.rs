//! Interactive tools: a conversation is written as one straight async function, and survives restarts.
//!
//! There is no live future to keep. [`Converse::advance`] runs the function from the top against a [`Journal`]
//! of what was answered before; the first question without an answer suspends it and comes back as
//! [`Turn::Ask`]. Whoever holds the journal (a connection, a database, a [sealed token](Seal)) can go on later,
//! elsewhere, in another process.
//!
//! This crate knows no wire, reads no clock and draws no randomness: the host brings them as an [`Env`].
//!
//! ```
//! use flow::{Conversation, Converse, Flow, Halt, Journal, Turn, TurnContext, confirm, text};
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
mod halt;
mod journal;
pub mod patterns;
mod prompt;
mod rehearse;
mod replay;
mod seal;
pub mod session;
mod usable;
mod validate;

pub use engine::{Answers, Asked, Conversation, Converse, Done, Turn};
pub use env::{Entropy, Env, Keeper, Keeping, Ledger, Progress, TurnContext};
pub use form::{Field, Form, Question};
pub use halt::{Cause, Halt};
pub use journal::Journal;
pub use prompt::{
    Ask, Choice, Choices, Confirm, Custom, Date, File, FileAnswer, Integer, Kind, Number, Opt, Prompt, Shape,
    Text, choice, choices, confirm, custom, date, file, integer, number, text,
};
pub use rehearse::rehearse;
pub use replay::Flow;
pub use seal::{Binding, Seal, SealError, SealKey};
pub use validate::{Invalid, check};

/// The code of the guide for authors, which is run with the examples.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/interactive-tools.md")]
struct Guide;
