//! A stream whose client has to get on with it: once the head of a request has begun, it must be there in time; and what is
//! written to it must be read in time.
//!
//! Between requests a connection may be silent for longer, and a body has a limit of its own; so the head alone is timed here,
//! from its first byte.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use crate::head_validation::HeadValidator;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

/// How long the head of a request may take.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// What no reader takes for the head of a request.
const INVALID_HEAD: &[u8] = b"\0\r\n\r\n";
/// How long a client may leave unread what is written to it.
const WRITE_TIMEOUT: Duration = Duration::from_mins(1);

/// The stream.
pub(crate) struct TimeoutStream<T> {
    stream: T,
    progress: ConnectionProgress,
    /// What has come of the head so far.
    head_validator: HeadValidator,
    /// When the head has to be there, if one has begun.
    head_deadline: Option<Instant>,
    head_timer: Option<Pin<Box<Sleep>>>,
    /// How many requests there were when the head began.
    requests_before_head: u64,
    /// Rings when nothing could be written for too long.
    write_timer: Option<Pin<Box<Sleep>>>,
}

/// How many heads have been read, and whether the request of the last one is being answered.
#[derive(Clone)]
pub(crate) struct ConnectionProgress(Arc<ProgressState>, Instant);

#[derive(Default)]
struct ProgressState {
    requests: AtomicU64,
    is_answering: AtomicBool,
    /// It is no HTTP any more that comes.
    is_upgraded: AtomicBool,
    /// When something was last read or written, in milliseconds after the beginning of the connection.
    last_active: AtomicU64,
}

/// The request is being answered, until this is dropped.
pub(crate) struct AnsweringGuard(ConnectionProgress);

impl ConnectionProgress {
    /// Resolves when the connection has been silent for this long and nobody is at work for it. It looks now and then
    /// instead of being told of every byte: a clock that is wound up for each request costs more than many requests do.
    pub(crate) async fn wait_until_idle(&self, long: Duration) {
        let reading = &self.0;
        loop {
            let silent = self
                .1
                .elapsed()
                .saturating_sub(Duration::from_millis(reading.last_active.load(Ordering::Relaxed)));
            let is_busy =
                reading.is_answering.load(Ordering::Relaxed) || reading.is_upgraded.load(Ordering::Relaxed);
            match long.checked_sub(silent) {
                Some(rest) if !rest.is_zero() => sleep(rest).await,
                _ if is_busy => sleep(long).await,
                _ => return,
            }
        }
    }

    fn mark_active(&self) {
        let now = u64::try_from(self.1.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.last_active.store(now, Ordering::Relaxed);
    }

    /// From here on it is no HTTP that comes, and nothing is timed.
    pub(crate) fn mark_upgraded(&self) {
        self.0.is_upgraded.store(true, Ordering::Relaxed);
    }

    /// The head is there: time is not counted until the request is answered.
    pub(crate) fn begin_request(&self) -> AnsweringGuard {
        self.0.requests.fetch_add(1, Ordering::Relaxed);
        self.0.is_answering.store(true, Ordering::Relaxed);
        AnsweringGuard(self.clone())
    }
}

impl Drop for AnsweringGuard {
    fn drop(&mut self) {
        self.0.0.is_answering.store(false, Ordering::Relaxed);
    }
}

impl<T> TimeoutStream<T> {
    pub(crate) fn new(stream: T) -> (Self, ConnectionProgress) {
        let progress = ConnectionProgress(Arc::default(), Instant::now());
        (
            Self {
                stream,
                progress: progress.clone(),
                head_validator: HeadValidator::default(),
                head_deadline: None,
                head_timer: None,
                requests_before_head: 0,
                write_timer: None,
            },
            progress,
        )
    }

    /// Whether the time for the head is over.
    fn is_head_overdue(&mut self, context: &mut Context<'_>) -> bool {
        let Some(deadline) = self.head_deadline else { return false };
        let alarm = self.head_timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        alarm.as_mut().poll(context).is_ready()
    }
}

impl<T> TimeoutStream<T> {
    /// Lets a write wait for the client to read, but not for ever.
    fn check_write_timeout<W>(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<io::Result<W>>,
    ) -> Poll<io::Result<W>> {
        if polled.is_ready() {
            self.write_timer = None;
            self.progress.mark_active();
            return polled;
        }
        let alarm = self.write_timer.get_or_insert_with(|| Box::pin(sleep(WRITE_TIMEOUT)));
        match alarm.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for TimeoutStream<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.progress.mark_active();
        }
        let reading = Arc::clone(&self.progress.0);
        if reading.is_upgraded.load(Ordering::Relaxed) {
            return polled;
        }
        let requests = reading.requests.load(Ordering::Relaxed);
        let is_answering = reading.is_answering.load(Ordering::Relaxed);
        if is_answering || requests != self.requests_before_head {
            (self.head_deadline, self.head_timer, self.requests_before_head) = (None, None, requests);
            self.head_validator = HeadValidator::default();
        }
        if is_answering {
            return polled;
        }
        if !self.head_validator.validate_next(&buffer.filled()[before..]) {
            // Something that the reader refuses for us, with an answer.
            buffer.set_filled(before);
            if buffer.remaining() < INVALID_HEAD.len() {
                return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
            }
            buffer.put_slice(INVALID_HEAD);
        }
        match polled {
            Poll::Ready(Ok(())) if buffer.filled().len() > before && self.head_deadline.is_none() => {
                self.head_deadline = Some(Instant::now() + HEAD_TIMEOUT);
            }
            Poll::Pending if self.is_head_overdue(context) => {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            _ => {}
        }
        polled
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for TimeoutStream<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.check_write_timeout(context, polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.check_write_timeout(context, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
