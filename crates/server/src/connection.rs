//! One client's connection: bytes come in, answers go to the outbox.

pub(crate) mod client_requests;
pub(crate) mod decoded;
pub(crate) mod mirrored_headers;
pub(crate) mod mode;
pub(crate) mod outbox;
pub(crate) mod quotas;
pub(crate) mod reject;
pub(crate) mod scheduler;
pub(crate) mod session;
pub(crate) mod state;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use access::Principal;
use protocol::mcp::RequestMeta;
use protocol::{
    Dialect, EnvelopeRequest, Id, Incoming, Malformed, Message, Notification, Params, Problem, Request,
    Revision,
};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::connection::decoded::is_answerable;
use crate::connection::outbox::{Batch, Destination, Responder};
use crate::connection::scheduler::Spoken;
use crate::connection::state::ConnectionState;
use crate::error::{Failure, Manner, Refusal};
use crate::rpc::client_roots::ClientRoots;
use crate::rpc::context::Context;
use crate::rpc::interaction;
use crate::rpc::subscriptions::{self, News};
use crate::rpc::{dispatch, envelope};
use crate::telemetry::request_span::{RequestNumber, RequestSpan, TraceId};
use crate::telemetry::{Notes, Watch};
use crate::{App, Call, CitationFormat, Claims, Correlation, Delivery, Letter, Outbox, Outlet, Rules};

/// What goes with a message on its way.
#[derive(Clone, Copy)]
struct Way<'a> {
    outbox: &'a Arc<dyn Outbox>,
    sender: &'a Arc<Principal>,
    claims: Option<&'a Claims>,
    correlation: &'a Correlation,
    in_batch: bool,
}

/// One client's connection: decodes what comes in and starts its requests.
pub struct Connection {
    state: Arc<ConnectionState>,
    /// How many requests came in that the transport has no id for.
    counted: AtomicU64,
    speaks_envelope: AtomicBool,
}

impl Connection {
    /// A new connection.
    pub fn new(app: Arc<App>, principal: Principal, rules: Rules, outbox: Arc<dyn Outbox>) -> Arc<Self> {
        Arc::new(Self {
            state: ConnectionState::new(app, principal, rules, outbox),
            counted: AtomicU64::new(0),
            speaks_envelope: AtomicBool::new(false),
        })
    }

    /// Takes one line or body. Returns whether an answer will come out of the outbox.
    ///
    /// What can be answered at once is answered before this returns; the rest goes on as a task of the current tokio
    /// runtime.
    pub fn receive(self: &Arc<Self>, bytes: &[u8]) -> bool {
        self.handle(self.state.app.decode(bytes), Delivery::to(Arc::clone(&self.state.outbox)))
    }

    /// The same for what is decoded already, with answers to wherever the delivery says.
    pub fn handle(self: &Arc<Self>, letter: Letter, delivery: Delivery) -> bool {
        let sender = delivery.sender.map_or_else(|| Arc::clone(&self.state.principal), Arc::new);
        let way = Way {
            outbox: &delivery.outbox,
            sender: &sender,
            claims: delivery.claims.as_ref(),
            correlation: &delivery.correlation,
            in_batch: false,
        };
        let to = || Destination::Outbox(Arc::clone(&delivery.outbox));
        match letter.0 {
            Incoming::One(message) => {
                if let Ok(message) = &message {
                    self.note_dialect(message);
                }
                let answerable = is_answerable(&message);
                match delivery.refusal.filter(|_| answerable && delivery.granted == 0) {
                    None => self.take(message, to(), way),
                    Some(refusal) => self.turn_away(&message, to(), refusal, way),
                }
                answerable
            }
            Incoming::Batch(messages) => {
                let way = Way { in_batch: true, ..way };
                self.receive_batch(messages, way, delivery.granted, delivery.refusal)
            }
        }
    }

    /// Refuses a message before anybody has looked at what it wants.
    fn turn_away(
        &self,
        message: &Result<Message, Malformed>,
        to: Destination,
        refusal: Refusal,
        way: Way<'_>,
    ) {
        let usual = self.default_dialect();
        let (dialect, id) = match message {
            Ok(Message::Request(request)) => (usual, Some(request.id.clone())),
            Ok(Message::Envelope(request)) => {
                let dialect = if self.state.rules == Rules::Pipe { Dialect::Envelope } else { usual };
                (dialect, request.id.clone())
            }
            Err(malformed) => (usual, malformed.id.clone()),
            Ok(_) => (usual, None),
        };
        let request = self.unread(way, id);
        self.observe_refused(&request, refusal.kind());
        self.responder(to, dialect, request).fail(&refusal.into());
    }

    /// A request is over before it began.
    fn observe_refused(&self, request: &RequestSpan, kind: &'static str) {
        Watch::start(&self.state.app, request, "unknown", &Notes::default()).end(Some(kind));
    }

    fn responder(&self, to: Destination, dialect: Dialect, request: Arc<RequestSpan>) -> Responder {
        Responder::new(to, Manner { dialect, language: self.state.rules.language(), is_flow: false }, request)
    }

    /// What logs say about a request.
    fn request(
        &self,
        way: Way<'_>,
        id: Option<Id>,
        method: String,
        trace_id: Option<TraceId>,
    ) -> Arc<RequestSpan> {
        let number = match &way.correlation.request {
            Some(name) => RequestNumber::Named(Arc::clone(name)),
            None => RequestNumber::Counted(self.counted.fetch_add(1, Ordering::Relaxed) + 1),
        };
        let trace_id = trace_id.or(way.correlation.trace_id);
        let throttles = Arc::clone(&self.state.app.throttles);
        RequestSpan::new(number, id, method, Some(Arc::clone(way.sender)), trace_id, throttles)
    }

    /// The same for what is refused before its method is read.
    fn unread(&self, way: Way<'_>, id: Option<Id>) -> Arc<RequestSpan> {
        self.request(way, id, String::new(), None)
    }

    /// Answers for a line that was longer than a message may be.
    pub fn receive_too_long(self: &Arc<Self>) {
        let problem = Problem::TooLarge { limit: self.state.app.limits.bytes };
        let malformed = Malformed { id: None, problem, envelope: None };
        let way = Way {
            outbox: &self.state.outbox,
            sender: &self.state.principal,
            claims: None,
            correlation: &Correlation::default(),
            in_batch: false,
        };
        self.take(Err(malformed), Destination::Outbox(Arc::clone(&self.state.outbox)), way);
    }

    /// The longest line that is taken.
    pub fn longest_message(&self) -> usize {
        self.state.app.longest_message()
    }

    fn receive_batch(
        self: &Arc<Self>,
        messages: Vec<Result<Message, Malformed>>,
        way: Way<'_>,
        granted: u32,
        refusal: Option<Refusal>,
    ) -> bool {
        self.speaks_envelope.store(false, Ordering::Relaxed);
        if let Some(revision) = self.revision_without_batches() {
            let to = Destination::Outbox(Arc::clone(way.outbox));
            let request = self.unread(way, None);
            self.responder(to, Dialect::Mcp(revision), request).fail(&Failure::BatchNotAllowed(revision));
            return true;
        }
        let slots = messages.iter().filter(|message| is_answerable(message)).count();
        let batch = Batch::new(slots, Arc::clone(way.outbox));
        let granted = usize::try_from(granted).unwrap_or(usize::MAX);
        let mut slot = 0;
        for message in messages {
            let to = Destination::Slot(Arc::clone(&batch), slot);
            let answerable = is_answerable(&message);
            match refusal.clone().filter(|_| answerable && slot >= granted) {
                None => self.take(message, to, way),
                Some(refusal) => self.turn_away(&message, to, refusal, way),
            }
            slot += usize::from(answerable);
        }
        slots > 0
    }

    /// The revision that is spoken, if it is one that knows no batches.
    fn revision_without_batches(&self) -> Option<Revision> {
        let spoken = match self.state.rules {
            Rules::Codefluss(_) => None,
            Rules::Stateless => Some(Revision::NEWEST),
            Rules::Pipe | Rules::Session => self.state.session.negotiated(),
        };
        spoken.filter(|revision| !revision.has_batches())
    }

    fn note_dialect(&self, message: &Message) {
        self.speaks_envelope.store(matches!(message, Message::Envelope(_)), Ordering::Relaxed);
    }

    /// The dialect of a message that does not say which one it is in.
    fn default_dialect(&self) -> Dialect {
        match self.state.rules {
            Rules::Pipe | Rules::Session => Dialect::Mcp(self.state.session.revision()),
            Rules::Codefluss(_) | Rules::Stateless => self.state.rules.dialect(),
        }
    }

    fn take(self: &Arc<Self>, message: Result<Message, Malformed>, to: Destination, way: Way<'_>) {
        match message {
            Ok(Message::Request(request)) => self.start(request, to, way),
            Ok(Message::Notification(notification)) => self.note(notification),
            Ok(Message::Response(response)) => self.state.peer.settle(&response.id, response.outcome),
            Ok(Message::Envelope(request)) => self.start_envelope(request, to, way),
            Err(malformed) => self.refuse(malformed, to, way),
        }
    }

    fn refuse(&self, malformed: Malformed, to: Destination, way: Way<'_>) {
        let speaks_envelope =
            malformed.envelope.unwrap_or_else(|| self.speaks_envelope.load(Ordering::Relaxed));
        let dialect = match self.state.rules {
            Rules::Pipe if speaks_envelope && !way.in_batch => Dialect::Envelope,
            _ => self.default_dialect(),
        };
        self.responder(to, dialect, self.unread(way, malformed.id))
            .fail(&Failure::Malformed(malformed.problem));
    }

    fn start_envelope(self: &Arc<Self>, request: EnvelopeRequest, to: Destination, way: Way<'_>) {
        if self.state.rules != Rules::Pipe || way.in_batch {
            let problem = Problem::MissingField { field: "jsonrpc" };
            return self.refuse(Malformed { id: request.id, problem, envelope: Some(false) }, to, way);
        }
        let span = self.request(way, request.id.clone(), "envelope".to_owned(), None);
        let responder = self.responder(to, Dialect::Envelope, span);
        if let Err(failure) = self.state.session.admit("handshake or tool", false) {
            return responder.fail(&failure);
        }
        let stop = CancellationToken::new();
        let citations = self.state.app.envelope_citations;
        let call = Call { citations, ..self.call(way, None, None, None, stop.clone()) };
        let state = Arc::clone(&self.state);
        self.state.work.run(None, stop, responder, async move {
            envelope::answer(&state, call, request).await.map(Spoken::from)
        });
    }

    fn start(self: &Arc<Self>, request: Request, to: Destination, way: Way<'_>) {
        let Request { id, method, params } = request;
        let default = self.default_dialect();
        let trace_id = match &params {
            Params::Object(params) => TraceId::from_params(params),
            Params::NotAnObject(_) => None,
        };
        let request = self.request(way, Some(id.clone()), method, trace_id);
        let (dialect, meta, params) = match self.identify(request.method(), params, way.claims) {
            Ok((dialect, meta, params)) => (dialect, meta, params),
            Err(failure) => {
                self.observe_refused(&request, failure.kind());
                return self.responder(to, default, request).fail(&failure);
            }
        };
        let manner = Manner {
            dialect,
            language: self.state.rules.language(),
            is_flow: interaction::is_method(request.method()),
        };
        let responder = Responder::new(to, manner, Arc::clone(&request));
        if let Err(failure) = self.admit(dialect, request.method(), &id, way.in_batch) {
            return responder.fail(&failure);
        }
        let (client, log_level) = match &meta.stateless {
            Some(stateless) => (stateless.capabilities.clone().unwrap_or_default(), stateless.log_level),
            None => (self.state.session.capabilities(), self.state.session.log_level()),
        };
        let stop = CancellationToken::new();
        let call = self.call(way, dialect.revision(), meta.progress_token, log_level, stop.clone());
        let key = id.key().into_owned();
        let (connection, claims, notes) = (Arc::clone(&self.state), way.claims.cloned(), Notes::default());
        let context =
            Context { connection, dialect, client, id, call, claims, notes, afterwards: Mutex::default() };
        self.state.work.run(Some(key), stop, responder, async move {
            let watch = Watch::start(context.app(), &request, request.method(), &context.notes);
            let outcome = dispatch::dispatch(&context, request.method(), params).await;
            watch.end(outcome.as_ref().err().map(Failure::kind));
            let afterwards = context.afterwards.into_inner().unwrap_or_else(PoisonError::into_inner);
            outcome.map(|answer| Spoken { answer, afterwards })
        });
    }

    /// Finds out which revision a request is written in.
    fn identify(
        &self,
        method: &str,
        params: Params,
        claims: Option<&Claims>,
    ) -> Result<(Dialect, RequestMeta, Map<String, Value>), Failure> {
        let params = match params {
            Params::Object(params) => params,
            Params::NotAnObject(found) => {
                return Err(Failure::params("params", format!("must be an object, not {found}")));
            }
        };
        let meta = RequestMeta::of(&params).map_err(|field| {
            let field = if field.is_empty() { "_meta".to_owned() } else { format!("_meta.{field}") };
            Failure::params(field, "has the wrong type")
        })?;
        let missing = |field: &str| Failure::params(format!("_meta.{field}"), "Required field missing");
        let stateless = match meta.stateless.as_ref().filter(|_| self.state.rules.take_stateless()) {
            Some(stateless) => stateless,
            None if self.state.rules == Rules::Stateless => {
                return Err(missing(protocol::mcp::keys::PROTOCOL_VERSION));
            }
            None => return Ok((self.default_dialect(), RequestMeta { stateless: None, ..meta }, params)),
        };
        let version =
            stateless.version.as_deref().ok_or_else(|| missing(protocol::mcp::keys::PROTOCOL_VERSION))?;
        claims.map_or(Ok(()), |claims| claims.check_version(version))?;
        let revision = Revision::parse(version)
            .filter(|revision| revision.is_stateless())
            .ok_or_else(|| Refusal::UnsupportedVersion { requested: version.chars().take(64).collect() })?;
        if stateless.capabilities.is_none() {
            return Err(missing(protocol::mcp::keys::CLIENT_CAPABILITIES));
        }
        claims.map_or(Ok(()), |claims| claims.check_method(method, &params))?;
        Ok((Dialect::Mcp(revision), meta, params))
    }

    /// Whether a request may be served at all, now.
    fn admit(&self, dialect: Dialect, method: &str, id: &Id, in_batch: bool) -> Result<(), Failure> {
        let has_lifecycle = matches!(self.state.rules, Rules::Pipe | Rules::Session);
        let stateless = dialect.revision().is_some_and(Revision::is_stateless);
        if self.state.rules == Rules::Session && method != "initialize" {
            // POSTs can overtake each other; who sends a request has seen the answer to `initialize`.
            self.state.session.initialized();
        }
        // `server/discover` without its `_meta` is a mistake of its own kind, not a request that came too early.
        let is_greeted = stateless || method == "server/discover" || interaction::needs_no_greeting(method);
        self.state.session.admit(method, has_lifecycle && !is_greeted)?;
        if let Some(revision) = dialect.revision().filter(|_| stateless && in_batch) {
            return Err(Failure::BatchNotAllowed(revision));
        }
        if has_lifecycle && in_batch && method == "initialize" {
            return Err(Failure::InitializeInBatch);
        }
        if self.state.work.is_running(&id.key()) {
            return Err(Failure::DuplicateId);
        }
        Ok(())
    }

    fn call(
        &self,
        way: Way<'_>,
        revision: Option<Revision>,
        progress_token: Option<Value>,
        log_level: Option<protocol::mcp::LogLevel>,
        stop: CancellationToken,
    ) -> Call {
        Call {
            principal: Arc::clone(way.sender),
            outlet: Outlet::new(Arc::clone(way.outbox), revision, progress_token, log_level, stop.clone()),
            stop,
            roots: Arc::clone(&self.state.app.roots),
            now: self.state.app.clock.now(),
            received: self.state.app.reading(),
            entropy: Arc::clone(&self.state.app.entropy),
            app: Arc::clone(&self.state.app),
            documents: Arc::clone(&self.state.app.documents),
            projects: Arc::clone(&self.state.app.projects),
            citations: CitationFormat::default(),
        }
    }

    fn note(&self, notification: Notification) {
        match (notification.method.as_str(), notification.params) {
            ("notifications/initialized", _) => self.state.session.initialized(),
            ("notifications/roots/list_changed", _) => self.state.set_client_roots(ClientRoots::Unknown),
            ("notifications/cancelled", Params::Object(params)) => {
                if let Some(id) = params.get("requestId") {
                    self.state.work.cancel(id);
                }
            }
            (other, _) => tracing::debug!(rpc.method = other, "notification ignored"),
        }
    }

    /// Stops everything that runs, without a word.
    pub fn cancel_all(&self) {
        self.state.work.cancel_all();
    }

    /// Whether there is room for another request. A transport asks before it reads on.
    pub fn has_room(&self) -> bool {
        self.state.work.has_room()
    }

    /// Waits until there is room for another request.
    pub async fn room(&self) {
        self.state.work.room().await;
    }

    /// Tells the client whenever something changes that it wants to hear of, for as long as the connection lives.
    ///
    /// It listens from this call on, and not from when the future is first run: nothing is missed in between.
    pub fn announce_changes(self: Arc<Self>) -> impl Future<Output = ()> + Send {
        let mut news = self.state.app.news();
        async move {
            loop {
                let news = tokio::select! {
                    () = self.state.ending.cancelled() => return,
                    news = subscriptions::next(&mut news) => news,
                };
                let Some(news) = news else { return };
                if self.state.session.is_ready() {
                    self.announce(&news);
                }
            }
        }
    }

    fn announce(&self, news: &News) {
        for (method, params) in
            self.state.session.interests(|interests| interests.notices(news, &self.state.principal))
        {
            let params = Some(&params).filter(|params| !params.is_empty());
            self.state.outbox.push(protocol::encode::notification(method, params));
        }
    }

    /// The revision that was agreed on.
    pub fn negotiated(&self) -> Option<Revision> {
        self.state.session.negotiated()
    }

    /// Takes no new requests, lets what runs come to its end, and stops it when `patience` is over.
    ///
    /// `client_is_gone`: nobody will answer questions any more.
    pub async fn drain(&self, patience: Duration, client_is_gone: bool) {
        self.state.session.shut_down();
        self.state.ending.cancel();
        if client_is_gone {
            self.state.peer.close();
        }
        self.state.work.drain(patience).await;
    }
}
