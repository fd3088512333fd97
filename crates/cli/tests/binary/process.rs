//! The server as a child process.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_fluxway");

/// Long enough for any machine; a test that waits this long has failed.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_mins(2);

pub(crate) struct StdioServer {
    pub(crate) child: Child,
    pub(crate) input: Option<ChildStdin>,
    lines: mpsc::Receiver<String>,
    /// The id of the last request.
    last_id: u64,
}

/// A command for the binary, without whatever this machine has in its environment.
pub(crate) fn fluxway(args: &[&str]) -> Command {
    let mut command = Command::new(BINARY);
    command.args(args).env_remove("FLUXWAY_CONFIG").env("XDG_CONFIG_HOME", "/nonexistent");
    command.env_remove("COLUMNS").env("XDG_DATA_HOME", env!("CARGO_TARGET_TMPDIR"));
    command
}

impl StdioServer {
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::spawn(&mut fluxway(args))
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take();
        let lines = spawn_line_reader(child.stdout.take().unwrap());
        Self { child, input, lines, last_id: 100 }
    }

    /// A server with a client that has shaken hands.
    pub(crate) fn start_initialized(args: &[&str]) -> Self {
        let mut server = Self::start(args);
        let about = json!({ "name": "test", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about });
        server.send(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }));
        server.receive();
        server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        server
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// The next message, which is JSON like everything on stdout.
    pub(crate) fn receive(&mut self) -> Value {
        self.receive_within(TEST_TIMEOUT).expect("a message in time")
    }

    /// The next message, if it comes so soon.
    pub(crate) fn receive_within(&mut self, patience: Duration) -> Option<Value> {
        let line = self.lines.recv_timeout(patience).ok()?;
        Some(serde_json::from_str(&line).unwrap_or_else(|_| panic!("stdout holds {line:?}")))
    }

    /// The answer to a request, past whatever else comes before it.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.request(method, params);
        self.receive_response()
    }

    pub(crate) fn request(&mut self, method: &str, params: &Value) {
        self.last_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params }));
    }

    /// The answer to the last request.
    pub(crate) fn receive_response(&mut self) -> Value {
        loop {
            let message = self.receive();
            if message["id"] == self.last_id {
                return message;
            }
        }
    }

    /// All that was said before the end.
    pub(crate) fn remaining_messages(&mut self) -> Vec<Value> {
        let lines = std::iter::from_fn(|| self.lines.recv_timeout(TEST_TIMEOUT).ok());
        lines.filter_map(|line| serde_json::from_str(&line).ok()).collect()
    }

    /// Whether stdout ended without another message.
    pub(crate) fn is_stdout_closed(&mut self) -> bool {
        matches!(self.lines.recv_timeout(TEST_TIMEOUT), Err(mpsc::RecvTimeoutError::Disconnected))
    }

    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    pub(crate) fn call(&mut self, id: u64, tool: &str, arguments: Value) {
        let params = json!({ "name": tool, "arguments": arguments });
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
    }

    /// The most memory that the process has had, in kilobytes.
    pub(crate) fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

impl Drop for StdioServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn spawn_line_reader(output: ChildStdout) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            if sender.send(line.unwrap()).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Runs a command to its end: (exit code, stdout, stderr).
pub(crate) fn run(args: &[&str]) -> (i32, String, String) {
    run_command(&mut fluxway(args))
}

pub(crate) fn run_command(command: &mut Command) -> (i32, String, String) {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut out, mut err) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    (child.wait().unwrap().code().unwrap(), out, err)
}
