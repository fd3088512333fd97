use ring::hmac;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::json;

use super::*;
use crate::testing::time_at_ms;

const ISSUER: &str = "https://id.example.com";
const AUDIENCE: &str = "https://mcp.example.com/mcp";

/// Keys and tokens created with OpenSSL 3.0; the private keys were discarded. There is one key of each kind,
/// none with `alg`, and one token per algorithm.
fn load_openssl_tokens() -> (Vec<Value>, Vec<OpensslToken>) {
    let mut file: Value = serde_json::from_str(include_str!("signed.json")).unwrap();
    let keys = file["keys"].as_array().unwrap().clone();
    (keys, serde_json::from_value(file["tokens"].take()).unwrap())
}

#[derive(Deserialize)]
struct OpensslToken {
    alg: String,
    kid: String,
    token: String,
}

/// A signing key for these tests, with a public secret.
fn signing_key() -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap()
}

fn jwk() -> Value {
    let x = URL_SAFE_NO_PAD.encode(signing_key().public_key());
    json!({ "kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": x })
}

fn policy() -> JwtPolicy {
    JwtPolicy { issuer: ISSUER.to_owned(), audience: AUDIENCE.to_owned() }
}

fn verifier_for_keys(keys: &[Value]) -> Result<JwtVerifier, String> {
    JwtVerifier::new(policy(), &json!({ "keys": keys }).to_string())
}

/// Has several keys, so that tokens must name theirs.
fn verifier() -> JwtVerifier {
    verifier_for_keys(&[vec![jwk()], load_openssl_tokens().0].concat()).unwrap()
}

fn claims() -> Value {
    let now = time_at_ms(0).as_second();
    json!({ "iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": now + 300, "scope": "openid read write" })
}

fn encode_part(part: &Value) -> String {
    URL_SAFE_NO_PAD.encode(part.to_string())
}

fn sign_token(header: &Value, claims: &Value) -> String {
    let message = format!("{}.{}", encode_part(header), encode_part(claims));
    let signature = URL_SAFE_NO_PAD.encode(signing_key().sign(message.as_bytes()));
    format!("{message}.{signature}")
}

/// Applies changes to the usual header or claims; `null` removes a member.
fn with_changes(mut usual: Value, changes: &Value) -> Value {
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(usual.as_object_mut().unwrap().remove(name)),
            value => usual[name] = value.clone(),
        }
    }
    usual
}

fn header() -> Value {
    json!({ "alg": "EdDSA", "kid": "ed" })
}

fn sign_with_changed_claims(changes: &Value) -> String {
    sign_token(&header(), &with_changes(claims(), changes))
}

#[test]
fn every_supported_algorithm_is_accepted() {
    let tokens = verifier();
    for OpensslToken { alg, kid, token } in load_openssl_tokens().1 {
        let expected = match kid.as_str() {
            // Skipped in the key set, like all keys that ring does not support.
            "rsa-1024" => Err(JwtRejection::UnknownSigner),
            // An unknown algorithm.
            "p-521" => Err(JwtRejection::Malformed),
            _ => Ok("token:https://id.example.com ann".to_owned()),
        };
        let entered = tokens.verify(&token, time_at_ms(0)).map(|principal| {
            assert!(principal.is_from_token());
            principal.subject().to_owned()
        });
        assert_eq!(entered, expected, "{alg} {kid}");
        // The last character of a signature may have unused bits, so change an earlier one.
        let at_signature = token.rfind('.').unwrap() + 5;
        let other = if token.as_bytes()[at_signature] == b'A' { "B" } else { "A" };
        let mut forged = token.clone();
        forged.replace_range(at_signature..=at_signature, other);
        assert!(tokens.verify(&forged, time_at_ms(0)).is_err(), "forged {alg} {kid}");
    }
}

#[test]
fn key_is_used_only_with_its_own_algorithm() {
    let (keys, tokens) = load_openssl_tokens();
    for key in &keys {
        let own: Vec<_> = tokens.iter().filter(|token| key["kid"] == *token.kid).collect();
        for restriction in ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"] {
            let restricted = with_changes(key.clone(), &json!({ "alg": restriction }));
            // The other key keeps the set usable if this one is skipped.
            let judge = verifier_for_keys(&[restricted, jwk()]).unwrap();
            for OpensslToken { alg, token, .. } in &own {
                let expected = match (key["kid"].as_str().unwrap(), restriction) {
                    ("p-521", _) => Err(JwtRejection::Malformed),
                    ("rsa-1024", _) => Err(JwtRejection::UnknownSigner),
                    _ if restriction == alg => Ok(()),
                    ("rsa", "RS256" | "RS384" | "RS512" | "PS256" | "PS384" | "PS512") => {
                        Err(JwtRejection::Malformed)
                    }
                    // A key whose `alg` does not match its type is skipped.
                    _ => Err(JwtRejection::UnknownSigner),
                };
                assert_eq!(
                    judge.verify(token, time_at_ms(0)).map(drop),
                    expected,
                    "{alg} by {key} for {restriction}"
                );
            }
        }
    }
}

#[test]
fn only_access_tokens_without_critical_extensions_are_accepted() {
    let tokens = verifier();
    for (changes, is_taken) in [
        (json!({}), true),
        (json!({ "typ": "JWT" }), true),
        (json!({ "typ": "jwt" }), true),
        (json!({ "typ": "at+jwt" }), true),
        (json!({ "typ": "AT+JWT" }), true),
        (json!({ "typ": "application/at+jwt" }), true),
        (json!({ "typ": "Application/At+Jwt" }), true),
        (json!({ "typ": "logout+jwt" }), false),
        (json!({ "typ": "dpop+jwt" }), false),
        (json!({ "typ": "JOSE" }), false),
        (json!({ "typ": "JWT " }), false),
        (json!({ "typ": "" }), false),
        (json!({ "typ": 5 }), false),
        (json!({ "crit": ["b64"], "b64": false }), false),
        (json!({ "crit": ["exp"] }), false),
        (json!({ "crit": [] }), false),
        (json!({ "cty": "JWT", "x5t": "abc" }), true),
        (json!({ "alg": null }), false),
        (json!({ "kid": 5 }), false),
    ] {
        let token = sign_token(&with_changes(header(), &changes), &claims());
        let expected = if is_taken { Ok(()) } else { Err(JwtRejection::Malformed) };
        assert_eq!(tokens.verify(&token, time_at_ms(0)).map(drop), expected, "{changes}");
    }
    let mut null = header();
    null["crit"] = Value::Null;
    assert_eq!(
        tokens.verify(&sign_token(&null, &claims()), time_at_ms(0)),
        Err(JwtRejection::Malformed),
        "crit is there"
    );
}

#[test]
fn claims_are_validated() {
    let now = time_at_ms(0).as_second();
    let tokens = verifier();
    for (changes, expected) in [
        (json!({}), Ok(Scope::Write)),
        (json!({ "aud": ["x", AUDIENCE] }), Ok(Scope::Write)),
        (json!({ "aud": "https://other.example.com" }), Err(JwtRejection::WrongIssuerOrAudience)),
        (json!({ "aud": [] }), Err(JwtRejection::WrongIssuerOrAudience)),
        (json!({ "aud": format!("{AUDIENCE}/more") }), Err(JwtRejection::WrongIssuerOrAudience)),
        (json!({ "aud": null }), Err(JwtRejection::WrongIssuerOrAudience)),
        (json!({ "iss": "https://evil.example.com" }), Err(JwtRejection::WrongIssuerOrAudience)),
        (json!({ "iss": null }), Err(JwtRejection::WrongIssuerOrAudience)),
        (json!({ "sub": null }), Err(JwtRejection::Malformed)),
        (json!({ "exp": null }), Err(JwtRejection::Malformed)),
        (json!({ "exp": now - 59 }), Ok(Scope::Write)),
        (json!({ "exp": now - 60 }), Err(JwtRejection::Expired)),
        (json!({ "exp": 0 }), Err(JwtRejection::Expired)),
        (json!({ "nbf": now + 60 }), Ok(Scope::Write)),
        (json!({ "nbf": now + 61 }), Err(JwtRejection::Expired)),
        (json!({ "scope": null }), Err(JwtRejection::NoScope)),
        (json!({ "scope": "" }), Err(JwtRejection::NoScope)),
        (json!({ "scope": "openid WRITE readwrite" }), Err(JwtRejection::NoScope)),
        (json!({ "scope": "read" }), Ok(Scope::Read)),
        (json!({ "scope": "read admin" }), Ok(Scope::Admin)),
        (json!({ "scope": null, "scp": ["read", "write"] }), Ok(Scope::Write)),
        (json!({ "sub": 5 }), Err(JwtRejection::Malformed)),
        (json!({ "iss": [ISSUER] }), Err(JwtRejection::WrongIssuerOrAudience)),
        (json!({ "tenant": "acme" }), Ok(Scope::Write)),
        (json!({ "tenant": "" }), Err(JwtRejection::Malformed)),
        (json!({ "tenant": " \t\n" }), Err(JwtRejection::Malformed)),
        (json!({ "tenant": "\u{a0}\u{2003}" }), Err(JwtRejection::Malformed)),
        (json!({ "tenant": "a".repeat(256) }), Ok(Scope::Write)),
        (json!({ "tenant": "a".repeat(257) }), Err(JwtRejection::Malformed)),
    ] {
        let entered = tokens
            .verify(&sign_with_changed_claims(&changes), time_at_ms(0))
            .map(|principal| principal.scope());
        assert_eq!(entered, expected, "{changes}");
    }
}

#[test]
fn scp_claim_may_be_a_string() {
    let token = sign_with_changed_claims(&json!({ "scope": null, "scp": "read write" }));
    assert_eq!(verifier().verify(&token, time_at_ms(0)).map(|principal| principal.scope()), Ok(Scope::Write));
}

#[test]
fn tenant_comes_from_claim_or_subject() {
    let tokens = verifier();
    let tenant = |changes: Value| {
        tokens.verify(&sign_with_changed_claims(&changes), time_at_ms(0)).unwrap().tenant().to_owned()
    };
    assert_eq!(tenant(json!({ "tenant": "acme" })), "acme");
    assert_ne!(tenant(json!({})), tenant(json!({ "sub": "bob" })), "subjects without a tenant are separate");
}

#[test]
fn forged_tokens_are_rejected() {
    let tokens = verifier();
    let public = signing_key().public_key().as_ref().to_vec();
    let shared = |secret: &[u8]| {
        let message =
            format!("{}.{}", encode_part(&json!({ "alg": "HS256", "kid": "ed" })), encode_part(&claims()));
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message.as_bytes());
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(tag))
    };
    let none = |alg: &str| {
        format!("{}.{}.", encode_part(&json!({ "alg": alg, "kid": "ed" })), encode_part(&claims()))
    };
    let named = |kid: &str| sign_token(&json!({ "alg": "EdDSA", "kid": kid }), &claims());
    let good = named("ed");
    let (head, signature) = (good.split('.').next().unwrap(), good.rsplit('.').next().unwrap());
    let forged =
        format!("{head}.{}.{signature}", encode_part(&with_changes(claims(), &json!({ "scope": "admin" }))));
    for (why, token) in [
        ("none", none("none")),
        ("None", none("None")),
        ("no signature", good.trim_end_matches(signature).to_owned()),
        ("public key as text", shared(URL_SAFE_NO_PAD.encode(&public).as_bytes())),
        ("public key as bytes", shared(&public)),
        ("other claims", forged),
        ("no key named, and there are several", sign_token(&json!({ "alg": "EdDSA" }), &claims())),
        ("unknown key", named("other")),
        ("a path", named("../../etc/passwd")),
        ("a query", named("' OR 1=1 --")),
        ("the name of a key of another family", named("p-256")),
        ("the name of another key", named("ed25519")),
        ("another algorithm", sign_token(&json!({ "alg": "ES256", "kid": "ed" }), &claims())),
        ("a header twice", {
            let twice = URL_SAFE_NO_PAD.encode(r#"{"alg":"EdDSA","kid":"ed","kid":"ed"}"#);
            let message = format!("{twice}.{}", encode_part(&claims()));
            format!("{message}.{}", URL_SAFE_NO_PAD.encode(signing_key().sign(message.as_bytes())))
        }),
        ("padding", format!("{good}==")),
        ("not a token", "abc".to_owned()),
        ("nothing", String::new()),
        ("dots", "...".to_owned()),
        ("too long", format!("{good}{}", "A".repeat(16 * 1024))),
        ("twice", format!("{good}.{good}")),
    ] {
        assert!(tokens.verify(&token, time_at_ms(0)).is_err(), "{why}");
    }
    assert!(tokens.verify(&good, time_at_ms(0)).is_ok());
}

#[test]
fn kid_is_optional_with_a_single_key() {
    let tokens = verifier_for_keys(&[jwk()]).unwrap();
    assert!(tokens.verify(&sign_token(&json!({ "alg": "EdDSA" }), &claims()), time_at_ms(0)).is_ok());
}

#[test]
fn leading_zeros_of_modulus_are_ignored() {
    let (keys, tokens) = load_openssl_tokens();
    let mut padded = vec![0];
    padded.extend(URL_SAFE_NO_PAD.decode(keys[0]["n"].as_str().unwrap()).unwrap());
    let key = with_changes(keys[0].clone(), &json!({ "n": URL_SAFE_NO_PAD.encode(padded) }));
    assert!(verifier_for_keys(&[key]).unwrap().verify(&tokens[0].token, time_at_ms(0)).is_ok());
}

#[test]
fn key_set_without_usable_key_is_rejected() {
    let good = jwk();
    let shared = json!({ "kty": "oct", "kid": "a", "k": "c2VjcmV0" });
    let (keys, _) = load_openssl_tokens();
    let named = |name: &str| keys.iter().find(|key| key["kid"] == name).unwrap().clone();
    let but = |key: &str, changes: Value| vec![with_changes(named(key), &changes)];
    for (keys, fits) in [
        (vec![good.clone()], true),
        (vec![shared.clone(), good.clone()], true),
        (vec![shared], false),
        (vec![with_changes(good.clone(), &json!({ "use": "sig" }))], true),
        (vec![with_changes(good.clone(), &json!({ "use": "enc" }))], false),
        (vec![with_changes(good.clone(), &json!({ "alg": "EdDSA" }))], true),
        (vec![with_changes(good.clone(), &json!({ "alg": "HS256" }))], false),
        (vec![with_changes(good.clone(), &json!({ "alg": "RS256" }))], false),
        (but("rsa", json!({ "alg": "RSA-OAEP" })), false),
        (but("rsa", json!({ "n": null })), false),
        (but("rsa", json!({ "n": "not base64!" })), false),
        (but("rsa-1024", json!({})), false),
        (but("p-256", json!({})), true),
        (but("p-256", json!({ "crv": "P-384" })), false),
        (but("p-256", json!({ "y": null })), false),
        (but("p-384", json!({})), true),
        (but("p-521", json!({})), false),
        (but("ed25519", json!({ "crv": "Ed448" })), false),
        (but("ed25519", json!({ "x": "AAAA" })), false),
        (Vec::new(), false),
        (vec![good.clone(); 100], true),
        (vec![good.clone(); 101], false),
    ] {
        assert_eq!(verifier_for_keys(&keys).is_ok(), fits, "{keys:?}");
    }
    for text in ["{}", "[]", "{not json"] {
        assert!(JwtVerifier::new(policy(), text).is_err(), "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn arbitrary_text_is_rejected_without_panic(header in "\\PC*", claims in "\\PC*", signature in proptest::collection::vec(0_u8.., 0..80)) {
        let part = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let token = format!("{}.{}.{}", part(header.as_bytes()), part(claims.as_bytes()), part(&signature));
        let head = encode_part(&json!({ "alg": "EdDSA", "kid": "ed" }));
        let headed = format!("{head}.{}.{}", part(claims.as_bytes()), part(&signature));
        let tokens = verifier_for_keys(&[jwk()]).unwrap();
        for text in [&header, &token, &headed] {
            proptest::prop_assert!(tokens.verify(text, time_at_ms(0)).is_err());
        }
    }
}
