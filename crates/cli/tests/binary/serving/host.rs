//! A store for one test, the commands that use it, and servers on it.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use super::http::RawHttpClient;
use crate::process::{TEST_TIMEOUT, fluxway, run_command};

/// Where tests listen: on whatever port is free.
const ANY_LOOPBACK_PORT: &str = "127.0.0.1:0";
/// A server says this when it can be reached.
const LISTENING_MESSAGE: &str = "fluxway listens on ";

/// A store of its own, and a folder.
pub(crate) struct StoreFixture {
    pub(crate) url: String,
    pub(crate) folder: TempDir,
}

/// A key, and the id that it is known by.
pub(crate) struct CreatedKey {
    pub(crate) text: String,
    pub(crate) id: String,
}

impl CreatedKey {
    /// The part that nobody but its holder may know.
    pub(crate) fn secret(&self) -> &str {
        &self.text[self.text.len() - 43..]
    }

    pub(crate) fn prefix(&self) -> &str {
        &self.text[..self.text.len() - 43]
    }
}

impl StoreFixture {
    /// With a store in a file that does not exist yet.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("store.db").display());
        Self { url, folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file; its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// A command that uses the store.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = fluxway(args);
        command.env("FLUXWAY_DATABASE", &self.url).current_dir(self.folder.path());
        command
    }

    /// `fluxway keys …`: exit code, stdout, stderr.
    pub(crate) fn run_keys(&self, args: &[&str]) -> (i32, String, String) {
        run_command(&mut self.command(&[&["keys"], args].concat()))
    }

    /// Makes a key.
    pub(crate) fn create_key(&self, args: &[&str]) -> CreatedKey {
        let (code, out, err) = self.run_keys(&[&["create", "--json"], args].concat());
        assert_eq!(code, 0, "{err}");
        let made: Value = serde_json::from_str(&out).unwrap();
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        CreatedKey { text: text("key"), id: text("id") }
    }

    /// Makes a key that has expired. No command does that, so its row is changed.
    pub(crate) fn create_expired_key(&self, args: &[&str]) -> CreatedKey {
        let key = self.create_key(args);
        let store = rusqlite::Connection::open(self.path("store.db")).unwrap();
        store.busy_timeout(TEST_TIMEOUT).unwrap();
        let changed = store.execute("UPDATE api_keys SET expires = 1 WHERE id = ?1", [&key.id]).unwrap();
        assert_eq!(changed, 1, "{}", key.id);
        key
    }

    /// All keys, as programs see them.
    pub(crate) fn list_keys(&self) -> Vec<Value> {
        let (code, out, err) = self.run_keys(&["list", "--json"]);
        assert_eq!(code, 0, "{err}");
        let list: Value = serde_json::from_str(&out).unwrap();
        list["keys"].as_array().unwrap().clone()
    }

    /// The prefixes of all keys.
    pub(crate) fn key_prefixes(&self) -> Vec<String> {
        let prefix = |key: &Value| key["prefixes"][0].as_str().unwrap().to_owned();
        self.list_keys().iter().map(prefix).collect()
    }

    /// A server with the tools for trying out.
    pub(crate) fn serve(&self, args: &[&str]) -> HttpHost {
        HttpHost::start(&mut self.serve_command(args))
    }

    /// The command for it.
    pub(crate) fn serve_command(&self, args: &[&str]) -> Command {
        let usual = ["serve", "--http", ANY_LOOPBACK_PORT, "--toolsets", "reference,diagnostics"];
        self.command(&[&usual, args].concat())
    }
}

/// A server that can be reached.
pub(crate) struct HttpHost {
    child: Child,
    pub(crate) address: SocketAddr,
    log: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl HttpHost {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let log = Arc::<Mutex<String>>::default();
        let (found, address) = mpsc::channel();
        let reader = read_log(child.stderr.take().unwrap(), Arc::clone(&log), found);
        let Ok(address) = address.recv_timeout(TEST_TIMEOUT) else {
            let _ = child.kill();
            panic!("the server does not listen: {}", log.lock().unwrap());
        };
        Self { child, address, log, reader: Some(reader) }
    }

    pub(crate) fn client(&self) -> RawHttpClient {
        RawHttpClient::new(self.address)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// What the server has written on stderr.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Waits for its end, for so long.
    pub(crate) fn wait(&mut self, patience: Duration) -> ExitStatus {
        eventually("the server ends", patience, || self.child.try_wait().unwrap())
    }

    /// Ends it at once, as a power failure would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends it in good order; all that it has written on stdout and on stderr.
    pub(crate) fn shut_down(mut self) -> (String, String) {
        self.signal(Signal::TERM);
        let status = self.wait(TEST_TIMEOUT);
        assert!(status.success(), "{status}: {}", self.log());
        self.reader.take().unwrap().join().unwrap();
        let out = std::io::read_to_string(self.child.stdout.take().unwrap()).unwrap();
        (out, self.log())
    }
}

impl Drop for HttpHost {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_log(output: ChildStderr, log: Arc<Mutex<String>>, found: mpsc::Sender<SocketAddr>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut lines = BufReader::new(output);
        let mut line = String::new();
        while lines.read_line(&mut line).unwrap() > 0 {
            log.lock().unwrap().push_str(&line);
            if let Some(address) = parse_address(&line) {
                let _ = found.send(address);
            }
            line.clear();
        }
    })
}

fn parse_address(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once(LISTENING_MESSAGE)?.1.split_once("://")?;
    rest.split('/').next()?.parse().ok()
}

/// Asks again and again until there is something.
pub(crate) fn eventually<T>(what: &str, patience: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < patience, "not within {patience:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
