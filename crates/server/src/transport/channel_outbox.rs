//! An outbox whose messages are received one by one, in order, through a channel.

use tokio::sync::mpsc;

use crate::{EncodedResponse, Outbox};

/// Puts every message into a channel.
pub struct ChannelOutbox(mpsc::UnboundedSender<Vec<u8>>);

impl ChannelOutbox {
    /// The outbox, and what comes out of it.
    pub fn new() -> (Self, mpsc::UnboundedReceiver<Vec<u8>>) {
        let (sender, messages) = mpsc::unbounded_channel();
        (Self(sender), messages)
    }
}

impl Outbox for ChannelOutbox {
    fn send_response(&self, response: EncodedResponse) {
        self.send_notification(response.message);
    }

    fn send_request(&self, message: Vec<u8>) -> bool {
        self.0.send(message).is_ok()
    }

    fn send_notification(&self, message: Vec<u8>) {
        // A client that is gone needs no message.
        let _ = self.0.send(message);
    }
}
