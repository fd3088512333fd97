//! The server on a pipe.
//!
//! One thread reads and, for all that need not wait, also works and writes: a call that takes microseconds
//! never changes threads. What has to wait runs on the tokio runtime and is written by a second thread. While
//! the client does not read its answers, nothing more is read from it.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use access::Principal;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::lines::{BoundedLine, LineReader};
use crate::{App, Connection, ConnectionMode, EncodedResponse, Outbox};

/// Answers are written when this much has gathered, or when there is nothing more to read.
const FLUSH_THRESHOLD_BYTES: usize = 64 * 1024;
/// Notifications are dropped while this much is waiting for a client that does not read.
const MAX_PENDING_BYTES: usize = 8 * 1024 * 1024;
/// How long running calls may take to come to their end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves one client until its input ends, its output closes, or `stop` is cancelled. Then finishes what
/// runs. Fails only if the threads that read and write cannot be started.
pub async fn serve(
    app: Arc<App>,
    principal: Principal,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    stop: CancellationToken,
) -> io::Result<()> {
    let output = Arc::new(StdioOutput::new(Box::new(output)));
    let connection =
        Connection::new(app, principal, ConnectionMode::Stream, Arc::clone(&output) as Arc<dyn Outbox>);
    tokio::spawn(Arc::clone(&connection).announce_changes());

    let (ended, end) = oneshot::channel();
    spawn_thread("reader", {
        let (connection, output, runtime) = (Arc::clone(&connection), Arc::clone(&output), Handle::current());
        move || {
            let _context = runtime.enter();
            run_reader(&connection, &output, input, &runtime);
            // The receiver is gone if the server is already stopping.
            let _ = ended.send(());
        }
    })?;
    let (written, all_written) = oneshot::channel();
    spawn_thread("writer", {
        let output = Arc::clone(&output);
        move || {
            output.run_writer();
            let _ = written.send(());
        }
    })?;

    let client_is_gone = tokio::select! {
        _ = end => true,
        () = output.closed.cancelled() => true,
        () = stop.cancelled() => false,
    };
    connection.drain(SHUTDOWN_TIMEOUT, client_is_gone).await;
    output.finish();
    // A client that does not read is not waited for.
    let _ = tokio::time::timeout(Duration::from_secs(1), all_written).await;
    Ok(())
}

fn spawn_thread(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

fn run_reader(connection: &Arc<Connection>, output: &StdioOutput, mut input: impl Read, runtime: &Handle) {
    let mut lines = LineReader::new(connection.max_message_bytes());
    loop {
        match lines.fill(&mut input) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                tracing::warn!(%error, "cannot read from the client");
                break;
            }
        }
        output.defer_writes();
        while let Some(line) = lines.next() {
            match line {
                BoundedLine::Complete(line) if line.trim_ascii().is_empty() => {}
                BoundedLine::Complete(line) => drop(connection.receive(line)),
                BoundedLine::TooLong => connection.receive_oversized(),
            }
            if output.pending_bytes() >= FLUSH_THRESHOLD_BYTES {
                output.flush();
            }
            if !connection.has_capacity() {
                output.flush_deferred();
                runtime.block_on(connection.wait_for_capacity());
                output.defer_writes();
            }
        }
        output.flush_deferred();
        if output.is_closed() {
            return;
        }
    }
    if let Some(rest) = lines.remainder().filter(|rest| !rest.trim_ascii().is_empty()) {
        connection.receive(rest);
    }
    output.flush_deferred();
}

/// Answers on their way out, gathered so that many go in one write.
struct StdioOutput {
    pending: Mutex<Vec<u8>>,
    writer: Mutex<Box<dyn Write + Send>>,
    /// The reader thread is busy and will flush when it is done, so the writer need not.
    is_deferred: AtomicBool,
    /// Cancelled when the client no longer reads.
    closed: CancellationToken,
    /// No more requests to the writer will come.
    ended: AtomicBool,
    is_write_requested: Mutex<bool>,
    writer_wakeup: Condvar,
}

impl StdioOutput {
    fn new(writer: Box<dyn Write + Send>) -> Self {
        Self {
            pending: Mutex::default(),
            writer: Mutex::new(writer),
            is_deferred: AtomicBool::new(false),
            closed: CancellationToken::new(),
            ended: AtomicBool::new(false),
            is_write_requested: Mutex::new(false),
            writer_wakeup: Condvar::new(),
        }
    }

    fn defer_writes(&self) {
        self.is_deferred.store(true, Ordering::SeqCst);
    }

    /// Order matters: a message added after the store wakes the writer, one added before it is
    /// covered by the flush.
    fn flush_deferred(&self) {
        self.is_deferred.store(false, Ordering::SeqCst);
        self.flush();
    }

    fn pending_bytes(&self) -> usize {
        self.lock_pending().len()
    }

    fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }

    fn lock_pending(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enqueue(&self, message: &[u8]) {
        {
            let mut waiting = self.lock_pending();
            waiting.extend_from_slice(message);
            waiting.push(b'\n');
        }
        if !self.is_deferred.load(Ordering::SeqCst) {
            self.wake_writer();
        }
    }

    fn wake_writer(&self) {
        *self.is_write_requested.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.writer_wakeup.notify_one();
    }

    /// The writer writes once more and is gone.
    fn finish(&self) {
        self.ended.store(true, Ordering::Relaxed);
        self.wake_writer();
    }

    /// Writes everything that is waiting. The writer's lock is taken first, so messages keep their order.
    fn flush(&self) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let messages = std::mem::take(&mut *self.lock_pending());
        if messages.is_empty() || self.is_closed() {
            return;
        }
        if let Err(error) = writer.write_all(&messages).and_then(|()| writer.flush()) {
            tracing::info!(%error, "the client no longer reads");
            self.closed.cancel();
        }
        // The buffer is used again, unless it grew beyond what is usual.
        let mut waiting = self.lock_pending();
        if waiting.is_empty() && messages.capacity() <= 4 * FLUSH_THRESHOLD_BYTES {
            *waiting = messages;
            waiting.clear();
        }
    }

    fn run_writer(&self) {
        loop {
            let mut asked = self.is_write_requested.lock().unwrap_or_else(PoisonError::into_inner);
            while !*asked {
                asked = self.writer_wakeup.wait(asked).unwrap_or_else(PoisonError::into_inner);
            }
            *asked = false;
            drop(asked);
            self.flush();
            if self.ended.load(Ordering::Relaxed) {
                return;
            }
        }
    }
}

impl Outbox for StdioOutput {
    fn send_response(&self, response: EncodedResponse) {
        self.enqueue(&response.message);
    }

    fn send_request(&self, message: Vec<u8>) -> bool {
        self.enqueue(&message);
        true
    }

    fn send_notification(&self, message: Vec<u8>) {
        if self.pending_bytes() < MAX_PENDING_BYTES {
            self.enqueue(&message);
        }
    }
}
