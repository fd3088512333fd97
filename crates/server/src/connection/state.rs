//! What the requests of one connection share.

use std::sync::{Arc, Mutex, PoisonError};

use access::Principal;
use tokio_util::sync::CancellationToken;

use super::client_requests::Peer;
use super::mode::Rules;
use super::scheduler::Workload;
use super::session::Session;
use crate::rpc::client_roots::ClientRoots;
use crate::rpc::interaction::Warnings;
use crate::{App, Outbox};

/// What the requests of one connection share. A request holds this and not the connection itself: handlers can ask the
/// client and wait for a free place, but cannot feed messages into the connection that they came from.
pub(crate) struct ConnectionState {
    pub(super) app: Arc<App>,
    pub(super) principal: Arc<Principal>,
    pub(super) rules: Rules,
    pub(super) outbox: Arc<dyn Outbox>,
    pub(super) session: Session,
    pub(super) peer: Peer,
    pub(super) work: Arc<Workload>,
    /// Cancelled when no more requests are taken: what only waits for news ends.
    pub(super) ending: CancellationToken,
    warnings: Warnings,
    client_roots: Mutex<ClientRoots>,
}

impl ConnectionState {
    pub(super) fn new(
        app: Arc<App>,
        principal: Principal,
        rules: Rules,
        outbox: Arc<dyn Outbox>,
    ) -> Arc<Self> {
        Arc::new(Self {
            app,
            principal: Arc::new(principal),
            rules,
            outbox,
            session: Session::new(),
            peer: Peer::new(),
            work: Workload::new(),
            ending: CancellationToken::new(),
            warnings: Warnings::default(),
            client_roots: Mutex::default(),
        })
    }

    pub(crate) fn app(&self) -> &Arc<App> {
        &self.app
    }

    pub(crate) fn rules(&self) -> Rules {
        self.rules
    }

    /// Where messages go that belong to no request.
    pub(crate) fn outbox(&self) -> &Arc<dyn Outbox> {
        &self.outbox
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) fn peer(&self) -> &Peer {
        &self.peer
    }

    pub(crate) fn work(&self) -> &Arc<Workload> {
        &self.work
    }

    pub(crate) fn ending(&self) -> &CancellationToken {
        &self.ending
    }

    pub(crate) fn warnings(&self) -> &Warnings {
        &self.warnings
    }

    pub(crate) fn client_roots(&self) -> ClientRoots {
        self.client_roots.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_client_roots(&self, roots: ClientRoots) {
        *self.client_roots.lock().unwrap_or_else(PoisonError::into_inner) = roots;
    }
}
