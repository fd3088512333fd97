//! For 2026-07-28: the answer asks, and the client calls again with answers and a sealed state.

use flow::session::SingleUseGuard;
use flow::{Answers, Durability, Journal, Question, TokenBinding, Turn};
use jiff::{SignedDuration, Timestamp};
use protocol::Revision;
use protocol::mcp::{ElicitParams, ElicitResult, InputRequest, InputRequired};
use serde::{Deserialize, Serialize};

use super::form::{self, FormOutcome};
use super::{ConversationRun, error_from_halt, outcome_from_done};
use crate::ToolContext;
use crate::error::RequestError;
use crate::tools::{ToolOutcome, ToolRequest};

/// For how long a client may think about a question.
const REQUEST_STATE_TTL: SignedDuration = SignedDuration::from_mins(30);

/// The name of the one thing that is asked at a time. It is the same on every turn; the sealed state says
/// which question an answer belongs to.
const INPUT_REQUEST_KEY: &str = "question";

/// How long a conversation may take from its first question to its end.
const MAX_CONVERSATION_DURATION: SignedDuration = SignedDuration::from_hours(24);

/// What the client carries from turn to turn, sealed.
#[derive(Serialize, Deserialize)]
struct SealedConversation {
    /// Which conversation it is.
    id: String,
    /// When it began.
    born: Timestamp,
    /// How often something was done in it.
    effects: u32,
    journal: Journal,
}

impl SealedConversation {
    /// By then no party holds any state of it.
    fn expires_at(&self) -> Timestamp {
        self.born.checked_add(MAX_CONVERSATION_DURATION).unwrap_or(Timestamp::MAX)
    }
}

pub(super) async fn run(
    run: &ConversationRun<'_>,
    request: &ToolRequest,
    revision: Revision,
) -> Result<ToolOutcome, RequestError> {
    let ToolContext { principal, now, .. } = run.call;
    let owner = format!("{} {}", principal.tenant(), principal.subject());
    let binding =
        TokenBinding { owner: &owner, method: "tools/call", tool: run.tool, arguments: run.arguments };
    let (state, turn) = match &request.request_state {
        None => {
            let id = run.id.clone();
            let mut state = SealedConversation { id, born: *now, effects: 0, journal: Journal::default() };
            let turn = run.advance(&mut state.journal, None, Durability::InProcess).await;
            (state, turn)
        }
        Some(sealed) => {
            let mut state: SealedConversation =
                run.app.seal.open(sealed, &binding, *now).map_err(RequestError::InvalidState)?;
            let conversation = &ConversationRun { id: state.id.clone(), ..*run };
            let input = parse_answers(conversation, &mut state.journal, request).await?;
            let sessions = conversation.app.sessions().await?;
            // Any state of this conversation may be sent again, until it expires; what follows from it
            // happens once.
            let spending =
                SingleUseGuard::new(sessions.store(), &state.id, state.effects, state.expires_at());
            let turn = conversation.advance(&mut state.journal, input, Durability::Stored(&spending)).await;
            state.effects += u32::from(spending.is_spent());
            (state, turn)
        }
    };
    let asked = match turn {
        Turn::Done(finished) => return Ok(outcome_from_done(finished)),
        Turn::Halted(halt) => return Err(error_from_halt(halt)),
        Turn::Ask(asked) => asked,
    };
    if !request.client.has_forms() {
        return Err(RequestError::missing_form_capability());
    }
    let params = ElicitParams::form(
        form::form_message(&asked),
        form::form_schema(&asked.question, revision),
        revision,
    );
    let expires = now.checked_add(REQUEST_STATE_TTL).unwrap_or(*now).min(state.expires_at());
    Ok(ToolOutcome::InputRequired(InputRequired {
        input_requests: [(INPUT_REQUEST_KEY.to_owned(), InputRequest::Elicit(params))].into(),
        request_state: run.app.seal.seal(&state, &binding, expires, run.app.entropy.as_ref()),
    }))
}

/// The answers that came along. Without any the question is asked again.
async fn parse_answers(
    run: &ConversationRun<'_>,
    journal: &mut Journal,
    request: &ToolRequest,
) -> Result<Option<Answers>, RequestError> {
    let Some(answer) = request.input_responses.as_ref().and_then(|all| all.get(INPUT_REQUEST_KEY)) else {
        return Ok(None);
    };
    let answer: ElicitResult = serde_json::from_value(answer.clone()).map_err(|_| {
        let wanted =
            "must be an object with `action` (accept, decline or cancel) and, when accepted, `content`";
        RequestError::invalid_params(format!("inputResponses.{INPUT_REQUEST_KEY}"), wanted)
    })?;
    match form::parse_result(answer) {
        FormOutcome::Answered(answers) => Ok(Some(answers)),
        FormOutcome::Back => {
            journal.undo_last_answer();
            Ok(None)
        }
        FormOutcome::Unanswered { declined } => match open_question(run, journal).await {
            None => Err(RequestError::NotAnswered { question: run.tool.to_owned(), declined }),
            Some(question) => {
                let failure =
                    RequestError::NotAnswered { question: form::question_title(&question), declined };
                form::empty_answers(&question).ok_or(failure).map(Some)
            }
        },
    }
}

/// What the user was asked: the question that the journal ends at.
async fn open_question(run: &ConversationRun<'_>, journal: &Journal) -> Option<Question> {
    match run.advance(&mut journal.clone(), None, Durability::InProcess).await {
        Turn::Ask(asked) => Some(asked.question),
        Turn::Done(_) | Turn::Halted(_) => None,
    }
}
