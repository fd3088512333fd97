//! Answers as HTTP has them: a plain body, or a stream of events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use futures_util::stream::unfold;
use server::{Answer, Connection};

use crate::State;
use crate::body::Accepts;
use crate::channel::{Channel, Event, Next, Reader};
use crate::door::Pass;

/// How long a stream may be silent before something is sent that says nothing: proxies cut what is silent for longer.
const SILENCE: Duration = Duration::from_secs(15);
/// How long an answer may take before it becomes a stream, for the same reason.
const PLAIN: Duration = Duration::from_secs(10);

/// A finished answer as a plain body.
pub(crate) fn plain(answer: Answer) -> Response {
    body(answer.status, answer.retry_after, answer.message.into())
}

fn body(status: u16, retry_after: Option<u64>, message: Bytes) -> Response {
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
pub(crate) enum First {
    Plain(Response),
    Stream(Option<Event>),
    /// Nothing will come.
    Nothing,
}

pub(crate) async fn first(reader: &mut Reader, accepts: Accepts) -> First {
    let next = if accepts.stream {
        match tokio::time::timeout(PLAIN, reader.next()).await {
            Ok(next) => next,
            Err(_) => return First::Stream(None),
        }
    } else {
        reader.next().await
    };
    match next {
        Next::Event(event) => match event.verdict {
            // An error has a status, which a stream could not carry.
            Some((status, retry_after)) if accepts.json || status != 200 => {
                First::Plain(body(status, retry_after, event.message))
            }
            _ => First::Stream(Some(event)),
        },
        Next::Over => First::Nothing,
        Next::LetGo => First::Stream(None),
    }
}

/// The same, for a connection that ends with its answer. When the server ends, it is told so in time.
pub(crate) async fn first_of(
    state: &State,
    connection: &Connection,
    reader: &mut Reader,
    accepts: Accepts,
) -> First {
    tokio::select! {
        biased;
        first = first(reader, accepts) => return first,
        () = state.time_is_up.cancelled() => {}
    }
    connection.drain(Duration::ZERO, true).await;
    first(reader, accepts).await
}

/// What a stream of events is made of.
pub(crate) struct Flow {
    pub(crate) reader: Reader,
    /// What is sent before anything else.
    pub(crate) head: Option<Bytes>,
    /// The event that was read already.
    pub(crate) first: Option<Event>,
    /// Events get ids that begin with this, so that a client can come back.
    pub(crate) ids: Option<u64>,
    /// Whoever opened it has to stay welcome.
    pub(crate) pass: Option<(Arc<State>, Pass)>,
    /// What lives as long as the stream, and ends with it.
    pub(crate) kept: Vec<Kept>,
}

/// Something that is only there to be dropped when the stream ends.
pub(crate) type Kept = Box<dyn Send + Sync>;

/// Stops what still runs when the client hangs up.
pub(crate) struct HangUp(pub(crate) Arc<Connection>);

impl Drop for HangUp {
    fn drop(&mut self) {
        self.0.cancel_all();
    }
}

/// The stream as a response.
pub(crate) fn stream(flow: Flow) -> Response {
    let events = unfold(Some(flow), |flow| async move {
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

impl Flow {
    /// Just what comes out of this channel.
    pub(crate) fn of(reader: Reader) -> Self {
        Self { reader, head: None, first: None, ids: None, pass: None, kept: Vec::new() }
    }

    async fn next(&mut self) -> Option<Bytes> {
        if let Some(head) = self.head.take() {
            return Some(head);
        }
        let event = match self.first.take() {
            Some(event) => event,
            None => match tokio::time::timeout(SILENCE, self.reader.next()).await {
                Ok(Next::Event(event)) => event,
                Ok(Next::Over | Next::LetGo) => return None,
                Err(_) => return self.is_welcome().await.then(|| Bytes::from_static(b":\n\n")),
            },
        };
        if !self.is_welcome().await {
            return None;
        }
        Some(self.spell(&event))
    }

    async fn is_welcome(&self) -> bool {
        match &self.pass {
            Some((state, pass)) => state.door.still_good(pass, state.app.now()).await,
            None => true,
        }
    }

    fn spell(&self, event: &Event) -> Bytes {
        let mut bytes = Vec::with_capacity(event.message.len() + 48);
        if let Some(stream) = self.ids {
            bytes.extend_from_slice(format!("id: {stream}-{}\n", event.number).as_bytes());
        }
        bytes.extend_from_slice(b"event: message\ndata: ");
        bytes.extend_from_slice(&event.message);
        bytes.extend_from_slice(b"\n\n");
        bytes.into()
    }
}

/// The event that a stream begins with: an id to come back to, when to do so, and no message.
pub(crate) fn prime(stream: u64) -> Bytes {
    format!("id: {stream}-0\nretry: 1000\ndata: \n\n").into()
}
