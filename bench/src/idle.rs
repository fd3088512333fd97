//! Streams that are open and silent: how much memory the server has with ten thousand of them.

use std::net::SocketAddr;
use std::time::Duration;

use memchr::memmem::find;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::http::contestant::{STATELESS_META, stateless_headers};
use crate::http::http1::post;
use crate::http::server::BenchHttpServer;
use crate::table::{FigureTable, save};
use crate::{BenchResult, provision};

/// Files that a process has open beside its streams.
const RESERVED_FILES: usize = 100;
/// Streams that are opened at once.
const CONCURRENT_OPENS: usize = 64;
const OPEN_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) fn run(quick: bool) -> BenchResult<()> {
    let wanted = if quick { 500 } else { 10_000 };
    // Long enough that the server has said on each stream that it is still there.
    let silence = Duration::from_secs(if quick { 1 } else { 20 });
    let allowed = raise_open_file_limit();
    let streams = wanted.min(allowed.saturating_sub(RESERVED_FILES));
    if streams < wanted {
        println!("only {allowed} files may be open here");
    }
    let folder = provision::build()?;
    let limits = ["--no-auth", "--max-connections", "20000", "--max-streams", "20000"];
    let server = BenchHttpServer::start_fluxway(&folder, &limits)?;
    let before = server.memory()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (open, with_them) = runtime.block_on(async {
        let mut open = open_streams(server.address, streams).await;
        let at_once = server.memory()?;
        tokio::time::sleep(silence).await;
        open.retain_mut(is_open);
        Ok::<_, Box<dyn std::error::Error>>((open.len(), at_once.max(server.memory()?)))
    })?;
    let columns = ["streams", "memory before, MB", "memory with them, MB (300)", "kB for each"];
    let mut table = FigureTable::without_ratios("Idle streams", &columns);
    let each = (with_them - before) * 1024.0 / open as f64;
    table.add_row("fluxway", vec![Some(open as f64), Some(before), Some(with_them), Some(each)]);
    table.print();
    save("idle", &[&table])
}

/// As many open files as the system allows, for this process and those that it starts.
fn raise_open_file_limit() -> usize {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let now = getrlimit(Resource::Nofile).current;
    now.map_or(usize::MAX, |now| usize::try_from(now).unwrap_or(usize::MAX))
}

/// Opens so many streams; those that could be opened.
async fn open_streams(address: SocketAddr, streams: usize) -> Vec<TcpStream> {
    let mut open = Vec::new();
    let mut problem = None;
    while open.len() < streams && problem.is_none() {
        let some = CONCURRENT_OPENS.min(streams - open.len());
        let tasks: Vec<_> = (0..some).map(|_| tokio::spawn(open_stream(address))).collect();
        for task in tasks {
            match task.await.map_err(|error| error.to_string()).flatten() {
                Ok(stream) => open.push(stream),
                Err(error) => problem = Some(error),
            }
        }
    }
    if let Some(problem) = problem {
        println!("{} of {streams} streams could be opened: {problem}", open.len());
    }
    open
}

/// A stream of `subscriptions/listen`, once it is acknowledged.
async fn open_stream(address: SocketAddr) -> Result<TcpStream, String> {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true}},{STATELESS_META}}}}}"#
    );
    let request = post(address, "/mcp", &stateless_headers("subscriptions/listen"), &body);
    let asked = tokio::time::timeout(OPEN_TIMEOUT, subscribe(address, &request)).await;
    asked.map_err(|_| "no answer".to_owned())?.map_err(|error| error.to_string())
}

async fn subscribe(address: SocketAddr, request: &[u8]) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(request).await?;
    let mut answer = Vec::with_capacity(1024);
    while find(&answer, b"subscriptions/acknowledged").is_none() {
        if stream.read_buf(&mut answer).await? == 0 || find(&answer, b"\"error\"").is_some() {
            return Err(std::io::Error::other(String::from_utf8_lossy(&answer)));
        }
    }
    Ok(stream)
}

/// Whether the server has not hung up. What it has said meanwhile is thrown away.
fn is_open(stream: &mut TcpStream) -> bool {
    let mut chunk = [0; 4096];
    loop {
        match stream.try_read(&mut chunk) {
            Ok(0) => return false,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::WouldBlock,
        }
    }
}
