//! Answers for messages that are rejected before there is a connection.

use std::sync::Arc;

use protocol::{Id, Incoming, Malformed, Message, encode};

use super::decoded::{Letter, is_answerable};
use super::mode::Rules;
use super::outbox::Answer;
use crate::App;
use crate::error::{self, Failure, Manner, Refusal};
use crate::telemetry::request_span::{Correlation, RequestNumber, RequestSpan};
use crate::telemetry::{Notes, Watch};

/// The answer to a body that was not read, in the dialect of this mode.
pub fn refusal(rules: Rules, refusal: Refusal) -> Answer {
    error::render(&refusal.into(), manner(rules), None)
}

/// Rejects every message of a body, each under its own id. The status is that of the body as a whole, whatever the
/// answers in it say. `None`: no message in it wants an answer.
pub fn reject(
    app: &App,
    letter: Letter,
    rules: Rules,
    refusal: &Refusal,
    correlation: &Correlation,
) -> Option<Answer> {
    let failure = Failure::from(refusal.clone());
    let reject_one = |message: &Result<Message, Malformed>| {
        let number = match &correlation.request {
            Some(name) => RequestNumber::Named(Arc::clone(name)),
            None => RequestNumber::Counted(1),
        };
        let throttles = Arc::clone(&app.throttles);
        let request =
            RequestSpan::new(number, id(message), String::new(), None, correlation.trace_id, throttles);
        Watch::start(app, &request, "unknown", &Notes::default()).end(Some(refusal.kind()));
        request.report(&failure);
        error::render(&failure, manner(rules), request.id())
    };
    match letter.0 {
        Incoming::One(message) => is_answerable(&message).then(|| reject_one(&message)),
        Incoming::Batch(messages) => {
            let answers: Vec<Answer> =
                messages.iter().filter(|message| is_answerable(message)).map(reject_one).collect();
            let Answer { status, retry_after, .. } = *answers.first()?;
            let message = encode::batch(answers.iter().map(|answer| answer.message.as_slice()));
            Some(Answer { message, status, retry_after })
        }
    }
}

fn manner(rules: Rules) -> Manner {
    Manner { dialect: rules.dialect(), language: rules.language(), is_flow: false }
}

fn id(message: &Result<Message, Malformed>) -> Option<Id> {
    match message {
        Ok(Message::Request(request)) => Some(request.id.clone()),
        Ok(Message::Envelope(request)) => request.id.clone(),
        Ok(_) => None,
        Err(malformed) => malformed.id.clone(),
    }
}
