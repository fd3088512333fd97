//! Answers as HTTP has them: a plain body, or a stream of events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use futures_util::stream::unfold;
use server::{Connection, EncodedResponse};

use crate::HttpState;
use crate::auth::PresentedCredential;
use crate::body::AcceptedMediaTypes;
use crate::channel::{ChannelEvent, ChannelRead, ChannelReader};

/// How long a stream may be silent before something is sent that says nothing: proxies cut what is silent for longer.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// How long an answer may take before it becomes a stream, for the same reason.
const PLAIN_RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

/// A finished answer as a plain body.
pub(crate) fn json(response: EncodedResponse) -> Response {
    json_body(response.status, response.retry_after, response.message.into())
}

fn json_body(status: u16, retry_after: Option<u64>, message: Bytes) -> Response {
    let mut response = Response::new(Body::from(message));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(seconds) = retry_after {
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// A response without a body.
pub(crate) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// The first thing that comes decides: the answer alone is a plain body; anything else begins a stream.
pub(crate) enum FirstEvent {
    Json(Response),
    Stream(Option<ChannelEvent>),
    /// Nothing will come.
    Closed,
}

pub(crate) async fn read_first_event(reader: &mut ChannelReader, accepts: AcceptedMediaTypes) -> FirstEvent {
    let next = if accepts.stream {
        match tokio::time::timeout(PLAIN_RESPONSE_TIMEOUT, reader.next()).await {
            Ok(next) => next,
            Err(_) => return FirstEvent::Stream(None),
        }
    } else {
        reader.next().await
    };
    match next {
        ChannelRead::Event(event) => match event.response_status {
            // An error has a status, which a stream could not carry.
            Some((status, retry_after)) if accepts.json || status != 200 => {
                FirstEvent::Json(json_body(status, retry_after, event.message))
            }
            _ => FirstEvent::Stream(Some(event)),
        },
        ChannelRead::Closed => FirstEvent::Closed,
        ChannelRead::Detached => FirstEvent::Stream(None),
    }
}

/// The same, for a connection that ends with its answer. When the server ends, it is told so in time.
pub(crate) async fn read_first_event_or_drain(
    state: &HttpState,
    connection: &Connection,
    reader: &mut ChannelReader,
    accepts: AcceptedMediaTypes,
) -> FirstEvent {
    tokio::select! {
        biased;
        first = read_first_event(reader, accepts) => return first,
        () = state.drain_deadline.cancelled() => {}
    }
    connection.drain(Duration::ZERO, true).await;
    read_first_event(reader, accepts).await
}

/// What a stream of events is made of.
pub(crate) struct EventStream {
    pub(crate) reader: ChannelReader,
    /// What is sent before anything else.
    pub(crate) preamble: Option<Bytes>,
    /// The event that was read already.
    pub(crate) first_event: Option<ChannelEvent>,
    /// Events get ids that begin with this, so that a client can come back.
    pub(crate) stream_id: Option<u64>,
    /// Whoever opened it has to stay welcome.
    pub(crate) credential: Option<(Arc<HttpState>, PresentedCredential)>,
    /// What lives as long as the stream, and ends with it.
    pub(crate) guards: Vec<StreamGuard>,
}

/// Something that is only there to be dropped when the stream ends.
pub(crate) type StreamGuard = Box<dyn Send + Sync>;

/// Stops what still runs when the client hangs up.
pub(crate) struct CancelOnDrop(pub(crate) Arc<Connection>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel_all();
    }
}

/// The stream as a response.
pub(crate) fn event_stream(stream: EventStream) -> Response {
    let events = unfold(Some(stream), |flow| async move {
        let mut flow = flow?;
        let bytes = flow.next().await?;
        Some((Ok::<_, Infallible>(bytes), Some(flow)))
    });
    let mut response = Response::new(Body::from_stream(events));
    let headers: &mut HeaderMap = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

impl EventStream {
    /// Just what comes out of this channel.
    pub(crate) fn from_reader(reader: ChannelReader) -> Self {
        Self {
            reader,
            preamble: None,
            first_event: None,
            stream_id: None,
            credential: None,
            guards: Vec::new(),
        }
    }

    async fn next(&mut self) -> Option<Bytes> {
        if let Some(head) = self.preamble.take() {
            return Some(head);
        }
        let event = match self.first_event.take() {
            Some(event) => event,
            None => match tokio::time::timeout(KEEP_ALIVE_INTERVAL, self.reader.next()).await {
                Ok(ChannelRead::Event(event)) => event,
                Ok(ChannelRead::Closed | ChannelRead::Detached) => return None,
                Err(_) => return self.is_still_authorized().await.then(|| Bytes::from_static(b":\n\n")),
            },
        };
        if !self.is_still_authorized().await {
            return None;
        }
        Some(self.encode_event(&event))
    }

    async fn is_still_authorized(&self) -> bool {
        match &self.credential {
            Some((state, pass)) => state.authenticator.is_still_valid(pass, state.app.now()).await,
            None => true,
        }
    }

    fn encode_event(&self, event: &ChannelEvent) -> Bytes {
        let mut bytes = Vec::with_capacity(event.message.len() + 48);
        if let Some(stream) = self.stream_id {
            bytes.extend_from_slice(format!("id: {stream}-{}\n", event.number).as_bytes());
        }
        bytes.extend_from_slice(b"event: message\ndata: ");
        bytes.extend_from_slice(&event.message);
        bytes.extend_from_slice(b"\n\n");
        bytes.into()
    }
}

/// The event that a stream begins with: an id to come back to, when to do so, and no message.
pub(crate) fn priming_event(stream: u64) -> Bytes {
    format!("id: {stream}-0\nretry: 1000\ndata: \n\n").into()
}
