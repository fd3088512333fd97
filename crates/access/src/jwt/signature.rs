//! Token signatures: JSON Web Keys (RFC 7517) and their algorithms (RFC 7518, RFC 8037). Uses ring, which TLS
//! depends on anyway. ring has no P-521, so `ES512` is not supported.

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

/// The size of an RSA modulus: ring supports 2048 to 8192 bits.
const MODULUS_BYTES: std::ops::RangeInclusive<usize> = 256..=1024;

/// Supported `alg` values. `none` and shared secrets are deliberately not representable.
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
    /// The `kid` of the key.
    pub(super) id: Option<String>,
    /// The only permitted algorithm, if the key set names one.
    restricted_to: Option<JwtAlgorithm>,
    material: KeyMaterial,
}

enum KeyMaterial {
    Rsa(RsaPublicKeyComponents<Vec<u8>>),
    /// Each curve has exactly one algorithm.
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
    /// Parses a JSON Web Key. Returns `None` for another purpose than signing, for types, curves or sizes
    /// that ring does not support, and for an `alg` that does not match the key.
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

    /// Whether this key may be used with this algorithm.
    pub(super) fn allows(&self, algorithm: JwtAlgorithm) -> bool {
        let fits = match &self.material {
            KeyMaterial::Rsa(_) => algorithm.rsa_parameters().is_some(),
            KeyMaterial::Curve(own, _) => *own == algorithm,
        };
        fits && self.restricted_to.is_none_or(|only| only == algorithm)
    }

    /// Whether `signature` is a signature of `message` by this key.
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

/// Strips leading zeros, which some key sets contain and ring rejects.
fn decode_unsigned(text: Option<&str>) -> Option<Vec<u8>> {
    Some(decode_base64url(text)?.into_iter().skip_while(|byte| *byte == 0).collect())
}

/// An uncompressed curve point.
fn decode_point(x: Option<&str>, y: Option<&str>, length: usize) -> Option<Vec<u8>> {
    Some([vec![4], decode_exact(x, length)?, decode_exact(y, length)?].concat())
}
