//! What a connection has agreed on, apart from the connection.

use std::sync::{Mutex, PoisonError};

use protocol::Revision;
use protocol::mcp::{ClientCapabilities, LogLevel};

use crate::error::RequestError;
use crate::rpc::method;
use crate::rpc::subscriptions::SubscriptionFilter;

/// The lifecycle of the reference document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LifecycleState {
    Uninitialized,
    Initializing,
    Ready,
    ShuttingDown,
}

/// One client's session.
pub(crate) struct McpSession {
    state: Mutex<McpSessionState>,
}

/// What is known about the client.
struct McpSessionState {
    lifecycle: LifecycleState,
    revision: Option<Revision>,
    capabilities: ClientCapabilities,
    log_level: Option<LogLevel>,
    subscriptions: SubscriptionFilter,
}

impl McpSession {
    pub(crate) fn new() -> Self {
        let facts = McpSessionState {
            lifecycle: LifecycleState::Uninitialized,
            revision: None,
            capabilities: ClientCapabilities::default(),
            log_level: None,
            subscriptions: SubscriptionFilter::ALL_LISTS,
        };
        Self { state: Mutex::new(facts) }
    }

    fn with_state<T>(&self, f: impl FnOnce(&mut McpSessionState) -> T) -> T {
        f(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The revision that was agreed on; before that, the one that would be offered.
    pub(crate) fn revision(&self) -> Revision {
        self.negotiated_revision().unwrap_or(Revision::OFFERED)
    }

    /// The revision that was agreed on.
    pub(crate) fn negotiated_revision(&self) -> Option<Revision> {
        self.with_state(|facts| facts.revision)
    }

    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        self.with_state(|facts| facts.capabilities.clone())
    }

    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        self.with_state(|facts| facts.log_level)
    }

    pub(crate) fn set_log_level(&self, level: LogLevel) {
        self.with_state(|facts| facts.log_level = Some(level));
    }

    /// What the client wants to hear of.
    pub(crate) fn with_subscriptions<T>(&self, f: impl FnOnce(&mut SubscriptionFilter) -> T) -> T {
        self.with_state(|facts| f(&mut facts.subscriptions))
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.with_state(|facts| facts.lifecycle == LifecycleState::Ready)
    }

    /// Whether a request may be served now. `needs_greeting`: only after the handshake, unless it is part of
    /// it.
    pub(crate) fn admit(&self, method: &str, needs_greeting: bool) -> Result<(), RequestError> {
        let is_initialize = method::is_initialize(method);
        match self.with_state(|facts| facts.lifecycle) {
            _ if method::is_ping(method) => Ok(()),
            LifecycleState::ShuttingDown => Err(RequestError::ShuttingDown),
            _ if !needs_greeting => Ok(()),
            LifecycleState::Uninitialized if is_initialize => Ok(()),
            LifecycleState::Initializing | LifecycleState::Ready if is_initialize => {
                Err(RequestError::AlreadyInitialized)
            }
            LifecycleState::Uninitialized => Err(RequestError::NotInitialized),
            LifecycleState::Initializing => Err(RequestError::Initializing),
            LifecycleState::Ready => Ok(()),
        }
    }

    /// `initialize` was accepted.
    pub(crate) fn initialize(&self, revision: Revision, capabilities: ClientCapabilities) {
        self.with_state(|facts| {
            facts.lifecycle = LifecycleState::Initializing;
            facts.revision = Some(revision);
            facts.capabilities = capabilities;
        });
    }

    /// `notifications/initialized` came. At any other time it means nothing.
    pub(crate) fn mark_initialized(&self) {
        self.with_state(|facts| {
            if facts.lifecycle == LifecycleState::Initializing {
                facts.lifecycle = LifecycleState::Ready;
            }
        });
    }

    /// No new requests from here on.
    pub(crate) fn shut_down(&self) {
        self.with_state(|facts| facts.lifecycle = LifecycleState::ShuttingDown);
    }
}
