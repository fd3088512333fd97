//! For clients with `elicitation/create`: ask, take the answer, go on.

use flow::{Durability, Journal, Turn};
use protocol::Revision;
use protocol::mcp::{ElicitParams, ElicitResult};

use super::form::{self, FormOutcome};
use super::{ConversationRun, error_from_halt, outcome_from_done};
use crate::connection::client_requests::{ClientPeer, ClientRequestError};
use crate::error::RequestError;
use crate::tools::ToolOutcome;

/// How often one question is asked again because of its answer.
const MAX_ATTEMPTS: usize = 5;

pub(super) async fn run(
    run: &ConversationRun<'_>,
    peer: &ClientPeer,
    revision: Revision,
) -> Result<ToolOutcome, RequestError> {
    let mut journal = Journal::default();
    let mut input = None;
    let mut attempts = 0;
    loop {
        let asked = match run.advance(&mut journal, input.take(), Durability::InProcess).await {
            Turn::Done(finished) => return Ok(outcome_from_done(finished)),
            Turn::Halted(halt) => return Err(error_from_halt(halt)),
            Turn::Ask(asked) => asked,
        };
        attempts = if asked.problems.is_empty() { 1 } else { attempts + 1 };
        let question = form::question_title(&asked.question);
        let left_open = form::empty_answers(&asked.question);
        if attempts > MAX_ATTEMPTS {
            let failure = RequestError::TooManyAttempts { question, attempts: MAX_ATTEMPTS };
            input = Some(left_open.filter(|_| attempts == MAX_ATTEMPTS + 1).ok_or(failure)?);
            continue;
        }
        let params = ElicitParams::form(
            form::form_message(&asked),
            form::form_schema(&asked.question, revision),
            revision,
        );
        run.call.notifier.flush_progress();
        let answer = match peer.request(run.call.notifier.outbox(), "elicitation/create", &params).await {
            Ok(answer) => serde_json::from_value::<ElicitResult>(answer).ok(),
            // It said that it can be asked and then could not: do as with a client that never said so.
            Err(ClientRequestError::ErrorResponse | ClientRequestError::Unreachable) => None,
        };
        let Some(answer) = answer else {
            let needed = RequestError::InputNeeded { tool: run.tool.to_owned(), question: asked.question };
            input = Some(left_open.ok_or(needed)?);
            continue;
        };
        input = match form::parse_result(answer) {
            FormOutcome::Answered(answers) => Some(answers),
            FormOutcome::Back => {
                // With nothing to go back to, the same question comes again.
                journal.undo_last_answer();
                None
            }
            FormOutcome::Unanswered { declined } => {
                Some(left_open.ok_or(RequestError::NotAnswered { question, declined })?)
            }
        };
    }
}
