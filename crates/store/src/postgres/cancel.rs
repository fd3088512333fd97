//! Cancels abandoned statements. While it works or waits for a lock, the server does not notice that a client
//! has gone, and every abandoned statement occupies one of its connections.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{CancelToken, Socket};

/// Asks the server to cancel a statement, in the background and without waiting for the result.
#[derive(Clone)]
pub(super) struct Canceller(Arc<dyn Fn(CancelToken) + Send + Sync>);

impl Canceller {
    /// Uses the same TLS settings as the connections.
    pub(super) fn new<T>(way: T) -> Self
    where
        T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
        T::TlsConnect: Send,
        T::Stream: Send,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        Self(Arc::new(move |token| {
            let way = way.clone();
            // Without a runtime, the process is ending, and its connections with it.
            if let Ok(runtime) = Handle::try_current() {
                runtime.spawn(async move { token.cancel_query(way).await });
            }
        }))
    }

    pub(super) fn cancel(&self, token: CancelToken) {
        (self.0)(token);
    }
}
