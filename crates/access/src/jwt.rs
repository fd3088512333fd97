//! Tokens of an authorization server (OAuth 2.1, JWT), checked against keys that lie in a file.

mod signature;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use self::signature::{JwtAlgorithm, VerifyingKey};
use crate::{Principal, Scope};

/// The largest token that is looked at.
const MAX_TOKEN_BYTES: usize = 16 * 1024;
/// The longest name of somebody.
const MAX_IDENTIFIER_BYTES: usize = 256;
/// The most keys that are taken from a file.
const MAX_KEYS: usize = 100;
/// How far the clocks of two machines may be apart, in seconds.
const CLOCK_LEEWAY_SECS: i64 = 60;
/// What an access token may call itself (RFC 9068), in any case. Other kinds, such as logout tokens, are signed with the
/// same keys and must not open anything.
const ACCESS_TOKEN_TYPES: [&str; 3] = ["JWT", "at+jwt", "application/at+jwt"];

/// Whose tokens are taken, and for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JwtPolicy {
    /// The authorization server, as `iss` names it.
    pub issuer: String,
    /// This server, as `aud` must name it.
    pub audience: String,
}

/// Checks tokens.
pub struct JwtVerifier {
    policy: JwtPolicy,
    keys: Vec<VerifyingKey>,
}

/// Why a token is not taken. Nobody but the log is told which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JwtRejection {
    /// Not a token, or signed in a way that is not taken.
    Malformed,
    /// Signed by nobody who is known.
    UnknownSigner,
    /// For somebody else, from somebody else, or without what a token must say.
    WrongIssuerOrAudience,
    /// Too old, or not yet good.
    Expired,
    /// It allows nothing that there is here.
    NoScope,
}

impl JwtRejection {
    /// Its name in logs.
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
    /// Extensions that a reader must understand. None is understood here.
    #[serde(default, rename = "crit", deserialize_with = "refuse")]
    _crit: (),
}

fn refuse<'de, D: Deserializer<'de>>(_: D) -> Result<(), D::Error> {
    Err(D::Error::custom("not understood"))
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
    /// Reads a JSON Web Key Set. Keys that cannot be used here are passed over: those for encryption, shared secrets, RSA
    /// of less than 2048 bits, curves other than P-256, P-384 and Ed25519 (so P-521 and `ES512` too). Without any usable
    /// key, that is an error.
    pub fn new(trust: JwtPolicy, jwks: &str) -> Result<Self, String> {
        let set: Value = serde_json::from_str(jwks).map_err(|error| format!("not JSON: {error}"))?;
        let listed = set["keys"].as_array().ok_or("not a key set: there is no list `keys`")?;
        if listed.len() > MAX_KEYS {
            return Err(format!("{} keys are too many; take at most {MAX_KEYS}", listed.len()));
        }
        let keys: Vec<_> = listed.iter().filter_map(VerifyingKey::from_jwk).collect();
        if keys.is_empty() {
            return Err("no key in it can check signatures (RSA from 2048 bits, P-256, P-384 or Ed25519, for signing)".to_owned());
        }
        Ok(Self { policy: trust, keys })
    }

    /// Whose tokens are taken, and for what.
    pub fn policy(&self) -> &JwtPolicy {
        &self.policy
    }

    /// Who comes with this token.
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
        // Before the signature is looked at: a key is never used in a way that it is not meant for.
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
        // Names become names in the store, which have a limit. A tenant without a name would be shared by everyone whose
        // token leaves it empty.
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
        // A list, or words in one text: both are in use.
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

    /// The key that is meant; where none is named there must be no choice.
    fn find_key(&self, name: Option<&str>) -> Option<&VerifyingKey> {
        match (name, self.keys.as_slice()) {
            (Some(name), keys) => keys.iter().find(|key| key.id.as_deref() == Some(name)),
            (None, [only]) => Some(only),
            (None, _) => None,
        }
    }
}

/// One part of a token.
fn decode_part<T: DeserializeOwned>(part: &str) -> Result<T, JwtRejection> {
    let bytes = URL_SAFE_NO_PAD.decode(part).map_err(|_| JwtRejection::Malformed)?;
    serde_json::from_slice(&bytes).map_err(|_| JwtRejection::Malformed)
}

#[cfg(test)]
mod tests;
