//! Tokens of an authorization server (OAuth 2.1, JWT), checked against keys that lie in a file.

use jiff::Timestamp;
use jsonwebtoken::jwk::{Jwk, PublicKeyUse};
use jsonwebtoken::{AlgorithmFamily, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;
use serde_json::Value;

use crate::{Principal, Scope};

/// The largest token that is looked at.
const MOST_BYTES: usize = 16 * 1024;
/// The longest name of somebody.
const MOST_NAME: usize = 256;
/// The most keys that are taken from a file.
const MOST_KEYS: usize = 100;
/// How far the clocks of two machines may be apart, in seconds.
const LEEWAY: i64 = 60;

/// Whose tokens are taken, and for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trust {
    /// The authorization server, as `iss` names it.
    pub issuer: String,
    /// This server, as `aud` must name it.
    pub audience: String,
}

/// Checks tokens.
pub struct Tokens {
    trust: Trust,
    keys: Vec<(Option<String>, DecodingKey)>,
}

/// Why a token is not taken. Nobody but the log is told which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadToken {
    /// Not a token, or signed in a way that is not taken.
    Malformed,
    /// Signed by nobody who is known.
    UnknownSigner,
    /// For somebody else, from somebody else, or without what a token must say.
    NotForUs,
    /// Too old, or not yet good.
    Expired,
    /// It allows nothing that there is here.
    NoScope,
}

impl BadToken {
    /// Its name in logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "malformed_token",
            Self::UnknownSigner => "unknown_signer",
            Self::NotForUs => "token_not_for_us",
            Self::Expired => "expired_token",
            Self::NoScope => "token_without_scope",
        }
    }
}

#[derive(Deserialize)]
struct Claims {
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

impl Tokens {
    /// Reads a JSON Web Key Set. Keys that cannot be used here are passed over; without any, that is an error.
    pub fn new(trust: Trust, jwks: &str) -> Result<Self, String> {
        let set: Value = serde_json::from_str(jwks).map_err(|error| format!("not JSON: {error}"))?;
        let listed = set["keys"].as_array().ok_or("not a key set: there is no list `keys`")?;
        if listed.len() > MOST_KEYS {
            return Err(format!("{} keys are too many; take at most {MOST_KEYS}", listed.len()));
        }
        let keys: Vec<_> = listed.iter().filter_map(usable).collect();
        if keys.is_empty() {
            return Err("no key in it can check signatures (RSA, EC or Ed25519, for signing)".to_owned());
        }
        Ok(Self { trust, keys })
    }

    /// Whose tokens are taken, and for what.
    pub fn trust(&self) -> &Trust {
        &self.trust
    }

    /// Who comes with this token.
    pub fn enter(&self, token: &str, now: Timestamp) -> Result<Principal, BadToken> {
        if token.len() > MOST_BYTES {
            return Err(BadToken::Malformed);
        }
        let header = decode_header(token).map_err(|_| BadToken::Malformed)?;
        let key = self.signer(header.kid.as_deref()).ok_or(BadToken::UnknownSigner)?;
        let claims = decode::<Claims>(token, key, &self.rules(key.family())).map_err(|error| {
            use jsonwebtoken::errors::ErrorKind as Kind;
            match error.kind() {
                Kind::InvalidSignature => BadToken::UnknownSigner,
                Kind::InvalidIssuer | Kind::InvalidAudience | Kind::MissingRequiredClaim(_) => {
                    BadToken::NotForUs
                }
                _ => BadToken::Malformed,
            }
        })?;
        self.admit(claims.claims, now)
    }

    fn admit(&self, claims: Claims, now: Timestamp) -> Result<Principal, BadToken> {
        // Names become names in the store, which have a limit.
        if claims.sub.is_empty()
            || claims.sub.len() > MOST_NAME
            || claims.tenant.as_ref().is_some_and(|tenant| tenant.len() > MOST_NAME)
        {
            return Err(BadToken::Malformed);
        }
        let now = now.as_second();
        let is_early = claims.nbf.is_some_and(|start| start > now.saturating_add(LEEWAY));
        if is_early || claims.exp <= now.saturating_sub(LEEWAY) {
            return Err(BadToken::Expired);
        }
        // A list, or words in one text: both are in use.
        let listed = match &claims.scp {
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(words)) => words.split_ascii_whitespace().collect(),
            _ => Vec::new(),
        };
        let written = claims.scope.as_deref().unwrap_or_default().split_ascii_whitespace();
        let scope = Scope::largest(written.chain(listed)).ok_or(BadToken::NoScope)?;
        let issuer = self.trust.issuer.as_str();
        let own = || format!("{issuer} {}", claims.sub);
        let tenant = claims.tenant.clone().unwrap_or_else(own);
        Ok(Principal::of_token(issuer, &claims.sub, &tenant, scope))
    }

    /// The key that is meant; where none is named there must be no choice.
    fn signer(&self, name: Option<&str>) -> Option<&DecodingKey> {
        match (name, self.keys.as_slice()) {
            (Some(name), keys) => keys.iter().find(|(id, _)| id.as_deref() == Some(name)).map(|(_, key)| key),
            (None, [(_, only)]) => Some(only),
            (None, _) => None,
        }
    }

    /// Only algorithms of the key's own family: a public key is never taken for a shared secret. Times are judged by
    /// the clock that is told.
    fn rules(&self, family: AlgorithmFamily) -> Validation {
        let mut rules = Validation::new_for_family(family);
        rules.set_issuer(&[&self.trust.issuer]);
        rules.set_audience(&[&self.trust.audience]);
        rules.set_required_spec_claims(&["iss", "aud", "sub", "exp"]);
        rules.validate_exp = false;
        rules
    }
}

fn usable(listed: &Value) -> Option<(Option<String>, DecodingKey)> {
    let jwk: Jwk = serde_json::from_value(listed.clone()).ok()?;
    if jwk.common.public_key_use.as_ref().is_some_and(|purpose| *purpose != PublicKeyUse::Signature) {
        return None;
    }
    let key = DecodingKey::from_jwk(&jwk).ok().filter(|key| key.family() != AlgorithmFamily::Hmac)?;
    Some((jwk.common.key_id, key))
}

#[cfg(test)]
mod tests;
