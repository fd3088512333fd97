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
pub(super) enum Algorithm {
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

impl Algorithm {
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
    restricted_to: Option<Algorithm>,
    material: Material,
}

enum Material {
    Rsa(RsaPublicKeyComponents<Vec<u8>>),
    /// A curve has one algorithm.
    Curve(Algorithm, UnparsedPublicKey<Vec<u8>>),
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    #[serde(rename = "use")]
    purpose: Option<String>,
    alg: Option<Algorithm>,
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
                let (n, e) = (unsigned(jwk.n.as_deref())?, unsigned(jwk.e.as_deref())?);
                MODULUS_BYTES.contains(&n.len()).then_some(Material::Rsa(RsaPublicKeyComponents { n, e }))?
            }
            ("EC", Some("P-256")) => {
                let point = point(jwk.x.as_deref(), jwk.y.as_deref(), 32)?;
                curve(Algorithm::ES256, &ECDSA_P256_SHA256_FIXED, point)
            }
            ("EC", Some("P-384")) => {
                let point = point(jwk.x.as_deref(), jwk.y.as_deref(), 48)?;
                curve(Algorithm::ES384, &ECDSA_P384_SHA384_FIXED, point)
            }
            ("OKP", Some("Ed25519")) => curve(Algorithm::EdDSA, &ED25519, bytes(jwk.x.as_deref(), 32)?),
            _ => return None,
        };
        let key = Self { id: jwk.kid, restricted_to: None, material };
        if jwk.alg.is_some_and(|algorithm| !key.allows(algorithm)) {
            return None;
        }
        Some(Self { restricted_to: jwk.alg, ..key })
    }

    /// Whether a token may be signed with this algorithm by the owner of this key.
    pub(super) fn allows(&self, algorithm: Algorithm) -> bool {
        let fits = match &self.material {
            Material::Rsa(_) => algorithm.rsa_parameters().is_some(),
            Material::Curve(own, _) => *own == algorithm,
        };
        fits && self.restricted_to.is_none_or(|only| only == algorithm)
    }

    /// Whether the owner of this key signed the message with this algorithm.
    pub(super) fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        self.allows(algorithm)
            && match (&self.material, algorithm.rsa_parameters()) {
                (Material::Rsa(key), Some(parameters)) => key.verify(parameters, message, signature).is_ok(),
                (Material::Curve(_, key), None) => key.verify(message, signature).is_ok(),
                _ => false,
            }
    }
}

fn curve(algorithm: Algorithm, verification: &'static dyn VerificationAlgorithm, key: Vec<u8>) -> Material {
    Material::Curve(algorithm, UnparsedPublicKey::new(verification, key))
}

fn decoded(text: Option<&str>) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text?).ok()
}

fn bytes(text: Option<&str>, length: usize) -> Option<Vec<u8>> {
    decoded(text).filter(|bytes| bytes.len() == length)
}

/// A number without the leading zeros that some key sets have and ring refuses.
fn unsigned(text: Option<&str>) -> Option<Vec<u8>> {
    Some(decoded(text)?.into_iter().skip_while(|byte| *byte == 0).collect())
}

/// A point of a curve, uncompressed.
fn point(x: Option<&str>, y: Option<&str>, length: usize) -> Option<Vec<u8>> {
    Some([vec![4], bytes(x, length)?, bytes(y, length)?].concat())
}
