//! What SIGHUP reads again: limits, keys for tokens, certificates.

use std::io::{BufReader, Write};
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::host::{HttpHost, StoreFixture, eventually};
use super::http::{McpEndpoint, RawHttpResponse, read_response};
use super::stores::print_skipped;
use crate::process::TEST_TIMEOUT;

fn echo_status(host: &HttpHost, key: &str) -> u16 {
    host.client().call(McpEndpoint::Modern, key, "echo", json!({ "text": "x" })).unwrap().status
}

fn wait_for_log(host: &HttpHost, text: &str) {
    eventually(text, TEST_TIMEOUT, || host.log().contains(text).then_some(()));
}

#[test]
fn sighup_reloads_rate_limits() {
    let site = StoreFixture::new();
    let key = site.create_key(&[]).text;
    let limit = |rate: u32, burst: u32| {
        site.write("config.toml", &format!("[serve]\nrate-limit = {rate}\nrate-burst = {burst}\n"))
    };
    let host = site.serve(&["--config", &limit(1, 3)]);
    let statuses = || -> Vec<u16> { (0..5).map(|_| echo_status(&host, &key)).collect() };
    assert_eq!(statuses(), [200, 200, 200, 429, 429]);

    limit(0, 3);
    host.signal(Signal::HUP);
    eventually("there is no limit", TEST_TIMEOUT, || (echo_status(&host, &key) == 200).then_some(()));
    assert_eq!(statuses(), [200; 5]);

    // Settings that cannot be used change nothing.
    site.write("config.toml", "[serve]\nrate-limit = 'much'\n");
    host.signal(Signal::HUP);
    wait_for_log(&host, "settings not reloaded");
    assert_eq!(statuses(), [200; 5]);

    limit(1, 3);
    host.signal(Signal::HUP);
    eventually("there is a limit", TEST_TIMEOUT, || (echo_status(&host, &key) == 429).then_some(()));
}

const ISSUER: &str = "https://id.example.com";
const AUDIENCE: &str = "https://mcp.example.com/mcp";

/// A signer that was made for this test, and is good for nothing else: its key set, and a token.
fn jwks_and_token(secret: u8) -> (String, String) {
    let key = Ed25519KeyPair::from_seed_unchecked(&[secret; 32]).unwrap();
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let in_2100 = 4_102_444_800_u64;
    let claims = json!({ "iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": in_2100, "scope": "read" });
    let message = format!("{}.{}", part(json!({ "alg": "EdDSA", "typ": "JWT" })), part(claims));
    let signature = URL_SAFE_NO_PAD.encode(key.sign(message.as_bytes()));
    let jwk = json!({ "kty": "OKP", "crv": "Ed25519", "x": URL_SAFE_NO_PAD.encode(key.public_key()) });
    (json!({ "keys": [jwk] }).to_string(), format!("{message}.{signature}"))
}

#[test]
fn sighup_reloads_jwks() {
    let site = StoreFixture::new();
    let ((old_keys, old), (new_keys, new)) = (jwks_and_token(7), jwks_and_token(9));
    let jwks = site.write("jwks.json", &old_keys);
    let host = site.serve(&["--issuer", ISSUER, "--audience", AUDIENCE, "--jwks", &jwks]);
    assert!(!host.log().contains("no API key exists"), "whoever has a token can call");
    assert_eq!([echo_status(&host, &old), echo_status(&host, &new)], [200, 401]);

    site.write("jwks.json", &new_keys);
    host.signal(Signal::HUP);
    eventually("the new signer is known", TEST_TIMEOUT, || (echo_status(&host, &new) == 200).then_some(()));
    assert_eq!(echo_status(&host, &old), 401);

    for bad in ["", "{\"keys\":[]}", "not JSON"] {
        let before = host.log().matches("JWKS not reloaded").count();
        site.write("jwks.json", bad);
        host.signal(Signal::HUP);
        let is_said = || (host.log().matches("JWKS not reloaded").count() > before).then_some(());
        eventually("it is said that they were kept", TEST_TIMEOUT, is_said);
        assert_eq!([echo_status(&host, &old), echo_status(&host, &new)], [401, 200], "{bad}");
    }
    assert!(!host.log().contains(&new), "the token is in the log");
}

/// Makes a certificate for this name in the files that the server reads. Not without openssl.
fn create_certificate(fixture: &StoreFixture, name: &str) -> bool {
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
        ])
        .args(["-subj", &format!("/CN={name}"), "-addext", "subjectAltName=DNS:localhost"])
        .args(["-keyout", "key.pem", "-out", "cert.pem"])
        .current_dir(fixture.folder.path())
        .output();
    made.is_ok_and(|output| output.status.success())
}

/// Asks `/healthz` over TLS, and checks the certificate against what is in the file.
fn get_healthz_over_tls(fixture: &StoreFixture, host: &HttpHost) -> Option<RawHttpResponse> {
    let mut child = Command::new("openssl")
        .args(["s_client", "-connect", &host.address.to_string(), "-servername", "localhost", "-quiet"])
        .args(["-CAfile", "cert.pem", "-verify_return_error", "-verify_hostname", "localhost"])
        .current_dir(fixture.folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let mut input = child.stdin.take().unwrap();
    let _ = input.write_all(request.as_bytes());
    let answer = read_response(&mut BufReader::new(child.stdout.take().unwrap())).ok();
    let _ = child.kill();
    child.wait().unwrap();
    answer
}

#[test]
fn sighup_reloads_certificates() {
    let site = StoreFixture::new();
    if !create_certificate(&site, "one") {
        return print_skipped("openssl cannot be used");
    }
    let host = site.serve(&["--tls-cert", "cert.pem", "--tls-key", "key.pem"]);
    assert!(host.log().contains("fluxway listens on https://127.0.0.1:"), "{}", host.log());
    assert_eq!(get_healthz_over_tls(&site, &host).map(|answer| answer.status), Some(200));
    // Whoever does not speak TLS gets no answer, and harms nobody.
    assert!(host.client().get("/healthz").is_err());

    assert!(create_certificate(&site, "two"));
    assert!(get_healthz_over_tls(&site, &host).is_none(), "the file alone changes nothing");
    host.signal(Signal::HUP);
    eventually("the new certificate is shown", TEST_TIMEOUT, || get_healthz_over_tls(&site, &host));

    let good = std::fs::read(site.path("cert.pem")).unwrap();
    site.write("cert.pem", "no certificate");
    host.signal(Signal::HUP);
    wait_for_log(&host, "TLS certificate not reloaded");
    std::fs::write(site.path("cert.pem"), good).unwrap();
    assert_eq!(get_healthz_over_tls(&site, &host).map(|answer| answer.status), Some(200));
    let (out, _) = host.shut_down();
    assert_eq!(out, "");
}

#[test]
fn unusable_certificates_and_keys_are_reported() {
    let site = StoreFixture::new();
    let none = site.write("none.pem", "nothing");
    for (args, code, says) in [
        (&["--tls-cert", &none][..], 2, "--tls-key"),
        (&["--tls-cert", &none, "--tls-key", &none], 2, "contains no PEM certificate"),
        (&["--tls-cert", "missing.pem", "--tls-key", &none], 3, "cannot read missing.pem"),
        (&["--issuer", ISSUER, "--jwks", &none], 2, "`issuer` requires `audience` or `public-url`"),
        (&["--issuer", ISSUER, "--audience", AUDIENCE, "--jwks", &none], 2, "not JSON"),
    ] {
        let (found, out, err) = crate::process::run_command(&mut site.serve_command(args));
        assert_eq!((found, out.as_str()), (code, ""), "{args:?}: {err}");
        assert!(err.starts_with("error: ") || err.contains("\nerror: "), "{args:?}: {err}");
        assert!(err.contains(says), "{args:?}: {err}");
    }
}
