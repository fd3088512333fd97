//! A client that writes HTTP by hand, on a connection that stays open.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

/// Nobody waits longer for an answer. A test in which somebody does has failed.
const READ_TIMEOUT: Duration = Duration::from_mins(1);
/// The newest revision, in which every request stands for itself.
const STATELESS_REVISION: &str = "2026-07-28";
/// The newest revision with sessions.
const SESSION_REVISION: &str = "2025-11-25";

/// The ways to call a tool that need no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum McpEndpoint {
    /// `/api/mcp`
    Api,
    /// `/mcp`, as of 2026-07-28.
    Modern,
}

impl McpEndpoint {
    pub(crate) const ALL: [Self; 2] = [Self::Api, Self::Modern];
}

/// One connection, made when it is needed.
pub(crate) struct RawHttpClient {
    address: SocketAddr,
    stream: Option<BufReader<TcpStream>>,
}

/// An answer: status, headers with names in lower case, body.
#[derive(Debug)]
pub(crate) struct RawHttpResponse {
    pub(crate) status: u16,
    header_lines: Vec<String>,
    pub(crate) body: String,
}

impl RawHttpResponse {
    /// The message in the body, or the last one of a stream, if there is one.
    pub(crate) fn message(&self) -> Option<Value> {
        let last = self.body.lines().rev().find_map(|line| line.strip_prefix("data: "));
        serde_json::from_str(last.unwrap_or(&self.body)).ok()
    }

    pub(crate) fn json(&self) -> Value {
        self.message().unwrap_or_else(|| panic!("{self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.header_lines.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// What `echo` gave back.
    pub(crate) fn echo_text(&self) -> Option<String> {
        if self.status != 200 {
            return None;
        }
        let text = self.json()["result"]["content"][0]["text"].as_str()?.to_owned();
        let echo: Value = serde_json::from_str(&text).ok()?;
        Some(echo["text"].as_str()?.to_owned())
    }

    /// Whether a key was not taken, in the manner of the endpoint.
    pub(crate) fn is_key_rejected(&self, endpoint: McpEndpoint) -> bool {
        match endpoint {
            McpEndpoint::Api => self.status == 200 && self.json()["error"]["code"] == -32001,
            McpEndpoint::Modern => self.status == 401 && self.header("www-authenticate").is_some(),
        }
    }
}

impl RawHttpClient {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, stream: None }
    }

    /// Sends a request and reads its answer.
    pub(crate) fn exchange(
        &mut self,
        line: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> io::Result<RawHttpResponse> {
        let mut reader = match self.stream.take() {
            Some(reader) => reader,
            None => self.connect()?,
        };
        reader.get_mut().write_all(encode_request(line, headers, body).as_bytes())?;
        let answer = read_response(&mut reader)?;
        if answer.header("connection") != Some("close") {
            self.stream = Some(reader);
        }
        Ok(answer)
    }

    fn connect(&self) -> io::Result<BufReader<TcpStream>> {
        let stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(READ_TIMEOUT))?;
        stream.set_nodelay(true)?;
        Ok(BufReader::new(stream))
    }

    pub(crate) fn get(&mut self, path: &str) -> io::Result<RawHttpResponse> {
        self.exchange(&format!("GET {path}"), &[], "")
    }

    /// Calls a tool.
    pub(crate) fn call(
        &mut self,
        endpoint: McpEndpoint,
        key: &str,
        tool: &str,
        arguments: Value,
    ) -> io::Result<RawHttpResponse> {
        match endpoint {
            McpEndpoint::Api => self.post("POST /api/mcp", key, &[], &tool_call_message(tool, arguments)),
            McpEndpoint::Modern => self.call_stateless(key, json!({ "name": tool, "arguments": arguments })),
        }
    }

    /// Calls a tool with these parameters, in the manner of 2026-07-28.
    pub(crate) fn call_stateless(&mut self, key: &str, mut params: Value) -> io::Result<RawHttpResponse> {
        let name = params["name"].as_str().unwrap().to_owned();
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": STATELESS_REVISION,
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let headers = [
            ("MCP-Protocol-Version", STATELESS_REVISION),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", name.as_str()),
        ];
        self.post("POST /mcp", key, &headers, &message)
    }

    /// The answer to a message on `/api/mcp`.
    pub(crate) fn ask(&mut self, key: &str, method: &str, params: &Value) -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let answer = self.post("POST /api/mcp", key, &[], &message).unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// Opens a session; its name.
    pub(crate) fn open_session(&mut self, key: &str, client: &str) -> String {
        let about = json!({ "name": client, "version": "1" });
        let hello = json!({ "protocolVersion": SESSION_REVISION, "capabilities": {}, "clientInfo": about });
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello });
        let answer = self.post("POST /mcp", key, &[], &hello).unwrap();
        let name = answer.header("mcp-session-id").unwrap_or_else(|| panic!("{answer:?}")).to_owned();
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let headers = [("MCP-Protocol-Version", SESSION_REVISION), ("Mcp-Session-Id", name.as_str())];
        assert_eq!(self.post("POST /mcp", key, &headers, &ready).unwrap().status, 202);
        name
    }

    /// Calls a tool in a session.
    pub(crate) fn call_in_session(
        &mut self,
        session: &str,
        key: &str,
        tool: &str,
        arguments: Value,
    ) -> io::Result<RawHttpResponse> {
        let headers = [("MCP-Protocol-Version", SESSION_REVISION), ("Mcp-Session-Id", session)];
        self.post("POST /mcp", key, &headers, &tool_call_message(tool, arguments))
    }

    pub(crate) fn post(
        &mut self,
        line: &str,
        key: &str,
        headers: &[(&str, &str)],
        message: &Value,
    ) -> io::Result<RawHttpResponse> {
        let bearer = format!("Bearer {key}");
        let mut all =
            vec![("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
        all.extend((!key.is_empty()).then_some(("Authorization", bearer.as_str())));
        all.extend(headers);
        self.exchange(line, &all, &message.to_string())
    }
}

fn tool_call_message(tool: &str, arguments: Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}

fn encode_request(line: &str, headers: &[(&str, &str)], body: &str) -> String {
    let mut text = format!("{line} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        write!(text, "{name}: {value}\r\n").unwrap();
    }
    text + "\r\n" + body
}

/// Reads one answer. `UnexpectedEof` is a connection that was closed before it; `InvalidData` an answer that broke off.
pub(crate) fn read_response(reader: &mut impl BufRead) -> io::Result<RawHttpResponse> {
    if reader.fill_buf()?.is_empty() {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let broken = |error: io::Error| match error.kind() {
        ErrorKind::WouldBlock => error,
        _ => io::Error::new(ErrorKind::InvalidData, error),
    };
    let mut answer = read_head(reader).map_err(broken)?;
    let mut body = Vec::new();
    if answer.header("transfer-encoding") == Some("chunked") {
        while let Some(chunk) = read_chunk(reader).map_err(broken)? {
            body.extend(chunk);
        }
    } else if let Some(length) = answer.header("content-length") {
        body.resize(length.parse().unwrap(), 0);
        reader.read_exact(&mut body).map_err(broken)?;
    }
    answer.body = String::from_utf8(body).unwrap();
    Ok(answer)
}

fn read_line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    line.strip_suffix("\r\n").map(str::to_owned).ok_or_else(|| ErrorKind::UnexpectedEof.into())
}

fn read_head(reader: &mut impl BufRead) -> io::Result<RawHttpResponse> {
    let mut head = Vec::new();
    loop {
        let line = read_line(reader)?;
        match line.split_once(": ") {
            _ if line.is_empty() => break,
            Some((name, value)) => head.push(format!("{}: {value}", name.to_ascii_lowercase())),
            None => head.push(line),
        }
    }
    let status = head[0].split(' ').nth(1).unwrap().parse().unwrap();
    Ok(RawHttpResponse { status, header_lines: head, body: String::new() })
}

/// The next chunk of a chunked body; nothing at its end.
fn read_chunk(reader: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let size = usize::from_str_radix(&read_line(reader)?, 16).unwrap();
    let mut chunk = vec![0; size + 2];
    reader.read_exact(&mut chunk)?;
    chunk.truncate(size);
    Ok((size > 0).then_some(chunk))
}
