//! Where a request comes from, and the caller who sends it.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::HeaderMap;
use server::{Principal, RequestRejection};

use crate::HttpState;
use crate::auth::AcceptedCredentials;
use crate::connections::{AllowedUse, ConnectionSlot, ServingGuard};

/// Where a request comes from: the client's address, and the connection that carries it.
#[derive(Clone)]
pub(crate) struct RequestSource {
    pub(crate) address: IpAddr,
    pub(crate) slot: Arc<ConnectionSlot>,
}

/// A caller who was let in. Their connection serves them for as long as this lives.
pub(crate) struct AuthenticatedCaller {
    pub(crate) principal: Principal,
    pub(crate) address: IpAddr,
    pub(crate) serving: ServingGuard,
}

impl HttpState {
    /// Who sends these headers.
    pub(crate) async fn authenticate(
        &self,
        source: &RequestSource,
        headers: &HeaderMap,
        accepted: AcceptedCredentials,
    ) -> Result<AuthenticatedCaller, RequestRejection> {
        if source.slot.allowed_use == AllowedUse::ProbesOnly {
            return Err(RequestRejection::Busy);
        }
        let principal =
            self.authenticator.authenticate(headers, source.address, accepted, self.app.now()).await?;
        let serving = source.slot.begin_serving().ok_or(RequestRejection::Busy)?;
        Ok(AuthenticatedCaller { principal, address: source.address, serving })
    }
}
