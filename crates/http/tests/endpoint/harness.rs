//! A server on a free port, and a client that writes HTTP by hand.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http_transport::{
    BodyLimits, ConnectionLimits, Door, Guard, Metrics, Settings, TrustedProxies, Watcher, serve,
};
use jiff::SignedDuration;
use secrecy::ExposeSecret;
use serde_json::Value;
use server::access::{AccessStore, Environment, Gate, KeyRecord, Limiter, Moment, Pepper, Rate};
use server::tools::Toolset;
use server::{App, Clock, Entropy, OpenProjects, OsEntropy, Places, Principal, Scope, Timestamp};
use store::Store;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Long enough for any machine; a test that waits this long has failed.
pub(crate) const DEADLINE: Duration = Duration::from_mins(1);

/// The secret of every server here.
const PEPPER: [u8; 32] = [7; 32];

/// A clock that stands still until a test moves its hands.
pub(crate) struct Hands(Mutex<Moment>);

impl Hands {
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
    pub(crate) fn set_by(&self, seconds: i64) {
        self.0.lock().unwrap().time += SignedDuration::from_secs(seconds);
    }
}

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        self.0.lock().unwrap().time
    }

    fn uptime(&self) -> Duration {
        self.0.lock().unwrap().uptime
    }
}

/// What may be different about a server.
pub(crate) struct Setup {
    /// Whether a key is needed.
    pub(crate) keyed: bool,
    /// Whether test keys open it too.
    pub(crate) test_keys: bool,
    pub(crate) rate: Option<Rate>,
    pub(crate) places: Places,
    pub(crate) connections: ConnectionLimits,
    pub(crate) bodies: BodyLimits,
    /// A network of trusted proxies.
    pub(crate) proxy: Option<&'static str>,
    /// Pages of others that may call.
    pub(crate) origins: Vec<String>,
    /// Keys and limits come from here instead of a database in memory.
    pub(crate) access: Option<Arc<dyn AccessStore>>,
    /// Projects come from here instead of the same database, or of one in memory.
    pub(crate) projects: Option<OpenProjects>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            keyed: false,
            test_keys: false,
            rate: None,
            places: Places::default(),
            connections: ConnectionLimits { total: 64, per_address: 64 },
            bodies: BodyLimits::new(256 << 20, 4 << 20),
            proxy: None,
            origins: Vec::new(),
            access: None,
            projects: None,
        }
    }
}

pub(crate) struct Endpoint {
    pub(crate) address: SocketAddr,
    pub(crate) app: Arc<App>,
    pub(crate) clock: Arc<Hands>,
    pub(crate) door: Arc<Door>,
    pub(crate) store: Option<Arc<dyn Store>>,
    stop: CancellationToken,
}

impl Setup {
    /// Starts it.
    pub(crate) fn start(self) -> Endpoint {
        let clock = Hands::new();
        let own_store = (self.keyed && self.access.is_none()).then(memory);
        let access = self.access.or_else(|| own_store.clone().map(|store| store as Arc<dyn AccessStore>));
        let door = Arc::new(match &access {
            None => Door::open(Principal::local_user(Scope::Write)),
            Some(store) => {
                let gate = Gate::new(Arc::clone(store), Pepper::new(PEPPER)).accept_test_keys(self.test_keys);
                Door::with_keys(gate, Limiter::new(Arc::clone(store), self.rate), Scope::Admin)
            }
        });
        let metrics = Arc::new(Metrics::default());
        let projects = self.projects.unwrap_or_else(|| shelves(own_store.clone()));
        let app = App::builder()
            .toolsets(&Toolset::ALL)
            .observer(Arc::new(Watcher(Arc::clone(&metrics))))
            .places(self.places)
            .projects(projects)
            .clock(Arc::clone(&clock) as Arc<dyn Clock>)
            .build();
        let settings = |address| Settings {
            app: Arc::clone(&app),
            door: Arc::clone(&door),
            guard: Guard::new(address, &[], &self.origins),
            metrics,
            store: access,
            public_url: Some("https://mcp.example.com".to_owned()),
            tls: None,
            connections: self.connections,
            bodies: self.bodies,
            proxies: TrustedProxies::new(
                self.proxy.map(|network| network.parse().unwrap()).into_iter().collect(),
            ),
        };
        let stop = CancellationToken::new();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        run(settings(address), listener, stop.clone());
        Endpoint { address, app, clock, door, store: own_store, stop }
    }
}

fn memory() -> Arc<dyn Store> {
    wait_for(open_memory())
}

pub(crate) async fn open_memory() -> Arc<dyn Store> {
    let location = "sqlite::memory:".parse().unwrap();
    store::open(&location, &store::Options::default()).await.unwrap()
}

/// Projects in this database, or in one that is made when the first of them is needed.
fn shelves(store: Option<Arc<dyn Store>>) -> OpenProjects {
    Box::new(move || {
        let store = store.clone();
        Box::pin(async move {
            let store = match store {
                Some(store) => store,
                None => open_memory().await,
            };
            Ok(store.projects())
        })
    })
}

fn run(settings: Settings, listener: std::net::TcpListener, stop: CancellationToken) {
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
pub(crate) fn wait_for<T>(work: impl Future<Output = T>) -> T {
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
}

impl Endpoint {
    /// A server that lets everybody in.
    pub(crate) fn open() -> Self {
        Setup::default().start()
    }

    /// A server with keys and this rate.
    pub(crate) fn keyed(rate: Option<Rate>) -> Self {
        Setup { keyed: true, rate, ..Setup::default() }.start()
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
            created: self.clock.now(),
            expires: None,
            revoked: None,
        };
        change(&mut record);
        let (key, credential) = Pepper::new(PEPPER).issue(record.environment, |bytes| OsEntropy.fill(bytes));
        wait_for(self.store.as_ref().unwrap().add_key(record, credential)).unwrap();
        key.expose_secret().to_owned()
    }

    /// Ends every key there is. It holds everywhere after two seconds.
    pub(crate) fn revoke_all(&self) {
        let store = self.store.as_ref().unwrap();
        for listing in wait_for(store.keys(None)).unwrap() {
            wait_for(store.revoke_key(&listing.key.id, self.clock.now())).unwrap();
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
    pub(crate) fn exchange(&self, head: &str, body: &[u8]) -> Answer {
        let mut stream = self.connect();
        send(&mut stream, &format!("{head}\r\nConnection: close"), body);
        read_answer(&mut BufReader::new(stream))
    }

    /// A request with these headers beside the usual ones.
    pub(crate) fn request(&self, line: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.exchange(&head(line, headers), body.as_bytes())
    }

    /// The same, for an answer that is a stream or may become one.
    pub(crate) fn stream(&self, line: &str, headers: &[(&str, &str)], body: &str) -> Stream {
        let mut socket = self.connect();
        send(&mut socket, &head(line, headers), body.as_bytes());
        Stream::read(socket)
    }

    /// Sends raw bytes, and reads whatever comes until the server hangs up.
    pub(crate) fn raw(&self, bytes: &[u8]) -> String {
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
    pub(crate) fn post(&self, body: &str) -> (u16, Value) {
        let answer = self.request("POST /api/mcp", &[], body);
        (answer.status, if answer.body.is_empty() { Value::Null } else { answer.json() })
    }

    /// The server's figures. Only where everybody is let in.
    pub(crate) fn metrics(&self) -> String {
        self.request("GET /metrics", &[], "").body
    }
}

/// The head of a request with these headers beside the usual ones.
fn head(line: &str, headers: &[(&str, &str)]) -> String {
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
pub(crate) fn read_answer(reader: &mut impl BufRead) -> Answer {
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

fn read_head(reader: &mut impl BufRead) -> Answer {
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
    Answer { status, head: lines.join("\n"), body: String::new() }
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
pub(crate) struct Stream {
    pub(crate) answer: Answer,
    reader: BufReader<TcpStream>,
    text: String,
}

/// One event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) data: String,
}

impl Stream {
    fn read(socket: TcpStream) -> Self {
        let mut reader = BufReader::new(socket);
        let answer = read_head(&mut reader);
        Self { answer, reader, text: String::new() }
    }

    /// The next event; nothing when the stream has ended.
    pub(crate) fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let field =
                    |name: &str| event.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
                let (id, name) = (field("id").map(str::to_owned), field("event").map(str::to_owned));
                let event = Event { id, name, data: field("data").unwrap_or_default().to_owned() };
                self.text = rest.to_owned();
                return Some(event);
            }
            let chunk = read_chunk(&mut self.reader)?;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    /// The next event that carries a message.
    pub(crate) fn message(&mut self) -> Value {
        loop {
            let event = self.next().expect("another event");
            if !event.data.is_empty() {
                return event.json();
            }
        }
    }

    /// All messages up to the end of the stream.
    pub(crate) fn rest(&mut self) -> Vec<Value> {
        std::iter::from_fn(|| self.next())
            .filter(|event| !event.data.is_empty())
            .map(|event| event.json())
            .collect()
    }
}

impl Event {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|_| panic!("{self:?}"))
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
