//! A way to the database that breaks when it is told to.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

use crate::harness::TestDatabase;

/// Whose pieces are counted: a statement, or the answer to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProxyDirection {
    /// To the server.
    ToServer,
    /// From the server.
    FromServer,
}

/// What is counted.
#[derive(Default)]
struct ProxyCounters {
    /// How many pieces still get through. At none, the connection is cut; below, all is well.
    to_server: AtomicI32,
    from_server: AtomicI32,
    /// How often something was sent to the server, however many statements at once.
    round_trips: AtomicU32,
}

impl ProxyCounters {
    fn remaining(&self, direction: ProxyDirection) -> &AtomicI32 {
        match direction {
            ProxyDirection::ToServer => &self.to_server,
            ProxyDirection::FromServer => &self.from_server,
        }
    }
}

/// A way to the database.
pub(crate) struct LossyProxy {
    /// The URL of the database by this way.
    pub(crate) url: String,
    counts: Arc<ProxyCounters>,
}

impl LossyProxy {
    pub(crate) async fn start(place: &TestDatabase) -> Self {
        let (start, rest) = place.url.rsplit_once('@').unwrap();
        let (server, database) = rest.split_once('/').unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("{start}@{}/{database}", listener.local_addr().unwrap());
        let counts = Arc::<ProxyCounters>::default();
        tokio::spawn(serve(listener, server.to_owned(), Arc::clone(&counts)));
        Self { url, counts }
    }

    /// Loses the piece of this number from now on, and the connection with it.
    pub(crate) fn drop_message(&self, direction: ProxyDirection, piece: i32) {
        self.counts.remaining(direction).store(piece, Ordering::SeqCst);
    }

    /// Whether it was lost. If not, nothing will be.
    pub(crate) fn has_dropped(&self, direction: ProxyDirection) -> bool {
        self.counts.remaining(direction).swap(0, Ordering::SeqCst) <= 0
    }

    /// How often something was sent to the server so far.
    pub(crate) fn round_trips(&self) -> u32 {
        self.counts.round_trips.load(Ordering::SeqCst)
    }
}

async fn serve(listener: TcpListener, server: String, counts: Arc<ProxyCounters>) {
    while let Ok((client, _)) = listener.accept().await {
        let server = TcpStream::connect(&server).await.unwrap();
        // What is said goes on at once, however short it is.
        client.set_nodelay(true).and(server.set_nodelay(true)).unwrap();
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        let counts = Arc::clone(&counts);
        tokio::spawn(async move {
            tokio::select! {
                () = forward(from_client, to_server, ProxyDirection::ToServer, &counts) => (),
                () = forward(from_server, to_client, ProxyDirection::FromServer, &counts) => (),
            }
        });
    }
}

/// Carries messages: as a whole what belongs to one statement, however the network cuts it.
async fn forward(
    from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    direction: ProxyDirection,
    counts: &ProxyCounters,
) {
    let mut from = BufReader::with_capacity(1 << 20, from);
    let mut piece = Vec::new();
    // The first message of a client has no letter.
    let mut next = read_message(&mut from, direction == ProxyDirection::FromServer).await;
    while let Ok((decoded, bytes)) = next {
        piece.extend(bytes);
        // Whoever waits does so after one of these: a key, the end of a statement, or of its answer.
        let (is_end, is_statement) = match direction {
            ProxyDirection::ToServer => (!b"PBDEC".contains(&decoded), decoded == b'S'),
            ProxyDirection::FromServer => (b"RZ".contains(&decoded), decoded == b'Z'),
        };
        if is_statement && counts.remaining(direction).fetch_sub(1, Ordering::SeqCst) == 1 {
            return;
        }
        if is_statement && direction == ProxyDirection::ToServer && from.buffer().is_empty() {
            counts.round_trips.fetch_add(1, Ordering::SeqCst);
        }
        if is_end && to.write_all(&std::mem::take(&mut piece)).await.is_err() {
            return;
        }
        next = read_message(&mut from, true).await;
    }
    let _ = to.write_all(&piece).await;
}

/// The letter of a message, and all its bytes.
async fn read_message(from: &mut BufReader<OwnedReadHalf>, has_letter: bool) -> io::Result<(u8, Vec<u8>)> {
    let mut bytes = if has_letter { vec![from.read_u8().await?] } else { Vec::new() };
    let decoded = bytes.first().copied().unwrap_or_default();
    let length = from.read_u32().await?;
    bytes.extend(length.to_be_bytes());
    from.take(u64::from(length) - 4).read_to_end(&mut bytes).await?;
    Ok((decoded, bytes))
}
