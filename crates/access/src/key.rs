//! API keys: what they look like, what is kept of them, and whether one opens anything.
//!
//! A key is `cf_live_sk_` (or `cf_test_sk_`), a name of 12 characters, and a secret of 43. The name finds the key in the
//! store. Its last four characters are made from the first eight with the pepper, so that a made-up name is known for
//! one without asking the store. Of the whole key only a keyed hash is kept.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretBox, SecretString};
use sha2::Sha256;

use crate::{Principal, Scope};

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Characters of the name that are drawn, and those that prove it.
const NAME_RANDOM_CHARS: usize = 8;
const NAME_CHECKSUM_CHARS: usize = 4;
/// 43 of 62 characters are 256 bits.
const SECRET_CHARS: usize = 43;

/// Whether a key is for real work or for trying out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyEnvironment {
    /// `cf_live_sk_…`
    Live,
    /// `cf_test_sk_…`
    Test,
}

impl KeyEnvironment {
    /// Its name in stores.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Test => "test",
        }
    }

    /// The environment of this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Live, Self::Test].into_iter().find(|one| one.as_str() == name)
    }

    /// The environment that a key or its prefix names.
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

/// All that is known about a key, apart from its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    /// Stays the same when the secret changes.
    pub id: String,
    /// Whose key it is: what one tenant has, no other sees.
    pub tenant: String,
    /// What people call it.
    pub label: String,
    /// For real work or for trying out.
    pub environment: KeyEnvironment,
    /// What it allows.
    pub scope: Scope,
    /// The one project that it is good for, if not all.
    pub project: Option<String>,
    /// Since when there is such a key.
    pub created: Timestamp,
    /// When it ends by itself.
    pub expires: Option<Timestamp>,
    /// When somebody ended it.
    pub revoked: Option<Timestamp>,
}

/// One secret of a key, as it is kept: the prefix finds it, the hash knows it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyCredential {
    /// The beginning of the key, up to and with its name.
    pub prefix: String,
    /// HMAC-SHA-256 of the whole key under the pepper.
    pub hash: [u8; 32],
    /// When this secret ends, because another has taken its place.
    pub valid_until: Option<Timestamp>,
}

/// Why a key opens nothing. Nobody but the log is told which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRejection {
    /// Not a key at all, or one with a name that was never given out.
    Malformed,
    /// No such key.
    Unknown,
    /// The name of a key, and the secret of none.
    WrongSecret,
    /// Ended by somebody, or replaced.
    Revoked,
    /// Ended by itself.
    Expired,
    /// A key for trying out, on a server for real work.
    TestKey,
}

impl KeyRejection {
    /// Its name in logs.
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

/// The server's own secret that hashes are made with.
pub struct Pepper(SecretBox<[u8; 32]>);

impl fmt::Debug for Pepper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pepper(..)")
    }
}

impl Pepper {
    /// Of these bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(SecretBox::new(Box::new(bytes)))
    }

    /// Reads 32 bytes of base64 or of hexadecimal digits.
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
        #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.expose_secret()).expect("any key will do");
        mac.update(purpose);
        mac.update(text.as_bytes());
        mac.finalize().into_bytes().into()
    }

    /// The characters that prove a name.
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

    /// A new key. `random` fills its argument with random bytes. The key is not kept anywhere: it is shown once.
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

    /// The prefix of what looks like a key of this server.
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

    /// Does the work of [`verify`](Self::verify) for a key that is known to be refused, so that the time which a refusal takes
    /// does not tell whether there is a key of this name.
    pub(crate) fn verify_dummy(&self, key: &str) {
        use subtle::ConstantTimeEq;
        const MAX_HASHED_BYTES: usize = 128;
        let key = key.get(..MAX_HASHED_BYTES).unwrap_or(key);
        std::hint::black_box(self.hash(key).ct_eq(&[0; 32]));
    }

    /// Whether this is the key that is kept, and good for something now.
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
        // Ended is ended, whatever the clock of the machine says that ended it.
        if record.revoked.is_some() || is_over(credential.valid_until) {
            return Err(KeyRejection::Revoked);
        }
        if is_over(record.expires) {
            return Err(KeyRejection::Expired);
        }
        Ok(Principal::from_key(record))
    }
}

/// Characters without preference for any: bytes that would favour some are thrown away.
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
