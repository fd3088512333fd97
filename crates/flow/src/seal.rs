//! Journals sealed in tokens: encrypted, bound to their owner and call, and valid for a limited time.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use hmac::{Hmac, KeyInit as _, Mac};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretBox};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Entropy;

const FORMAT_VERSION: u8 = 1;
const NONCE_BYTES: usize = 24;
const HEADER_BYTES: usize = 1 + 4 + NONCE_BYTES;
const MAX_TOKEN_BYTES: usize = 2 * 1024 * 1024;

/// An encryption key. Its `Debug` output does not contain the secret.
pub struct SealKey {
    secret: SecretBox<[u8; 32]>,
    /// Identifies the key without revealing it.
    id: [u8; 4],
}

impl SealKey {
    /// Generates a random key.
    pub fn generate(entropy: &dyn Entropy) -> Self {
        let mut bytes = Box::new([0; 32]);
        entropy.fill(bytes.as_mut());
        Self::new(bytes)
    }

    /// Creates a key from raw bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self::new(Box::new(bytes))
    }

    /// Parses 32 bytes in base64 (with or without padding, in either alphabet) or hexadecimal.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let hex = || {
            (text.len() == 64)
                .then(|| {
                    (0..32)
                        .map(|n| u8::from_str_radix(text.get(2 * n..2 * n + 2)?, 16).ok())
                        .collect::<Option<Vec<u8>>>()
                })
                .flatten()
        };
        let base64 =
            || URL_SAFE_NO_PAD.decode(text.trim_end_matches('=').replace('+', "-").replace('/', "_")).ok();
        let bytes: [u8; 32] = hex().or_else(base64)?.try_into().ok()?;
        Some(Self::new(Box::new(bytes)))
    }

    fn new(bytes: Box<[u8; 32]>) -> Self {
        let digest = Sha256::digest(bytes.as_ref());
        Self { id: [digest[0], digest[1], digest[2], digest[3]], secret: SecretBox::new(bytes) }
    }
}

impl std::fmt::Debug for SealKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SealKey(..)")
    }
}

/// What a token is bound to: one caller, method, tool and set of arguments. It is rejected for any other
/// call.
#[derive(Clone, Copy, Debug)]
pub struct TokenBinding<'a> {
    /// The owner of the conversation.
    pub owner: &'a str,
    /// The method that the token continues.
    pub method: &'a str,
    /// The name of the tool.
    pub tool: &'a str,
    /// The arguments, which must stay the same from turn to turn.
    pub arguments: &'a serde_json::Map<String, serde_json::Value>,
}

impl TokenBinding<'_> {
    fn digest(&self) -> Vec<u8> {
        let mut hash = Sha256::new();
        for part in [self.owner, self.method, self.tool] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        // Maps are sorted, so equal arguments serialize to equal bytes.
        hash.update(serde_json::to_vec(self.arguments).unwrap_or_default());
        hash.finalize().to_vec()
    }
}

/// Why a token was rejected. Deliberately vague, because the token may come from an attacker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// Not a token, modified, issued for another call, or sealed with an unknown key.
    #[error("the state does not belong to this call; start again without it")]
    Invalid,
    /// The token has expired.
    #[error("the state has expired; start again without it")]
    Expired,
}

/// Seals journals with its first key and opens those sealed with any of its keys, so that keys can be
/// rotated.
#[derive(Debug)]
pub struct Seal {
    keys: Vec<SealKey>,
}

/// A MAC that is verified in constant time.
pub(crate) type TokenMac = Hmac<Sha256>;

/// The content of a token. Serialized from a borrowed journal, deserialized into an owned one.
#[derive(Serialize, Deserialize)]
struct SealedPayload<J> {
    #[serde(rename = "e")]
    expires: i64,
    #[serde(rename = "j")]
    journal: J,
}

impl Seal {
    /// Creates a seal with one key.
    pub fn new(key: SealKey) -> Self {
        Self { keys: vec![key] }
    }

    /// Parses one or more comma-separated keys: the first one seals, all of them open. See
    /// [`SealKey::parse`].
    pub fn parse(text: &str) -> Option<Self> {
        let keys: Vec<SealKey> = text.split(',').map(SealKey::parse).collect::<Option<_>>()?;
        (!keys.is_empty()).then_some(Self { keys })
    }

    /// Adds an older key that only opens.
    #[must_use]
    pub fn with_old_key(mut self, older: SealKey) -> Self {
        self.keys.push(older);
        self
    }

    /// Seals a journal into a token.
    pub fn seal<S: Serialize>(
        &self,
        journal: &S,
        binding: &TokenBinding<'_>,
        expires: Timestamp,
        entropy: &dyn Entropy,
    ) -> String {
        let sealed = SealedPayload { expires: expires.as_millisecond(), journal };
        let plain = serde_json::to_vec(&sealed).unwrap_or_default();
        URL_SAFE_NO_PAD.encode(self.encrypt(&plain, &binding.digest(), entropy))
    }

    /// Opens a token and returns the sealed journal, or whatever type the caller sealed.
    pub fn open<S: DeserializeOwned>(
        &self,
        token: &str,
        binding: &TokenBinding<'_>,
        now: Timestamp,
    ) -> Result<S, SealError> {
        let decrypt = || {
            let token =
                (token.len() <= MAX_TOKEN_BYTES).then(|| URL_SAFE_NO_PAD.decode(token).ok()).flatten()?;
            serde_json::from_slice::<SealedPayload<S>>(&self.decrypt(&token, &binding.digest())?).ok()
        };
        let sealed = decrypt().ok_or(SealError::Invalid)?;
        if now.as_millisecond() >= sealed.expires {
            return Err(SealError::Expired);
        }
        Ok(sealed.journal)
    }

    /// Encrypts `plain`. `about` is authenticated but not stored; decryption requires the same value.
    pub(crate) fn encrypt(&self, plain: &[u8], about: &[u8], entropy: &dyn Entropy) -> Vec<u8> {
        let key = &self.keys[0];
        let mut nonce = [0; NONCE_BYTES];
        entropy.fill(&mut nonce);
        let mut locked = vec![FORMAT_VERSION];
        locked.extend(key.id);
        locked.extend(nonce);
        let payload = Payload { msg: plain, aad: about };
        // Encryption only fails for plaintexts of many gigabytes. The token is then empty and never opens.
        locked.extend(cipher(key).encrypt(&XNonce::from(nonce), payload).unwrap_or_default());
        locked
    }

    /// Decrypts data encrypted with any of the keys.
    pub(crate) fn decrypt(&self, locked: &[u8], about: &[u8]) -> Option<Vec<u8>> {
        let (head, body) = locked.split_at_checked(HEADER_BYTES)?;
        let nonce: [u8; NONCE_BYTES] = head[5..].try_into().ok()?;
        cipher(self.find_key(locked)?).decrypt(&XNonce::from(nonce), Payload { msg: body, aad: about }).ok()
    }

    /// A MAC over `text` with the key that encrypted `locked`.
    pub(crate) fn token_mac(&self, locked: &[u8], text: &[u8]) -> Option<TokenMac> {
        Some(derive_mac(self.find_key(locked)?, "fluxway flow token")?.chain_update(text))
    }

    /// Signs `text` with the first key. The signature is only valid for this purpose.
    pub fn signature(&self, purpose: &str, text: &[u8]) -> String {
        let signature = self.keys.first().and_then(|key| derive_mac(key, purpose));
        signature.map_or_else(String::new, |mac| {
            URL_SAFE_NO_PAD.encode(mac.chain_update(text).finalize().into_bytes())
        })
    }

    /// Whether `signature` is a signature of `text` for this purpose by any of the keys.
    pub fn verify(&self, purpose: &str, text: &[u8], signature: &str) -> bool {
        let Ok(signature) = URL_SAFE_NO_PAD.decode(signature) else { return false };
        let signed_by = |key: &SealKey| {
            derive_mac(key, purpose)
                .is_some_and(|mac| mac.chain_update(text).verify_slice(&signature).is_ok())
        };
        self.keys.iter().any(signed_by)
    }

    fn find_key(&self, locked: &[u8]) -> Option<&SealKey> {
        let id = locked.get(1..5).filter(|_| locked[0] == FORMAT_VERSION)?;
        self.keys.iter().find(|key| key.id == id)
    }
}

/// Derives a key per purpose, so that encryption keys never sign and a signature is only valid for its
/// purpose.
fn derive_mac(key: &SealKey, purpose: &str) -> Option<TokenMac> {
    let derived = TokenMac::new_from_slice(key.secret.expose_secret()).ok()?.chain_update(purpose).finalize();
    TokenMac::new_from_slice(&derived.into_bytes()).ok()
}

fn cipher(key: &SealKey) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(&Key::from(*key.secret.expose_secret()))
}

/// A digest as a base64 string.
pub(crate) fn digest(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(&Sha256::digest(bytes)[..18])
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;
    use crate::Journal;

    struct IncrementingEntropy(std::sync::atomic::AtomicU8);
    impl Entropy for IncrementingEntropy {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        }
    }

    fn timestamp(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn token_opens_only_for_its_own_call() {
        let entropy = IncrementingEntropy(1.into());
        let seal = Seal::new(SealKey::generate(&entropy));
        let arguments = json!({ "a": 1 }).as_object().cloned().unwrap();
        let binding =
            TokenBinding { owner: "ada", method: "tools/call", tool: "booking", arguments: &arguments };
        let journal = Journal::default();
        let token = seal.seal(&journal, &binding, timestamp(100), &entropy);

        assert_eq!(seal.open(&token, &binding, timestamp(99)), Ok(journal));
        assert_eq!(seal.open(&token, &binding, timestamp(100)), Err::<Journal, _>(SealError::Expired));
        let empty = Map::new();
        for other in [
            TokenBinding { owner: "eve", ..binding },
            TokenBinding { method: "prompts/get", ..binding },
            TokenBinding { tool: "other", ..binding },
            TokenBinding { arguments: &empty, ..binding },
        ] {
            assert_eq!(seal.open(&token, &other, timestamp(1)), Err::<Journal, _>(SealError::Invalid));
        }
        let mut bytes = URL_SAFE_NO_PAD.decode(&token).unwrap();
        for n in 0..bytes.len() {
            bytes[n] ^= 1;
            assert_eq!(
                seal.open(&URL_SAFE_NO_PAD.encode(&bytes), &binding, timestamp(1)),
                Err::<Journal, _>(SealError::Invalid)
            );
            bytes[n] ^= 1;
        }
        for nonsense in ["", "AA", "!!", &token[..20]] {
            assert_eq!(seal.open(nonsense, &binding, timestamp(1)), Err::<Journal, _>(SealError::Invalid));
        }
    }

    #[test]
    fn tokens_sealed_with_a_rotated_key_still_open() {
        let entropy = IncrementingEntropy(1.into());
        let arguments = Map::new();
        let binding = TokenBinding { owner: "", method: "", tool: "", arguments: &arguments };
        let key = || SealKey::parse(&"0a".repeat(32)).unwrap();
        let old = Seal::new(key()).seal(&Journal::default(), &binding, timestamp(9), &entropy);
        let rotated = Seal::new(SealKey::generate(&entropy)).with_old_key(key());
        assert!(rotated.open::<Journal>(&old, &binding, timestamp(1)).is_ok());
        let listed = Seal::parse(&format!("{}, {}", "0b".repeat(32), "0a".repeat(32))).unwrap();
        assert!(listed.open::<Journal>(&old, &binding, timestamp(1)).is_ok());
        assert!(Seal::parse("").is_none());
        assert!(Seal::parse(&format!("{},", "0b".repeat(32))).is_none());
        let removed = Seal::new(SealKey::generate(&entropy));
        assert_eq!(removed.open(&old, &binding, timestamp(1)), Err::<Journal, _>(SealError::Invalid));
    }

    #[test]
    fn signature_is_valid_only_for_its_text_and_purpose() {
        let entropy = IncrementingEntropy(1.into());
        let key = || SealKey::parse(&"0a".repeat(32)).unwrap();
        let old = Seal::new(key());
        let signature = old.signature("journal", b"text");
        let rotated = Seal::new(SealKey::generate(&entropy)).with_old_key(key());
        for (seal, purpose, text, signature, is_good) in [
            (&old, "journal", "text", signature.as_str(), true),
            (&rotated, "journal", "text", signature.as_str(), true),
            (&old, "token", "text", signature.as_str(), false),
            (&old, "journal", "other", signature.as_str(), false),
            (&old, "journal", "text", "", false),
            (&old, "journal", "text", "!", false),
            (&Seal::new(SealKey::generate(&entropy)), "journal", "text", signature.as_str(), false),
        ] {
            assert_eq!(
                seal.verify(purpose, text.as_bytes(), signature),
                is_good,
                "{purpose} {text} {signature}"
            );
        }
    }

    #[test]
    fn keys_are_parsed_strictly_and_never_printed() {
        assert!(SealKey::parse(&"0a".repeat(32)).is_some());
        assert!(SealKey::parse("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=").is_some());
        for bad in ["", "short", &"0g".repeat(32), &"0a".repeat(31)] {
            assert!(SealKey::parse(bad).is_none(), "{bad}");
        }
        let key = SealKey::parse(&"0a".repeat(32)).unwrap();
        assert_eq!(format!("{:?}", Seal::new(key)), "Seal { keys: [SealKey(..)] }");
    }
}
