//! Collects the end of a program's output, stdout and stderr combined.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const MAX_OUTPUT_BYTES: usize = 16 * 1024;

/// Reads streams on separate threads, so that the program never blocks on a full pipe.
#[derive(Default)]
pub(super) struct OutputTail {
    tail: Arc<Mutex<Vec<u8>>>,
    readers: Vec<JoinHandle<()>>,
}

impl OutputTail {
    pub(super) fn read_stream(&mut self, mut from: impl Read + Send + 'static) -> io::Result<()> {
        let kept = Arc::clone(&self.tail);
        self.readers.push(thread::Builder::new().spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut piece) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&piece[..count]);
                let excess = kept.len().saturating_sub(MAX_OUTPUT_BYTES);
                kept.drain(..excess);
            }
        })?);
        Ok(())
    }

    /// The collected output. A process that left the process group may keep a stream open, so the wait is
    /// bounded.
    pub(super) fn into_text(self) -> String {
        for _ in 0..50 {
            if self.readers.iter().all(JoinHandle::is_finished) {
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
        let kept = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }
}
