//! A connection within the process: for tests, and for commands that use the server as a library.

use std::sync::Arc;

use access::Principal;
use tokio::sync::mpsc;

use super::channel_outbox::ChannelOutbox;
use crate::{App, Connection, ConnectionMode};

/// The client's end.
pub struct MemoryClient {
    connection: Arc<Connection>,
    messages: mpsc::UnboundedReceiver<Vec<u8>>,
}

/// Connects to the server. Must be called within a tokio runtime.
pub fn connect(app: &Arc<App>, principal: Principal) -> MemoryClient {
    let (queue, messages) = ChannelOutbox::new();
    let connection = Connection::new(Arc::clone(app), principal, ConnectionMode::Stream, Arc::new(queue));
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
