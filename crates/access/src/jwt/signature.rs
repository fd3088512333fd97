//! Signatures of tokens: JSON Web Keys (RFC 7517) and what they verify (RFC 7518, RFC 8037). The cryptography is ring's,
//! which TLS brings anyway. It has no P-521, so `ES512` is missing here.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};
use serde::Deserialize;
use serde_json::Value;

/// The bytes of an RSA modulus: ring verifies with 2048 to 8192 bits.
const MODULUS_BYTES: std::ops::RangeInclusive<usize> = 256..=1024;

/// How a token can be signed, as `alg` names it. Neither `none` nor a shared secret can be expressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) enum JwtAlgorithm {
    RS256,
    RS384,
    RS512,
    PS256,
    PS384,
    PS512,
    ES256,
    ES384,
    EdDSA,
}

impl JwtAlgorithm {
    fn rsa_parameters(self) -> Option<&'static RsaParameters> {
        match self {
            Self::RS256 => Some(&RSA_PKCS1_2048_8192_SHA256),
            Self::RS384 => Some(&RSA_PKCS1_2048_8192_SHA384),
            Self::RS512 => Some(&RSA_PKCS1_2048_8192_SHA512),
            Self::PS256 => Some(&RSA_PSS_2048_8192_SHA256),
            Self::PS384 => Some(&RSA_PSS_2048_8192_SHA384),
            Self::PS512 => Some(&RSA_PSS_2048_8192_SHA512),
            Self::ES256 | Self::ES384 | Self::EdDSA => None,
        }
    }
}

/// A public key that verifies signatures.
pub(super) struct VerifyingKey {
    /// Its `kid`.
    pub(super) id: Option<String>,
    /// The only algorithm that the key set allows it for, where it names one.
    restricted_to: Option<JwtAlgorithm>,
    material: KeyMaterial,
}

enum KeyMaterial {
    Rsa(RsaPublicKeyComponents<Vec<u8>>),
    /// A curve has one algorithm.
    Curve(JwtAlgorithm, UnparsedPublicKey<Vec<u8>>),
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    #[serde(rename = "use")]
    purpose: Option<String>,
    alg: Option<JwtAlgorithm>,
    kid: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl VerifyingKey {
    /// Reads a JSON Web Key. There is none in one for another purpose, of another kind, curve or size than ring verifies,
    /// or whose `alg` does not fit it.
    pub(super) fn from_jwk(jwk: &Value) -> Option<Self> {
        let jwk = Jwk::deserialize(jwk).ok()?;
        if jwk.purpose.as_deref().is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let material = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
            ("RSA", _) => {
                let (n, e) = (decode_unsigned(jwk.n.as_deref())?, decode_unsigned(jwk.e.as_deref())?);
                MODULUS_BYTES
                    .contains(&n.len())
                    .then_some(KeyMaterial::Rsa(RsaPublicKeyComponents { n, e }))?
            }
            ("EC", Some("P-256")) => {
                let point = decode_point(jwk.x.as_deref(), jwk.y.as_deref(), 32)?;
                curve_material(JwtAlgorithm::ES256, &ECDSA_P256_SHA256_FIXED, point)
            }
            ("EC", Some("P-384")) => {
                let point = decode_point(jwk.x.as_deref(), jwk.y.as_deref(), 48)?;
                curve_material(JwtAlgorithm::ES384, &ECDSA_P384_SHA384_FIXED, point)
            }
            ("OKP", Some("Ed25519")) => {
                curve_material(JwtAlgorithm::EdDSA, &ED25519, decode_exact(jwk.x.as_deref(), 32)?)
            }
            _ => return None,
        };
        let key = Self { id: jwk.kid, restricted_to: None, material };
        if jwk.alg.is_some_and(|algorithm| !key.allows(algorithm)) {
            return None;
        }
        Some(Self { restricted_to: jwk.alg, ..key })
    }

    /// Whether a token may be signed with this algorithm by the owner of this key.
    pub(super) fn allows(&self, algorithm: JwtAlgorithm) -> bool {
        let fits = match &self.material {
            KeyMaterial::Rsa(_) => algorithm.rsa_parameters().is_some(),
            KeyMaterial::Curve(own, _) => *own == algorithm,
        };
        fits && self.restricted_to.is_none_or(|only| only == algorithm)
    }

    /// Whether the owner of this key signed the message with this algorithm.
    pub(super) fn verifies(&self, algorithm: JwtAlgorithm, message: &[u8], signature: &[u8]) -> bool {
        self.allows(algorithm)
            && match (&self.material, algorithm.rsa_parameters()) {
                (KeyMaterial::Rsa(key), Some(parameters)) => {
                    key.verify(parameters, message, signature).is_ok()
                }
                (KeyMaterial::Curve(_, key), None) => key.verify(message, signature).is_ok(),
                _ => false,
            }
    }
}

fn curve_material(
    algorithm: JwtAlgorithm,
    verification: &'static dyn VerificationAlgorithm,
    key: Vec<u8>,
) -> KeyMaterial {
    KeyMaterial::Curve(algorithm, UnparsedPublicKey::new(verification, key))
}

fn decode_base64url(text: Option<&str>) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text?).ok()
}

fn decode_exact(text: Option<&str>, length: usize) -> Option<Vec<u8>> {
    decode_base64url(text).filter(|bytes| bytes.len() == length)
}

/// A number without the leading zeros that some key sets have and ring refuses.
fn decode_unsigned(text: Option<&str>) -> Option<Vec<u8>> {
    Some(decode_base64url(text)?.into_iter().skip_while(|byte| *byte == 0).collect())
}

/// A point of a curve, uncompressed.
fn decode_point(x: Option<&str>, y: Option<&str>, length: usize) -> Option<Vec<u8>> {
    Some([vec![4], decode_exact(x, length)?, decode_exact(y, length)?].concat())
}
