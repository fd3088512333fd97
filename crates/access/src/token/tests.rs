use ring::hmac;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::json;

use super::*;
use crate::testing::at;

const ISSUER: &str = "https://id.example.com";
const AUDIENCE: &str = "https://mcp.example.com/mcp";

/// Keys and tokens of another implementation: OpenSSL 3.0 made them, and the private keys were thrown away. There is a key of
/// each kind, none with `alg`, and a token of each algorithm.
fn foreign() -> (Vec<Value>, Vec<Foreign>) {
    let mut file: Value = serde_json::from_str(include_str!("signed.json")).unwrap();
    let keys = file["keys"].as_array().unwrap().clone();
    (keys, serde_json::from_value(file["tokens"].take()).unwrap())
}

#[derive(Deserialize)]
struct Foreign {
    alg: String,
    kid: String,
    token: String,
}

/// A signer that was made for these tests, with a secret that everyone knows.
fn signer() -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap()
}

fn jwk() -> Value {
    let x = URL_SAFE_NO_PAD.encode(signer().public_key());
    json!({ "kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": x })
}

fn trust() -> Trust {
    Trust { issuer: ISSUER.to_owned(), audience: AUDIENCE.to_owned() }
}

fn tokens_for(keys: &[Value]) -> Result<Tokens, String> {
    Tokens::new(trust(), &json!({ "keys": keys }).to_string())
}

/// With several keys, so that each token has to name its own.
fn tokens() -> Tokens {
    tokens_for(&[vec![jwk()], foreign().0].concat()).unwrap()
}

fn claims() -> Value {
    let now = at(0).as_second();
    json!({ "iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": now + 300, "scope": "openid read write" })
}

fn encoded(part: &Value) -> String {
    URL_SAFE_NO_PAD.encode(part.to_string())
}

fn signed(header: &Value, claims: &Value) -> String {
    let message = format!("{}.{}", encoded(header), encoded(claims));
    let signature = URL_SAFE_NO_PAD.encode(signer().sign(message.as_bytes()));
    format!("{message}.{signature}")
}

/// The usual header and claims with some of them changed, or removed by `null`.
fn with(mut usual: Value, changes: &Value) -> Value {
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

fn changed(changes: &Value) -> String {
    signed(&header(), &with(claims(), changes))
}

#[test]
fn each_kind_of_signature_is_taken() {
    let tokens = tokens();
    for Foreign { alg, kid, token } in foreign().1 {
        let expected = match kid.as_str() {
            // Passed over in the key set, as are all that ring does not verify.
            "rsa-1024" => Err(BadToken::UnknownSigner),
            // An algorithm that is not known at all.
            "p-521" => Err(BadToken::Malformed),
            _ => Ok("token:https://id.example.com ann".to_owned()),
        };
        let entered = tokens.enter(&token, at(0)).map(|principal| {
            assert!(principal.came_by_token());
            principal.subject().to_owned()
        });
        assert_eq!(entered, expected, "{alg} {kid}");
        // The last character of a signature may have unused bits, so an earlier one is changed.
        let at_signature = token.rfind('.').unwrap() + 5;
        let other = if token.as_bytes()[at_signature] == b'A' { "B" } else { "A" };
        let mut forged = token.clone();
        forged.replace_range(at_signature..=at_signature, other);
        assert!(tokens.enter(&forged, at(0)).is_err(), "forged {alg} {kid}");
    }
}

#[test]
fn a_key_is_used_with_its_own_algorithm_alone() {
    let (keys, tokens) = foreign();
    for key in &keys {
        let own: Vec<_> = tokens.iter().filter(|token| key["kid"] == *token.kid).collect();
        for restriction in ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"] {
            let restricted = with(key.clone(), &json!({ "alg": restriction }));
            // The other key keeps the set usable where this one is passed over.
            let judge = tokens_for(&[restricted, jwk()]).unwrap();
            for Foreign { alg, token, .. } in &own {
                let expected = match (key["kid"].as_str().unwrap(), restriction) {
                    ("p-521", _) => Err(BadToken::Malformed),
                    ("rsa-1024", _) => Err(BadToken::UnknownSigner),
                    _ if restriction == alg => Ok(()),
                    ("rsa", "RS256" | "RS384" | "RS512" | "PS256" | "PS384" | "PS512") => {
                        Err(BadToken::Malformed)
                    }
                    // A key whose `alg` cannot be its own is passed over.
                    _ => Err(BadToken::UnknownSigner),
                };
                assert_eq!(judge.enter(token, at(0)).map(drop), expected, "{alg} by {key} for {restriction}");
            }
        }
    }
}

#[test]
fn only_access_tokens_without_extensions_are_taken() {
    let tokens = tokens();
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
        let token = signed(&with(header(), &changes), &claims());
        let expected = if is_taken { Ok(()) } else { Err(BadToken::Malformed) };
        assert_eq!(tokens.enter(&token, at(0)).map(drop), expected, "{changes}");
    }
    let mut null = header();
    null["crit"] = Value::Null;
    assert_eq!(tokens.enter(&signed(&null, &claims()), at(0)), Err(BadToken::Malformed), "crit is there");
}

#[test]
fn what_it_says_is_checked() {
    let now = at(0).as_second();
    let tokens = tokens();
    for (changes, expected) in [
        (json!({}), Ok(Scope::Write)),
        (json!({ "aud": ["x", AUDIENCE] }), Ok(Scope::Write)),
        (json!({ "aud": "https://other.example.com" }), Err(BadToken::NotForUs)),
        (json!({ "aud": [] }), Err(BadToken::NotForUs)),
        (json!({ "aud": format!("{AUDIENCE}/more") }), Err(BadToken::NotForUs)),
        (json!({ "aud": null }), Err(BadToken::NotForUs)),
        (json!({ "iss": "https://evil.example.com" }), Err(BadToken::NotForUs)),
        (json!({ "iss": null }), Err(BadToken::NotForUs)),
        (json!({ "sub": null }), Err(BadToken::Malformed)),
        (json!({ "exp": null }), Err(BadToken::Malformed)),
        (json!({ "exp": now - 59 }), Ok(Scope::Write)),
        (json!({ "exp": now - 60 }), Err(BadToken::Expired)),
        (json!({ "exp": 0 }), Err(BadToken::Expired)),
        (json!({ "nbf": now + 60 }), Ok(Scope::Write)),
        (json!({ "nbf": now + 61 }), Err(BadToken::Expired)),
        (json!({ "scope": null }), Err(BadToken::NoScope)),
        (json!({ "scope": "" }), Err(BadToken::NoScope)),
        (json!({ "scope": "openid WRITE readwrite" }), Err(BadToken::NoScope)),
        (json!({ "scope": "read" }), Ok(Scope::Read)),
        (json!({ "scope": "read admin" }), Ok(Scope::Admin)),
        (json!({ "scope": null, "scp": ["read", "write"] }), Ok(Scope::Write)),
        (json!({ "sub": 5 }), Err(BadToken::Malformed)),
        (json!({ "iss": [ISSUER] }), Err(BadToken::NotForUs)),
        (json!({ "tenant": "acme" }), Ok(Scope::Write)),
        (json!({ "tenant": "" }), Err(BadToken::Malformed)),
        (json!({ "tenant": " \t\n" }), Err(BadToken::Malformed)),
        (json!({ "tenant": "\u{a0}\u{2003}" }), Err(BadToken::Malformed)),
        (json!({ "tenant": "a".repeat(256) }), Ok(Scope::Write)),
        (json!({ "tenant": "a".repeat(257) }), Err(BadToken::Malformed)),
    ] {
        let entered = tokens.enter(&changed(&changes), at(0)).map(|principal| principal.scope());
        assert_eq!(entered, expected, "{changes}");
    }
}

#[test]
fn scopes_may_be_one_text() {
    let token = changed(&json!({ "scope": null, "scp": "read write" }));
    assert_eq!(tokens().enter(&token, at(0)).map(|principal| principal.scope()), Ok(Scope::Write));
}

#[test]
fn tenants_are_those_of_the_issuer() {
    let tokens = tokens();
    let tenant = |changes: Value| tokens.enter(&changed(&changes), at(0)).unwrap().tenant().to_owned();
    assert_eq!(tenant(json!({ "tenant": "acme" })), "acme");
    assert_ne!(tenant(json!({})), tenant(json!({ "sub": "bob" })), "who has no tenant is alone");
}

#[test]
fn nobody_else_signs() {
    let tokens = tokens();
    let public = signer().public_key().as_ref().to_vec();
    let shared = |secret: &[u8]| {
        let message = format!("{}.{}", encoded(&json!({ "alg": "HS256", "kid": "ed" })), encoded(&claims()));
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message.as_bytes());
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(tag))
    };
    let none =
        |alg: &str| format!("{}.{}.", encoded(&json!({ "alg": alg, "kid": "ed" })), encoded(&claims()));
    let named = |kid: &str| signed(&json!({ "alg": "EdDSA", "kid": kid }), &claims());
    let good = named("ed");
    let (head, signature) = (good.split('.').next().unwrap(), good.rsplit('.').next().unwrap());
    let forged = format!("{head}.{}.{signature}", encoded(&with(claims(), &json!({ "scope": "admin" }))));
    for (why, token) in [
        ("none", none("none")),
        ("None", none("None")),
        ("no signature", good.trim_end_matches(signature).to_owned()),
        ("public key as text", shared(URL_SAFE_NO_PAD.encode(&public).as_bytes())),
        ("public key as bytes", shared(&public)),
        ("other claims", forged),
        ("no key named, and there are several", signed(&json!({ "alg": "EdDSA" }), &claims())),
        ("unknown key", named("other")),
        ("a path", named("../../etc/passwd")),
        ("a query", named("' OR 1=1 --")),
        ("the name of a key of another family", named("p-256")),
        ("the name of another key", named("ed25519")),
        ("another algorithm", signed(&json!({ "alg": "ES256", "kid": "ed" }), &claims())),
        ("a header twice", {
            let twice = URL_SAFE_NO_PAD.encode(r#"{"alg":"EdDSA","kid":"ed","kid":"ed"}"#);
            let message = format!("{twice}.{}", encoded(&claims()));
            format!("{message}.{}", URL_SAFE_NO_PAD.encode(signer().sign(message.as_bytes())))
        }),
        ("padding", format!("{good}==")),
        ("not a token", "abc".to_owned()),
        ("nothing", String::new()),
        ("dots", "...".to_owned()),
        ("too long", format!("{good}{}", "A".repeat(16 * 1024))),
        ("twice", format!("{good}.{good}")),
    ] {
        assert!(tokens.enter(&token, at(0)).is_err(), "{why}");
    }
    assert!(tokens.enter(&good, at(0)).is_ok());
}

#[test]
fn the_only_key_needs_no_name() {
    let tokens = tokens_for(&[jwk()]).unwrap();
    assert!(tokens.enter(&signed(&json!({ "alg": "EdDSA" }), &claims()), at(0)).is_ok());
}

#[test]
fn leading_zeros_of_a_modulus_do_not_matter() {
    let (keys, tokens) = foreign();
    let mut padded = vec![0];
    padded.extend(URL_SAFE_NO_PAD.decode(keys[0]["n"].as_str().unwrap()).unwrap());
    let key = with(keys[0].clone(), &json!({ "n": URL_SAFE_NO_PAD.encode(padded) }));
    assert!(tokens_for(&[key]).unwrap().enter(&tokens[0].token, at(0)).is_ok());
}

#[test]
fn a_set_without_a_usable_key_is_refused() {
    let good = jwk();
    let shared = json!({ "kty": "oct", "kid": "a", "k": "c2VjcmV0" });
    let (keys, _) = foreign();
    let named = |name: &str| keys.iter().find(|key| key["kid"] == name).unwrap().clone();
    let but = |key: &str, changes: Value| vec![with(named(key), &changes)];
    for (keys, fits) in [
        (vec![good.clone()], true),
        (vec![shared.clone(), good.clone()], true),
        (vec![shared], false),
        (vec![with(good.clone(), &json!({ "use": "sig" }))], true),
        (vec![with(good.clone(), &json!({ "use": "enc" }))], false),
        (vec![with(good.clone(), &json!({ "alg": "EdDSA" }))], true),
        (vec![with(good.clone(), &json!({ "alg": "HS256" }))], false),
        (vec![with(good.clone(), &json!({ "alg": "RS256" }))], false),
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
        assert_eq!(tokens_for(&keys).is_ok(), fits, "{keys:?}");
    }
    for text in ["{}", "[]", "{not json"] {
        assert!(Tokens::new(trust(), text).is_err(), "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_panics_or_enters(header in "\\PC*", claims in "\\PC*", signature in proptest::collection::vec(0_u8.., 0..80)) {
        let part = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let token = format!("{}.{}.{}", part(header.as_bytes()), part(claims.as_bytes()), part(&signature));
        let head = encoded(&json!({ "alg": "EdDSA", "kid": "ed" }));
        let headed = format!("{head}.{}.{}", part(claims.as_bytes()), part(&signature));
        let tokens = tokens_for(&[jwk()]).unwrap();
        for text in [&header, &token, &headed] {
            proptest::prop_assert!(tokens.enter(text, at(0)).is_err());
        }
    }
}
