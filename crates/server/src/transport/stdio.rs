//! The server on a pipe.
//!
//! One thread reads and, for all that need not wait, also works and writes: a call that takes microseconds never
//! changes threads. What has to wait runs on the tokio runtime and is written by a second thread. While the client
//! does not read its answers, nothing more is read from it.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use access::Principal;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::lines::{Line, LineReader};
use crate::{Answer, App, Connection, Outbox, Rules};

/// Answers are written when this much has gathered, or when there is nothing more to read.
const FLUSH_AT: usize = 64 * 1024;
/// Notifications are dropped while this much is waiting for a client that does not read.
const TOO_FAR_BEHIND: usize = 8 * 1024 * 1024;
/// How long running calls may take to come to their end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Serves one client until its input ends, its output closes, or `stop` is cancelled. Then finishes what runs. Fails only if
/// the threads that read and write cannot be started.
pub async fn serve(
    app: Arc<App>,
    principal: Principal,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    stop: CancellationToken,
) -> io::Result<()> {
    let output = Arc::new(Output::new(Box::new(output)));
    let connection = Connection::new(app, principal, Rules::Pipe, Arc::clone(&output) as Arc<dyn Outbox>);
    tokio::spawn(Arc::clone(&connection).announce_changes());

    let (ended, end) = oneshot::channel();
    spawn_thread("reader", {
        let (connection, output, runtime) = (Arc::clone(&connection), Arc::clone(&output), Handle::current());
        move || {
            let _context = runtime.enter();
            read(&connection, &output, input, &runtime);
            // Nobody waits for this if the server is stopping already.
            let _ = ended.send(());
        }
    })?;
    let (written, all_written) = oneshot::channel();
    spawn_thread("writer", {
        let output = Arc::clone(&output);
        move || {
            output.write_when_asked();
            let _ = written.send(());
        }
    })?;

    let client_is_gone = tokio::select! {
        _ = end => true,
        () = output.closed.cancelled() => true,
        () = stop.cancelled() => false,
    };
    connection.drain(PATIENCE, client_is_gone).await;
    output.end();
    // A client that does not read is not waited for.
    let _ = tokio::time::timeout(Duration::from_secs(1), all_written).await;
    Ok(())
}

fn spawn_thread(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

fn read(connection: &Arc<Connection>, output: &Output, mut input: impl Read, runtime: &Handle) {
    let mut lines = LineReader::new(connection.longest_message());
    loop {
        match lines.fill(&mut input) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                tracing::warn!(%error, "cannot read from the client");
                break;
            }
        }
        output.hold();
        while let Some(line) = lines.next() {
            match line {
                Line::Whole(line) if line.trim_ascii().is_empty() => {}
                Line::Whole(line) => drop(connection.receive(line)),
                Line::TooLong => connection.receive_too_long(),
            }
            if output.waiting() >= FLUSH_AT {
                output.flush();
            }
            if !connection.has_room() {
                output.release();
                runtime.block_on(connection.room());
                output.hold();
            }
        }
        output.release();
        if output.is_closed() {
            return;
        }
    }
    if let Some(rest) = lines.rest().filter(|rest| !rest.trim_ascii().is_empty()) {
        connection.receive(rest);
    }
    output.release();
}

/// Answers on their way out, gathered so that many go in one write.
struct Output {
    waiting: Mutex<Vec<u8>>,
    writer: Mutex<Box<dyn Write + Send>>,
    /// The reader is at work and will write when it is done; nobody else has to.
    held: AtomicBool,
    /// Cancelled when the client no longer reads.
    closed: CancellationToken,
    /// Nobody will ask the writer any more.
    ended: AtomicBool,
    asked: Mutex<bool>,
    ask: Condvar,
}

impl Output {
    fn new(writer: Box<dyn Write + Send>) -> Self {
        Self {
            waiting: Mutex::default(),
            writer: Mutex::new(writer),
            held: AtomicBool::new(false),
            closed: CancellationToken::new(),
            ended: AtomicBool::new(false),
            asked: Mutex::new(false),
            ask: Condvar::new(),
        }
    }

    fn hold(&self) {
        self.held.store(true, Ordering::SeqCst);
    }

    /// Order matters: whoever adds a message after the store asks the writer, whoever added one before it is covered
    /// by the flush.
    fn release(&self) {
        self.held.store(false, Ordering::SeqCst);
        self.flush();
    }

    fn waiting(&self) -> usize {
        self.lock_waiting().len()
    }

    fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }

    fn lock_waiting(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, message: &[u8]) {
        {
            let mut waiting = self.lock_waiting();
            waiting.extend_from_slice(message);
            waiting.push(b'\n');
        }
        if !self.held.load(Ordering::SeqCst) {
            self.ask_writer();
        }
    }

    fn ask_writer(&self) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ask.notify_one();
    }

    /// The writer writes once more and is gone.
    fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
        self.ask_writer();
    }

    /// Writes everything that is waiting. The writer's lock is taken first, so messages keep their order.
    fn flush(&self) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let messages = std::mem::take(&mut *self.lock_waiting());
        if messages.is_empty() || self.is_closed() {
            return;
        }
        if let Err(error) = writer.write_all(&messages).and_then(|()| writer.flush()) {
            tracing::info!(%error, "the client no longer reads");
            self.closed.cancel();
        }
        // The buffer is used again, unless it grew beyond what is usual.
        let mut waiting = self.lock_waiting();
        if waiting.is_empty() && messages.capacity() <= 4 * FLUSH_AT {
            *waiting = messages;
            waiting.clear();
        }
    }

    fn write_when_asked(&self) {
        loop {
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            while !*asked {
                asked = self.ask.wait(asked).unwrap_or_else(PoisonError::into_inner);
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

impl Outbox for Output {
    fn answer(&self, answer: Answer) {
        self.add(&answer.message);
    }

    fn ask(&self, message: Vec<u8>) -> bool {
        self.add(&message);
        true
    }

    fn push(&self, message: Vec<u8>) {
        if self.waiting() < TOO_FAR_BEHIND {
            self.add(&message);
        }
    }
}
