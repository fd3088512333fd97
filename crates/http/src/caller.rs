//! The source of a request and its authenticated caller.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::HeaderMap;
use server::{Principal, RequestRejection};

use crate::HttpState;
use crate::auth::AcceptedCredentials;
use crate::connections::{AllowedUse, ConnectionSlot, ServingGuard};

/// The client's address and the connection of a request.
#[derive(Clone)]
pub(crate) struct RequestSource {
    pub(crate) address: IpAddr,
    pub(crate) slot: Arc<ConnectionSlot>,
}

/// An authenticated caller. While this exists, the connection counts as serving.
pub(crate) struct AuthenticatedCaller {
    pub(crate) principal: Principal,
    pub(crate) address: IpAddr,
    pub(crate) serving: ServingGuard,
}

impl HttpState {
    /// Authenticates a request.
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
