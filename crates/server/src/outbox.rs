//! Where finished messages go.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use protocol::{Dialect, Id, encode};

use crate::error::{self, Failure};

/// The sending half of a transport. Both calls return at once.
pub trait Outbox: Send + Sync + 'static {
    /// Sends the answer to something that came in.
    fn answer(&self, message: Vec<u8>);
    /// Called instead of [`answer`](Self::answer) when the client no longer wants to hear it.
    fn stay_silent(&self) {}
    /// Sends a question to the client. `false` where the transport has no way to carry one.
    fn ask(&self, message: Vec<u8>) -> bool;
    /// Sends a notification. A transport that cannot carry these drops them, as does one whose reader has fallen far
    /// behind.
    fn push(&self, message: Vec<u8>);
}

/// Owes exactly one answer. Dropped without one (a panic, a forgotten path), it says "internal error".
pub(crate) struct Responder {
    to: Option<Destination>,
    dialect: Dialect,
    id: Option<Id>,
}

/// Where an answer goes: out, or into its place in a batch.
pub(crate) enum Destination {
    Outbox(Arc<dyn Outbox>),
    Slot(Arc<Batch>, usize),
}

impl Responder {
    pub(crate) fn new(to: Destination, dialect: Dialect, id: Option<Id>) -> Self {
        Self { to: Some(to), dialect, id }
    }

    /// Sends a finished answer.
    pub(crate) fn answer(mut self, message: Vec<u8>) {
        self.send(Some(message));
    }

    /// Sends the error that tells of this failure.
    pub(crate) fn fail(mut self, failure: &Failure) {
        let message = error::render(failure, self.dialect, self.id.as_ref());
        self.send(Some(message));
    }

    /// Sends nothing, because the client said that it no longer wants to hear.
    pub(crate) fn stay_silent(mut self) {
        self.send(None);
    }

    fn send(&mut self, message: Option<Vec<u8>>) {
        match (self.to.take(), message) {
            (Some(Destination::Outbox(outbox)), Some(message)) => outbox.answer(message),
            (Some(Destination::Outbox(outbox)), None) => outbox.stay_silent(),
            (Some(Destination::Slot(batch, slot)), message) => batch.fill(slot, message),
            (None, _) => {}
        }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        if self.to.is_some() {
            let message = error::render(&Failure::Internal, self.dialect, self.id.as_ref());
            self.send(Some(message));
        }
    }
}

/// The answers of a batch, gathered until the last one is there.
pub(crate) struct Batch {
    answers: Mutex<Vec<Option<Vec<u8>>>>,
    missing: AtomicUsize,
    to: Arc<dyn Outbox>,
}

impl Batch {
    pub(crate) fn new(slots: usize, to: Arc<dyn Outbox>) -> Arc<Self> {
        Arc::new(Self { answers: Mutex::new(vec![None; slots]), missing: AtomicUsize::new(slots), to })
    }

    fn fill(&self, slot: usize, message: Option<Vec<u8>>) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers[slot] = message;
        if self.missing.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        if answers.iter().any(Option::is_some) {
            self.to.answer(encode::batch(answers.iter().flatten().map(Vec::as_slice)));
        } else {
            self.to.stay_silent();
        }
    }
}
