//! `fluxway keys`, beside a server that goes by them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::host::{CreatedKey, HttpHost, StoreFixture, eventually};
use super::http::{McpEndpoint, RawHttpResponse};
use crate::process::{TEST_TIMEOUT, run_command};

/// How long a revocation may take everywhere.
const REVOCATION_TIMEOUT: Duration = Duration::from_secs(2);

fn call_echo(host: &HttpHost, endpoint: McpEndpoint, key: &str) -> RawHttpResponse {
    host.client().call(endpoint, key, "echo", json!({ "text": "hello" })).unwrap()
}

fn is_key_accepted(host: &HttpHost, key: &str) -> bool {
    McpEndpoint::ALL.iter().all(|way| call_echo(host, *way, key).echo_text().as_deref() == Some("hello"))
}

/// Uses a key until it is refused; how long after `since` it was last let in.
pub(crate) fn time_until_rejected(
    host: &HttpHost,
    endpoint: McpEndpoint,
    key: &str,
    since: Instant,
) -> Duration {
    let mut last = Duration::ZERO;
    let mut client = host.client();
    eventually("the key is refused", TEST_TIMEOUT, || {
        let sent = since.elapsed();
        let answer = client.call(endpoint, key, "echo", json!({ "text": "hello" })).unwrap();
        if answer.is_key_rejected(endpoint) {
            return Some(());
        }
        assert_eq!(answer.echo_text().as_deref(), Some("hello"), "{answer:?}");
        last = sent;
        None
    });
    last
}

#[test]
fn created_key_is_printed_alone_and_works_at_once() {
    let site = StoreFixture::new();
    let host = site.serve(&[]);
    assert!(host.log().contains("no API key exists yet, so every call is rejected"));
    for way in McpEndpoint::ALL {
        let answer = call_echo(&host, way, "");
        assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Bearer")), "{way:?}");
    }
    let (code, out, err) = site.run_keys(&["create", "--label", "laptop"]);
    let key = out.strip_suffix('\n').unwrap();
    assert_eq!(code, 0, "{err}");
    let is_key = key
        .strip_prefix("cf_live_sk_")
        .is_some_and(|rest| rest.len() == 55 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    assert!(is_key, "stdout holds {} bytes that are no key", out.len());
    let id = site.list_keys()[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(err, format!("{id}: read for main. It is shown this once.\n"));
    assert!(is_key_accepted(&host, key));
}

#[test]
fn a_revoked_key_is_refused_within_two_seconds() {
    let site = StoreFixture::new();
    let (host, key) = (site.serve(&["--rate-limit", "0"]), site.create_key(&[]));
    assert!(is_key_accepted(&host, &key.text));
    let (code, out, err) = site.run_keys(&["revoke", &key.id]);
    let since = Instant::now();
    assert_eq!((code, out.as_str()), (0, ""), "{err}");
    assert!(err.contains("is revoked; every replica rejects it within two seconds"), "{err}");
    std::thread::scope(|scope| {
        for way in McpEndpoint::ALL {
            let (host, key) = (&host, &key.text);
            scope.spawn(move || {
                assert!(time_until_rejected(host, way, key, since) < REVOCATION_TIMEOUT, "{way:?}");
            });
        }
    });
    assert_eq!(site.list_keys()[0]["state"], "revoked");
    // To end it once more changes nothing, and is no error.
    let before = site.list_keys();
    assert_eq!(site.run_keys(&["revoke", &key.id]).0, 0);
    assert_eq!(site.list_keys(), before);
}

#[test]
fn key_list_shows_metadata_without_secrets() {
    let site = StoreFixture::new();
    let laptop = site.create_key(&["--label", "laptop"]);
    let create =
        ["call", "create_project", "--toolsets", "projects", "--name", "P", "--template", "page", "--json"];
    let made: Value = serde_json::from_str(&run_command(&mut site.command(&create)).1).unwrap();
    let p1 = made["id"].as_str().unwrap();
    let build =
        site.create_key(&["--scope", "read,write", "--tenant", "local", "--project", p1, "--expires", "90d"]);
    let trial = site.create_expired_key(&["--test", "--scope", "admin"]);
    let ended = site.create_key(&[]);
    assert_eq!(site.run_keys(&["revoke", &ended.id]).0, 0);
    let host = site.serve(&[]);
    assert!(is_key_accepted(&host, &laptop.text));

    let list = site.list_keys();
    for (key, listed, scope, tenant, state) in [
        (&laptop, &list[0], "read", "main", "active"),
        (&build, &list[1], "write", "local", "active"),
        (&trial, &list[2], "admin", "main", "expired"),
        (&ended, &list[3], "read", "main", "revoked"),
    ] {
        assert_eq!(listed["id"], key.id.as_str());
        assert_eq!([&listed["scope"], &listed["tenant"], &listed["state"]], [scope, tenant, state]);
    }
    assert_eq!(list[0]["prefixes"], json!([laptop.prefix()]));
    assert!(list[0]["lastUsed"].is_string() && list[1]["lastUsed"].is_null(), "{list:?}");
    assert_eq!([&list[1]["project"], &list[2]["environment"]], [p1, "test"]);
    assert!(trial.text.starts_with("cf_test_sk_"));

    let (code, out, err) = site.run_keys(&["list"]);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!((code, lines.len(), err.as_str()), (0, 5, ""), "{out}");
    assert!(lines[0].starts_with("ID ") && lines[0].ends_with("LABEL"), "{out}");
    for (line, words) in [
        (lines[1], [laptop.prefix(), "main", "read", "active", "laptop"]),
        (lines[2], [build.prefix(), "local", &format!("write ({p1})"), "until 20", "never"]),
        (lines[3], ["-", "main", "admin", "expired", "never"]),
        (lines[4], ["-", "main", "read", "revoked", "never"]),
    ] {
        assert!(words.iter().all(|word| line.contains(word)), "{words:?} is not all in {line:?}");
    }
    let (_, json, _) = site.run_keys(&["list", "--json"]);
    for key in [&laptop, &build, &trial, &ended] {
        assert!(!out.contains(key.secret()) && !json.contains(key.secret()), "a secret is listed");
    }
    let (_, local, _) = site.run_keys(&["list", "--tenant", "local"]);
    assert!(local.contains(&build.id) && !local.contains(&laptop.id), "{local}");
    // The same project for somebody who does not have it.
    for (tenant, project) in [("main", p1), ("local", "p1"), ("local", "../x")] {
        let (code, out, err) = site.run_keys(&["create", "--tenant", tenant, "--project", project]);
        assert_eq!((code, out.as_str()), (1, ""), "{err}");
        assert!(err.starts_with(&format!("error: {tenant} has no project `{project}`")), "{err}");
    }
    assert_eq!(site.list_keys().len(), 4);
}

#[test]
fn empty_key_list_prints_a_hint() {
    let site = StoreFixture::new();
    let (code, out, err) = site.run_keys(&["list"]);
    assert_eq!((code, out.as_str()), (0, ""));
    assert_eq!(err, "There are no keys. Create one with `fluxway keys create`.\n");
    assert_eq!(site.run_keys(&["list", "--json"]).1, "{\"keys\":[]}\n");
}

fn rotate(fixture: &StoreFixture, key: &CreatedKey, overlap: &str) -> CreatedKey {
    let (code, out, err) = fixture.run_keys(&["rotate", &key.id, "--overlap", overlap]);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains(&format!("The old secret of {} works until ", key.id)), "{err}");
    CreatedKey { text: out.trim_end().to_owned(), id: key.id.clone() }
}

#[test]
fn rotated_key_accepts_both_secrets_during_overlap() {
    let site = StoreFixture::new();
    let (host, first) = (site.serve(&["--rate-limit", "0"]), site.create_key(&["--scope", "write"]));
    let second = rotate(&site, &first, "1h");
    assert!(is_key_accepted(&host, &first.text) && is_key_accepted(&host, &second.text));
    let list = site.list_keys();
    assert_eq!((list.len(), &list[0]["scope"]), (1, &json!("write")));
    assert_eq!(list[0]["prefixes"], json!([second.prefix(), first.prefix()]));

    let third = rotate(&site, &first, "0m");
    let since = Instant::now();
    assert!(is_key_accepted(&host, &third.text));
    for old in [&first, &second] {
        assert!(time_until_rejected(&host, McpEndpoint::Modern, &old.text, since) < REVOCATION_TIMEOUT);
    }
    assert!(is_key_accepted(&host, &third.text));
    assert_eq!(site.list_keys()[0]["prefixes"], json!([third.prefix()]));
}

#[test]
fn expired_key_is_rejected() {
    let site = StoreFixture::new();
    let host = site.serve(&[]);
    let (expired, good) = (site.create_expired_key(&[]), site.create_key(&["--expires", "1h"]));
    for way in McpEndpoint::ALL {
        assert!(call_echo(&host, way, &expired.text).is_key_rejected(way), "{way:?}");
    }
    assert!(is_key_accepted(&host, &good.text));
}

#[test]
fn invalid_key_commands_are_rejected_without_changes() {
    let site = StoreFixture::new();
    let (kept, ended) = (site.create_key(&["--label", "kept"]), site.create_key(&[]));
    assert_eq!(site.run_keys(&["revoke", &ended.id]).0, 0);
    let before = site.list_keys();
    let long = "x".repeat(201);
    for (args, code, says) in [
        (&["create", "--scope", "read,root"][..], 2, "unknown scope `root`; use read, write, admin"),
        (&["create", "--scope", ""], 2, "unknown scope"),
        (&["create", "--expires", "soon"], 2, "`soon` is no time; write a number and m, h, d or w"),
        (&["create", "--expires", "-1d"], 2, "error: "),
        (&["create", "--expires", "99999999w"], 2, "--expires: that is too far away"),
        (&["create", "--expires", "0d"], 2, "a key must work for some time"),
        (&["create", "--tenant", ""], 2, "--tenant must not be empty"),
        (&["create", "--label", "two\nlines"], 2, "--label takes up to 200 characters"),
        (&["create", "--project", "\u{1b}[31m"], 2, "--project takes up to 200 characters"),
        (&["create", "--tenant", &long], 2, "--tenant takes up to 200 characters"),
        (&["create", "--name", "x"], 2, "unexpected argument '--name'"),
        (&["create", "x"], 2, "unexpected argument 'x'"),
        (&["revoke"], 2, "required"),
        (&["revoke", "key_0"], 1, "there is no key `key_0`; `fluxway keys list` shows the ids"),
        (&["revoke", ""], 1, "there is no key ``"),
        (&["rotate", "key_0"], 1, "there is no key `key_0`"),
        (&["rotate", &ended.id], 1, "has been revoked; make a new key instead"),
        (&["rotate", &kept.id, "--overlap", "1y"], 2, "`1y` is no time"),
        (&["end"], 2, "unrecognized subcommand 'end'"),
    ] {
        let (found, out, err) = site.run_keys(args);
        assert_eq!((found, out.as_str()), (code, ""), "{args:?}: {err}");
        assert!(err.contains(says) && err.starts_with("error: "), "{args:?}: {err}");
    }
    assert_eq!(site.list_keys(), before);
    assert!(is_key_accepted(&site.serve(&[]), &kept.text));
}

#[test]
fn invalid_database_urls_are_reported_without_passwords() {
    let site = StoreFixture::new();
    for (url, code, says) in [
        ("mysql://ann:hunter2@db/flux", 2, "unknown store type `mysql:`"),
        ("store.db", 2, "database: invalid store URL; use `sqlite:PATH` or"),
        ("sqlite:", 2, "`sqlite:` requires a file path"),
        ("postgres://ann:hunter2@127.0.0.1:1/flux", 3, "cannot be reached"),
    ] {
        for args in [&["keys", "create"][..], &["serve", "--http", "127.0.0.1:0"]] {
            let (found, out, err) = run_command(site.command(args).env("FLUXWAY_DATABASE", url));
            assert_eq!((found, out.as_str()), (code, ""), "{url}: {err}");
            assert!(err.contains(says) && !err.contains("hunter2"), "{url}: {err}");
        }
    }
}

/// T12 of the guide: nobody finds a secret in what is kept or said.
#[test]
fn secrets_are_neither_stored_nor_logged() {
    let site = StoreFixture::new();
    let host = site.serve(&["--log", "trace", "--rate-limit", "0"]);
    let (first, ended) = (site.create_key(&["--scope", "admin"]), site.create_key(&[]));
    let second = rotate(&site, &first, "1h");
    let wrong = format!("{}{}", first.prefix(), ended.secret());
    assert!(
        is_key_accepted(&host, &first.text)
            && is_key_accepted(&host, &second.text)
            && is_key_accepted(&host, &ended.text)
    );
    for way in McpEndpoint::ALL {
        assert!(call_echo(&host, way, &wrong).is_key_rejected(way));
    }
    assert_eq!(site.run_keys(&["revoke", &ended.id]).0, 0);
    time_until_rejected(&host, McpEndpoint::Api, &ended.text, Instant::now());
    let query = format!("/mcp?key={}", first.text);
    assert_eq!(host.client().get(&query).unwrap().status, 401);
    let bearer = format!("Bearer {}", first.text);
    let metrics = host.client().exchange("GET /metrics", &[("Authorization", &bearer)], "").unwrap();
    assert_eq!(metrics.status, 200);

    // Once while the server runs, and once when it has ended.
    let mut kept = store_files(&site);
    let (out, log) = host.shut_down();
    kept.extend(store_files(&site));
    let said = [("stdout", out), ("log", log), ("metrics", metrics.body)];
    kept.extend(said.map(|(name, text)| (name.to_owned(), text.into_bytes())));
    let holds = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    let is_found = |place: &str, text: &str| {
        kept.iter().any(|(name, bytes)| name.starts_with(place) && holds(bytes, text))
    };
    assert!(
        is_found("store.db", first.prefix()) && is_found("log", "DEBUG"),
        "this looks in the wrong place"
    );
    for (name, bytes) in &kept {
        for key in [&first, &second, &ended] {
            assert!(!holds(bytes, key.secret()), "{name} holds a secret");
        }
    }
}

/// All that lies in the folder of a store.
fn store_files(fixture: &StoreFixture) -> Vec<(String, Vec<u8>)> {
    let all = std::fs::read_dir(fixture.folder.path()).unwrap().map(Result::unwrap);
    all.map(|file| (file.file_name().to_string_lossy().into_owned(), std::fs::read(file.path()).unwrap()))
        .collect()
}

#[test]
fn configured_pepper_is_required_to_verify_its_keys() {
    let site = StoreFixture::new();
    let pepper = "ab".repeat(32);
    let (code, out, err) = run_command(site.command(&["keys", "create"]).env("FLUXWAY_KEY_PEPPER", &pepper));
    assert_eq!(code, 0, "{err}");
    let key = out.trim_end();
    let with = HttpHost::start(site.serve_command(&[]).env("FLUXWAY_KEY_PEPPER", &pepper));
    assert!(is_key_accepted(&with, key));
    let without = site.serve(&[]);
    assert!(McpEndpoint::ALL.iter().all(|way| call_echo(&without, *way, key).is_key_rejected(*way)));
    let file = std::fs::read(site.path("store.db")).unwrap();
    assert!(!file.windows(32).any(|part| part == [0xab; 32]), "the pepper is kept");
}

/// A new key as scripts see it, and as lists show it later.
fn create_and_list_key() -> (Value, Value) {
    let site = StoreFixture::new();
    let args = ["create", "--json", "--label", "ci", "--scope", "read,write", "--expires", "1h"];
    let (code, out, err) = site.run_keys(&args);
    assert_eq!((code, err.as_str()), (0, ""));
    (serde_json::from_str(&out).unwrap(), site.list_keys().remove(0))
}

#[test]
fn created_key_json_matches_the_list() {
    let (made, listed) = create_and_list_key();
    for name in ["id", "tenant", "label", "environment", "scope", "project", "revoked", "state"] {
        assert_eq!(made[name], listed[name], "{name}");
    }
    assert!(listed.get("key").is_none() && made["key"].is_string());
}

#[test]
fn created_key_json_has_the_listed_times() {
    let (made, listed) = create_and_list_key();
    for name in ["created", "expires"] {
        assert_eq!(made[name], listed[name], "{name}");
    }
}
