//! The server on a real pipe: its start, its end, and what is thrown at it in between.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::process::{BINARY, StdioServer, TEST_TIMEOUT, fluxway, spawn_line_reader};

const TEST_TOOLSETS: &[&str] = &["--toolsets", "reference,diagnostics"];

#[test]
fn the_end_of_input_lets_calls_finish() {
    let mut server = StdioServer::start_initialized(TEST_TOOLSETS);
    server.call(1, "wait", json!({ "steps": 3, "step_ms": 100 }));
    server.input = None;
    assert_eq!(server.receive()["result"]["structuredContent"]["steps"], 3);
    assert!(server.is_stdout_closed());
    assert!(server.child.wait().unwrap().success());
}

#[test]
fn sigterm_lets_calls_finish() {
    let mut server = StdioServer::start_initialized(TEST_TOOLSETS);
    server.call(1, "wait", json!({ "steps": 3, "step_ms": 1000 }));
    server.call(2, "echo", json!({ "text": "the call before me is running" }));
    assert_eq!(server.receive()["id"], 2);
    server.signal("-TERM");
    assert_eq!(server.receive()["result"]["structuredContent"]["steps"], 3);
    assert!(server.is_stdout_closed());
    assert!(server.child.wait().unwrap().success());
}

#[test]
fn server_exits_when_its_parent_dies() {
    // The shell dies; the pipe that it handed on stays open, so the end of input is no sign.
    let mut shell = Command::new("sh")
        .args(["-c", r#"exec 3<&0; "$0" <&3 & wait"#, BINARY])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut held_open = shell.stdin.take().unwrap();
    let output = spawn_line_reader(shell.stdout.take().unwrap());
    held_open.write_all(b"{\"type\":\"handshake\"}\n").unwrap();
    assert!(output.recv_timeout(TEST_TIMEOUT).unwrap().contains("fluxloop-mcp"), "the server is up");
    shell.kill().unwrap();
    shell.wait().unwrap();
    let end = output.recv_timeout(TEST_TIMEOUT);
    assert_eq!(
        end,
        Err(std::sync::mpsc::RecvTimeoutError::Disconnected),
        "its stdout closes with the server"
    );
}

#[test]
fn sighup_reloads_toolsets() {
    let mut settings = tempfile::NamedTempFile::new().unwrap();
    settings.write_all(b"toolsets = ['reference']").unwrap();
    let mut server = StdioServer::start_initialized(&["--config", settings.path().to_str().unwrap()]);
    server.call(1, "echo", json!({ "text": "x" }));
    assert_eq!(server.receive()["error"]["data"]["kind"], "tool_not_found");

    std::fs::write(settings.path(), "toolsets = ['reference', 'diagnostics']").unwrap();
    server.signal("-HUP");
    for list in ["tools", "resources", "prompts"] {
        assert_eq!(server.receive()["method"], format!("notifications/{list}/list_changed"));
    }
    server.call(2, "echo", json!({ "text": "x" }));
    assert_eq!(server.receive()["result"]["structuredContent"]["text"], "x");
}

#[test]
fn a_gigabyte_without_a_newline_costs_one_answer_and_little_memory() {
    let mut server = StdioServer::start_initialized(TEST_TOOLSETS);
    let chunk = vec![b'x'; 1 << 20];
    for _ in 0..1024 {
        server.write(&chunk);
    }
    server.write(b"\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    assert_eq!(server.receive()["error"]["data"]["kind"], "message_too_large");
    assert_eq!(server.receive(), json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
    let peak = server.peak_memory();
    assert!(peak < 64 * 1024, "{peak} kB");
}

/// A reader that stalls holds the server up and loses nothing.
#[test]
fn ten_thousand_requests_in_one_go_are_all_answered() {
    let mut child = fluxway(TEST_TOOLSETS).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = child.stdout.take().unwrap();
    let writer = std::thread::spawn(move || {
        let mut all = Vec::new();
        for id in 0..10_000 {
            writeln!(all, r#"{{"type":"request","id":{id},"tool":"echo","text":"{}"}}"#, "x".repeat(100))
                .unwrap();
        }
        // Far more than a pipe holds: this returns only because somebody reads at the other end.
        input.write_all(&all).unwrap();
    });
    let mut answers = String::new();
    output.read_to_string(&mut answers).unwrap();
    writer.join().unwrap();
    let ids: HashSet<u64> = answers
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|answer| answer["id"].as_u64().unwrap())
        .collect();
    assert_eq!((answers.lines().count(), ids.len()), (10_000, 10_000));
    assert!(child.wait().unwrap().success());
}

#[test]
fn tool_panic_does_not_affect_other_calls() {
    let mut server = StdioServer::start_initialized(TEST_TOOLSETS);
    server.call(1, "wait", json!({ "steps": 2, "step_ms": 100 }));
    server.call(2, "crash", json!({}));
    server.call(3, "echo", json!({ "text": "x" }));
    // Which of them is the fastest does not matter.
    let mut answers = [(); 3].map(|()| server.receive());
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!(answers[0]["result"]["structuredContent"]["steps"], 2);
    assert_eq!(answers[1]["error"]["code"], -32603);
    assert_eq!(answers[2]["result"]["structuredContent"]["text"], "x");
}

/// Room for the server, but not for the stack of a thread that parses.
#[cfg(target_os = "linux")]
#[test]
fn thread_exhaustion_is_reported_and_survived() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    let line = format!("ulimit -v {}; exec \"$@\"", 400 << 10);
    let mut command = Command::new("sh");
    command.args(["-c", &line, "sh", BINARY, "serve", "--root", root]);
    command.env_remove("FLUXWAY_CONFIG").env("XDG_CONFIG_HOME", "/nonexistent").env("XDG_DATA_HOME", root);
    let mut server = StdioServer::spawn(command.stderr(Stdio::piped()));
    let about = json!({ "name": "test", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about });
    server.send(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }));
    server.receive();
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    for id in 1..=3 {
        server.call(id, "analyze_repository", json!({}));
        let answer = server.receive();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.starts_with("the server could not start a thread: "), "{answer}");
        assert_eq!(answer["result"]["isError"], true, "{answer}");
    }
    // What needs no thread of its own is answered.
    server.call(4, "tell_fortune", json!({ "category": "love" }));
    assert!(server.receive()["result"].is_object());
    drop(server.input.take());
    let mut log = String::new();
    server.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    assert!(server.child.wait().unwrap().success(), "{log}");
    let told: Vec<&str> = log.lines().filter(|line| line.contains("no thread could be started")).collect();
    assert_eq!(told.len(), 1, "{log}");
    assert!(told[0].contains("rpc.id=\"1\"") && !log.contains("panic"), "{log}");
}

/// Its input stays open: that nobody reads is the only sign.
#[test]
fn a_client_that_stops_reading_ends_the_server() {
    for message in [
        &b"{\"type\":\"handshake\"}\n"[..],
        b"{\"type\":\"request\",\"tool\":\"wait\",\"steps\":1,\"step_ms\":100}\n",
    ] {
        let mut child = fluxway(TEST_TOOLSETS).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut input = child.stdin.take().unwrap();
        input.write_all(message).unwrap();
        assert!(child.wait().unwrap().success());
    }
}
