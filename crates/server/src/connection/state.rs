//! What the requests of one connection share.

use std::sync::{Arc, Mutex, PoisonError};

use access::Principal;
use tokio_util::sync::CancellationToken;

use super::client_requests::ClientPeer;
use super::mode::ConnectionMode;
use super::scheduler::RequestScheduler;
use super::session::McpSession;
use crate::rpc::client_roots::ClientRoots;
use crate::rpc::interaction::TimeoutWarnings;
use crate::{App, Outbox};

/// What the requests of one connection share. A request holds this and not the connection itself: handlers
/// can ask the client and wait for a free place, but cannot feed messages into the connection that they came
/// from.
pub(crate) struct ConnectionState {
    pub(super) app: Arc<App>,
    pub(super) principal: Arc<Principal>,
    pub(super) mode: ConnectionMode,
    pub(super) outbox: Arc<dyn Outbox>,
    pub(super) session: McpSession,
    pub(super) client_peer: ClientPeer,
    pub(super) scheduler: Arc<RequestScheduler>,
    /// Cancelled when no more requests are taken: what only waits for news ends.
    pub(super) closing: CancellationToken,
    timeout_warnings: TimeoutWarnings,
    client_roots: Mutex<ClientRoots>,
}

impl ConnectionState {
    pub(super) fn new(
        app: Arc<App>,
        principal: Principal,
        mode: ConnectionMode,
        outbox: Arc<dyn Outbox>,
    ) -> Arc<Self> {
        Arc::new(Self {
            app,
            principal: Arc::new(principal),
            mode,
            outbox,
            session: McpSession::new(),
            client_peer: ClientPeer::new(),
            scheduler: RequestScheduler::new(),
            closing: CancellationToken::new(),
            timeout_warnings: TimeoutWarnings::default(),
            client_roots: Mutex::default(),
        })
    }

    pub(crate) fn app(&self) -> &Arc<App> {
        &self.app
    }

    pub(crate) fn mode(&self) -> ConnectionMode {
        self.mode
    }

    /// Where messages go that belong to no request.
    pub(crate) fn outbox(&self) -> &Arc<dyn Outbox> {
        &self.outbox
    }

    pub(crate) fn session(&self) -> &McpSession {
        &self.session
    }

    pub(crate) fn client_peer(&self) -> &ClientPeer {
        &self.client_peer
    }

    pub(crate) fn scheduler(&self) -> &Arc<RequestScheduler> {
        &self.scheduler
    }

    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    pub(crate) fn timeout_warnings(&self) -> &TimeoutWarnings {
        &self.timeout_warnings
    }

    pub(crate) fn client_roots(&self) -> ClientRoots {
        self.client_roots.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_client_roots(&self, roots: ClientRoots) {
        *self.client_roots.lock().unwrap_or_else(PoisonError::into_inner) = roots;
    }
}
