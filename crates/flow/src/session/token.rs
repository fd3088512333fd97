//! Tokens for sessions that the client keeps (Appendix B of the specification): encrypted, then signed.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::Mac;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Session, SessionOwner};
use crate::{Entropy, Seal};

/// Upper limit for the size of a token. Issued tokens are smaller.
const MAX_TOKEN_BYTES: usize = 4 * 1024 * 1024;

/// The outer, client-visible structure of a token.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SessionToken {
    session_id: String,
    state: String,
    signature: String,
}

/// The encrypted content of a token.
#[derive(Serialize, Deserialize)]
pub(super) struct TokenPayload<S> {
    /// After this time the token is rejected.
    pub(super) expires: Timestamp,
    /// How many turns of this session performed an effect.
    pub(super) effects: u32,
    pub(super) session: S,
}

/// The associated data that binds a token to its owner, session and kind.
pub(super) fn associated_data(owner: SessionOwner<'_>, id: &str, kind: &str) -> Vec<u8> {
    serde_json::to_vec(&(owner.tenant, owner.subject, kind, id)).unwrap_or_default()
}

pub(super) fn encode_token(
    seal: &Seal,
    owner: SessionOwner<'_>,
    id: &str,
    carried: &TokenPayload<&Session>,
    entropy: &dyn Entropy,
) -> String {
    let plain = serde_json::to_vec(carried).unwrap_or_default();
    let locked = seal.encrypt(&plain, &associated_data(owner, id, "token"), entropy);
    let state = URL_SAFE_NO_PAD.encode(&locked);
    let signature = seal.token_mac(&locked, &signed_bytes(id, &state)).map(|mac| mac.finalize().into_bytes());
    let signature = signature.map(|bytes| URL_SAFE_NO_PAD.encode(bytes)).unwrap_or_default();
    let token = SessionToken { session_id: id.to_owned(), state, signature };
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).unwrap_or_default())
}

/// Decodes a token into the session id and its content. All failures look the same, to reveal nothing to an
/// attacker.
pub(super) fn decode_token(
    seal: &Seal,
    owner: SessionOwner<'_>,
    token: &str,
    now: Timestamp,
) -> Option<(String, TokenPayload<Session>)> {
    let bytes = (token.len() <= MAX_TOKEN_BYTES).then(|| URL_SAFE_NO_PAD.decode(token).ok()).flatten()?;
    let SessionToken { session_id, state, signature } = serde_json::from_slice(&bytes).ok()?;
    let locked = URL_SAFE_NO_PAD.decode(&state).ok()?;
    let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
    seal.token_mac(&locked, &signed_bytes(&session_id, &state))?.verify_slice(&signature).ok()?;
    let plain = seal.decrypt(&locked, &associated_data(owner, &session_id, "token"))?;
    let carried: TokenPayload<Session> = serde_json::from_slice(&plain).ok()?;
    (now < carried.expires).then_some((session_id, carried))
}

fn signed_bytes(id: &str, state: &str) -> Vec<u8> {
    serde_json::to_vec(&(id, state)).unwrap_or_default()
}
