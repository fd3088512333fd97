//! API keys: their format, their stored form, and how they are verified.
//!
//! A key consists of `cf_live_sk_` (or `cf_test_sk_`), a name of 12 characters, and a secret of 43. The store
//! finds the key by its name. The last four characters of the name are a checksum of the first eight, keyed
//! with the pepper, so that made-up names are rejected without a store query. Only a keyed hash of the whole
//! key is stored.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretBox, SecretString};
use sha2::Sha256;

use crate::{Principal, Scope};

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// The random characters of the name, and its checksum.
const NAME_RANDOM_CHARS: usize = 8;
const NAME_CHECKSUM_CHARS: usize = 4;
/// 43 characters from an alphabet of 62 carry 256 bits.
const SECRET_CHARS: usize = 43;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyEnvironment {
    /// `cf_live_sk_…`
    Live,
    /// `cf_test_sk_…`
    Test,
}

impl KeyEnvironment {
    /// The stored name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Test => "test",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        [Self::Live, Self::Test].into_iter().find(|one| one.as_str() == name)
    }

    /// The environment named by a key or key prefix.
    pub(crate) fn from_key(key: &str) -> Option<Self> {
        [Self::Live, Self::Test].into_iter().find(|one| key.starts_with(one.fixed_prefix()))
    }

    const fn fixed_prefix(self) -> &'static str {
        match self {
            Self::Live => "cf_live_sk_",
            Self::Test => "cf_test_sk_",
        }
    }
}

/// Everything stored about a key, except its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    /// Does not change when the secret is rotated.
    pub id: String,
    /// The tenant that the key belongs to. Tenants cannot see each other's data.
    pub tenant: String,
    pub label: String,
    pub environment: KeyEnvironment,
    pub scope: Scope,
    /// Restricts the key to one project.
    pub project: Option<String>,
    pub created: Timestamp,
    pub expires: Option<Timestamp>,
    pub revoked: Option<Timestamp>,
}

/// One stored secret of a key, found by its prefix and verified by its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyCredential {
    /// The start of the key, including its name.
    pub prefix: String,
    /// HMAC-SHA-256 of the whole key under the pepper.
    pub hash: [u8; 32],
    /// When this secret expires because it was rotated.
    pub valid_until: Option<Timestamp>,
}

/// Why a key was rejected. Only the log contains the reason; callers are not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRejection {
    /// Not a key, or the checksum of its name is wrong.
    Malformed,
    /// No key has this name.
    Unknown,
    /// The name exists, but the secret does not match.
    WrongSecret,
    /// Revoked, or the secret was rotated.
    Revoked,
    Expired,
    /// A test key on a server that only accepts live keys.
    TestKey,
}

impl KeyRejection {
    /// The name used in logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Unknown => "unknown",
            Self::WrongSecret => "wrong",
            Self::Revoked => "revoked",
            Self::Expired => "expired",
            Self::TestKey => "test_key",
        }
    }
}

/// The server secret that key hashes are computed with.
pub struct Pepper(SecretBox<[u8; 32]>);

impl fmt::Debug for Pepper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pepper(..)")
    }
}

impl Pepper {
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(SecretBox::new(Box::new(bytes)))
    }

    /// Parses 32 bytes in base64 or hexadecimal.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let hex = |n: usize| u8::from_str_radix(text.get(2 * n..2 * n + 2)?, 16).ok();
        let bytes: Vec<u8> = if text.len() == 64 {
            (0..32).map(hex).collect::<Option<_>>()?
        } else {
            let plain = text.trim_end_matches('=').replace('+', "-").replace('/', "_");
            URL_SAFE_NO_PAD.decode(plain).ok()?
        };
        bytes.try_into().ok().map(Self::new)
    }

    fn mac(&self, purpose: &[u8], text: &str) -> [u8; 32] {
        #[expect(clippy::expect_used, reason = "HMAC accepts keys of any length")]
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.expose_secret()).expect("HMAC accepts any key");
        mac.update(purpose);
        mac.update(text.as_bytes());
        mac.finalize().into_bytes().into()
    }

    fn name_checksum(&self, drawn: &str) -> String {
        let mac = self.mac(b"name:", drawn);
        mac[..NAME_CHECKSUM_CHARS]
            .iter()
            .map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()]))
            .collect()
    }

    fn hash(&self, key: &str) -> [u8; 32] {
        self.mac(b"key:", key)
    }

    /// Issues a new key. `random` fills its argument with random bytes. The key itself is never stored: show
    /// it once.
    pub fn issue(
        &self,
        environment: KeyEnvironment,
        random: impl Fn(&mut [u8]),
    ) -> (SecretString, KeyCredential) {
        let drawn = random_alphanumeric(NAME_RANDOM_CHARS, &random);
        let prefix = format!("{}{drawn}{}", environment.fixed_prefix(), self.name_checksum(&drawn));
        let key = format!("{prefix}{}", random_alphanumeric(SECRET_CHARS, &random));
        let credential = KeyCredential { prefix, hash: self.hash(&key), valid_until: None };
        (SecretString::from(key), credential)
    }

    /// Returns the prefix of a key with a valid format and checksum.
    pub fn parse_prefix<'k>(&self, key: &'k str) -> Option<&'k str> {
        let head = KeyEnvironment::from_key(key)?.fixed_prefix();
        let body = &key[head.len()..];
        let fits = body.len() == NAME_RANDOM_CHARS + NAME_CHECKSUM_CHARS + SECRET_CHARS
            && body.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let is_ours = fits
            && self.name_checksum(&body[..NAME_RANDOM_CHARS])
                == body[NAME_RANDOM_CHARS..NAME_RANDOM_CHARS + NAME_CHECKSUM_CHARS];
        is_ours.then(|| &key[..head.len() + NAME_RANDOM_CHARS + NAME_CHECKSUM_CHARS])
    }

    /// Does the work of [`verify`](Self::verify) for a key that is already rejected, so that the response
    /// time does not reveal whether a key with this name exists.
    pub(crate) fn verify_dummy(&self, key: &str) {
        use subtle::ConstantTimeEq;
        const MAX_HASHED_BYTES: usize = 128;
        let key = key.get(..MAX_HASHED_BYTES).unwrap_or(key);
        std::hint::black_box(self.hash(key).ct_eq(&[0; 32]));
    }

    /// Checks the secret of a key, and that the key is neither revoked nor expired.
    pub fn verify(
        &self,
        key: &str,
        record: &KeyRecord,
        credential: &KeyCredential,
        now: Timestamp,
    ) -> Result<Principal, KeyRejection> {
        use subtle::ConstantTimeEq;
        if !bool::from(self.hash(key).ct_eq(&credential.hash)) {
            return Err(KeyRejection::WrongSecret);
        }
        let is_over = |end: Option<Timestamp>| end.is_some_and(|end| end <= now);
        // Revocation takes effect regardless of its timestamp: the clock of the revoking machine may be
        // ahead.
        if record.revoked.is_some() || is_over(credential.valid_until) {
            return Err(KeyRejection::Revoked);
        }
        if is_over(record.expires) {
            return Err(KeyRejection::Expired);
        }
        Ok(Principal::from_key(record))
    }
}

/// Uniformly distributed characters: bytes that would bias the result are discarded.
fn random_alphanumeric(characters: usize, random: &impl Fn(&mut [u8])) -> String {
    let mut text = String::with_capacity(characters);
    while text.len() < characters {
        let mut bytes = [0; 64];
        random(&mut bytes);
        let usable = bytes.iter().filter(|byte| **byte < 248).map(|byte| usize::from(*byte) % ALPHABET.len());
        text.extend(usable.map(|at| char::from(ALPHABET[at])).take(characters - text.len()));
    }
    text
}

#[cfg(test)]
mod tests;
