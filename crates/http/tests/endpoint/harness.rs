//! A server on a free port, and a client that writes HTTP by hand.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use http_transport::{Door, Guard, Metrics, Settings, Watcher, serve};
use secrecy::ExposeSecret;
use serde_json::Value;
use server::access::{AccessStore, Environment, Gate, KeyRecord, Limiter, Pepper, Rate};
use server::tools::Toolset;
use server::{App, Clock, Entropy, OsEntropy, Places, Principal, Scope, SystemClock};
use store::Store;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Long enough for any machine; a test that waits this long has failed.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// The secret of every server here.
const PEPPER: [u8; 32] = [7; 32];

pub(crate) struct Endpoint {
    pub(crate) address: SocketAddr,
    pub(crate) door: Arc<Door>,
    pub(crate) store: Option<Arc<dyn Store>>,
    stop: CancellationToken,
}

/// An answer: status, headers in lower case, body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// The kind of the error that it tells of.
    pub(crate) fn kind(&self) -> String {
        self.json()["error"]["data"]["kind"].as_str().unwrap_or_default().to_owned()
    }

    /// The messages of a stream.
    pub(crate) fn events(&self) -> Vec<Value> {
        let data =
            self.body.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| !data.is_empty());
        data.map(|data| serde_json::from_str(data).unwrap()).collect()
    }
}

impl Endpoint {
    /// A server that lets everybody in.
    pub(crate) fn open() -> Self {
        Self::start(None, |_| Door::open(Principal::local_user(Scope::Write)))
    }

    /// A server with keys and this rate.
    pub(crate) fn keyed(rate: Option<Rate>) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let location = "sqlite::memory:".parse().unwrap();
        let store = runtime.block_on(store::open(&location, &store::Options::default())).unwrap();
        Self::start(Some(store), move |store| {
            let kept = || store.clone().unwrap() as Arc<dyn AccessStore>;
            Door::with_keys(Gate::new(kept(), Pepper::new(PEPPER)), Limiter::new(kept(), rate), Scope::Admin)
        })
    }

    fn start(store: Option<Arc<dyn Store>>, door: impl FnOnce(Option<Arc<dyn Store>>) -> Door) -> Self {
        let stop = CancellationToken::new();
        let door = Arc::new(door(store.clone()));
        let (sender, receiver) = mpsc::channel();
        let (ended, its_door, its_store) = (stop.clone(), Arc::clone(&door), store.clone());
        std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async {
                let metrics = Arc::new(Metrics::default());
                let watcher = Arc::new(Watcher(Arc::clone(&metrics)));
                let app = App::builder()
                    .toolsets(&Toolset::ALL)
                    .observer(watcher)
                    .places(Places::default())
                    .build();
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let address = listener.local_addr().unwrap();
                let settings = Settings {
                    app,
                    door: its_door,
                    guard: Guard::new(address, &[], &[]),
                    metrics,
                    store: its_store.map(|store| store as Arc<dyn AccessStore>),
                    public_url: Some("https://mcp.example.com".to_owned()),
                    tls: None,
                    connections: 64,
                };
                sender.send(address).unwrap();
                serve(settings, listener, ended).await.unwrap();
            });
        });
        Self { address: receiver.recv().unwrap(), door, store, stop }
    }

    /// Makes a key.
    pub(crate) fn key(&self, scope: Scope) -> String {
        self.key_with(scope, |_| {})
    }

    /// Makes a key with something special about it.
    pub(crate) fn key_with(&self, scope: Scope, change: impl FnOnce(&mut KeyRecord)) -> String {
        let mut id = [0; 8];
        OsEntropy.fill(&mut id);
        let mut record = KeyRecord {
            id: format!("key_{:x}", u64::from_be_bytes(id)),
            tenant: "main".to_owned(),
            label: String::new(),
            environment: Environment::Live,
            scope,
            project: None,
            created: SystemClock.now(),
            expires: None,
            revoked: None,
        };
        change(&mut record);
        let (key, credential) = Pepper::new(PEPPER).issue(Environment::Live, |bytes| OsEntropy.fill(bytes));
        self.wait_for(self.store.as_ref().unwrap().add_key(record, credential)).unwrap();
        key.expose_secret().to_owned()
    }

    /// Waits for something of the store.
    pub(crate) fn wait_for<T>(&self, work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream
    }

    /// Sends a raw head and a body, and reads the answer to its end.
    pub(crate) fn exchange(&self, head: &str, body: &str) -> Answer {
        let mut stream = self.connect();
        write!(stream, "{head}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len())
            .unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        parse(&answer)
    }

    /// A request with these headers beside the usual ones.
    pub(crate) fn request(&self, line: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut head = format!("{line} HTTP/1.1\r\nHost: localhost");
        let given = |name: &str| headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
        if !given("Content-Type") {
            head.push_str("\r\nContent-Type: application/json");
        }
        if !given("Accept") {
            head.push_str("\r\nAccept: application/json, text/event-stream");
        }
        for (name, value) in headers {
            head.push_str(&format!("\r\n{name}: {value}"));
        }
        self.exchange(&head, body)
    }

    /// Status and body of a raw exchange.
    pub(crate) fn send(&self, head: &str, body: &str) -> (u16, String) {
        let answer = self.exchange(head, body);
        (answer.status, answer.body)
    }

    /// A body for `/api/mcp`.
    pub(crate) fn post(&self, body: &str) -> (u16, Value) {
        let answer = self.request("POST /api/mcp", &[], body);
        (answer.status, if answer.body.is_empty() { Value::Null } else { answer.json() })
    }
}

/// Takes an answer apart; a chunked body is put together.
pub(crate) fn parse(bytes: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(bytes);
    let (head, mut rest) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let lines = head.split("\r\n").map(|line| match line.split_once(": ") {
        Some((name, value)) => format!("{}: {value}", name.to_ascii_lowercase()),
        None => line.to_owned(),
    });
    let head = lines.collect::<Vec<_>>().join("\n");
    let mut body = rest.to_owned();
    if head.contains("transfer-encoding: chunked") {
        body.clear();
        while let Some((size, after)) = rest.split_once("\r\n") {
            let size = usize::from_str_radix(size, 16).unwrap();
            if size == 0 {
                break;
            }
            body.push_str(&after[..size]);
            rest = &after[size + 2..];
        }
    }
    Answer { status, head, body }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
