//! The fronts of a conversation: the same engine, asked in every way that a client can be asked.
//!
//! | question | `elicitation/create` | `input_required` | arguments |
//! |---|---|---|---|
//! | text, confirm, number, date | native | native | native |
//! | choice | native (titles as the revision has them) | native | native |
//! | several choices | native; in 2025-06-18 as text, separated by commas | native | native |
//! | file | a path as text | a path as text | native |
//! | custom | JSON as text | JSON as text | native |
//! | several questions at once | one form | one form | all that are missing are named |

pub(crate) mod arguments;
mod elicitation;
mod form;
mod input_required;

use std::sync::Arc;

use flow::{Answers, Converse, Journal, Ledger, Turn, World};

use crate::error::Failure;
use crate::tools::{Invocation, Outcome, Reply};
use crate::{App, Call, Connection};

/// A conversation that a call has begun or goes on with.
struct Talk<'a> {
    app: &'a Arc<App>,
    tool: &'a str,
    conversation: &'a dyn Converse,
    call: &'a Call,
    ledger: Ledger,
    can_ask: bool,
    arguments: &'a Answers,
}

impl Talk<'_> {
    /// One turn.
    async fn advance(&self, journal: &mut Journal, input: Option<Answers>) -> Turn {
        let outlet = self.call.outlet.clone();
        let progress = move |progress: &flow::Progress| {
            outlet.progress(progress.current, progress.total, &progress.message);
        };
        let world = World {
            arguments: self.arguments,
            now: self.call.now,
            entropy: self.app.entropy.as_ref(),
            ledger: self.ledger,
            can_ask: self.can_ask,
            progress: &progress,
        };
        self.conversation.advance(journal, input, &world).await
    }
}

/// Runs an interactive tool in the best way that this client has.
pub(crate) async fn converse(
    connection: &Connection,
    tool: &str,
    conversation: &dyn Converse,
    call: &Call,
    invocation: &Invocation,
) -> Result<Outcome, Failure> {
    let app = connection.app();
    let can_ask = invocation.client.has_forms();
    let (ledger, arguments) = (Ledger::InProcess, &invocation.arguments);
    let talk = Talk { app, tool, conversation, call, ledger, can_ask, arguments };
    match invocation.revision() {
        Some(revision)
            if revision.asks_by_input_required() && (can_ask || invocation.request_state.is_some()) =>
        {
            // A conversation goes on as it began, even if the client has since forgotten how to be asked.
            let talk = Talk { ledger: Ledger::Token, can_ask: true, ..talk };
            input_required::run(&talk, invocation, revision).await
        }
        Some(revision) if revision.asks_by_elicitation() && can_ask => {
            elicitation::run(&talk, connection.peer(), revision).await
        }
        _ => arguments::run(&Talk { can_ask: false, ..talk }).await,
    }
}

fn done(reply: Box<serde_json::value::RawValue>) -> Outcome {
    Outcome::Done(Reply::of(reply))
}

fn halted(halt: flow::Halt) -> Failure {
    match halt {
        flow::Halt::BadArgument { name, invalid } => {
            Failure::BadArguments(crate::error::ArgumentProblem::Value {
                name,
                error: invalid.to_string(),
                choices: Vec::new(),
            })
        }
        // A suspended conversation has a question open, and comes out as that; alone it is a tool's mistake.
        flow::Halt::Suspended => Failure::Internal,
        other => Failure::Halted(other),
    }
}
