//! A stream with timeouts: a request head must arrive in time once it has started, and the client must read
//! what is written to it in time.
//!
//! Connections may be idle for longer between requests, and bodies have their own timeout, so only the head
//! is timed here, from its first byte.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use crate::head_validation::HeadValidator;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

/// Measured from the first byte of the head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Rejected by every HTTP parser.
const INVALID_HEAD: &[u8] = b"\0\r\n\r\n";
const WRITE_TIMEOUT: Duration = Duration::from_mins(1);

pub(crate) struct TimeoutStream<T> {
    stream: T,
    progress: ConnectionProgress,
    head_validator: HeadValidator,
    /// Set once a head has started.
    head_deadline: Option<Instant>,
    head_timer: Option<Pin<Box<Sleep>>>,
    /// The number of requests when the head started.
    requests_before_head: u64,
    /// Fires when nothing could be written for too long.
    write_timer: Option<Pin<Box<Sleep>>>,
}

/// Counts the heads that have been read, and tells whether the last request is still being answered.
#[derive(Clone)]
pub(crate) struct ConnectionProgress(Arc<ProgressState>, Instant);

#[derive(Default)]
struct ProgressState {
    requests: AtomicU64,
    is_answering: AtomicBool,
    /// The connection no longer speaks HTTP.
    is_upgraded: AtomicBool,
    /// The last read or write, in milliseconds since the start of the connection.
    last_active: AtomicU64,
}

/// Marks a request as being answered until dropped.
pub(crate) struct AnsweringGuard(ConnectionProgress);

impl ConnectionProgress {
    /// Resolves when the connection has been silent for this long and no request is being answered. Polls
    /// instead of resetting a timer on every read and write, which would cost more than many requests do.
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

    /// Disables the timeouts, because the connection no longer speaks HTTP.
    pub(crate) fn mark_upgraded(&self) {
        self.0.is_upgraded.store(true, Ordering::Relaxed);
    }

    /// Marks the head as complete: nothing is timed until the request is answered.
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

    fn is_head_overdue(&mut self, context: &mut Context<'_>) -> bool {
        let Some(deadline) = self.head_deadline else { return false };
        let alarm = self.head_timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        alarm.as_mut().poll(context).is_ready()
    }
}

impl<T> TimeoutStream<T> {
    /// Fails a pending write once the client has not read for too long.
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
            // Replace the head with one that hyper rejects, so that the client gets a response.
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
