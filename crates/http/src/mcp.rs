//! `/mcp`: Streamable HTTP of every revision.
//!
//! A message that carries its version stands for itself. All others belong to a session, which `initialize` opens.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;
use server::access::Standing;
use server::{
    Connection, Correlation, Delivery, Letter, Outbox, Place, Principal, Refusal, Revision, Rules, Seat,
};

use crate::body::{self, Accepts, Received, Unread};
use crate::caller::{Caller, Source};
use crate::channel::Channel;
use crate::door::Takes;
use crate::reply::{self, First, Flow, HangUp, Kept};
use crate::session::{Kind, NEWS, Session};
use crate::{State, guard, oauth, route};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// How long a session that is deleted may take to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// A request, and who sends it.
struct Visit<'a> {
    state: &'a Arc<State>,
    caller: Caller,
    headers: HeaderMap,
    accepts: Accepts,
    correlation: Correlation,
}

pub(crate) async fn handle(state: &Arc<State>, source: &Source, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let outcome = match state.authenticate(source, &parts.headers, Takes::KeysAndTokens).await {
        Ok(caller) => {
            let accepts = Accepts::of(&parts.headers);
            let correlation = body::correlation(&parts.extensions);
            let visit = Visit { state, caller, headers: parts.headers, accepts, correlation };
            match parts.method {
                Method::POST => visit.post(body).await,
                Method::GET => visit.get(),
                _ => visit.delete(),
            }
        }
        Err(refusal) => {
            body::drain(body).await;
            Err(refusal)
        }
    };
    outcome.unwrap_or_else(|refusal| route::refuse(state, Rules::Session, refusal))
}

impl Visit<'_> {
    fn principal(&self) -> &Principal {
        &self.caller.principal
    }

    async fn post(self, body: axum::body::Body) -> Result<Response, Refusal> {
        body::check_type(&self.headers)?;
        if !self.accepts.json && !self.accepts.stream {
            return Err(Refusal::NotAcceptable { offered: "application/json or text/event-stream" });
        }
        let received = body::receive(self.state, &self.caller, body).await;
        // The memory of the body is held until there is an answer.
        let Received { letter, standing, held: _held } =
            received.map_err(|Unread { refusal, .. }| refusal)?;
        let is_stateless = self.is_stateless(&letter)?;
        let mut response = if is_stateless {
            self.alone(letter, standing).await?
        } else {
            self.in_session(letter, standing).await?
        };
        body::tell_standing(&mut response, standing);
        if response.status() == StatusCode::FORBIDDEN {
            oauth::challenge_scope(self.state, &mut response);
        }
        Ok(response)
    }

    /// Whether the message stands for itself: the version says so, in the header or in the body.
    fn is_stateless(&self, letter: &Letter) -> Result<bool, Refusal> {
        if letter.is_stateless() {
            return Ok(true);
        }
        Ok(self.version()?.is_some_and(Revision::is_stateless))
    }

    /// The version that the header names. One that is not spoken here, or comes twice, is refused.
    fn version(&self) -> Result<Option<Revision>, Refusal> {
        if !self.headers.contains_key(VERSION) {
            return Ok(None);
        }
        let version = guard::single(&self.headers, &VERSION).unwrap_or_default();
        let refusal = || Refusal::UnsupportedVersion { requested: version.chars().take(64).collect() };
        Revision::parse(version).map(Some).ok_or_else(refusal)
    }

    /// Streams and sessions are for revisions that have sessions.
    fn check_has_sessions(&self) -> Result<(), Refusal> {
        match self.version()? {
            Some(revision) if revision.is_stateless() => Err(Refusal::MethodNotAllowed { allowed: "POST" }),
            _ => Ok(()),
        }
    }

    /// A message that stands for itself. When the client hangs up, nobody wants the answer any more.
    async fn alone(&self, letter: Letter, standing: Option<Standing>) -> Result<Response, Refusal> {
        let seat = self.state.app.place(self.principal(), Place::Call)?;
        let channel = Channel::for_request(self.accepts.stream);
        let outbox = Arc::clone(&channel) as Arc<dyn Outbox>;
        let connection =
            Connection::new(Arc::clone(&self.state.app), self.principal().clone(), Rules::Stateless, outbox);
        let delivery = self.delivery(&channel, standing).claiming(body::claims(&self.headers));
        if !connection.handle(letter, delivery) {
            return Ok(reply::empty(StatusCode::ACCEPTED));
        }
        let mut reader = channel.read_after(0);
        let hang_up = HangUp(connection);
        Ok(match reply::first_of(self.state, &hang_up.0, &mut reader, self.accepts).await {
            First::Plain(response) => response,
            First::Nothing => reply::empty(StatusCode::ACCEPTED),
            First::Stream(first) => {
                let kept: Vec<Kept> = vec![Box::new(hang_up), Box::new(seat)];
                self.stream(Flow { first, kept, ..Flow::of(reader) })
            }
        })
    }

    fn delivery(&self, channel: &Arc<Channel>, standing: Option<Standing>) -> Delivery {
        body::delivery(Arc::clone(channel) as Arc<dyn Outbox>, standing, self.correlation.clone())
    }

    fn stream(&self, mut flow: Flow) -> Response {
        flow.pass = Some((Arc::clone(self.state), self.state.door.pass(&self.headers)));
        flow.kept.push(Box::new(self.state.metrics.stream()));
        flow.kept.push(Box::new(self.caller.serving.another()));
        reply::stream(flow)
    }

    async fn in_session(&self, letter: Letter, standing: Option<Standing>) -> Result<Response, Refusal> {
        match self.headers.contains_key(SESSION) {
            true => {
                let session = self.session()?;
                self.in_this_session(&session, letter, standing).await
            }
            false if letter.opens_session() => self.open(letter, standing).await,
            // A session that is forgotten at once can say what is wrong with the message.
            false if letter.is_malformed() => Ok(self.in_no_session(letter, standing).await),
            false => Err(Refusal::SessionRequired),
        }
    }

    fn session(&self) -> Result<Arc<Session>, Refusal> {
        let name = guard::single(&self.headers, &SESSION).ok_or(Refusal::SessionRequired)?;
        self.state.sessions.find(name, Kind::Streamable, self.principal())
    }

    fn connect(&self, news: &Arc<Channel>) -> Arc<Connection> {
        let outbox = Arc::clone(news) as Arc<dyn Outbox>;
        Connection::new(Arc::clone(&self.state.app), self.principal().clone(), Rules::Session, outbox)
    }

    async fn in_no_session(&self, letter: Letter, standing: Option<Standing>) -> Response {
        let channel = Channel::for_request(false);
        self.connect(&channel).handle(letter, self.delivery(&channel, standing));
        match reply::first(&mut channel.read_after(0), Accepts { json: true, stream: false }).await {
            First::Plain(response) => response,
            First::Stream(_) | First::Nothing => reply::empty(StatusCode::ACCEPTED),
        }
    }

    /// Many clients never end their sessions. At the limit, the one that was not used for longest makes room.
    fn seat_for_session(&self) -> Result<Seat, Refusal> {
        let place = || self.state.app.place(self.principal(), Place::Session);
        place().or_else(|full| {
            let oldest = self.state.sessions.remove_unused(self.principal()).ok_or(full)?;
            let seat = oldest.give_up_seat();
            tokio::spawn(async move { oldest.end(Duration::ZERO).await });
            seat.map_or_else(place, Ok)
        })
    }

    /// `initialize`: a new session, unless it fails.
    async fn open(&self, letter: Letter, standing: Option<Standing>) -> Result<Response, Refusal> {
        let seat = self.seat_for_session()?;
        let news = Channel::for_session(true);
        let held = (seat, self.state.metrics.session());
        let session = Session::new(Kind::Streamable, self.principal(), self.connect(&news), news, held);
        let mut response = self.in_this_session(&session, letter, standing).await?;
        if session.connection.negotiated().is_none() {
            session.end(Duration::ZERO).await;
            return Ok(response);
        }
        let name = self.state.sessions.add(&self.state.app, session)?;
        if let Ok(name) = HeaderValue::try_from(name) {
            response.headers_mut().insert(SESSION, name);
        }
        Ok(response)
    }

    async fn in_this_session(
        &self,
        session: &Arc<Session>,
        letter: Letter,
        standing: Option<Standing>,
    ) -> Result<Response, Refusal> {
        if !session.connection.has_room() {
            return Err(Refusal::Busy);
        }
        // What needs no answer is always taken: it may be the answer that calls wait for.
        let call = || self.state.app.place(self.principal(), Place::Call);
        let seat = letter.wants_answer().then(call).transpose()?;
        let channel = Channel::for_session(self.accepts.stream);
        let delivery = self.delivery(&channel, standing);
        if !session.connection.handle(letter, delivery.by(self.principal().clone())) {
            return Ok(reply::empty(StatusCode::ACCEPTED));
        }
        let mut reader = channel.read_after(0);
        Ok(match reply::first(&mut reader, self.accepts).await {
            First::Plain(response) => response,
            First::Nothing => reply::empty(StatusCode::ACCEPTED),
            First::Stream(first) => {
                let mut flow = Flow { first, ..Flow::of(reader) };
                flow.kept.push(Box::new(seat));
                self.answer_as_stream(session, channel, flow)
            }
        })
    }

    fn answer_as_stream(&self, session: &Arc<Session>, channel: Arc<Channel>, mut flow: Flow) -> Response {
        let number = session.keep(channel);
        let primes = session.connection.negotiated().is_some_and(Revision::primes_streams);
        flow.head = primes.then(|| reply::prime(number));
        flow.ids = Some(number);
        // A session with an open stream is in use.
        flow.kept.push(Box::new(Arc::clone(session)));
        self.stream(flow)
    }

    /// The stream for what belongs to no request, or one that was broken off.
    fn get(self) -> Result<Response, Refusal> {
        self.check_has_sessions()?;
        if !self.accepts.stream {
            return Err(Refusal::NotAcceptable { offered: "text/event-stream" });
        }
        let session = self.session()?;
        let seat = self.state.app.place(self.principal(), Place::Stream)?;
        let last = guard::single(&self.headers, &LAST_EVENT).and_then(event_id);
        let number = last.map_or(NEWS, |(number, _)| number);
        // Clients come back for ever to a stream that ended without an answer, unless they hear that there is none.
        let nothing_left = Refusal::MethodNotAllowed { allowed: "POST, DELETE" };
        let channel = session.stream(number).ok_or_else(|| nothing_left.clone())?;
        let reader = match last {
            Some((_, after)) if channel.is_over_after(after) => return Err(nothing_left),
            Some((_, after)) => channel.read_after(after),
            None => channel.read_on(),
        };
        let primes = session.connection.negotiated().is_some_and(Revision::primes_streams);
        let head = (primes && last.is_none()).then(|| reply::prime(number));
        let kept: Vec<Kept> = vec![Box::new(seat), Box::new(session)];
        Ok(self.stream(Flow { head, ids: Some(number), kept, ..Flow::of(reader) }))
    }

    fn delete(self) -> Result<Response, Refusal> {
        self.check_has_sessions()?;
        let session = self.session()?;
        if let Some(name) = guard::single(&self.headers, &SESSION) {
            self.state.sessions.remove(name);
        }
        tokio::spawn(async move { session.end(PATIENCE).await });
        Ok(reply::empty(StatusCode::NO_CONTENT))
    }
}

/// Which event of which stream.
fn event_id(text: &str) -> Option<(u64, u64)> {
    let (stream, event) = text.split_once('-')?;
    Some((stream.parse().ok()?, event.parse().ok()?))
}
