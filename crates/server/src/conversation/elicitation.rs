//! For clients with `elicitation/create`: ask, take the answer, go on.

use flow::{Journal, Ledger, Turn};
use protocol::Revision;
use protocol::mcp::{ElicitParams, ElicitResult};

use super::form::{self, Filled};
use super::{Talk, done, halted};
use crate::connection::client_requests::{Peer, Unanswered};
use crate::error::Failure;
use crate::tools::Outcome;

/// How often one question is asked again because of its answer.
const ATTEMPTS: usize = 5;

pub(super) async fn run(talk: &Talk<'_>, peer: &Peer, revision: Revision) -> Result<Outcome, Failure> {
    let mut journal = Journal::default();
    let mut input = None;
    let mut attempts = 0;
    loop {
        let asked = match talk.advance(&mut journal, input.take(), Ledger::InProcess).await {
            Turn::Done(finished) => return Ok(done(finished)),
            Turn::Halted(halt) => return Err(halted(halt)),
            Turn::Ask(asked) => asked,
        };
        attempts = if asked.problems.is_empty() { 1 } else { attempts + 1 };
        let question = form::subject(&asked.question);
        let left_open = form::left_open(&asked.question);
        if attempts > ATTEMPTS {
            let failure = Failure::TooManyAttempts { question, attempts: ATTEMPTS };
            input = Some(left_open.filter(|_| attempts == ATTEMPTS + 1).ok_or(failure)?);
            continue;
        }
        let params =
            ElicitParams::form(form::message(&asked), form::form(&asked.question, revision), revision);
        talk.call.outlet.send_held();
        let answer = match peer.request(talk.call.outlet.outbox(), "elicitation/create", &params).await {
            Ok(answer) => serde_json::from_value::<ElicitResult>(answer).ok(),
            // It said that it can be asked and then could not: do as with a client that never said so.
            Err(Unanswered::Refused | Unanswered::Unreachable) => None,
        };
        let Some(answer) = answer else {
            let needed = Failure::InputNeeded { tool: talk.tool.to_owned(), question: asked.question };
            input = Some(left_open.ok_or(needed)?);
            continue;
        };
        input = match form::answers(answer) {
            Filled::In(answers) => Some(answers),
            Filled::Back => {
                // With nothing to go back to, the same question comes again.
                journal.back();
                None
            }
            Filled::Not { declined } => Some(left_open.ok_or(Failure::NotAnswered { question, declined })?),
        };
    }
}
