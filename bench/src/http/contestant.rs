//! Who is measured over HTTP, and what each is sent.

use std::path::Path;
use std::process::Command;
use std::rc::Rc;

use super::http1::{header, post, send_and_receive};
use super::server::BenchHttpServer;
use crate::BenchResult;

/// Sessions that connections share. One caller of fluxway may have a hundred.
const SESSION_COUNT: usize = 64;

/// How a call is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BenchCallMode {
    Stateless,
    Session,
    Api,
}

pub(crate) struct Contestant {
    pub(crate) name: &'static str,
    pub(crate) server: Rc<BenchHttpServer>,
    /// The server of the SDK that is called in the same way.
    pub(crate) rival: Option<&'static str>,
    /// The same without a key.
    pub(crate) keyless: Option<&'static str>,
    mode: BenchCallMode,
    /// Lines of headers.
    headers: String,
    sessions: Vec<String>,
}

pub(crate) const BARE: &str = "bare axum handler";
const RMCP: &str = "rmcp 3.8, stateless";
const RMCP_SESSION: &str = "rmcp 3.8, session";
const STATELESS: &str = "fluxway /mcp, stateless";
const SESSION: &str = "fluxway /mcp, session";
const API: &str = "fluxway /api/mcp";

/// Every server that is measured, started.
pub(crate) fn start_all(folder: &Path, scratch: &Path) -> BenchResult<Vec<Contestant>> {
    let bare = Rc::new(BenchHttpServer::start(&folder.join("peer-bare-http"), &[])?);
    let sessions = Rc::new(BenchHttpServer::start(&folder.join("peer-rmcp-http"), &[])?);
    let stateless = Rc::new(BenchHttpServer::start(&folder.join("peer-rmcp-http"), &["stateless"])?);
    let open = Rc::new(BenchHttpServer::start_fluxway(folder, &["--no-auth"])?);
    let (keyed, key) = start_with_key(folder, scratch)?;
    let keyed = Rc::new(keyed);
    let ours = |name, way, rival| Contestant::new(name, &open, way).map(|one| one.compared_with(rival));
    let ours_with_key = |name, way, rival, keyless| {
        let one = Contestant::with_key(name, &keyed, way, &key)?.compared_with(rival);
        Ok::<_, Box<dyn std::error::Error>>(Contestant { keyless: Some(keyless), ..one })
    };
    Ok(vec![
        Contestant::new(BARE, &bare, BenchCallMode::Stateless)?,
        Contestant::new(RMCP, &stateless, BenchCallMode::Stateless)?,
        Contestant::new(RMCP_SESSION, &sessions, BenchCallMode::Session)?,
        ours(STATELESS, BenchCallMode::Stateless, RMCP)?,
        ours(SESSION, BenchCallMode::Session, RMCP_SESSION)?,
        ours(API, BenchCallMode::Api, RMCP)?,
        ours_with_key("fluxway /mcp, stateless, key", BenchCallMode::Stateless, RMCP, STATELESS)?,
        ours_with_key("fluxway /mcp, session, key", BenchCallMode::Session, RMCP_SESSION, SESSION)?,
        ours_with_key("fluxway /api/mcp, key", BenchCallMode::Api, RMCP, API)?,
    ])
}

/// Fluxway with a key, and a limit that nobody reaches.
fn start_with_key(folder: &Path, scratch: &Path) -> BenchResult<(BenchHttpServer, String)> {
    let database = format!("sqlite:{}", scratch.join("keys.db").display());
    let key = create_key(folder, &database)?;
    let limits = ["--rate-limit", "100000000", "--rate-burst", "10000000"];
    let server = BenchHttpServer::start_fluxway(folder, &[&["--database", &database], &limits[..]].concat())?;
    Ok((server, key))
}

/// A new key in this database.
pub(crate) fn create_key(folder: &Path, database: &str) -> BenchResult<String> {
    let made = Command::new(folder.join("fluxway"))
        .args(["keys", "create", "--config", "/dev/null", "--database", database])
        .output()?;
    if !made.status.success() {
        return Err(String::from_utf8_lossy(&made.stderr).into());
    }
    Ok(String::from_utf8(made.stdout)?.trim().to_owned())
}

impl Contestant {
    fn new(name: &'static str, server: &Rc<BenchHttpServer>, way: BenchCallMode) -> BenchResult<Self> {
        Self::with_headers(name, server, way, String::new())
    }

    fn with_key(
        name: &'static str,
        server: &Rc<BenchHttpServer>,
        mode: BenchCallMode,
        key: &str,
    ) -> BenchResult<Self> {
        Self::with_headers(name, server, mode, format!("authorization: Bearer {key}\r\n"))
    }

    fn with_headers(
        name: &'static str,
        server: &Rc<BenchHttpServer>,
        way: BenchCallMode,
        headers: String,
    ) -> BenchResult<Self> {
        let server = Rc::clone(server);
        let mut one =
            Self { name, server, rival: None, keyless: None, mode: way, headers, sessions: Vec::new() };
        if way == BenchCallMode::Session {
            one.sessions = (0..SESSION_COUNT).map(|_| one.open_session()).collect::<BenchResult<_>>()?;
        }
        Ok(one)
    }

    fn compared_with(self, rival: &'static str) -> Self {
        Self { rival: Some(rival), ..self }
    }

    /// Shakes hands; the headers that name the session.
    fn open_session(&self) -> BenchResult<String> {
        let about = r#"{"name":"bench","version":"1"}"#;
        let hello = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{about}}}}}"#
        );
        let answer = send_and_receive(self.server.address, &self.post("/mcp", "", &hello))?;
        let session = header(&answer, "mcp-session-id").ok_or("no session")?;
        let headers = format!("mcp-session-id: {session}\r\nmcp-protocol-version: 2025-11-25\r\n");
        let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        send_and_receive(self.server.address, &self.post("/mcp", &headers, ready))?;
        Ok(headers)
    }

    /// The request of each connection. They differ in ids and sessions.
    pub(crate) fn requests(&self, connections: usize) -> Vec<Vec<u8>> {
        (0..connections).map(|n| self.request(n)).collect()
    }

    fn request(&self, id: usize) -> Vec<u8> {
        match self.mode {
            BenchCallMode::Api => self.post("/api/mcp", "", &echo_call(id, "")),
            BenchCallMode::Session => {
                self.post("/mcp", &self.sessions[id % SESSION_COUNT], &echo_call(id, ""))
            }
            BenchCallMode::Stateless => {
                let headers = stateless_headers("tools/call") + "mcp-name: echo\r\n";
                self.post("/mcp", &headers, &echo_call(id, &format!(",{STATELESS_META}")))
            }
        }
    }

    fn post(&self, path: &str, headers: &str, body: &str) -> Vec<u8> {
        post(self.server.address, path, &format!("{}{headers}", self.headers), body)
    }
}

/// What a message says that stands for itself.
pub(crate) const STATELESS_META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

/// And the headers that say it once more.
pub(crate) fn stateless_headers(method: &str) -> String {
    format!("mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n")
}

fn echo_call(id: usize, more: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"hello, world"}}{more}}}}}"#
    )
}
