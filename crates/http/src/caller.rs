//! Where a request comes from, and the caller who sends it.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::HeaderMap;
use server::{Principal, Refusal};

use crate::State;
use crate::connections::{Admits, Serving, Slot};
use crate::door::Takes;

/// Where a request comes from: the client's address, and the connection that carries it.
#[derive(Clone)]
pub(crate) struct Source {
    pub(crate) address: IpAddr,
    pub(crate) slot: Arc<Slot>,
}

/// A caller who was let in. Their connection serves them for as long as this lives.
pub(crate) struct Caller {
    pub(crate) principal: Principal,
    pub(crate) address: IpAddr,
    pub(crate) serving: Serving,
}

impl State {
    /// Who sends these headers.
    pub(crate) async fn authenticate(
        &self,
        source: &Source,
        headers: &HeaderMap,
        takes: Takes,
    ) -> Result<Caller, Refusal> {
        if source.slot.admits == Admits::ProbesOnly {
            return Err(Refusal::Busy);
        }
        let principal = self.door.enter(headers, source.address, takes, self.app.now()).await?;
        let serving = source.slot.serve().ok_or(Refusal::Busy)?;
        Ok(Caller { principal, address: source.address, serving })
    }
}
