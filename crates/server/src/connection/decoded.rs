//! What came in, decoded and not yet handled; and how it came.

use std::sync::Arc;

use access::Principal;
use protocol::{Incoming, Malformed, Message, Params};

use crate::error::Refusal;
use crate::{Claims, Correlation, Outbox};

/// One line, frame or body, decoded.
pub struct Letter(pub(crate) Incoming);

impl Letter {
    /// How many of its messages want an answer; at least one, since it came at all.
    pub fn weight(&self) -> u32 {
        match &self.0 {
            Incoming::One(_) => 1,
            Incoming::Batch(messages) => {
                let wanting = messages.iter().filter(|message| is_answerable(message)).count();
                u32::try_from(wanting).unwrap_or(u32::MAX).max(1)
            }
        }
    }

    /// Whether any of its messages wants an answer.
    pub fn wants_answer(&self) -> bool {
        match &self.0 {
            Incoming::One(message) => is_answerable(message),
            Incoming::Batch(messages) => messages.iter().any(is_answerable),
        }
    }

    /// It is an `initialize` and nothing else.
    pub fn opens_session(&self) -> bool {
        matches!(&self.0, Incoming::One(Ok(Message::Request(request))) if request.method == "initialize")
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

    /// It is no message at all, so nobody can say for which way of speaking it was meant.
    pub fn is_malformed(&self) -> bool {
        matches!(&self.0, Incoming::One(Err(_)))
    }
}

/// Whether a message gets an answer: requests do, and what is no message at all.
pub(crate) fn is_answerable(message: &Result<Message, Malformed>) -> bool {
    matches!(message, Ok(Message::Request(_) | Message::Envelope(_)) | Err(_))
}

/// How a letter came, and how far it may go.
pub struct Delivery {
    /// Where answers go, and what is said on the way to them.
    pub outbox: Arc<dyn Outbox>,
    /// How many of its messages may be handled, of those that want an answer. The others always are: they are answers
    /// themselves, or take back what was asked.
    pub granted: u32,
    /// Why the others may not.
    pub refusal: Option<Refusal>,
    /// Who sent it, if it is not whoever opened the connection: what they may do can have changed.
    pub sender: Option<Principal>,
    /// What the headers say about it, where they have to go with it.
    pub claims: Option<Claims>,
    /// What logs call it.
    pub correlation: Correlation,
}

impl Delivery {
    /// Everything may be handled.
    pub fn to(outbox: Arc<dyn Outbox>) -> Self {
        Self {
            outbox,
            granted: u32::MAX,
            refusal: None,
            sender: None,
            claims: None,
            correlation: Correlation::default(),
        }
    }

    /// Only this many messages may be handled; the others are refused for this reason.
    #[must_use]
    pub fn granted(mut self, granted: u32, refusal: Refusal) -> Self {
        (self.granted, self.refusal) = (granted, Some(refusal));
        self
    }

    /// It was sent by this one.
    #[must_use]
    pub fn by(mut self, sender: Principal) -> Self {
        self.sender = Some(sender);
        self
    }

    /// Logs call it this.
    #[must_use]
    pub fn correlated(mut self, correlation: Correlation) -> Self {
        self.correlation = correlation;
        self
    }

    /// The headers have to go with it.
    #[must_use]
    pub fn claiming(mut self, claims: Claims) -> Self {
        self.claims = Some(claims);
        self
    }
}
