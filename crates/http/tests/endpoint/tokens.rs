//! Tokens of an authorization server on `/mcp`.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use server::access::{Tokens, Trust};
use server::{Clock, Scope};

use crate::harness::{Answer, Endpoint};
use crate::mcp_stateless::written;

const ISSUER: &str = "https://id.example.com";
const AUDIENCE: &str = "https://mcp.example.com/mcp";
const METADATA: &str = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";

/// A signer with a secret that everyone knows.
fn signer(secret: u8) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[secret; 32]).unwrap()
}

fn jwk() -> Value {
    let x = URL_SAFE_NO_PAD.encode(signer(7).public_key());
    json!({ "kty": "OKP", "crv": "Ed25519", "kid": "one", "x": x })
}

/// A server that takes keys, and tokens too.
fn endpoint() -> Endpoint {
    let endpoint = Endpoint::keyed(None);
    let trust = Trust { issuer: ISSUER.to_owned(), audience: AUDIENCE.to_owned() };
    let set = json!({ "keys": [jwk()] }).to_string();
    endpoint.door.set_tokens(Some(Tokens::new(trust, &set).unwrap()));
    endpoint
}

fn claims(endpoint: &Endpoint) -> Value {
    let now = endpoint.clock.now().as_second();
    json!({ "iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": now + 300, "scope": "read" })
}

/// A token that this function signs.
fn token(header: &Value, claims: &Value, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let message = format!("{}.{}", part(header), part(claims));
    let signature = URL_SAFE_NO_PAD.encode(sign(message.as_bytes()));
    format!("{message}.{signature}")
}

fn signed_by(secret: u8, kid: &str, claims: &Value) -> String {
    let header = json!({ "alg": "EdDSA", "kid": kid });
    token(&header, claims, |message| signer(secret).sign(message).as_ref().to_vec())
}

fn signed(kid: &str, claims: &Value) -> String {
    signed_by(7, kid, claims)
}

fn with(mut claims: Value, name: &str, value: Value) -> String {
    claims[name] = value;
    signed("one", &claims)
}

fn ask(endpoint: &Endpoint, path: &str, token: &str, method: &str, params: Value) -> Answer {
    let (own, body) = written(method, params);
    let bearer = format!("Bearer {token}");
    let mut headers: Vec<_> = own.iter().map(|(name, value)| (*name, value.as_str())).collect();
    headers.push(("Authorization", &bearer));
    endpoint.request(&format!("POST {path}"), &headers, &body)
}

#[test]
fn a_good_token_opens_and_no_other() {
    let endpoint = endpoint();
    let claims = claims(&endpoint);
    let now = endpoint.clock.now().as_second();
    let public = jwk()["x"].as_str().unwrap().to_owned();
    let shared = |secret: &[u8]| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        token(&json!({ "alg": "HS256", "kid": "one" }), &claims, |message| {
            hmac::sign(&key, message).as_ref().to_vec()
        })
    };
    let mut no_scope = claims.clone();
    no_scope.as_object_mut().unwrap().remove("scope");
    for (why, token, status) in [
        ("good", signed("one", &claims), 200),
        ("no algorithm", token(&json!({ "alg": "none", "kid": "one" }), &claims, |_| Vec::new()), 401),
        ("the public key as a secret", shared(public.as_bytes()), 401),
        ("its bytes as a secret", shared(&URL_SAFE_NO_PAD.decode(&public).unwrap()), 401),
        ("signed by another", signed_by(8, "one", &claims), 401),
        ("for another server", with(claims.clone(), "aud", "https://other.example.com".into()), 401),
        ("of another issuer", with(claims.clone(), "iss", "https://evil.example.com".into()), 401),
        ("expired", with(claims.clone(), "exp", (now - 61).into()), 401),
        ("not yet good", with(claims.clone(), "nbf", (now + 120).into()), 401),
        ("an unknown key", signed("two", &claims), 401),
        ("a path as the key", signed("../../../etc/passwd", &claims), 401),
        ("no scope", signed("one", &no_scope), 401),
        ("an unknown scope", with(claims.clone(), "scope", "openid".into()), 401),
        ("not a token", "abc.def.ghi".to_owned(), 401),
    ] {
        let answer = ask(&endpoint, "/mcp", &token, "tools/list", json!({}));
        assert_eq!(answer.status, status, "{why} {}", answer.body);
        let challenge = format!("Bearer resource_metadata=\"{METADATA}\"");
        let expected = (status == 401).then_some(challenge.as_str());
        assert_eq!(answer.header("www-authenticate"), expected, "{why}");
    }
}

#[test]
fn a_token_ends_by_the_clock_of_the_server() {
    let endpoint = endpoint();
    let token = signed("one", &claims(&endpoint));
    let status = || ask(&endpoint, "/mcp", &token, "tools/list", json!({})).status;
    assert_eq!(status(), 200);
    endpoint.clock.advance(std::time::Duration::from_mins(6));
    assert_eq!(status(), 401);
}

#[test]
fn keys_and_tokens_side_by_side() {
    let endpoint = endpoint();
    let (key, token) = (endpoint.key(Scope::Read), signed("one", &claims(&endpoint)));
    for (path, credential, status) in
        [("/mcp", &key, 200), ("/mcp", &token, 200), ("/api/mcp", &key, 200), ("/api/mcp", &token, -32001)]
    {
        let answer = ask(&endpoint, path, credential, "tools/list", json!({}));
        let code = answer.json()["error"]["code"].as_i64();
        assert_eq!(code.unwrap_or(answer.status.into()), status, "{path}");
    }
    endpoint.door.set_tokens(None);
    assert_eq!(ask(&endpoint, "/mcp", &token, "tools/list", json!({})).status, 401, "no longer taken");
}

fn apply() -> Value {
    json!({ "name": "apply_edit_plan", "arguments": { "plan": {} } })
}

#[test]
fn a_scope_that_does_not_suffice_is_told_as_oauth_tells_it() {
    let endpoint = endpoint();
    let token = signed("one", &claims(&endpoint));
    let answer = ask(&endpoint, "/mcp", &token, "tools/call", apply());
    assert_eq!((answer.status, answer.kind().as_str()), (403, "forbidden"));
    let challenge = answer.header("www-authenticate").unwrap();
    for part in ["Bearer ", "error=\"insufficient_scope\"", "scope=\"write\"", METADATA] {
        assert!(challenge.contains(part), "{part} in {challenge}");
    }
    let more = with(claims(&endpoint), "scope", "read write".into());
    assert_eq!(ask(&endpoint, "/mcp", &more, "tools/call", apply()).status, 200);
    // A key cannot be exchanged for another, so its holder's model is told.
    let key = endpoint.key(Scope::Read);
    let answer = ask(&endpoint, "/mcp", &key, "tools/call", apply());
    assert_eq!((answer.status, &answer.json()["result"]["isError"]), (200, &json!(true)));
}

/// A client that was told `insufficient_scope` gets another token and tries again, in the same session; and a token that
/// allows less does less.
#[test]
fn each_request_of_a_session_has_the_scope_of_its_own_token() {
    let endpoint = endpoint();
    let [reads, writes] =
        ["read", "write"].map(|scope| format!("Bearer {}", with(claims(&endpoint), "scope", scope.into())));
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } })
    .to_string();
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": apply() }).to_string();
    let statuses = [&reads, &writes].map(|opener| {
        let answer = endpoint.request("POST /mcp", &[("Authorization", opener)], &initialize);
        let session = answer.header("mcp-session-id").unwrap();
        let status = |bearer: &str| {
            let headers = [("Authorization", bearer), ("Mcp-Session-Id", session)];
            endpoint.request("POST /mcp", &headers, &call).status
        };
        (status(&reads), status(&writes))
    });
    assert_eq!(statuses, [(403, 200); 2], "opened by one that reads, and by one that writes");
}

#[test]
fn where_to_get_a_token() {
    let open = Endpoint::keyed(None);
    let endpoint = endpoint();
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let answer = endpoint.request(&format!("GET {path}"), &[], "");
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")), "{path}");
        let metadata = answer.json();
        assert_eq!(
            (&metadata["resource"], &metadata["authorization_servers"]),
            (&json!(AUDIENCE), &json!([ISSUER]))
        );
        assert_eq!(metadata["bearer_methods_supported"], json!(["header"]));
        assert_eq!(metadata["scopes_supported"], json!(["read", "write"]));
        assert_eq!(open.request(&format!("GET {path}"), &[], "").status, 404, "without tokens there is none");
        assert_eq!(endpoint.request(&format!("POST {path}"), &[], "").status, 405);
    }
    let challenged = endpoint.request("POST /mcp", &[], "{}");
    let expected = format!("Bearer resource_metadata=\"{METADATA}\"");
    assert_eq!((challenged.status, challenged.header("www-authenticate")), (401, Some(expected.as_str())));
}
