//! A connection within the process: for tests, and for commands that use the server as a library.

use std::sync::Arc;

use access::Principal;
use tokio::sync::mpsc;

use crate::{Answer, App, Connection, Outbox, Rules};

/// The client's end.
pub struct MemoryClient {
    connection: Arc<Connection>,
    messages: mpsc::UnboundedReceiver<Vec<u8>>,
}

struct Queue(mpsc::UnboundedSender<Vec<u8>>);

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

/// Connects to the server. Must be called within a tokio runtime.
pub fn connect(app: &Arc<App>, principal: Principal) -> MemoryClient {
    let (sender, messages) = mpsc::unbounded_channel();
    let connection = Connection::new(Arc::clone(app), principal, Rules::Pipe, Arc::new(Queue(sender)));
    tokio::spawn(Arc::clone(&connection).announce_changes());
    MemoryClient { connection, messages }
}

impl MemoryClient {
    /// Sends one message.
    pub fn send(&self, message: &[u8]) {
        self.connection.receive(message);
    }

    /// The next message from the server; `None` when there will be no more.
    pub async fn next(&mut self) -> Option<Vec<u8>> {
        self.messages.recv().await
    }

    /// A message from the server that is there already.
    pub fn try_next(&mut self) -> Option<Vec<u8>> {
        self.messages.try_recv().ok()
    }

    /// The server's end.
    pub fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }
}
