//! Answers for messages that are rejected before there is a connection.

use std::sync::Arc;

use protocol::{Incoming, MalformedMessage, Message, encode};

use super::decoded::{DecodedMessage, message_expects_response, message_id};
use super::mode::ConnectionMode;
use super::outbox::EncodedResponse;
use crate::App;
use crate::error::{self, ErrorFormat, RequestError, RequestRejection};
use crate::telemetry::RequestTimer;
use crate::telemetry::request_span::{Correlation, RequestNumber, RequestSpan};

/// The answer to a body that was not read, in the dialect of this mode.
pub fn render_rejection(mode: ConnectionMode, rejection: RequestRejection) -> EncodedResponse {
    error::render(&rejection.into(), error_format(mode), None)
}

/// Rejects every message of a body, each under its own id. The status is that of the body as a whole,
/// whatever the answers in it say. `None`: no message in it wants an answer.
pub fn reject_all(
    app: &App,
    decoded: DecodedMessage,
    mode: ConnectionMode,
    rejection: &RequestRejection,
    correlation: &Correlation,
) -> Option<EncodedResponse> {
    let failure = RequestError::from(rejection.clone());
    let reject_one = |message: &Result<Message, MalformedMessage>| {
        let number = match &correlation.request {
            Some(name) => RequestNumber::Named(Arc::clone(name)),
            None => RequestNumber::Counted(1),
        };
        let throttles = Arc::clone(&app.throttles);
        let request = RequestSpan::new(
            number,
            message_id(message),
            String::new(),
            None,
            correlation.trace_id,
            throttles,
        );
        RequestTimer::record_rejected(app, &request, rejection.kind());
        request.report(&failure);
        error::render(&failure, error_format(mode), request.id())
    };
    match decoded.0 {
        Incoming::One(message) => message_expects_response(&message).then(|| reject_one(&message)),
        Incoming::Batch(messages) => {
            let answers: Vec<EncodedResponse> =
                messages.iter().filter(|message| message_expects_response(message)).map(reject_one).collect();
            let EncodedResponse { status, retry_after, .. } = *answers.first()?;
            let message = encode::batch(answers.iter().map(|answer| answer.message.as_slice()));
            Some(EncodedResponse { message, status, retry_after })
        }
    }
}

fn error_format(mode: ConnectionMode) -> ErrorFormat {
    ErrorFormat { dialect: mode.default_dialect(), language: mode.language(), is_flow: false }
}
