//! Connections that stay open, each with one call after the other.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use memchr::memmem::find;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::http1;
use crate::BenchResult;

/// A server that has not answered by then will not.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a round is.
#[derive(Clone, Copy)]
pub(crate) struct RoundTiming {
    pub(crate) warm_up: Duration,
    pub(crate) measured: Duration,
}

/// What a round came to.
#[derive(Default)]
pub(crate) struct LoadResult {
    /// How long each call took that ended within the time.
    pub(crate) times: Vec<Duration>,
    /// How many calls there were, with those of the warm-up.
    pub(crate) calls: usize,
}

impl LoadResult {
    fn merge(&mut self, other: Self) {
        self.times.extend(other.times);
        self.calls += other.calls;
    }

    /// Microseconds within which 99 of a hundred calls were answered.
    pub(crate) fn p99(&mut self) -> f64 {
        self.times.sort_unstable();
        self.times.get(self.times.len() * 99 / 100).map_or(0.0, |time| time.as_secs_f64() * 1e6)
    }
}

/// Opens a connection for each of these requests and sends it over and over.
pub(crate) async fn run_load(
    address: SocketAddr,
    requests: Vec<Vec<u8>>,
    span: RoundTiming,
) -> BenchResult<LoadResult> {
    let mut connections = Vec::new();
    for request in requests {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        connections.push((stream, request));
    }
    let begin = Instant::now() + span.warm_up;
    let end = begin + span.measured;
    let tasks: Vec<_> = connections
        .into_iter()
        .map(|(stream, request)| tokio::spawn(call_repeatedly(stream, request, begin, end)))
        .collect();
    let mut load = LoadResult::default();
    for task in tasks {
        let wait = end.saturating_duration_since(Instant::now()) + RESPONSE_TIMEOUT;
        let part = tokio::time::timeout(wait, task).await.map_err(|_| "no answer")?;
        load.merge(part??);
    }
    Ok(load)
}

async fn call_repeatedly(
    mut stream: TcpStream,
    request: Vec<u8>,
    begin: Instant,
    end: Instant,
) -> Result<LoadResult, String> {
    let mut load = LoadResult::default();
    let mut buffer = Vec::with_capacity(8 * 1024);
    let mut now = Instant::now();
    while now < end {
        let start = now;
        exchange(&mut stream, &request, &mut buffer).await?;
        now = Instant::now();
        load.calls += 1;
        if (begin..end).contains(&now) {
            load.times.push(now - start);
        }
    }
    Ok(load)
}

async fn exchange(stream: &mut TcpStream, request: &[u8], buffer: &mut Vec<u8>) -> Result<(), String> {
    stream.write_all(request).await.map_err(|error| error.to_string())?;
    buffer.clear();
    loop {
        let read = stream.read_buf(buffer).await.map_err(|error| error.to_string())?;
        if read == 0 {
            return Err("the server hung up".to_owned());
        }
        if let Some(reply) = http1::parse(buffer)? {
            let is_echo =
                reply.status == 200 && find(&buffer[reply.body..reply.end], b"hello, world").is_some();
            let text = || format!("not an echo: {}", String::from_utf8_lossy(buffer));
            return if is_echo { Ok(()) } else { Err(text()) };
        }
    }
}
