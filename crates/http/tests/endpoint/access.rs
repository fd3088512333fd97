//! Who is let in with a key, and what they may do.

use std::sync::Arc;
use std::time::Duration;

use secrecy::ExposeSecret;
use serde_json::{Value, json};
use server::access::{
    AccessStore, BucketLease, BucketParams, ClockReading, KeyCredential, KeyEnvironment, KeyListing,
    KeyRecord, Pepper, StoreError, StoreFuture,
};
use server::{Clock, Scope, Timestamp};

use crate::harness::{HttpTestConfig, HttpTestResponse, HttpTestServer};
use crate::log::CapturedLog;
use crate::mcp_stateless::build_request;

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

/// A request to either endpoint, with these headers.
fn list_tools(endpoint: &HttpTestServer, path: &str, headers: &[(&str, &str)]) -> HttpTestResponse {
    send_request(endpoint, path, headers, "tools/list", json!({}))
}

fn send_request(
    endpoint: &HttpTestServer,
    path: &str,
    headers: &[(&str, &str)],
    method: &str,
    params: Value,
) -> HttpTestResponse {
    let (own, body) = build_request(method, params);
    let mut all: Vec<_> = own.iter().map(|(name, value)| (*name, value.as_str())).collect();
    all.extend(headers);
    endpoint.request(&format!("POST {path}"), &all, &body)
}

fn tool_names(answer: &HttpTestResponse) -> Vec<String> {
    let tools = answer.json()["result"]["tools"].as_array().unwrap().clone();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn only_valid_key_in_authorization_header_is_accepted() {
    let endpoint = HttpTestServer::start_with_keys(None);
    let key = endpoint.create_key(Scope::Read);
    let bearer = format!("Bearer {key}");
    let (lower, upper) = (format!("bearer {key}"), format!("BEARER   {key}"));
    let (basic, bare) = (format!("Basic {key}"), key.clone());
    let (two_words, comma) = (format!("Bearer {key} x"), format!("Bearer {key},{key}"));
    let wrong = format!("Bearer {}{}", &key[..23], "x".repeat(43));
    let (cookie, test) = (format!("key={key}"), bearer.replace("live", "test"));
    // What comes on each endpoint: 401 where nothing was shown, and on /api/mcp 200 with an error where it opens nothing.
    for (headers, api, mcp) in [
        (vec![("Authorization", bearer.as_str())], 200, 200),
        (vec![("authorization", &lower)], 200, 200),
        (vec![("AUTHORIZATION", &upper)], 200, 200),
        (vec![], 401, 401),
        (vec![("Cookie", &cookie)], 401, 401),
        (vec![("X-API-Key", &key)], 401, 401),
        (vec![("Proxy-Authorization", &bearer)], 401, 401),
        (vec![("Authorization", "")], 0, 401),
        (vec![("Authorization", "Bearer")], 0, 401),
        (vec![("Authorization", "Bearer ")], 0, 401),
        (vec![("Authorization", &basic)], 0, 401),
        (vec![("Authorization", &bare)], 0, 401),
        (vec![("Authorization", &two_words)], 0, 401),
        (vec![("Authorization", &comma)], 0, 401),
        (vec![("Authorization", &wrong)], 0, 401),
        (vec![("Authorization", &test)], 0, 401),
        (vec![("Authorization", "Bearer cf_live_sk_\u{e9}")], 0, 401),
        (vec![("Authorization", &bearer), ("Authorization", &bearer)], 0, 401),
        (vec![("Authorization", "Basic abc"), ("Authorization", &bearer)], 0, 401),
    ] {
        let answer = list_tools(&endpoint, "/api/mcp", &headers);
        let code = answer.json()["error"]["code"].as_i64();
        let expected = match api {
            200 => (200, None),
            0 => (200, Some(-32001)),
            status => (status, Some(-32001)),
        };
        assert_eq!((answer.status, code), expected, "/api/mcp {headers:?}");
        assert_eq!(answer.header("www-authenticate"), (api == 401).then_some("Bearer"), "{headers:?}");
        let answer = list_tools(&endpoint, "/mcp", &headers);
        assert_eq!(answer.status, mcp, "/mcp {headers:?}");
        assert_eq!(answer.header("www-authenticate"), (mcp == 401).then_some("Bearer"), "{headers:?}");
    }
    for place in ["key", "access_token", "api_key", "Authorization"] {
        let line = format!("POST /api/mcp?{place}={key}");
        assert_eq!(endpoint.request(&line, &[], LIST).status, 401, "{place}");
    }
    let in_body = LIST.replace("tools/list\"", &format!("tools/list\",\"params\":{{\"key\":\"{key}\"}}"));
    assert_eq!(endpoint.request("POST /api/mcp", &[], &in_body).status, 401);
}

/// Whatever is wrong with a key, the answer is the same.
#[test]
fn rejection_does_not_reveal_why_key_is_invalid() {
    let endpoint = HttpTestServer::start_with_keys(None);
    let good = endpoint.create_key(Scope::Read);
    let keys = [
        endpoint.create_key_with(Scope::Read, |record| record.expires = Some(record.created)),
        endpoint.create_key_with(Scope::Read, |record| record.revoked = Some(record.created)),
        format!("{}{}", &good[..23], "x".repeat(43)),
        format!("cf_live_sk_{}", "a".repeat(55)),
        "x".to_owned(),
    ];
    for path in ["/api/mcp", "/mcp"] {
        let answers = keys.iter().map(|key| {
            let answer = list_tools(&endpoint, path, &[("Authorization", &format!("Bearer {key}"))]);
            (answer.status, answer.body)
        });
        let mut answers: Vec<_> = answers.collect();
        answers.dedup();
        assert_eq!(answers.len(), 1, "{answers:?}");
    }
}

/// Test keys are handed around more freely than others, so they open only servers that were started for tests.
#[test]
fn test_key_is_accepted_only_where_test_keys_are_enabled() {
    for (test_keys, scope, environment, status) in [
        (false, Scope::Read, KeyEnvironment::Test, 401),
        (false, Scope::Admin, KeyEnvironment::Test, 401),
        (false, Scope::Read, KeyEnvironment::Live, 200),
        (true, Scope::Read, KeyEnvironment::Test, 200),
        (true, Scope::Read, KeyEnvironment::Live, 200),
    ] {
        let endpoint =
            HttpTestConfig { requires_key: true, accepts_test_keys: test_keys, ..HttpTestConfig::default() }
                .start();
        let key = endpoint.create_key_with(scope, |record| record.environment = environment);
        let answer = list_tools(&endpoint, "/mcp", &[("Authorization", &format!("Bearer {key}"))]);
        assert_eq!(answer.status, status, "{test_keys} {environment:?}");
    }
}

#[test]
fn expired_key_is_rejected() {
    let endpoint = HttpTestServer::start_with_keys(None);
    let minute = Duration::from_mins(1);
    let key = endpoint.create_key_with(Scope::Read, |record| record.expires = Some(record.created + minute));
    let bearer = format!("Bearer {key}");
    let status = || list_tools(&endpoint, "/mcp", &[("Authorization", &bearer)]).status;
    assert_eq!(status(), 200);
    endpoint.clock.advance(Duration::from_millis(59_999));
    assert_eq!(status(), 200);
    endpoint.clock.advance(Duration::from_millis(1));
    assert_eq!(status(), 401);
}

#[test]
fn revoked_key_is_rejected_within_two_seconds() {
    let endpoint = HttpTestServer::start_with_keys(None);
    let bearer = format!("Bearer {}", endpoint.create_key(Scope::Read));
    let status = || list_tools(&endpoint, "/mcp", &[("Authorization", &bearer)]).status;
    assert_eq!(status(), 200);
    endpoint.revoke_all_keys();
    assert_eq!(status(), 401);
}

#[test]
fn key_lists_and_calls_only_tools_within_its_scope() {
    let endpoint = HttpTestServer::start_with_keys(None);
    for (scope, writes) in [(Scope::Read, false), (Scope::Write, true), (Scope::Admin, true)] {
        let bearer = format!("Bearer {}", endpoint.create_key(scope));
        let headers = [("Authorization", bearer.as_str())];
        for path in ["/mcp", "/api/mcp"] {
            let listed = tool_names(&list_tools(&endpoint, path, &headers));
            assert!(listed.contains(&"analyze_repository".to_owned()));
            for tool in ["apply_edit_plan", "undo_edit_plan", "integrate"] {
                assert_eq!(listed.contains(&tool.to_owned()), writes, "{scope} {path} {tool}");
                let params = json!({ "name": tool, "arguments": { "plan": {}, "plan_id": "x" } });
                let body = send_request(&endpoint, path, &headers, "tools/call", params).body;
                assert_eq!(!body.contains("requires the scope"), writes, "{scope} {path} {tool} {body}");
            }
        }
    }
}

#[test]
fn metrics_require_admin_scope() {
    let endpoint = HttpTestServer::start_with_keys(None);
    let status = |headers: &[(&str, &str)]| endpoint.request("GET /metrics", headers, "").status;
    assert_eq!(status(&[]), 401);
    assert_eq!(status(&[("Authorization", "Bearer x")]), 401);
    for (scope, expected) in [(Scope::Read, 403), (Scope::Write, 403), (Scope::Admin, 200)] {
        let bearer = format!("Bearer {}", endpoint.create_key(scope));
        assert_eq!(status(&[("Authorization", &bearer)]), expected, "{scope}");
    }
    for probe in ["/healthz", "/readyz"] {
        let answer = endpoint.request(&format!("GET {probe}"), &[("Host", "10.0.0.1")], "");
        assert_eq!(answer.status, 200, "a probe has no key and any name: {probe}");
    }
}

#[test]
fn repeated_auth_failures_are_rate_limited() {
    let endpoint = HttpTestServer::start_with_keys(None);
    let good = format!("Bearer {}", endpoint.create_key(Scope::Read));
    let bad = || list_tools(&endpoint, "/mcp", &[("Authorization", "Bearer cf_live_sk_wrong")]);
    (0..100).for_each(|n| assert_eq!(bad().status, 401, "{n}"));
    let answer = bad();
    assert_eq!((answer.status, answer.header("retry-after")), (429, Some("60")));
    let answer = list_tools(&endpoint, "/api/mcp", &[("Authorization", "Bearer x")]);
    assert_eq!((answer.status, answer.json()["error"]["code"].as_i64()), (429, Some(-32000)));
    assert_eq!(
        list_tools(&endpoint, "/mcp", &[("Authorization", &good)]).status,
        200,
        "a right key is let in"
    );
    endpoint.clock.advance(Duration::from_mins(1));
    assert_eq!(bad().status, 401, "a minute later it begins anew");
}

#[test]
fn keys_are_never_logged() {
    let log = CapturedLog::install();
    let endpoint = HttpTestServer::start_with_keys(None);
    let good = endpoint.create_key(Scope::Read);
    let wrong = format!("{}{}", &good[..23], "Secret".repeat(7) + "x");
    let made_up = "cf_live_sk_MadeUpMadeUp".to_owned();
    for key in [&good, &wrong, &made_up] {
        for path in ["/mcp", "/api/mcp"] {
            list_tools(&endpoint, path, &[("Authorization", &format!("Bearer {key}"))]);
            list_tools(&endpoint, path, &[("Authorization", &format!("Basic {key}"))]);
            endpoint.request(&format!("POST {path}?key={key}"), &[("Cookie", key)], LIST);
        }
    }
    let text = log.text();
    assert!(text.contains("denied") && text.contains("why=\"wrong\""), "the log tells of it");
    for secret in [&good[23..], &wrong[23..], "MadeUpMadeUp"] {
        assert!(!text.contains(secret), "{secret}");
    }
}

#[test]
fn unreachable_store_is_503_not_401() {
    let endpoint = HttpTestConfig {
        requires_key: true,
        access_store: Some(unreachable_store()),
        ..HttpTestConfig::default()
    }
    .start();
    let bearer = format!("Bearer {}", unregistered_key());
    let answer = list_tools(&endpoint, "/mcp", &[("Authorization", &bearer)]);
    assert_eq!(
        (answer.status, answer.header("retry-after"), answer.error_kind().as_str()),
        (503, Some("2"), "store_unavailable")
    );
    assert_eq!(endpoint.request("GET /readyz", &[], "").status, 503);
    assert_eq!(endpoint.request("GET /healthz", &[], "").status, 200);
    let unknown = list_tools(&endpoint, "/mcp", &[("Authorization", "Bearer cf_live_sk_x")]);
    assert_eq!(unknown.status, 401, "what is no key is known without it");
}

/// A key that the servers here could have given out.
pub(crate) fn unregistered_key() -> String {
    let (key, _) = Pepper::new([7; 32]).issue(KeyEnvironment::Live, |bytes| bytes.fill(9));
    key.expose_secret().to_owned()
}

/// A store that cannot be reached.
pub(crate) fn unreachable_store() -> Arc<dyn AccessStore> {
    Arc::new(UnreachableAccessStore)
}

struct UnreachableAccessStore;

fn unreachable<'a, T>() -> StoreFuture<'a, T> {
    Box::pin(async { Err(StoreError::Unreachable("made up".to_owned())) })
}

impl AccessStore for UnreachableAccessStore {
    fn key_by_prefix<'a>(&'a self, _: &'a str) -> StoreFuture<'a, Option<(KeyRecord, KeyCredential)>> {
        unreachable()
    }

    fn has_usable_key(&self, _: Timestamp) -> StoreFuture<'_, bool> {
        unreachable()
    }

    fn add_key(&self, _: KeyRecord, _: KeyCredential) -> StoreFuture<'_, ()> {
        unreachable()
    }

    fn list_keys<'a>(&'a self, _: Option<&'a str>) -> StoreFuture<'a, Vec<KeyListing>> {
        unreachable()
    }

    fn revoke_key<'a>(&'a self, _: &'a str, _: Timestamp) -> StoreFuture<'a, Option<KeyRecord>> {
        unreachable()
    }

    fn rotate_key<'a>(
        &'a self,
        _: &'a str,
        _: KeyCredential,
        _: Timestamp,
    ) -> StoreFuture<'a, Option<KeyRecord>> {
        unreachable()
    }

    fn lease_tokens<'a>(
        &'a self,
        _: &'a str,
        _: BucketParams,
        _: ClockReading,
    ) -> StoreFuture<'a, BucketLease> {
        unreachable()
    }

    fn get_or_insert_secret<'a>(&'a self, _: &'a str, _: &'a [u8]) -> StoreFuture<'a, Vec<u8>> {
        unreachable()
    }

    fn check_ready(&self) -> StoreFuture<'_, ()> {
        unreachable()
    }
}

/// The clock of the tests stands still, so that what they say about time is true.
#[test]
fn test_clock_advances_only_explicitly() {
    let endpoint = HttpTestServer::start_without_auth();
    let now = endpoint.clock.now();
    endpoint.clock.advance(Duration::from_secs(2));
    assert_eq!(endpoint.app.now(), now + Duration::from_secs(2));
}
