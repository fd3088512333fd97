//! For 2026-07-28: the answer asks, and the client calls again with answers and a sealed state.

use flow::{Answers, Binding, Journal, Turn};
use jiff::SignedDuration;
use protocol::Revision;
use protocol::mcp::{ElicitParams, ElicitResult, InputRequest, InputRequired};

use super::{Talk, done, form, halted};
use crate::error::Failure;
use crate::tools::{Invocation, Outcome};

/// For how long a client may think about a question.
const LIFE: SignedDuration = SignedDuration::from_mins(30);

/// The name of the one thing that is asked at a time. It is the same on every turn; the sealed state says which
/// question an answer belongs to.
const ASKED: &str = "question";

pub(super) async fn run(
    talk: &Talk<'_>,
    invocation: &Invocation,
    revision: Revision,
) -> Result<Outcome, Failure> {
    let binding = Binding {
        owner: talk.call.principal.subject(),
        method: "tools/call",
        tool: talk.tool,
        arguments: talk.arguments,
    };
    let mut journal = match &invocation.request_state {
        Some(state) => talk.app.seal.open(state, &binding, talk.call.now).map_err(Failure::BadState)?,
        None => Journal::default(),
    };
    let input = answers(talk, &journal, invocation).await?;
    let asked = match talk.advance(&mut journal, input).await {
        Turn::Done(reply) => return Ok(done(reply)),
        Turn::Halted(halt) => return Err(halted(halt)),
        Turn::Ask(asked) => asked,
    };
    if !invocation.client.has_forms() {
        return Err(Failure::forms_needed());
    }
    let params = ElicitParams::form(form::message(&asked), form::form(&asked.question, revision), revision);
    let expires = talk.call.now.checked_add(LIFE).unwrap_or(talk.call.now);
    Ok(Outcome::InputRequired(InputRequired {
        input_requests: [(ASKED.to_owned(), InputRequest::Elicit(params))].into(),
        request_state: talk.app.seal.seal(&journal, &binding, expires, talk.app.entropy.as_ref()),
    }))
}

/// The answers that came along. Without any, or without a state that says what they answer, the question is asked
/// (again).
async fn answers(
    talk: &Talk<'_>,
    journal: &Journal,
    invocation: &Invocation,
) -> Result<Option<Answers>, Failure> {
    let Some(_) = &invocation.request_state else { return Ok(None) };
    let Some(answer) = invocation.input_responses.as_ref().and_then(|all| all.get(ASKED)) else {
        return Ok(None);
    };
    let answer: ElicitResult = serde_json::from_value(answer.clone()).map_err(|_| {
        let wanted =
            "must be an object with `action` (accept, decline or cancel) and, when accepted, `content`";
        Failure::params(format!("inputResponses.{ASKED}"), wanted)
    })?;
    match form::answers(answer) {
        Ok(answers) => Ok(Some(answers)),
        Err(declined) => Err(Failure::NotAnswered { question: open_question(talk, journal).await, declined }),
    }
}

/// What the user was asked: the question that the journal ends at.
async fn open_question(talk: &Talk<'_>, journal: &Journal) -> String {
    match talk.advance(&mut journal.clone(), None).await {
        Turn::Ask(asked) => asked.question.message,
        Turn::Done(_) | Turn::Halted(_) => talk.tool.to_owned(),
    }
}
