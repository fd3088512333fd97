//! The fronts of a conversation: the same engine, asked in every way that a client can be asked.
//!
//! | question | `interaction.*` | `elicitation/create` | `input_required` | arguments |
//! |---|---|---|---|---|
//! | text, confirm, number, date | native | native | native | native |
//! | choice | native | native (titles as the revision has them) | native | native |
//! | several choices | native | native; in 2025-06-18 as text, separated by commas | native | native |
//! | file | native | a path as text | a path as text | native |
//! | custom | native | JSON as text | JSON as text | native |
//! | several questions at once | one after the other | one form | one form | all that are missing are named |
//! | back, skip | `metadata.action` | `_meta` | `_meta` | no |

pub(crate) mod arguments;
mod elicitation;
mod form;
mod input_required;

use std::sync::Arc;

use flow::{Answers, Converse, Done, Journal, Ledger, Turn, TurnContext};
use serde_json::Map;

use crate::connection::state::ConnectionState;
use crate::error::Failure;
use crate::tools::{Invocation, Outcome, Reply};
use crate::{App, Call};

/// A conversation that a call has begun or goes on with.
struct Talk<'a> {
    app: &'a Arc<App>,
    tool: &'a str,
    conversation: &'a dyn Converse,
    call: &'a Call,
    can_ask: bool,
    arguments: &'a Answers,
    /// Which conversation it is.
    id: String,
}

impl Talk<'_> {
    /// One turn.
    async fn advance(&self, journal: &mut Journal, input: Option<Answers>, ledger: Ledger<'_>) -> Turn {
        let turn = TurnContext {
            id: &self.id,
            arguments: self.arguments,
            context: &Map::new(),
            env: self.call,
            ledger,
            can_ask: self.can_ask,
        };
        self.conversation.advance(journal, input, &turn).await
    }
}

/// Runs an interactive tool in the best way that this client has.
pub(crate) async fn converse(
    connection: &ConnectionState,
    tool: &str,
    conversation: &dyn Converse,
    call: &Call,
    invocation: &Invocation,
) -> Result<Outcome, Failure> {
    let app = connection.app();
    let can_ask = invocation.client.has_forms();
    let (arguments, id) = (&invocation.arguments, draw_id(app));
    let talk = Talk { app, tool, conversation, call, can_ask, arguments, id };
    match invocation.revision() {
        Some(revision)
            if revision.asks_by_input_required() && (can_ask || invocation.request_state.is_some()) =>
        {
            // A conversation goes on as it began, even if the client has since forgotten how to be asked.
            input_required::run(&Talk { can_ask: true, ..talk }, invocation, revision).await
        }
        Some(revision) if revision.asks_by_elicitation() && can_ask => {
            elicitation::run(&talk, connection.peer(), revision).await
        }
        _ => arguments::run(&Talk { can_ask: false, ..talk }).await,
    }
}

/// A name that no other conversation has.
fn draw_id(app: &App) -> String {
    let mut id = [0; 16];
    app.random(&mut id);
    format!("{:032x}", u128::from_le_bytes(id))
}

fn done(done: Done) -> Outcome {
    Outcome::Done(Reply::of(done.reply))
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
        // What a tool did not foresee it hands on as it was.
        flow::Halt::Because(cause) => {
            cause.error().cloned().unwrap_or_else(|| Failure::Halted(flow::Halt::Because(cause)))
        }
        // A suspended conversation has a question open, and comes out as that; alone it is a tool's mistake.
        flow::Halt::Suspended => Failure::internal("a conversation was suspended without an open question"),
        // A state that was used already is as good as one that never was.
        flow::Halt::Overtaken => Failure::BadState(flow::SealError::Invalid),
        flow::Halt::NotKept(cause) => Failure::store_failed(cause.into_error()),
        other => Failure::Halted(other),
    }
}
