//! What came in, decoded and not yet handled; and how it came.

use std::sync::Arc;

use access::Principal;
use protocol::{Id, Incoming, MalformedMessage, Message, Params};

use crate::error::RequestRejection;
use crate::rpc::method;
use crate::{Correlation, MirroredHeaders, Outbox};

/// One line, frame or body, decoded.
pub struct DecodedMessage(pub(crate) Incoming);

impl DecodedMessage {
    /// How many of its messages want an answer; at least one, since it came at all.
    pub fn rate_limit_cost(&self) -> u32 {
        match &self.0 {
            Incoming::One(_) => 1,
            Incoming::Batch(messages) => {
                let wanting = messages.iter().filter(|message| message_expects_response(message)).count();
                u32::try_from(wanting).unwrap_or(u32::MAX).max(1)
            }
        }
    }

    /// Whether any of its messages wants an answer.
    pub fn expects_response(&self) -> bool {
        match &self.0 {
            Incoming::One(message) => message_expects_response(message),
            Incoming::Batch(messages) => messages.iter().any(message_expects_response),
        }
    }

    /// It is an `initialize` and nothing else.
    pub fn is_initialize(&self) -> bool {
        matches!(&self.0, Incoming::One(Ok(Message::Request(request))) if method::is_initialize(&request.method))
    }

    /// It carries its version with it, as messages without sessions do.
    pub fn is_stateless(&self) -> bool {
        let params = match &self.0 {
            Incoming::One(Ok(Message::Request(request))) => &request.params,
            Incoming::One(Ok(Message::Notification(notification))) => &notification.params,
            _ => return false,
        };
        let Params::Object(params) = params else { return false };
        params.get("_meta").is_some_and(|meta| meta.get(protocol::mcp::keys::PROTOCOL_VERSION).is_some())
    }

    /// Not a message at all, so its dialect is unknown.
    pub fn is_malformed(&self) -> bool {
        matches!(&self.0, Incoming::One(Err(_)))
    }
}

/// Whether a message gets an answer: requests do, and what is no message at all.
pub(crate) fn message_expects_response(message: &Result<Message, MalformedMessage>) -> bool {
    matches!(message, Ok(Message::Request(_) | Message::Envelope(_)) | Err(_))
}

/// The id that the answer to a message carries.
pub(super) fn message_id(message: &Result<Message, MalformedMessage>) -> Option<Id> {
    match message {
        Ok(Message::Request(request)) => Some(request.id.clone()),
        Ok(Message::Envelope(request)) => request.id.clone(),
        Ok(_) => None,
        Err(malformed) => malformed.id.clone(),
    }
}

/// Where a message came from, where its answers go, and how much of it may be handled.
pub struct MessageOrigin {
    /// Where answers go, and what is said on the way to them.
    pub outbox: Arc<dyn Outbox>,
    /// How many of its messages may be handled, of those that want an answer. The others always are: they are
    /// answers themselves, or take back what was asked.
    pub max_requests: u32,
    /// Why the others may not.
    pub rejection: Option<RequestRejection>,
    /// The sender, if it differs from the principal that opened the connection: its scope can have changed.
    pub sender: Option<Arc<Principal>>,
    /// What the headers say about it, where they have to go with it.
    pub headers: Option<MirroredHeaders>,
    /// What logs call it.
    pub correlation: Correlation,
    /// The message is part of a batch.
    pub(crate) in_batch: bool,
}

impl MessageOrigin {
    /// Everything may be handled.
    pub fn for_outbox(outbox: Arc<dyn Outbox>) -> Self {
        Self {
            outbox,
            max_requests: u32::MAX,
            rejection: None,
            sender: None,
            headers: None,
            correlation: Correlation::default(),
            in_batch: false,
        }
    }

    /// Only this many messages may be handled; the others are refused for this reason.
    #[must_use]
    pub fn with_max_requests(mut self, granted: u32, rejection: RequestRejection) -> Self {
        (self.max_requests, self.rejection) = (granted, Some(rejection));
        self
    }

    /// It was sent by this one.
    #[must_use]
    pub fn with_sender(mut self, sender: Principal) -> Self {
        self.sender = Some(Arc::new(sender));
        self
    }

    /// Logs call it this.
    #[must_use]
    pub fn with_correlation(mut self, correlation: Correlation) -> Self {
        self.correlation = correlation;
        self
    }

    /// The headers have to go with it.
    #[must_use]
    pub fn with_headers(mut self, headers: MirroredHeaders) -> Self {
        self.headers = Some(headers);
        self
    }
}
