//! What a connection has agreed on, apart from the connection.

use std::sync::{Mutex, PoisonError};

use protocol::Revision;
use protocol::mcp::{ClientCapabilities, LogLevel};

use crate::error::Failure;
use crate::rpc::subscriptions::Interests;

/// The lifecycle of the reference document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Uninitialized,
    Initializing,
    Ready,
    ShuttingDown,
}

/// One client's session.
pub(crate) struct Session {
    facts: Mutex<Facts>,
}

/// What is known about the client.
struct Facts {
    state: State,
    revision: Option<Revision>,
    capabilities: ClientCapabilities,
    log_level: Option<LogLevel>,
    interests: Interests,
}

impl Session {
    pub(crate) fn new() -> Self {
        let facts = Facts {
            state: State::Uninitialized,
            revision: None,
            capabilities: ClientCapabilities::default(),
            log_level: None,
            interests: Interests::LISTS,
        };
        Self { facts: Mutex::new(facts) }
    }

    fn with<T>(&self, f: impl FnOnce(&mut Facts) -> T) -> T {
        f(&mut self.facts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The revision that was agreed on; before that, the one that would be offered.
    pub(crate) fn revision(&self) -> Revision {
        self.negotiated().unwrap_or(Revision::OFFERED)
    }

    /// The revision that was agreed on.
    pub(crate) fn negotiated(&self) -> Option<Revision> {
        self.with(|facts| facts.revision)
    }

    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        self.with(|facts| facts.capabilities.clone())
    }

    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        self.with(|facts| facts.log_level)
    }

    pub(crate) fn set_log_level(&self, level: LogLevel) {
        self.with(|facts| facts.log_level = Some(level));
    }

    /// What the client wants to hear of.
    pub(crate) fn interests<T>(&self, f: impl FnOnce(&mut Interests) -> T) -> T {
        self.with(|facts| f(&mut facts.interests))
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.with(|facts| facts.state == State::Ready)
    }

    /// Whether a request may be served now. `needs_greeting`: only after the handshake, unless it is part of it.
    pub(crate) fn admit(&self, method: &str, needs_greeting: bool) -> Result<(), Failure> {
        match (self.with(|facts| facts.state), method) {
            (_, "ping") => Ok(()),
            (State::ShuttingDown, _) => Err(Failure::ShuttingDown),
            _ if !needs_greeting => Ok(()),
            (State::Uninitialized, "initialize") => Ok(()),
            (State::Initializing | State::Ready, "initialize") => Err(Failure::AlreadyInitialized),
            (State::Uninitialized, _) => Err(Failure::NotInitialized),
            (State::Initializing, _) => Err(Failure::Initializing),
            (State::Ready, _) => Ok(()),
        }
    }

    /// `initialize` was accepted.
    pub(crate) fn initialize(&self, revision: Revision, capabilities: ClientCapabilities) {
        self.with(|facts| {
            facts.state = State::Initializing;
            facts.revision = Some(revision);
            facts.capabilities = capabilities;
        });
    }

    /// `notifications/initialized` came. At any other time it means nothing.
    pub(crate) fn initialized(&self) {
        self.with(|facts| {
            if facts.state == State::Initializing {
                facts.state = State::Ready;
            }
        });
    }

    /// No new requests from here on.
    pub(crate) fn shut_down(&self) {
        self.with(|facts| facts.state = State::ShuttingDown);
    }
}
