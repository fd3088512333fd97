//! Access tokens of an authorization server (OAuth 2.1, JWT), verified with a key set from a file.

mod signature;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use self::signature::{JwtAlgorithm, VerifyingKey};
use crate::{Principal, Scope};

const MAX_TOKEN_BYTES: usize = 16 * 1024;
/// Limit for the `sub` and `tenant` claims.
const MAX_IDENTIFIER_BYTES: usize = 256;
const MAX_KEYS: usize = 100;
/// Tolerated clock difference between two machines.
const CLOCK_LEEWAY_SECS: i64 = 60;
/// Accepted `typ` values of access tokens (RFC 9068), ignoring case. Other kinds of tokens, such as logout
/// tokens, are signed with the same keys and must be rejected.
const ACCESS_TOKEN_TYPES: [&str; 3] = ["JWT", "at+jwt", "application/at+jwt"];

/// Which tokens are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JwtPolicy {
    /// The authorization server: the required `iss` claim.
    pub issuer: String,
    /// This server: the required `aud` claim.
    pub audience: String,
}

pub struct JwtVerifier {
    policy: JwtPolicy,
    keys: Vec<VerifyingKey>,
}

/// Why a token was rejected. Only the log contains the reason; callers are not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JwtRejection {
    /// Not a token, or an unsupported algorithm.
    Malformed,
    /// Not signed by a known key.
    UnknownSigner,
    /// Wrong or missing `iss` or `aud`.
    WrongIssuerOrAudience,
    /// Expired, or not yet valid.
    Expired,
    /// Contains no known scope.
    NoScope,
}

impl JwtRejection {
    /// The name used in logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "malformed_token",
            Self::UnknownSigner => "unknown_signer",
            Self::WrongIssuerOrAudience => "token_not_for_us",
            Self::Expired => "expired_token",
            Self::NoScope => "token_without_scope",
        }
    }
}

#[derive(Deserialize)]
struct JwtHeader {
    alg: JwtAlgorithm,
    kid: Option<String>,
    typ: Option<String>,
    /// Critical extensions must be understood by the recipient. None are supported, so any `crit` is
    /// rejected.
    #[serde(default, rename = "crit", deserialize_with = "refuse")]
    _crit: (),
}

fn refuse<'de, D: Deserializer<'de>>(_: D) -> Result<(), D::Error> {
    Err(D::Error::custom("unsupported critical extension"))
}

#[derive(Deserialize)]
struct JwtClaims {
    #[serde(default)]
    iss: Value,
    #[serde(default)]
    aud: Value,
    sub: String,
    exp: i64,
    #[serde(default)]
    nbf: Option<i64>,
    #[serde(default)]
    scope: Option<String>,
    #[serde(default)]
    scp: Option<Value>,
    #[serde(default)]
    tenant: Option<String>,
}

impl JwtVerifier {
    /// Parses a JSON Web Key Set. Unusable keys are skipped: encryption keys, shared secrets, RSA keys of
    /// less than 2048 bits, and curves other than P-256, P-384 and Ed25519 (so P-521 and `ES512` as well).
    /// Fails if no usable key is left.
    pub fn new(trust: JwtPolicy, jwks: &str) -> Result<Self, String> {
        let set: Value = serde_json::from_str(jwks).map_err(|error| format!("not JSON: {error}"))?;
        let listed = set["keys"].as_array().ok_or("not a key set: missing array `keys`")?;
        if listed.len() > MAX_KEYS {
            return Err(format!("the key set has {} keys; the limit is {MAX_KEYS}", listed.len()));
        }
        let keys: Vec<_> = listed.iter().filter_map(VerifyingKey::from_jwk).collect();
        if keys.is_empty() {
            return Err("the key set has no usable signing key (RSA with at least 2048 bits, P-256, P-384 or Ed25519)".to_owned());
        }
        Ok(Self { policy: trust, keys })
    }

    pub fn policy(&self) -> &JwtPolicy {
        &self.policy
    }

    /// Returns the principal that this token identifies.
    pub fn verify(&self, token: &str, now: Timestamp) -> Result<Principal, JwtRejection> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(JwtRejection::Malformed);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(JwtRejection::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(JwtRejection::Malformed)?;
        let header: JwtHeader = decode_part(header)?;
        if header
            .typ
            .is_some_and(|typ| !ACCESS_TOKEN_TYPES.iter().any(|known| known.eq_ignore_ascii_case(&typ)))
        {
            return Err(JwtRejection::Malformed);
        }
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| JwtRejection::Malformed)?;
        let key = self.find_key(header.kid.as_deref()).ok_or(JwtRejection::UnknownSigner)?;
        // Checked before the signature, so that a key is never used with an algorithm it is not meant for.
        if !key.allows(header.alg) {
            return Err(JwtRejection::Malformed);
        }
        if !key.verifies(header.alg, signed.as_bytes(), &signature) {
            return Err(JwtRejection::UnknownSigner);
        }
        self.check_claims(decode_part(claims)?, now)
    }

    fn check_claims(&self, claims: JwtClaims, now: Timestamp) -> Result<Principal, JwtRejection> {
        let audience = self.policy.audience.as_str();
        let is_for_us = match &claims.aud {
            Value::Array(several) => several.iter().any(|one| one == audience),
            one => one == audience,
        };
        if !is_for_us || claims.iss != self.policy.issuer.as_str() {
            return Err(JwtRejection::WrongIssuerOrAudience);
        }
        // Claims become identifiers in the store, which limits their length. An empty tenant would be shared
        // by every token that leaves the claim empty.
        let is_bad_tenant = |tenant: &String| tenant.trim().is_empty() || tenant.len() > MAX_IDENTIFIER_BYTES;
        if claims.sub.is_empty()
            || claims.sub.len() > MAX_IDENTIFIER_BYTES
            || claims.tenant.as_ref().is_some_and(is_bad_tenant)
        {
            return Err(JwtRejection::Malformed);
        }
        let now = now.as_second();
        let is_early = claims.nbf.is_some_and(|start| start > now.saturating_add(CLOCK_LEEWAY_SECS));
        if is_early || claims.exp <= now.saturating_sub(CLOCK_LEEWAY_SECS) {
            return Err(JwtRejection::Expired);
        }
        // `scp` is an array or a space-separated string, depending on the authorization server.
        let listed = match &claims.scp {
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(words)) => words.split_ascii_whitespace().collect(),
            _ => Vec::new(),
        };
        let written = claims.scope.as_deref().unwrap_or_default().split_ascii_whitespace();
        let scope = Scope::largest(written.chain(listed)).ok_or(JwtRejection::NoScope)?;
        let issuer = self.policy.issuer.as_str();
        let own = || format!("{issuer} {}", claims.sub);
        let tenant = claims.tenant.clone().unwrap_or_else(own);
        Ok(Principal::from_token(issuer, &claims.sub, &tenant, scope))
    }

    /// Finds a key by `kid`. Without a `kid`, the key set must contain exactly one key.
    fn find_key(&self, name: Option<&str>) -> Option<&VerifyingKey> {
        match (name, self.keys.as_slice()) {
            (Some(name), keys) => keys.iter().find(|key| key.id.as_deref() == Some(name)),
            (None, [only]) => Some(only),
            (None, _) => None,
        }
    }
}

fn decode_part<T: DeserializeOwned>(part: &str) -> Result<T, JwtRejection> {
    let bytes = URL_SAFE_NO_PAD.decode(part).map_err(|_| JwtRejection::Malformed)?;
    serde_json::from_slice(&bytes).map_err(|_| JwtRejection::Malformed)
}

#[cfg(test)]
mod tests;
