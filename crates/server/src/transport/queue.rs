//! An outbox for whoever takes messages one by one, in the order in which they come.

use tokio::sync::mpsc;

use crate::{Answer, Outbox};

/// Puts every message into a channel.
pub struct Queue(mpsc::UnboundedSender<Vec<u8>>);

impl Queue {
    /// The outbox, and what comes out of it.
    pub fn new() -> (Self, mpsc::UnboundedReceiver<Vec<u8>>) {
        let (sender, messages) = mpsc::unbounded_channel();
        (Self(sender), messages)
    }
}

impl Outbox for Queue {
    fn answer(&self, answer: Answer) {
        self.push(answer.message);
    }

    fn ask(&self, message: Vec<u8>) -> bool {
        self.0.send(message).is_ok()
    }

    fn push(&self, message: Vec<u8>) {
        // A client that is gone needs no message.
        let _ = self.0.send(message);
    }
}
