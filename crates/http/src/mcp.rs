//! `/mcp`: Streamable HTTP for all revisions.
//!
//! A message that carries its protocol version is self-contained. All others belong to a session, which
//! `initialize` opens.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;
use server::access::RateLimitStatus;
use server::{
    Connection, ConnectionMode, Correlation, DecodedMessage, MessageOrigin, Outbox, Principal, QuotaKind,
    QuotaPermit, RequestRejection, Revision,
};

use crate::auth::AcceptedCredentials;
use crate::body::{self, AcceptedMediaTypes, BodyError, ReceivedBody};
use crate::caller::{AuthenticatedCaller, RequestSource};
use crate::channel::Channel;
use crate::response::{self, CancelOnDrop, EventStream, FirstEvent, StreamGuard};
use crate::session::{HttpSession, NOTIFICATION_STREAM, SessionTransport};
use crate::{HttpState, oauth, origin, route};

const SESSION_ID_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT_ID_HEADER: HeaderName = HeaderName::from_static("last-event-id");

const SESSION_END_TIMEOUT: Duration = Duration::from_secs(10);

struct StreamableHttpRequest<'a> {
    state: &'a Arc<HttpState>,
    caller: AuthenticatedCaller,
    headers: HeaderMap,
    accepts: AcceptedMediaTypes,
    correlation: Correlation,
}

pub(crate) async fn handle(state: &Arc<HttpState>, source: &RequestSource, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let outcome = match state.authenticate(source, &parts.headers, AcceptedCredentials::KeysAndTokens).await {
        Ok(caller) => {
            let accepts = AcceptedMediaTypes::from_headers(&parts.headers);
            let correlation = body::correlation(&parts.extensions);
            let visit = StreamableHttpRequest { state, caller, headers: parts.headers, accepts, correlation };
            match parts.method {
                Method::POST => visit.post(body).await,
                Method::GET => visit.get(),
                _ => visit.delete(),
            }
        }
        Err(rejection) => {
            body::drain(body).await;
            Err(rejection)
        }
    };
    outcome.unwrap_or_else(|rejection| route::refuse(state, ConnectionMode::Session, rejection))
}

impl StreamableHttpRequest<'_> {
    fn principal(&self) -> &Principal {
        &self.caller.principal
    }

    async fn post(self, body: axum::body::Body) -> Result<Response, RequestRejection> {
        body::check_content_type(&self.headers)?;
        if !self.accepts.json && !self.accepts.stream {
            return Err(RequestRejection::NotAcceptable { offered: "application/json or text/event-stream" });
        }
        let received = body::receive(self.state, &self.caller, body).await;
        // The body's memory stays reserved until there is a response.
        let ReceivedBody { message: decoded, rate_limit, reservation: _held } =
            received.map_err(|BodyError { rejection, .. }| rejection)?;
        let is_stateless = self.is_stateless(&decoded)?;
        let mut response = if is_stateless {
            self.post_stateless(decoded, rate_limit).await?
        } else {
            self.post_stateful(decoded, rate_limit).await?
        };
        body::add_rate_limit_headers(&mut response, rate_limit);
        if response.status() == StatusCode::FORBIDDEN {
            oauth::challenge_scope(self.state, &mut response);
        }
        Ok(response)
    }

    /// Whether the message is self-contained, according to the version in the header or in the body.
    fn is_stateless(&self, message: &DecodedMessage) -> Result<bool, RequestRejection> {
        if message.is_stateless() {
            return Ok(true);
        }
        Ok(self.protocol_version()?.is_some_and(Revision::is_stateless))
    }

    /// The version in the header. An unsupported or repeated header is rejected.
    fn protocol_version(&self) -> Result<Option<Revision>, RequestRejection> {
        if !self.headers.contains_key(PROTOCOL_VERSION_HEADER) {
            return Ok(None);
        }
        let version = origin::single_header(&self.headers, &PROTOCOL_VERSION_HEADER).unwrap_or_default();
        let rejection =
            || RequestRejection::UnsupportedVersion { requested: version.chars().take(64).collect() };
        Revision::parse(version).map(Some).ok_or_else(rejection)
    }

    /// Rejects GET and DELETE for revisions without sessions.
    fn check_has_sessions(&self) -> Result<(), RequestRejection> {
        match self.protocol_version()? {
            Some(revision) if revision.is_stateless() => {
                Err(RequestRejection::MethodNotAllowed { allowed: "POST" })
            }
            _ => Ok(()),
        }
    }

    /// Handles a self-contained message. It is cancelled when the client disconnects.
    async fn post_stateless(
        &self,
        message: DecodedMessage,
        rate_limit: Option<RateLimitStatus>,
    ) -> Result<Response, RequestRejection> {
        let permit = self.state.app.acquire_permit(self.principal(), QuotaKind::Call)?;
        let channel = Channel::for_request(self.accepts.stream);
        let outbox = Arc::clone(&channel) as Arc<dyn Outbox>;
        let connection = Connection::new(
            Arc::clone(&self.state.app),
            self.principal().clone(),
            ConnectionMode::Stateless,
            outbox,
        );
        let delivery =
            self.message_origin(&channel, rate_limit).with_headers(body::mirrored_headers(&self.headers));
        if !connection.handle(message, delivery) {
            return Ok(response::empty(StatusCode::ACCEPTED));
        }
        let mut reader = channel.read_after(0);
        let hang_up = CancelOnDrop(connection);
        Ok(
            match response::read_first_event_or_drain(self.state, &hang_up.0, &mut reader, self.accepts).await
            {
                FirstEvent::Json(response) => response,
                FirstEvent::Closed => response::empty(StatusCode::ACCEPTED),
                FirstEvent::Stream(first) => {
                    let kept: Vec<StreamGuard> = vec![Box::new(hang_up), Box::new(permit)];
                    self.stream_response(EventStream {
                        first_event: first,
                        guards: kept,
                        ..EventStream::from_reader(reader)
                    })
                }
            },
        )
    }

    fn message_origin(&self, channel: &Arc<Channel>, rate_limit: Option<RateLimitStatus>) -> MessageOrigin {
        body::message_origin(Arc::clone(channel) as Arc<dyn Outbox>, rate_limit, self.correlation.clone())
    }

    fn stream_response(&self, mut stream: EventStream) -> Response {
        stream.credential =
            Some((Arc::clone(self.state), self.state.authenticator.presented_credential(&self.headers)));
        stream.guards.push(Box::new(self.state.metrics.track_stream()));
        stream.guards.push(Box::new(self.caller.serving.duplicate()));
        response::event_stream(stream)
    }

    async fn post_stateful(
        &self,
        message: DecodedMessage,
        rate_limit: Option<RateLimitStatus>,
    ) -> Result<Response, RequestRejection> {
        match self.headers.contains_key(SESSION_ID_HEADER) {
            true => {
                let session = self.find_session()?;
                self.post_in_session(&session, message, rate_limit).await
            }
            false if message.is_initialize() => self.open_session(message, rate_limit).await,
            // A temporary session reports what is wrong with the message.
            false if message.is_malformed() => Ok(self.reject_malformed(message, rate_limit).await),
            false => Err(RequestRejection::SessionRequired),
        }
    }

    fn find_session(&self) -> Result<Arc<HttpSession>, RequestRejection> {
        let name = origin::single_header(&self.headers, &SESSION_ID_HEADER)
            .ok_or(RequestRejection::SessionRequired)?;
        self.state.sessions.find(name, SessionTransport::Streamable, self.principal())
    }

    fn new_connection(&self, news: &Arc<Channel>) -> Arc<Connection> {
        let outbox = Arc::clone(news) as Arc<dyn Outbox>;
        Connection::new(
            Arc::clone(&self.state.app),
            self.principal().clone(),
            ConnectionMode::Session,
            outbox,
        )
    }

    async fn reject_malformed(
        &self,
        message: DecodedMessage,
        rate_limit: Option<RateLimitStatus>,
    ) -> Response {
        let channel = Channel::for_request(false);
        self.new_connection(&channel).handle(message, self.message_origin(&channel, rate_limit));
        match response::read_first_event(
            &mut channel.read_after(0),
            AcceptedMediaTypes { json: true, stream: false },
        )
        .await
        {
            FirstEvent::Json(response) => response,
            FirstEvent::Stream(_) | FirstEvent::Closed => response::empty(StatusCode::ACCEPTED),
        }
    }

    /// Many clients never end their sessions. At the limit, the least recently used session is ended to make
    /// room.
    fn acquire_session_permit(&self) -> Result<QuotaPermit, RequestRejection> {
        let place = || self.state.app.acquire_permit(self.principal(), QuotaKind::Session);
        place().or_else(|full| {
            let oldest = self.state.sessions.remove_least_recently_used(self.principal()).ok_or(full)?;
            let permit = oldest.release_permit();
            tokio::spawn(async move { oldest.end(Duration::ZERO).await });
            permit.map_or_else(place, Ok)
        })
    }

    /// Handles `initialize`: opens a session unless the call fails.
    async fn open_session(
        &self,
        message: DecodedMessage,
        rate_limit: Option<RateLimitStatus>,
    ) -> Result<Response, RequestRejection> {
        let permit = self.acquire_session_permit()?;
        let news = Channel::for_session(true);
        let reserved = (permit, self.state.metrics.track_session());
        let session = HttpSession::new(
            SessionTransport::Streamable,
            self.principal(),
            self.new_connection(&news),
            news,
            reserved,
        );
        let mut response = self.post_in_session(&session, message, rate_limit).await?;
        if session.connection.negotiated_revision().is_none() {
            session.end(Duration::ZERO).await;
            return Ok(response);
        }
        let name = self.state.sessions.add(&self.state.app, session)?;
        if let Ok(name) = HeaderValue::try_from(name) {
            response.headers_mut().insert(SESSION_ID_HEADER, name);
        }
        Ok(response)
    }

    async fn post_in_session(
        &self,
        session: &Arc<HttpSession>,
        message: DecodedMessage,
        rate_limit: Option<RateLimitStatus>,
    ) -> Result<Response, RequestRejection> {
        if !session.connection.has_capacity() {
            return Err(RequestRejection::Busy);
        }
        // Messages that need no response are always accepted: they may be responses that calls are waiting
        // for.
        let call = || self.state.app.acquire_permit(self.principal(), QuotaKind::Call);
        let permit = message.expects_response().then(call).transpose()?;
        let channel = Channel::for_session(self.accepts.stream);
        let delivery = self.message_origin(&channel, rate_limit);
        if !session.connection.handle(message, delivery.with_sender(self.principal().clone())) {
            return Ok(response::empty(StatusCode::ACCEPTED));
        }
        let mut reader = channel.read_after(0);
        Ok(match response::read_first_event(&mut reader, self.accepts).await {
            FirstEvent::Json(response) => response,
            FirstEvent::Closed => response::empty(StatusCode::ACCEPTED),
            FirstEvent::Stream(first) => {
                let mut flow = EventStream { first_event: first, ..EventStream::from_reader(reader) };
                flow.guards.push(Box::new(permit));
                self.respond_with_stream(session, channel, flow)
            }
        })
    }

    fn respond_with_stream(
        &self,
        session: &Arc<HttpSession>,
        channel: Arc<Channel>,
        mut stream: EventStream,
    ) -> Response {
        let number = session.add_stream(channel);
        let primes = session.connection.negotiated_revision().is_some_and(Revision::primes_streams);
        stream.preamble = primes.then(|| response::priming_event(number));
        stream.stream_id = Some(number);
        // A session with an open stream counts as in use.
        stream.guards.push(Box::new(Arc::clone(session)));
        self.stream_response(stream)
    }

    /// Opens the notification stream, or resumes an interrupted one.
    fn get(self) -> Result<Response, RequestRejection> {
        self.check_has_sessions()?;
        if !self.accepts.stream {
            return Err(RequestRejection::NotAcceptable { offered: "text/event-stream" });
        }
        let session = self.find_session()?;
        let permit = self.state.app.acquire_permit(self.principal(), QuotaKind::Stream)?;
        let last = origin::single_header(&self.headers, &LAST_EVENT_ID_HEADER).and_then(parse_event_id);
        let number = last.map_or(NOTIFICATION_STREAM, |(number, _)| number);
        // Clients retry forever to resume a stream that ended without a response, unless they get this error.
        let nothing_left = RequestRejection::MethodNotAllowed { allowed: "POST, DELETE" };
        let channel = session.stream(number).ok_or_else(|| nothing_left.clone())?;
        let reader = match last {
            Some((_, after)) if channel.is_exhausted_after(after) => return Err(nothing_left),
            Some((_, after)) => channel.read_after(after),
            None => channel.read_unread(),
        };
        let primes = session.connection.negotiated_revision().is_some_and(Revision::primes_streams);
        let head = (primes && last.is_none()).then(|| response::priming_event(number));
        let kept: Vec<StreamGuard> = vec![Box::new(permit), Box::new(session)];
        Ok(self.stream_response(EventStream {
            preamble: head,
            stream_id: Some(number),
            guards: kept,
            ..EventStream::from_reader(reader)
        }))
    }

    fn delete(self) -> Result<Response, RequestRejection> {
        self.check_has_sessions()?;
        let session = self.find_session()?;
        if let Some(name) = origin::single_header(&self.headers, &SESSION_ID_HEADER) {
            self.state.sessions.remove(name);
        }
        tokio::spawn(async move { session.end(SESSION_END_TIMEOUT).await });
        Ok(response::empty(StatusCode::NO_CONTENT))
    }
}

/// Parses `<stream>-<event>`.
fn parse_event_id(text: &str) -> Option<(u64, u64)> {
    let (stream, event) = text.split_once('-')?;
    Some((stream.parse().ok()?, event.parse().ok()?))
}
