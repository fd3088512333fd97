//! HTTP responses: a plain body, or a stream of events.

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

/// How long a stream may be silent before a keep-alive comment is sent, because proxies close silent
/// connections.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// How long a response may take before it becomes a stream, for the same reason.
const PLAIN_RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

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

pub(crate) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// The first event decides: a response alone becomes a plain body, anything else starts a stream.
pub(crate) enum FirstEvent {
    Json(Response),
    Stream(Option<ChannelEvent>),
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
            // A stream cannot carry the status of an error.
            Some((status, retry_after)) if accepts.json || status != 200 => {
                FirstEvent::Json(json_body(status, retry_after, event.message))
            }
            _ => FirstEvent::Stream(Some(event)),
        },
        ChannelRead::Closed => FirstEvent::Closed,
        ChannelRead::Detached => FirstEvent::Stream(None),
    }
}

/// Like [`read_first_event`], for a connection that ends with its response. On shutdown, it is answered in
/// time.
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

pub(crate) struct EventStream {
    pub(crate) reader: ChannelReader,
    /// Sent before anything else.
    pub(crate) preamble: Option<Bytes>,
    /// An event that has already been read.
    pub(crate) first_event: Option<ChannelEvent>,
    /// Prefix of the event ids, which make the stream resumable.
    pub(crate) stream_id: Option<u64>,
    /// Verified again while the stream is open.
    pub(crate) credential: Option<(Arc<HttpState>, PresentedCredential)>,
    /// Dropped when the stream ends.
    pub(crate) guards: Vec<StreamGuard>,
}

pub(crate) type StreamGuard = Box<dyn Send + Sync>;

/// Cancels running calls when the client disconnects.
pub(crate) struct CancelOnDrop(pub(crate) Arc<Connection>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel_all();
    }
}

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

/// The first event of a resumable stream: an id and a retry interval, but no message.
pub(crate) fn priming_event(stream: u64) -> Bytes {
    format!("id: {stream}-0\nretry: 1000\ndata: \n\n").into()
}
