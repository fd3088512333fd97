//! What nobody waits for any more is stopped. A server does not notice by itself that a client has gone while it works or waits
//! for a lock, and each that is left behind keeps one of its connections.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{CancelToken, Socket};

/// Tells the server to stop, in the background and without an answer.
#[derive(Clone)]
pub(super) struct Canceller(Arc<dyn Fn(CancelToken) + Send + Sync>);

impl Canceller {
    /// On the same kind of way as the connections.
    pub(super) fn new<T>(way: T) -> Self
    where
        T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
        T::TlsConnect: Send,
        T::Stream: Send,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        Self(Arc::new(move |token| {
            let way = way.clone();
            // Without a runtime the process ends, and its connections with it.
            if let Ok(runtime) = Handle::try_current() {
                runtime.spawn(async move { token.cancel_query(way).await });
            }
        }))
    }

    pub(super) fn cancel(&self, token: CancelToken) {
        (self.0)(token);
    }
}
