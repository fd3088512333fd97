use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::json;

use super::*;
use crate::testing::at;

const ISSUER: &str = "https://id.example.com";
const AUDIENCE: &str = "https://mcp.example.com/mcp";

/// Signers that were made for these tests and are good for nothing else.
fn signers() -> [(&'static str, Algorithm, EncodingKey); 3] {
    let der = |text: &str| STANDARD.decode(text.replace('\n', "")).unwrap();
    // The frame of an Ed25519 key, and a secret that everybody knows.
    let mut ed = STANDARD.decode("MC4CAQAwBQYDK2VwBCIEIA==").unwrap();
    ed.extend([7; 32]);
    [
        ("rsa", Algorithm::RS256, EncodingKey::from_rsa_der(&der(include_str!("rsa.txt")))),
        ("ec", Algorithm::ES256, EncodingKey::from_ec_der(&der(include_str!("ec.txt")))),
        ("ed", Algorithm::EdDSA, EncodingKey::from_ed_der(&ed)),
    ]
}

fn jwk(name: &str, algorithm: Algorithm, key: &EncodingKey) -> Value {
    let mut jwk = serde_json::to_value(Jwk::from_encoding_key(key, algorithm).unwrap()).unwrap();
    jwk["kid"] = name.into();
    jwk
}

fn tokens() -> Tokens {
    let keys: Vec<_> = signers().iter().map(|(name, algorithm, key)| jwk(name, *algorithm, key)).collect();
    Tokens::new(trust(), &json!({ "keys": keys }).to_string()).unwrap()
}

fn trust() -> Trust {
    Trust { issuer: ISSUER.to_owned(), audience: AUDIENCE.to_owned() }
}

fn claims() -> Value {
    let now = at(0).as_second();
    json!({ "iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": now + 300, "scope": "openid read write" })
}

fn signed(header: Header, claims: &Value, key: &EncodingKey) -> String {
    encode(&header, claims, key).unwrap()
}

fn header(algorithm: Algorithm, kid: Option<&str>) -> Header {
    Header { kid: kid.map(str::to_owned), ..Header::new(algorithm) }
}

/// A token of the Ed25519 signer with these claims changed.
fn changed(changes: Value) -> String {
    let mut claims = claims();
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value.clone(),
        }
    }
    let [.., (name, algorithm, key)] = signers();
    signed(header(algorithm, Some(name)), &claims, &key)
}

#[test]
fn each_kind_of_signature_is_taken() {
    let tokens = tokens();
    for (name, algorithm, key) in signers() {
        let token = signed(header(algorithm, Some(name)), &claims(), &key);
        let principal = tokens.enter(&token, at(0)).unwrap();
        assert_eq!(
            (principal.subject(), principal.scope(), principal.project()),
            ("token:https://id.example.com ann", Scope::Write, None),
            "{name}"
        );
        assert!(principal.came_by_token());
    }
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
    ] {
        let entered = tokens.enter(&changed(changes.clone()), at(0)).map(|principal| principal.scope());
        assert_eq!(entered, expected, "{changes}");
    }
}

#[test]
fn scopes_may_be_one_text() {
    let token = changed(json!({ "scope": null, "scp": "read write" }));
    assert_eq!(tokens().enter(&token, at(0)).map(|principal| principal.scope()), Ok(Scope::Write));
}

#[test]
fn tenants_are_those_of_the_issuer() {
    let tokens = tokens();
    let tenant = |changes| tokens.enter(&changed(changes), at(0)).unwrap().tenant().to_owned();
    assert_eq!(tenant(json!({ "tenant": "acme" })), "acme");
    assert_ne!(tenant(json!({})), tenant(json!({ "sub": "bob" })), "who has no tenant is alone");
}

#[test]
fn nobody_else_signs() {
    let tokens = tokens();
    let [rsa, ec, ed] = signers();
    let public = jwk("ed", ed.1, &ed.2)["x"].as_str().unwrap().to_owned();
    let shared = |secret: &[u8]| {
        signed(header(Algorithm::HS256, Some("ed")), &claims(), &EncodingKey::from_secret(secret))
    };
    let plain = |text: &Value| URL_SAFE_NO_PAD.encode(text.to_string());
    let none = |alg: &str| format!("{}.{}.", plain(&json!({ "alg": alg, "kid": "ed" })), plain(&claims()));
    let good = signed(header(ed.1, Some("ed")), &claims(), &ed.2);
    let (head, signature) = (good.split('.').next().unwrap(), good.rsplit('.').next().unwrap());
    let forged = {
        let mut claims = claims();
        claims["scope"] = "admin".into();
        format!("{head}.{}.{signature}", plain(&claims))
    };
    for (why, token) in [
        ("none", none("none")),
        ("None", none("None")),
        ("no signature", good.trim_end_matches(signature).to_owned()),
        ("public key as text", shared(public.as_bytes())),
        ("public key as bytes", shared(&URL_SAFE_NO_PAD.decode(&public).unwrap())),
        ("other claims", forged),
        ("no key named, and there are several", signed(header(ed.1, None), &claims(), &ed.2)),
        ("unknown key", signed(header(ed.1, Some("other")), &claims(), &ed.2)),
        ("a path", signed(header(ed.1, Some("../../etc/passwd")), &claims(), &ed.2)),
        ("a query", signed(header(ed.1, Some("' OR 1=1 --")), &claims(), &ed.2)),
        ("the key of another family", signed(header(rsa.1, Some("ec")), &claims(), &rsa.2)),
        ("the name of another key", signed(header(ec.1, Some("rsa")), &claims(), &ec.2)),
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
    let [.., (name, algorithm, key)] = signers();
    let set = json!({ "keys": [jwk(name, algorithm, &key)] }).to_string();
    let tokens = Tokens::new(trust(), &set).unwrap();
    assert!(tokens.enter(&signed(header(algorithm, None), &claims(), &key), at(0)).is_ok());
}

#[test]
fn a_set_without_a_usable_key_is_refused() {
    let [.., (name, algorithm, key)] = signers();
    let good = jwk(name, algorithm, &key);
    let encrypting = {
        let mut jwk = good.clone();
        jwk["use"] = "enc".into();
        jwk
    };
    let shared = json!({ "kty": "oct", "kid": "a", "k": "c2VjcmV0" });
    for (set, fits) in [
        (json!({ "keys": [good] }), true),
        (json!({ "keys": [shared, good] }), true),
        (json!({ "keys": [shared] }), false),
        (json!({ "keys": [encrypting] }), false),
        (json!({ "keys": [] }), false),
        (json!({ "keys": vec![good.clone(); 100] }), true),
        (json!({ "keys": vec![good.clone(); 101] }), false),
        (json!({}), false),
        (json!([]), false),
    ] {
        assert_eq!(Tokens::new(trust(), &set.to_string()).is_ok(), fits, "{set}");
    }
    assert!(Tokens::new(trust(), "{not json").is_err());
}
