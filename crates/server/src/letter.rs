//! What came in, decoded and not yet handled; and how it came.

use std::sync::Arc;

use protocol::{Incoming, Message, Params};

use crate::error::Refusal;
use crate::{Claims, Outbox};

/// One line, frame or body, decoded.
pub struct Letter(pub(crate) Incoming);

impl Letter {
    /// How many messages it holds. What is no message counts as one.
    pub fn weight(&self) -> u32 {
        match &self.0 {
            Incoming::One(_) => 1,
            Incoming::Batch(messages) => u32::try_from(messages.len()).unwrap_or(u32::MAX),
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

/// How a letter came, and how far it may go.
pub struct Delivery {
    /// Where answers go, and what is said on the way to them.
    pub outbox: Arc<dyn Outbox>,
    /// How many of its messages may be handled.
    pub granted: u32,
    /// Why the others may not.
    pub refusal: Option<Refusal>,
    /// What the headers say about it, where they have to go with it.
    pub claims: Option<Claims>,
}

impl Delivery {
    /// Everything may be handled.
    pub fn to(outbox: Arc<dyn Outbox>) -> Self {
        Self { outbox, granted: u32::MAX, refusal: None, claims: None }
    }

    /// Only this many messages may be handled; the others are refused for this reason.
    #[must_use]
    pub fn granted(mut self, granted: u32, refusal: Refusal) -> Self {
        (self.granted, self.refusal) = (granted, Some(refusal));
        self
    }

    /// The headers have to go with it.
    #[must_use]
    pub fn claiming(mut self, claims: Claims) -> Self {
        self.claims = Some(claims);
        self
    }
}
