//! For 2026-07-28: the answer asks, and the client calls again with answers and a sealed state.

use flow::session::Spending;
use flow::{Answers, Binding, Journal, Ledger, Question, Turn};
use jiff::{SignedDuration, Timestamp};
use protocol::Revision;
use protocol::mcp::{ElicitParams, ElicitResult, InputRequest, InputRequired};
use serde::{Deserialize, Serialize};

use super::form::{self, Filled};
use super::{Talk, done, halted};
use crate::Call;
use crate::error::Failure;
use crate::tools::{Invocation, Outcome};

/// For how long a client may think about a question.
const LIFE: SignedDuration = SignedDuration::from_mins(30);

/// The name of the one thing that is asked at a time. It is the same on every turn; the sealed state says which
/// question an answer belongs to.
const ASKED: &str = "question";

/// How long a conversation may take from its first question to its end.
const LONGEST: SignedDuration = SignedDuration::from_hours(24);

/// What the client carries from turn to turn, sealed.
#[derive(Serialize, Deserialize)]
struct State {
    /// Which conversation it is.
    id: String,
    /// When it began.
    born: Timestamp,
    /// How often something was done in it.
    effects: u32,
    journal: Journal,
}

impl State {
    /// By then nobody has any state of it.
    fn ends(&self) -> Timestamp {
        self.born.checked_add(LONGEST).unwrap_or(Timestamp::MAX)
    }
}

pub(super) async fn run(
    talk: &Talk<'_>,
    invocation: &Invocation,
    revision: Revision,
) -> Result<Outcome, Failure> {
    let Call { principal, now, .. } = talk.call;
    let owner = format!("{} {}", principal.tenant(), principal.subject());
    let binding = Binding { owner: &owner, method: "tools/call", tool: talk.tool, arguments: talk.arguments };
    let (state, turn) = match &invocation.request_state {
        None => {
            let id = talk.id.clone();
            let mut state = State { id, born: *now, effects: 0, journal: Journal::default() };
            let turn = talk.advance(&mut state.journal, None, Ledger::InProcess).await;
            (state, turn)
        }
        Some(sealed) => {
            let mut state: State = talk.app.seal.open(sealed, &binding, *now).map_err(Failure::BadState)?;
            let talk = &Talk { id: state.id.clone(), ..*talk };
            let input = answers(talk, &mut state.journal, invocation).await?;
            let sessions = talk.app.sessions().await?;
            // Any state of this conversation may be sent again, until it expires; what follows from it happens once.
            let spending = Spending::new(sessions.store(), &state.id, state.effects, state.ends());
            let turn = talk.advance(&mut state.journal, input, Ledger::Kept(&spending)).await;
            state.effects += u32::from(spending.is_spent());
            (state, turn)
        }
    };
    let asked = match turn {
        Turn::Done(finished) => return Ok(done(finished)),
        Turn::Halted(halt) => return Err(halted(halt)),
        Turn::Ask(asked) => asked,
    };
    if !invocation.client.has_forms() {
        return Err(Failure::forms_needed());
    }
    let params = ElicitParams::form(form::message(&asked), form::form(&asked.question, revision), revision);
    let expires = now.checked_add(LIFE).unwrap_or(*now).min(state.ends());
    Ok(Outcome::InputRequired(InputRequired {
        input_requests: [(ASKED.to_owned(), InputRequest::Elicit(params))].into(),
        request_state: talk.app.seal.seal(&state, &binding, expires, talk.app.entropy.as_ref()),
    }))
}

/// The answers that came along. Without any the question is asked again.
async fn answers(
    talk: &Talk<'_>,
    journal: &mut Journal,
    invocation: &Invocation,
) -> Result<Option<Answers>, Failure> {
    let Some(answer) = invocation.input_responses.as_ref().and_then(|all| all.get(ASKED)) else {
        return Ok(None);
    };
    let answer: ElicitResult = serde_json::from_value(answer.clone()).map_err(|_| {
        let wanted =
            "must be an object with `action` (accept, decline or cancel) and, when accepted, `content`";
        Failure::params(format!("inputResponses.{ASKED}"), wanted)
    })?;
    match form::answers(answer) {
        Filled::In(answers) => Ok(Some(answers)),
        Filled::Back => {
            journal.back();
            Ok(None)
        }
        Filled::Not { declined } => match open_question(talk, journal).await {
            None => Err(Failure::NotAnswered { question: talk.tool.to_owned(), declined }),
            Some(question) => {
                let failure = Failure::NotAnswered { question: form::subject(&question), declined };
                form::left_open(&question).ok_or(failure).map(Some)
            }
        },
    }
}

/// What the user was asked: the question that the journal ends at.
async fn open_question(talk: &Talk<'_>, journal: &Journal) -> Option<Question> {
    match talk.advance(&mut journal.clone(), None, Ledger::InProcess).await {
        Turn::Ask(asked) => Some(asked.question),
        Turn::Done(_) | Turn::Halted(_) => None,
    }
}
