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

use flow::{Answers, Durability, DynConversation, FinalReply, Journal, Turn, TurnContext};
use serde_json::Map;

use crate::connection::state::ConnectionState;
use crate::error::RequestError;
use crate::tools::{ToolOutcome, ToolReply, ToolRequest};
use crate::{App, ToolContext};

/// A conversation that a call has begun or goes on with.
struct ConversationRun<'a> {
    app: &'a Arc<App>,
    tool: &'a str,
    conversation: &'a dyn DynConversation,
    call: &'a ToolContext,
    can_ask: bool,
    arguments: &'a Answers,
    /// Which conversation it is.
    id: String,
}

impl ConversationRun<'_> {
    /// One turn.
    async fn advance(
        &self,
        journal: &mut Journal,
        input: Option<Answers>,
        durability: Durability<'_>,
    ) -> Turn {
        let turn = TurnContext {
            id: &self.id,
            arguments: self.arguments,
            context: &Map::new(),
            env: self.call,
            durability,
            can_ask: self.can_ask,
        };
        self.conversation.advance(journal, input, &turn).await
    }
}

/// Runs an interactive tool in the best way that this client has.
pub(crate) async fn run_conversation(
    connection: &ConnectionState,
    tool: &str,
    conversation: &dyn DynConversation,
    call: &ToolContext,
    request: &ToolRequest,
) -> Result<ToolOutcome, RequestError> {
    let app = connection.app();
    let can_ask = request.client.has_forms();
    let (arguments, id) = (&request.arguments, generate_id(app));
    let run = ConversationRun { app, tool, conversation, call, can_ask, arguments, id };
    match request.mcp_revision() {
        Some(revision)
            if revision.asks_by_input_required() && (can_ask || request.request_state.is_some()) =>
        {
            // A conversation goes on as it began, even if the client has since forgotten how to be asked.
            input_required::run(&ConversationRun { can_ask: true, ..run }, request, revision).await
        }
        Some(revision) if revision.asks_by_elicitation() && can_ask => {
            elicitation::run(&run, connection.client_peer(), revision).await
        }
        _ => arguments::run(&ConversationRun { can_ask: false, ..run }).await,
    }
}

/// A name that no other conversation has.
fn generate_id(app: &App) -> String {
    let mut id = [0; 16];
    app.fill_random(&mut id);
    format!("{:032x}", u128::from_le_bytes(id))
}

fn outcome_from_done(done: FinalReply) -> ToolOutcome {
    ToolOutcome::Done(ToolReply::from_structured(done.reply))
}

fn error_from_halt(halt: flow::Halt) -> RequestError {
    match halt {
        flow::Halt::InvalidArgument { name, invalid } => {
            RequestError::InvalidArguments(crate::error::ArgumentError::Value {
                name,
                error: invalid.to_string(),
                choices: Vec::new(),
            })
        }
        // What a tool did not foresee it hands on as it was.
        flow::Halt::Failed(cause) => {
            cause.downcast_ref().cloned().unwrap_or_else(|| RequestError::Halted(flow::Halt::Failed(cause)))
        }
        // A suspended conversation has a question open, and comes out as that; alone it is a tool's mistake.
        flow::Halt::Suspended => {
            RequestError::internal("a conversation was suspended without an open question")
        }
        // A state that was used already is as good as one that never was.
        flow::Halt::Superseded => RequestError::InvalidState(flow::SealError::Invalid),
        flow::Halt::StoreUnavailable(cause) => RequestError::from_store_error(cause.into_error()),
        other => RequestError::Halted(other),
    }
}
