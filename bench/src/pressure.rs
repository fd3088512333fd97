//! An honest caller beside attackers: how long its calls take meanwhile, whether any gets no answer, and what memory the
//! server has during the attack and after it.
//!
//! Attackers and the honest caller have keys of their own and addresses of their own on loopback. The rate limit is off, so
//! that what is measured is the shares of memory and connections alone.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use crate::http::contestant::create_key;
use crate::http::http1;
use crate::http::server::BenchHttpServer;
use crate::peer::memory;
use crate::table::{FigureTable, save};
use crate::{BenchResult, provision};

/// Where the attackers call from.
const ATTACKER_ADDRESS: &str = "127.0.0.66";
/// Longer than this and an honest call counts as lost.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// The honest caller calls this often on each of its two ways.
const CALL_INTERVAL: Duration = Duration::from_millis(2);

const COLUMNS: [&str; 8] = [
    "calls",
    "lost",
    "p99, kept connection, µs",
    "p99, new connection, µs",
    "failed probes",
    "MB before",
    "most MB during",
    "MB after",
];

/// What is done to the server while the honest caller calls.
#[derive(Clone, Copy)]
enum Attack {
    None,
    /// Bodies of 4 MiB that lack their last byte.
    UnfinishedBodies,
    /// Connections that say nothing, opened again as soon as they are closed.
    SilentConnections,
    /// The same from the honest caller's own address.
    SilentNeighbours,
    /// Heads that come a byte at a time.
    SlowHeads,
    /// Keys that open nothing.
    BadKeys,
    /// Streams that are never read.
    UnreadStreams,
    /// Bodies that are no message, as deep and as broken as they can be.
    BrokenBodies,
}

impl Attack {
    const ALL: [(Self, &'static str); 8] = [
        (Self::None, "no attack"),
        (Self::UnfinishedBodies, "1,000 unfinished 4 MiB bodies, one key"),
        (Self::SilentConnections, "1,500 silent connections, no key"),
        (Self::SilentNeighbours, "the same from the caller's own address"),
        (Self::SlowHeads, "1,000 heads, a byte at a time"),
        (Self::BadKeys, "bad keys on 32 connections, no pause"),
        (Self::UnreadStreams, "200 streams that are never read, one key"),
        (Self::BrokenBodies, "broken bodies on 16 connections, one key"),
    ];

    fn connections(self) -> usize {
        match self {
            Self::None => 0,
            Self::UnfinishedBodies | Self::SlowHeads => 1000,
            Self::SilentConnections | Self::SilentNeighbours => 1500,
            Self::BadKeys => 32,
            Self::UnreadStreams => 200,
            Self::BrokenBodies => 16,
        }
    }

    fn source_address(self) -> &'static str {
        if matches!(self, Self::SilentNeighbours) { "127.0.0.1" } else { ATTACKER_ADDRESS }
    }
}

pub(crate) fn run(quick: bool) -> BenchResult<()> {
    let folder = provision::build()?;
    let scratch = std::env::temp_dir().join(format!("fluxway-bench-pressure-{}", std::process::id()));
    std::fs::create_dir_all(&scratch)?;
    let outcome = measure(&folder, &scratch, quick);
    std::fs::remove_dir_all(&scratch)?;
    let table = outcome?;
    table.print();
    save("pressure", &[&table])
}

fn measure(folder: &Path, scratch: &Path, quick: bool) -> BenchResult<FigureTable> {
    let database = format!("sqlite:{}", scratch.join("keys.db").display());
    let (honest, attacker) = (create_key(folder, &database)?, create_key(folder, &database)?);
    let span = Duration::from_secs(if quick { 1 } else { 8 });
    let mut table = FigureTable::without_ratios("An honest caller beside attackers", &COLUMNS);
    for (attack, name) in Attack::ALL {
        // Each meets a server that has seen nothing yet.
        let server = BenchHttpServer::start_fluxway(folder, &["--database", &database, "--rate-limit", "0"])?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let figures = runtime.block_on(measure_attack(&server, attack, (&honest, &attacker), span))?;
        table.add_row(name, figures);
    }
    Ok(table)
}

async fn measure_attack(
    server: &BenchHttpServer,
    attack: Attack,
    (honest, attacker): (&str, &str),
    span: Duration,
) -> BenchResult<Vec<Option<f64>>> {
    let (address, process) = (server.address, server.process_id());
    // What the first calls take for good is not the attack's.
    call_until(address, honest.to_owned(), true, Instant::now() + Duration::from_millis(300)).await;
    let before = memory(process)?;
    let is_over = Arc::new(AtomicBool::new(false));
    let mut attackers = JoinSet::new();
    for _ in 0..attack.connections() {
        attackers.spawn(attack_until_over(address, attack, attacker.to_owned(), Arc::clone(&is_over)));
    }
    let end = Instant::now() + span;
    let most = async {
        let mut most = before;
        while Instant::now() < end {
            most = memory(process).unwrap_or(0.0).max(most);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        most
    };
    let (mut kept, mut new, failed_probes, most) = tokio::join!(
        call_until(address, honest.to_owned(), true, end),
        call_until(address, honest.to_owned(), false, end),
        count_failed_probes(address, end),
        most,
    );
    is_over.store(true, Ordering::Relaxed);
    attackers.shutdown().await;
    // A moment of honest calls alone, for connections to end and memory to go back.
    call_until(address, honest.to_owned(), true, Instant::now() + Duration::from_secs(5)).await;
    let after = memory(process)?;
    Ok(vec![
        Some((kept.times.len() + new.times.len()) as f64),
        Some((kept.lost + new.lost) as f64),
        kept.p99(),
        new.p99(),
        Some(f64::from(failed_probes)),
        Some(before),
        Some(most),
        Some(after),
    ])
}

#[derive(Default)]
struct CallTimes {
    times: Vec<Duration>,
    lost: usize,
}

impl CallTimes {
    fn p99(&mut self) -> Option<f64> {
        self.times.sort_unstable();
        self.times.get(self.times.len() * 99 / 100).map(|time| time.as_secs_f64() * 1e6)
    }
}

/// Calls `echo` until the end, on one connection or on a new one each time. Every answer must carry the call's own id.
async fn call_until(address: SocketAddr, key: String, keeps: bool, end: Instant) -> CallTimes {
    let mut calls = CallTimes::default();
    let mut open: Option<TcpStream> = None;
    let mut id = 0_u64;
    while Instant::now() < end {
        id += 1;
        let began = Instant::now();
        match tokio::time::timeout(CALL_TIMEOUT, call_echo(address, &key, id, open.take())).await {
            Ok(Ok(stream)) => {
                calls.times.push(began.elapsed());
                open = Some(stream).filter(|_| keeps);
            }
            _ => calls.lost += 1,
        }
        tokio::time::sleep(CALL_INTERVAL).await;
    }
    calls
}

async fn call_echo(
    address: SocketAddr,
    key: &str,
    id: u64,
    open: Option<TcpStream>,
) -> Result<TcpStream, String> {
    let text = |error: std::io::Error| error.to_string();
    let mut stream = match open {
        Some(stream) => stream,
        None => TcpStream::connect(address).await.map_err(text)?,
    };
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"hello"}}}}}}"#
    );
    let headers = format!("authorization: Bearer {key}\r\n");
    stream.write_all(&http1::post(address, "/api/mcp", &headers, &body)).await.map_err(text)?;
    let mut buffer = Vec::with_capacity(4096);
    loop {
        if stream.read_buf(&mut buffer).await.map_err(text)? == 0 {
            return Err("the server hung up".to_owned());
        }
        if let Some(reply) = http1::parse(&buffer)? {
            let body = String::from_utf8_lossy(&buffer[reply.body..reply.end]);
            let is_ours =
                reply.status == 200 && body.contains(&format!("\"id\":{id},")) && body.contains("hello");
            return if is_ours { Ok(stream) } else { Err(body.into_owned()) };
        }
    }
}

/// Asks for `/healthz` again and again; how often no answer came.
async fn count_failed_probes(address: SocketAddr, end: Instant) -> u32 {
    let mut failed = 0;
    while Instant::now() < end {
        let asked = async {
            let mut stream = TcpStream::connect(address).await.ok()?;
            stream
                .write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
                .await
                .ok()?;
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await.ok()?;
            answer.starts_with(b"HTTP/1.1 200").then_some(())
        };
        if !matches!(tokio::time::timeout(CALL_TIMEOUT, asked).await, Ok(Some(()))) {
            failed += 1;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    failed
}

/// One connection of an attacker, opened again whenever it is closed.
async fn attack_until_over(address: SocketAddr, attack: Attack, key: String, is_over: Arc<AtomicBool>) {
    while !is_over.load(Ordering::Relaxed) {
        if attack_once(address, attack, &key).await.is_none() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

async fn attack_once(address: SocketAddr, attack: Attack, key: &str) -> Option<()> {
    let socket = TcpSocket::new_v4().ok()?;
    socket.bind(format!("{}:0", attack.source_address()).parse().ok()?).ok()?;
    let mut stream = socket.connect(address).await.ok()?;
    let bearer = format!("authorization: Bearer {key}\r\n");
    match attack {
        Attack::None => return None,
        Attack::UnfinishedBodies => {
            let head = format!(
                "POST /api/mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n{bearer}content-length: {}\r\n\r\n",
                4 << 20
            );
            stream.write_all(head.as_bytes()).await.ok()?;
            let piece = vec![b' '; 64 * 1024];
            for _ in 0..63 {
                stream.write_all(&piece).await.ok()?;
            }
            stream.write_all(&piece[1..]).await.ok()?;
        }
        Attack::SilentConnections | Attack::SilentNeighbours => {}
        Attack::SlowHeads => {
            for byte in
                b"POST /api/mcp HTTP/1.1\r\nhost: localhost\r\nx-header: ".iter().chain([b'x'; 200].iter())
            {
                stream.write_all(&[*byte]).await.ok()?;
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
        Attack::BadKeys => {
            let request = format!(
                "POST /api/mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
                 authorization: Bearer cf_live_sk_{}\r\ncontent-length: 2\r\n\r\n{{}}",
                "a".repeat(55)
            );
            let mut buffer = vec![0; 4096];
            loop {
                stream.write_all(request.as_bytes()).await.ok()?;
                stream.read(&mut buffer).await.ok().filter(|read| *read > 0)?;
            }
        }
        Attack::UnreadStreams => {
            let head =
                format!("GET /sse HTTP/1.1\r\nhost: {address}\r\naccept: text/event-stream\r\n{bearer}\r\n");
            stream.write_all(head.as_bytes()).await.ok()?;
            tokio::time::sleep(Duration::from_hours(1)).await;
        }
        Attack::BrokenBodies => {
            let deep = "[".repeat(100_000);
            let headers = bearer.clone();
            let mut buffer = vec![0; 4096];
            loop {
                stream.write_all(&http1::post(address, "/api/mcp", &headers, &deep)).await.ok()?;
                stream.read(&mut buffer).await.ok().filter(|read| *read > 0)?;
            }
        }
    }
    // Waits until the server has had enough of it.
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.ok()?;
    Some(())
}
