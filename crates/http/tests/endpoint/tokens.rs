//! Tokens of an authorization server on `/mcp`.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use server::access::{JwtPolicy, JwtVerifier};
use server::{Clock, Scope};

use crate::harness::{HttpTestResponse, HttpTestServer};
use crate::mcp_stateless::build_request;

const ISSUER: &str = "https://id.example.com";
const AUDIENCE: &str = "https://mcp.example.com/mcp";
const METADATA_URL: &str = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";

/// A signer with a secret that everyone knows.
fn signing_key(secret: u8) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[secret; 32]).unwrap()
}

fn jwk() -> Value {
    let x = URL_SAFE_NO_PAD.encode(signing_key(7).public_key());
    json!({ "kty": "OKP", "crv": "Ed25519", "kid": "one", "x": x })
}

/// A server that takes keys, and tokens too.
fn start_with_tokens() -> HttpTestServer {
    let endpoint = HttpTestServer::start_with_keys(None);
    let trust = JwtPolicy { issuer: ISSUER.to_owned(), audience: AUDIENCE.to_owned() };
    let set = json!({ "keys": [jwk()] }).to_string();
    endpoint.authenticator.set_jwt_verifier(Some(JwtVerifier::new(trust, &set).unwrap()));
    endpoint
}

fn claims(endpoint: &HttpTestServer) -> Value {
    let now = endpoint.clock.now().as_second();
    json!({ "iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": now + 300, "scope": "read" })
}

/// A token that this function signs.
fn build_token(header: &Value, claims: &Value, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let message = format!("{}.{}", part(header), part(claims));
    let signature = URL_SAFE_NO_PAD.encode(sign(message.as_bytes()));
    format!("{message}.{signature}")
}

fn sign_with(secret: u8, kid: &str, claims: &Value) -> String {
    let header = json!({ "alg": "EdDSA", "kid": kid });
    build_token(&header, claims, |message| signing_key(secret).sign(message).as_ref().to_vec())
}

fn sign_token(kid: &str, claims: &Value) -> String {
    sign_with(7, kid, claims)
}

fn sign_with_claim(mut claims: Value, name: &str, value: Value) -> String {
    claims[name] = value;
    sign_token("one", &claims)
}

fn send_request(
    endpoint: &HttpTestServer,
    path: &str,
    token: &str,
    method: &str,
    params: Value,
) -> HttpTestResponse {
    let (own, body) = build_request(method, params);
    let bearer = format!("Bearer {token}");
    let mut headers: Vec<_> = own.iter().map(|(name, value)| (*name, value.as_str())).collect();
    headers.push(("Authorization", &bearer));
    endpoint.request(&format!("POST {path}"), &headers, &body)
}

#[test]
fn only_valid_token_is_accepted() {
    let endpoint = start_with_tokens();
    let claims = claims(&endpoint);
    let now = endpoint.clock.now().as_second();
    let public = jwk()["x"].as_str().unwrap().to_owned();
    let shared = |secret: &[u8]| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        build_token(&json!({ "alg": "HS256", "kid": "one" }), &claims, |message| {
            hmac::sign(&key, message).as_ref().to_vec()
        })
    };
    let mut no_scope = claims.clone();
    no_scope.as_object_mut().unwrap().remove("scope");
    for (why, token, status) in [
        ("good", sign_token("one", &claims), 200),
        ("no algorithm", build_token(&json!({ "alg": "none", "kid": "one" }), &claims, |_| Vec::new()), 401),
        ("the public key as a secret", shared(public.as_bytes()), 401),
        ("its bytes as a secret", shared(&URL_SAFE_NO_PAD.decode(&public).unwrap()), 401),
        ("signed by another", sign_with(8, "one", &claims), 401),
        (
            "for another server",
            sign_with_claim(claims.clone(), "aud", "https://other.example.com".into()),
            401,
        ),
        ("of another issuer", sign_with_claim(claims.clone(), "iss", "https://evil.example.com".into()), 401),
        ("expired", sign_with_claim(claims.clone(), "exp", (now - 61).into()), 401),
        ("not yet good", sign_with_claim(claims.clone(), "nbf", (now + 120).into()), 401),
        ("an unknown key", sign_token("two", &claims), 401),
        ("a path as the key", sign_token("../../../etc/passwd", &claims), 401),
        ("no scope", sign_token("one", &no_scope), 401),
        ("an unknown scope", sign_with_claim(claims.clone(), "scope", "openid".into()), 401),
        ("not a token", "abc.def.ghi".to_owned(), 401),
    ] {
        let answer = send_request(&endpoint, "/mcp", &token, "tools/list", json!({}));
        assert_eq!(answer.status, status, "{why} {}", answer.body);
        let challenge = format!("Bearer resource_metadata=\"{METADATA_URL}\"");
        let expected = (status == 401).then_some(challenge.as_str());
        assert_eq!(answer.header("www-authenticate"), expected, "{why}");
    }
}

#[test]
fn token_expires_by_server_clock() {
    let endpoint = start_with_tokens();
    let token = sign_token("one", &claims(&endpoint));
    let status = || send_request(&endpoint, "/mcp", &token, "tools/list", json!({})).status;
    assert_eq!(status(), 200);
    endpoint.clock.advance(std::time::Duration::from_mins(6));
    assert_eq!(status(), 401);
}

#[test]
fn api_mcp_accepts_keys_only_and_mcp_accepts_both() {
    let endpoint = start_with_tokens();
    let (key, token) = (endpoint.create_key(Scope::Read), sign_token("one", &claims(&endpoint)));
    for (path, credential, status) in
        [("/mcp", &key, 200), ("/mcp", &token, 200), ("/api/mcp", &key, 200), ("/api/mcp", &token, -32001)]
    {
        let answer = send_request(&endpoint, path, credential, "tools/list", json!({}));
        let code = answer.json()["error"]["code"].as_i64();
        assert_eq!(code.unwrap_or(answer.status.into()), status, "{path}");
    }
    endpoint.authenticator.set_jwt_verifier(None);
    assert_eq!(
        send_request(&endpoint, "/mcp", &token, "tools/list", json!({})).status,
        401,
        "no longer taken"
    );
}

fn apply_params() -> Value {
    json!({ "name": "apply_edit_plan", "arguments": { "plan": {} } })
}

#[test]
fn insufficient_scope_is_challenged_per_oauth() {
    let endpoint = start_with_tokens();
    let token = sign_token("one", &claims(&endpoint));
    let answer = send_request(&endpoint, "/mcp", &token, "tools/call", apply_params());
    assert_eq!((answer.status, answer.error_kind().as_str()), (403, "forbidden"));
    let challenge = answer.header("www-authenticate").unwrap();
    for part in ["Bearer ", "error=\"insufficient_scope\"", "scope=\"write\"", METADATA_URL] {
        assert!(challenge.contains(part), "{part} in {challenge}");
    }
    let more = sign_with_claim(claims(&endpoint), "scope", "read write".into());
    assert_eq!(send_request(&endpoint, "/mcp", &more, "tools/call", apply_params()).status, 200);
    // A key cannot be exchanged for another, so its holder's model is told.
    let key = endpoint.create_key(Scope::Read);
    let answer = send_request(&endpoint, "/mcp", &key, "tools/call", apply_params());
    assert_eq!((answer.status, &answer.json()["result"]["isError"]), (200, &json!(true)));
}

/// A client that was told `insufficient_scope` gets another token and tries again, in the same session; and a token that
/// allows less does less.
#[test]
fn session_requests_use_scope_of_their_own_token() {
    let endpoint = start_with_tokens();
    let [reads, writes] = ["read", "write"]
        .map(|scope| format!("Bearer {}", sign_with_claim(claims(&endpoint), "scope", scope.into())));
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } })
    .to_string();
    let call =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": apply_params() }).to_string();
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
fn protected_resource_metadata_is_served() {
    let open = HttpTestServer::start_with_keys(None);
    let endpoint = start_with_tokens();
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
    let expected = format!("Bearer resource_metadata=\"{METADATA_URL}\"");
    assert_eq!((challenged.status, challenged.header("www-authenticate")), (401, Some(expected.as_str())));
}
