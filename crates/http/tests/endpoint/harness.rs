//! A server on a free port, and a client that writes HTTP by hand.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http_transport::{
    Authenticator, BodyLimits, ConnectionLimits, HttpMetrics, HttpSettings, MetricsObserver, OriginPolicy,
    TrustedProxies, serve,
};
use jiff::SignedDuration;
use secrecy::ExposeSecret;
use serde_json::Value;
use server::access::{
    AccessStore, ClockReading, KeyEnvironment, KeyRecord, KeyVerifier, Pepper, RateLimit, RateLimiter,
};
use server::tools::Toolset;
use server::{App, Clock, Entropy, OsEntropy, Principal, ProjectStoreOpener, QuotaLimits, Scope, Timestamp};
use store::Store;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Long enough for any machine; a test that waits this long has failed.
pub(crate) const DEADLINE: Duration = Duration::from_mins(1);

/// The secret of every server here.
const PEPPER: [u8; 32] = [7; 32];

/// A clock that stands still until a test moves its hands.
pub(crate) struct HttpTestClock(Mutex<ClockReading>);

impl HttpTestClock {
    fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new("2026-03-02T12:00:00Z".parse::<Timestamp>().unwrap().into())))
    }

    /// Time passes.
    pub(crate) fn advance(&self, by: Duration) {
        let mut now = self.0.lock().unwrap();
        now.time += by;
        now.uptime += by;
    }

    /// The clock is set, forward or back, and no time passes.
    pub(crate) fn set_wall_clock_by(&self, seconds: i64) {
        self.0.lock().unwrap().time += SignedDuration::from_secs(seconds);
    }
}

impl Clock for HttpTestClock {
    fn now(&self) -> Timestamp {
        self.0.lock().unwrap().time
    }

    fn uptime(&self) -> Duration {
        self.0.lock().unwrap().uptime
    }
}

/// What may be different about a server.
pub(crate) struct HttpTestConfig {
    /// Whether a key is needed.
    pub(crate) requires_key: bool,
    /// Whether test keys open it too.
    pub(crate) accepts_test_keys: bool,
    pub(crate) rate_limit: Option<RateLimit>,
    pub(crate) quota_limits: QuotaLimits,
    pub(crate) connection_limits: ConnectionLimits,
    pub(crate) body_limits: BodyLimits,
    /// A network of trusted proxies.
    pub(crate) trusted_proxy: Option<&'static str>,
    /// Pages of others that may call.
    pub(crate) allowed_origins: Vec<String>,
    /// Keys and limits come from here instead of a database in memory.
    pub(crate) access_store: Option<Arc<dyn AccessStore>>,
    /// Projects come from here instead of the same database, or of one in memory.
    pub(crate) projects: Option<ProjectStoreOpener>,
}

impl Default for HttpTestConfig {
    fn default() -> Self {
        Self {
            requires_key: false,
            accepts_test_keys: false,
            rate_limit: None,
            quota_limits: QuotaLimits::default(),
            connection_limits: ConnectionLimits { total: 64, per_address: 64 },
            body_limits: BodyLimits::new(256 << 20, 4 << 20),
            trusted_proxy: None,
            allowed_origins: Vec::new(),
            access_store: None,
            projects: None,
        }
    }
}

pub(crate) struct HttpTestServer {
    pub(crate) address: SocketAddr,
    pub(crate) app: Arc<App>,
    pub(crate) clock: Arc<HttpTestClock>,
    pub(crate) authenticator: Arc<Authenticator>,
    pub(crate) store: Option<Arc<dyn Store>>,
    stop: CancellationToken,
}

impl HttpTestConfig {
    /// Starts it.
    pub(crate) fn start(self) -> HttpTestServer {
        let clock = HttpTestClock::new();
        let own_store = (self.requires_key && self.access_store.is_none()).then(open_memory_blocking);
        let access =
            self.access_store.or_else(|| own_store.clone().map(|store| store as Arc<dyn AccessStore>));
        let authenticator = Arc::new(match &access {
            None => Authenticator::without_authentication(Principal::local_user(Scope::Write)),
            Some(store) => {
                let verifier = KeyVerifier::new(Arc::clone(store), Pepper::new(PEPPER))
                    .accept_test_keys(self.accepts_test_keys);
                Authenticator::with_keys(
                    verifier,
                    RateLimiter::new(Arc::clone(store), self.rate_limit),
                    Scope::Admin,
                )
            }
        });
        let metrics = Arc::new(HttpMetrics::default());
        let projects = self.projects.unwrap_or_else(|| open_projects_in(own_store.clone()));
        let app = App::builder()
            .toolsets(&Toolset::ALL)
            .observer(Arc::new(MetricsObserver(Arc::clone(&metrics))))
            .quota_limits(self.quota_limits)
            .projects(projects)
            .clock(Arc::clone(&clock) as Arc<dyn Clock>)
            .build();
        let settings = |address| HttpSettings {
            app: Arc::clone(&app),
            authenticator: Arc::clone(&authenticator),
            origin_policy: OriginPolicy::new(address, &[], &self.allowed_origins),
            metrics,
            store: access,
            public_url: Some("https://mcp.example.com".to_owned()),
            tls: None,
            connections: self.connection_limits,
            bodies: self.body_limits,
            proxies: TrustedProxies::new(
                self.trusted_proxy.map(|network| network.parse().unwrap()).into_iter().collect(),
            ),
        };
        let stop = CancellationToken::new();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        spawn_server(settings(address), listener, stop.clone());
        HttpTestServer { address, app, clock, authenticator, store: own_store, stop }
    }
}

fn open_memory_blocking() -> Arc<dyn Store> {
    block_on(open_memory_store())
}

pub(crate) async fn open_memory_store() -> Arc<dyn Store> {
    let location = "sqlite::memory:".parse().unwrap();
    store::open(&location, &store::StoreOptions::default()).await.unwrap()
}

/// Projects in this database, or in one that is made when the first of them is needed.
fn open_projects_in(store: Option<Arc<dyn Store>>) -> ProjectStoreOpener {
    Box::new(move || {
        let store = store.clone();
        Box::pin(async move {
            let store = match store {
                Some(store) => store,
                None => open_memory_store().await,
            };
            Ok(store.projects())
        })
    })
}

fn spawn_server(settings: HttpSettings, listener: std::net::TcpListener, stop: CancellationToken) {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            listener.set_nonblocking(true).unwrap();
            let listener = TcpListener::from_std(listener).unwrap();
            sender.send(()).unwrap();
            serve(settings, listener, stop).await.unwrap();
        });
    });
    receiver.recv().unwrap();
}

/// Waits for something of the store.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// Asks again and again until the answer is the expected one. Nothing is waited for longer than it takes.
pub(crate) fn eventually(what: &str, mut happened: impl FnMut() -> bool) {
    let began = Instant::now();
    while !happened() {
        assert!(began.elapsed() < DEADLINE, "this never happened: {what}");
        std::thread::yield_now();
    }
}

/// An answer: status, headers with names in lower case, body.
#[derive(Debug)]
pub(crate) struct HttpTestResponse {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl HttpTestResponse {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// The kind of the error that it tells of.
    pub(crate) fn error_kind(&self) -> String {
        self.json()["error"]["data"]["kind"].as_str().unwrap_or_default().to_owned()
    }
}

impl HttpTestServer {
    /// A server that lets everybody in.
    pub(crate) fn start_without_auth() -> Self {
        HttpTestConfig::default().start()
    }

    /// A server with keys and this rate.
    pub(crate) fn start_with_keys(rate: Option<RateLimit>) -> Self {
        HttpTestConfig { requires_key: true, rate_limit: rate, ..HttpTestConfig::default() }.start()
    }

    /// Makes a key.
    pub(crate) fn create_key(&self, scope: Scope) -> String {
        self.create_key_with(scope, |_| {})
    }

    /// Makes a key with something special about it.
    pub(crate) fn create_key_with(&self, scope: Scope, change: impl FnOnce(&mut KeyRecord)) -> String {
        let mut id = [0; 8];
        OsEntropy.fill(&mut id);
        let mut record = KeyRecord {
            id: format!("key_{:x}", u64::from_be_bytes(id)),
            tenant: "main".to_owned(),
            label: String::new(),
            environment: KeyEnvironment::Live,
            scope,
            project: None,
            created: self.clock.now(),
            expires: None,
            revoked: None,
        };
        change(&mut record);
        let (key, credential) = Pepper::new(PEPPER).issue(record.environment, |bytes| OsEntropy.fill(bytes));
        block_on(self.store.as_ref().unwrap().add_key(record, credential)).unwrap();
        key.expose_secret().to_owned()
    }

    /// Ends every key there is. It holds everywhere after two seconds.
    pub(crate) fn revoke_all_keys(&self) {
        let store = self.store.as_ref().unwrap();
        for listing in block_on(store.list_keys(None)).unwrap() {
            block_on(store.revoke_key(&listing.key.id, self.clock.now())).unwrap();
        }
        self.clock.advance(Duration::from_secs(2));
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }

    /// Sends a raw head and a body, and reads the answer.
    pub(crate) fn exchange(&self, head: &str, body: &[u8]) -> HttpTestResponse {
        let mut stream = self.connect();
        send(&mut stream, &format!("{head}\r\nConnection: close"), body);
        read_response(&mut BufReader::new(stream))
    }

    /// A request with these headers beside the usual ones.
    pub(crate) fn request(&self, line: &str, headers: &[(&str, &str)], body: &str) -> HttpTestResponse {
        self.exchange(&request_head(line, headers), body.as_bytes())
    }

    /// The same, for an answer that is a stream or may become one.
    pub(crate) fn open_stream(&self, line: &str, headers: &[(&str, &str)], body: &str) -> TestEventStream {
        let mut socket = self.connect();
        send(&mut socket, &request_head(line, headers), body.as_bytes());
        TestEventStream::from_socket(socket)
    }

    /// Sends raw bytes, and reads whatever comes until the server hangs up.
    pub(crate) fn exchange_raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // The server may hang up before all of it is written.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let ended = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let is_timeout = ended.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
        assert!(!is_timeout, "the connection was not closed after {answer:?}");
        answer
    }

    /// Status and body of a `POST /api/mcp`.
    pub(crate) fn post_api(&self, body: &str) -> (u16, Value) {
        let answer = self.request("POST /api/mcp", &[], body);
        (answer.status, if answer.body.is_empty() { Value::Null } else { answer.json() })
    }

    /// The server's figures. Only where everybody is let in.
    pub(crate) fn metrics(&self) -> String {
        self.request("GET /metrics", &[], "").body
    }
}

/// The head of a request with these headers beside the usual ones.
fn request_head(line: &str, headers: &[(&str, &str)]) -> String {
    let mut head = format!("{line} HTTP/1.1");
    let given = |name: &str| headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
    let usual = [
        ("Host", "localhost"),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    for (name, value) in usual.iter().filter(|(name, _)| !given(name)).chain(headers) {
        write!(head, "\r\n{name}: {value}").unwrap();
    }
    head
}

fn send(stream: &mut TcpStream, head: &str, body: &[u8]) {
    let mut bytes = format!("{head}\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    // The server may hang up before all of it is written.
    let _ = stream.write_all(&bytes);
}

/// Reads one answer.
pub(crate) fn read_response(reader: &mut impl BufRead) -> HttpTestResponse {
    let mut answer = read_head(reader);
    let mut body = Vec::new();
    if answer.header("transfer-encoding") == Some("chunked") {
        while let Some(chunk) = read_chunk(reader) {
            body.extend(chunk);
        }
    } else if let Some(length) = answer.header("content-length") {
        body.resize(length.parse().unwrap(), 0);
        reader.read_exact(&mut body).unwrap();
    }
    answer.body = String::from_utf8(body).unwrap();
    answer
}

fn read_head(reader: &mut impl BufRead) -> HttpTestResponse {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "the server hung up after {lines:?}");
        let line = line.trim_end();
        match line.split_once(": ") {
            _ if line.is_empty() => break,
            Some((name, value)) => lines.push(format!("{}: {value}", name.to_ascii_lowercase())),
            None => lines.push(line.to_owned()),
        }
    }
    let status = lines[0].split(' ').nth(1).unwrap().parse().unwrap();
    HttpTestResponse { status, head: lines.join("\n"), body: String::new() }
}

/// The next chunk of a chunked body; nothing at its end, or where it breaks off.
fn read_chunk(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut size = String::new();
    reader.read_line(&mut size).ok()?;
    let size = usize::from_str_radix(size.trim_end(), 16).ok().filter(|size| *size > 0)?;
    let mut chunk = vec![0; size + 2];
    reader.read_exact(&mut chunk).ok()?;
    chunk.truncate(size);
    Some(chunk)
}

/// An answer that comes as a stream of events. Dropping it hangs up.
pub(crate) struct TestEventStream {
    pub(crate) response: HttpTestResponse,
    reader: BufReader<TcpStream>,
    buffer: String,
}

/// One event.
#[derive(Debug)]
pub(crate) struct SseEvent {
    pub(crate) id: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) data: String,
}

impl TestEventStream {
    fn from_socket(socket: TcpStream) -> Self {
        let mut reader = BufReader::new(socket);
        let response = read_head(&mut reader);
        Self { response, reader, buffer: String::new() }
    }

    /// The next event; nothing when the stream has ended.
    pub(crate) fn next_event(&mut self) -> Option<SseEvent> {
        loop {
            if let Some((event, rest)) = self.buffer.split_once("\n\n") {
                let field =
                    |name: &str| event.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
                let (id, name) = (field("id").map(str::to_owned), field("event").map(str::to_owned));
                let event = SseEvent { id, name, data: field("data").unwrap_or_default().to_owned() };
                self.buffer = rest.to_owned();
                return Some(event);
            }
            let chunk = read_chunk(&mut self.reader)?;
            self.buffer.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    /// The next event that carries a message.
    pub(crate) fn next_message(&mut self) -> Value {
        loop {
            let event = self.next_event().expect("another event");
            if !event.data.is_empty() {
                return event.json();
            }
        }
    }

    /// All messages up to the end of the stream.
    pub(crate) fn remaining_messages(&mut self) -> Vec<Value> {
        std::iter::from_fn(|| self.next_event())
            .filter(|event| !event.data.is_empty())
            .map(|event| event.json())
            .collect()
    }
}

impl SseEvent {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|_| panic!("{self:?}"))
    }
}

impl Drop for HttpTestServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
