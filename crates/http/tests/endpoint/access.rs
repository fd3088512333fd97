//! Who is let in with a key, and what they may do.

use std::sync::Arc;
use std::time::Duration;

use secrecy::ExposeSecret;
use serde_json::{Value, json};
use server::access::{
    AccessStore, Credential, Environment, KeyListing, KeyRecord, Lease, Moment, Pepper, StoreError, Stored,
    Terms,
};
use server::{Clock, Scope, Timestamp};

use crate::harness::{Answer, Endpoint, Setup};
use crate::log::Log;
use crate::mcp_stateless::written;

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

/// A request to either endpoint, with these headers.
fn ask(endpoint: &Endpoint, path: &str, headers: &[(&str, &str)]) -> Answer {
    call(endpoint, path, headers, "tools/list", json!({}))
}

fn call(endpoint: &Endpoint, path: &str, headers: &[(&str, &str)], method: &str, params: Value) -> Answer {
    let (own, body) = written(method, params);
    let mut all: Vec<_> = own.iter().map(|(name, value)| (*name, value.as_str())).collect();
    all.extend(headers);
    endpoint.request(&format!("POST {path}"), &all, &body)
}

fn names(answer: &Answer) -> Vec<String> {
    let tools = answer.json()["result"]["tools"].as_array().unwrap().clone();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn only_a_good_key_in_the_right_place_opens() {
    let endpoint = Endpoint::keyed(None);
    let key = endpoint.key(Scope::Read);
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
        let answer = ask(&endpoint, "/api/mcp", &headers);
        let code = answer.json()["error"]["code"].as_i64();
        let expected = match api {
            200 => (200, None),
            0 => (200, Some(-32001)),
            status => (status, Some(-32001)),
        };
        assert_eq!((answer.status, code), expected, "/api/mcp {headers:?}");
        assert_eq!(answer.header("www-authenticate"), (api == 401).then_some("Bearer"), "{headers:?}");
        let answer = ask(&endpoint, "/mcp", &headers);
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
fn nobody_learns_why_a_key_opens_nothing() {
    let endpoint = Endpoint::keyed(None);
    let good = endpoint.key(Scope::Read);
    let keys = [
        endpoint.key_with(Scope::Read, |record| record.expires = Some(record.created)),
        endpoint.key_with(Scope::Read, |record| record.revoked = Some(record.created)),
        format!("{}{}", &good[..23], "x".repeat(43)),
        format!("cf_live_sk_{}", "a".repeat(55)),
        "x".to_owned(),
    ];
    for path in ["/api/mcp", "/mcp"] {
        let answers = keys.iter().map(|key| {
            let answer = ask(&endpoint, path, &[("Authorization", &format!("Bearer {key}"))]);
            (answer.status, answer.body)
        });
        let mut answers: Vec<_> = answers.collect();
        answers.dedup();
        assert_eq!(answers.len(), 1, "{answers:?}");
    }
}

/// Test keys are handed around more freely than others, so they open only servers that were started for tests.
#[test]
fn a_test_key_opens_only_a_server_for_tests() {
    for (test_keys, scope, environment, status) in [
        (false, Scope::Read, Environment::Test, 401),
        (false, Scope::Admin, Environment::Test, 401),
        (false, Scope::Read, Environment::Live, 200),
        (true, Scope::Read, Environment::Test, 200),
        (true, Scope::Read, Environment::Live, 200),
    ] {
        let endpoint = Setup { keyed: true, test_keys, ..Setup::default() }.start();
        let key = endpoint.key_with(scope, |record| record.environment = environment);
        let answer = ask(&endpoint, "/mcp", &[("Authorization", &format!("Bearer {key}"))]);
        assert_eq!(answer.status, status, "{test_keys} {environment:?}");
    }
}

#[test]
fn a_key_ends_when_it_ends() {
    let endpoint = Endpoint::keyed(None);
    let minute = Duration::from_mins(1);
    let key = endpoint.key_with(Scope::Read, |record| record.expires = Some(record.created + minute));
    let bearer = format!("Bearer {key}");
    let status = || ask(&endpoint, "/mcp", &[("Authorization", &bearer)]).status;
    assert_eq!(status(), 200);
    endpoint.clock.advance(Duration::from_millis(59_999));
    assert_eq!(status(), 200);
    endpoint.clock.advance(Duration::from_millis(1));
    assert_eq!(status(), 401);
}

#[test]
fn a_key_that_is_revoked_ends_within_two_seconds() {
    let endpoint = Endpoint::keyed(None);
    let bearer = format!("Bearer {}", endpoint.key(Scope::Read));
    let status = || ask(&endpoint, "/mcp", &[("Authorization", &bearer)]).status;
    assert_eq!(status(), 200);
    endpoint.revoke_all();
    assert_eq!(status(), 401);
}

#[test]
fn a_key_does_what_its_scope_allows_and_sees_no_more() {
    let endpoint = Endpoint::keyed(None);
    for (scope, writes) in [(Scope::Read, false), (Scope::Write, true), (Scope::Admin, true)] {
        let bearer = format!("Bearer {}", endpoint.key(scope));
        let headers = [("Authorization", bearer.as_str())];
        for path in ["/mcp", "/api/mcp"] {
            let listed = names(&ask(&endpoint, path, &headers));
            assert!(listed.contains(&"analyze_repository".to_owned()));
            for tool in ["apply_edit_plan", "undo_edit_plan", "integrate"] {
                assert_eq!(listed.contains(&tool.to_owned()), writes, "{scope} {path} {tool}");
                let params = json!({ "name": tool, "arguments": { "plan": {}, "plan_id": "x" } });
                let body = call(&endpoint, path, &headers, "tools/call", params).body;
                assert_eq!(!body.contains("needs the scope"), writes, "{scope} {path} {tool} {body}");
            }
        }
    }
}

#[test]
fn figures_are_for_admins() {
    let endpoint = Endpoint::keyed(None);
    let status = |headers: &[(&str, &str)]| endpoint.request("GET /metrics", headers, "").status;
    assert_eq!(status(&[]), 401);
    assert_eq!(status(&[("Authorization", "Bearer x")]), 401);
    for (scope, expected) in [(Scope::Read, 403), (Scope::Write, 403), (Scope::Admin, 200)] {
        let bearer = format!("Bearer {}", endpoint.key(scope));
        assert_eq!(status(&[("Authorization", &bearer)]), expected, "{scope}");
    }
    for probe in ["/healthz", "/readyz"] {
        let answer = endpoint.request(&format!("GET {probe}"), &[("Host", "10.0.0.1")], "");
        assert_eq!(answer.status, 200, "a probe has no key and any name: {probe}");
    }
}

#[test]
fn who_fails_again_and_again_has_to_wait() {
    let endpoint = Endpoint::keyed(None);
    let good = format!("Bearer {}", endpoint.key(Scope::Read));
    let bad = || ask(&endpoint, "/mcp", &[("Authorization", "Bearer cf_live_sk_wrong")]);
    (0..100).for_each(|n| assert_eq!(bad().status, 401, "{n}"));
    let answer = bad();
    assert_eq!((answer.status, answer.header("retry-after")), (429, Some("60")));
    let answer = ask(&endpoint, "/api/mcp", &[("Authorization", "Bearer x")]);
    assert_eq!((answer.status, answer.json()["error"]["code"].as_i64()), (429, Some(-32000)));
    assert_eq!(ask(&endpoint, "/mcp", &[("Authorization", &good)]).status, 200, "a right key is let in");
    endpoint.clock.advance(Duration::from_mins(1));
    assert_eq!(bad().status, 401, "a minute later it begins anew");
}

#[test]
fn no_key_gets_into_the_log() {
    let log = Log::begin();
    let endpoint = Endpoint::keyed(None);
    let good = endpoint.key(Scope::Read);
    let wrong = format!("{}{}", &good[..23], "Secret".repeat(7) + "x");
    let made_up = "cf_live_sk_MadeUpMadeUp".to_owned();
    for key in [&good, &wrong, &made_up] {
        for path in ["/mcp", "/api/mcp"] {
            ask(&endpoint, path, &[("Authorization", &format!("Bearer {key}"))]);
            ask(&endpoint, path, &[("Authorization", &format!("Basic {key}"))]);
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
fn a_store_that_is_away_is_not_the_key_s_fault() {
    let endpoint = Setup { keyed: true, access: Some(away()), ..Setup::default() }.start();
    let bearer = format!("Bearer {}", some_key());
    let answer = ask(&endpoint, "/mcp", &[("Authorization", &bearer)]);
    assert_eq!(
        (answer.status, answer.header("retry-after"), answer.kind().as_str()),
        (503, Some("2"), "store_unavailable")
    );
    assert_eq!(endpoint.request("GET /readyz", &[], "").status, 503);
    assert_eq!(endpoint.request("GET /healthz", &[], "").status, 200);
    let unknown = ask(&endpoint, "/mcp", &[("Authorization", "Bearer cf_live_sk_x")]);
    assert_eq!(unknown.status, 401, "what is no key is known without it");
}

/// A key that the servers here could have given out.
pub(crate) fn some_key() -> String {
    let (key, _) = Pepper::new([7; 32]).issue(Environment::Live, |bytes| bytes.fill(9));
    key.expose_secret().to_owned()
}

/// A store that cannot be reached.
pub(crate) fn away() -> Arc<dyn AccessStore> {
    Arc::new(Away)
}

struct Away;

fn unreachable<'a, T>() -> Stored<'a, T> {
    Box::pin(async { Err(StoreError::Unreachable("made up".to_owned())) })
}

impl AccessStore for Away {
    fn key_by_prefix<'a>(&'a self, _: &'a str) -> Stored<'a, Option<(KeyRecord, Credential)>> {
        unreachable()
    }

    fn has_usable_key(&self, _: Timestamp) -> Stored<'_, bool> {
        unreachable()
    }

    fn add_key(&self, _: KeyRecord, _: Credential) -> Stored<'_, ()> {
        unreachable()
    }

    fn keys<'a>(&'a self, _: Option<&'a str>) -> Stored<'a, Vec<KeyListing>> {
        unreachable()
    }

    fn revoke_key<'a>(&'a self, _: &'a str, _: Timestamp) -> Stored<'a, Option<KeyRecord>> {
        unreachable()
    }

    fn rotate_key<'a>(&'a self, _: &'a str, _: Credential, _: Timestamp) -> Stored<'a, Option<KeyRecord>> {
        unreachable()
    }

    fn lease<'a>(&'a self, _: &'a str, _: Terms, _: Moment) -> Stored<'a, Lease> {
        unreachable()
    }

    fn secret<'a>(&'a self, _: &'a str, _: &'a [u8]) -> Stored<'a, Vec<u8>> {
        unreachable()
    }

    fn ready(&self) -> Stored<'_, ()> {
        unreachable()
    }
}

/// The clock of the tests stands still, so that what they say about time is true.
#[test]
fn time_passes_only_when_told() {
    let endpoint = Endpoint::open();
    let now = endpoint.clock.now();
    endpoint.clock.advance(Duration::from_secs(2));
    assert_eq!(endpoint.app.now(), now + Duration::from_secs(2));
}
