//! One client's connection: bytes come in, answers go to the outbox.

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

use crate::client_roots::ClientRoots;
use crate::context::Context;
use crate::error::{Failure, Manner, Refusal};
use crate::interaction::{self, Warnings};
use crate::letter::is_answerable;
use crate::observe::{Notes, Watch};
use crate::outbox::{Batch, Destination, Responder};
use crate::peer::Peer;
use crate::request::{RequestNumber, RequestSpan, TraceId};
use crate::session::Session;
use crate::subscriptions::{self, News};
use crate::work::{Spoken, Workload};
use crate::{
    App, Call, CitationFormat, Claims, Correlation, Delivery, Letter, Outbox, Outlet, Rules, dispatch,
    envelope,
};

/// What goes with a message on its way.
#[derive(Clone, Copy)]
struct Way<'a> {
    outbox: &'a Arc<dyn Outbox>,
    sender: &'a Arc<Principal>,
    claims: Option<&'a Claims>,
    correlation: &'a Correlation,
    in_batch: bool,
}

/// One client's connection.
pub struct Connection {
    app: Arc<App>,
    principal: Arc<Principal>,
    /// How many requests came in that the transport has no id for.
    counted: AtomicU64,
    rules: Rules,
    outbox: Arc<dyn Outbox>,
    session: Session,
    peer: Peer,
    work: Arc<Workload>,
    /// Cancelled when no more requests are taken: what only waits for news ends.
    ending: CancellationToken,
    speaks_envelope: AtomicBool,
    warnings: Warnings,
    client_roots: Mutex<ClientRoots>,
}

impl Connection {
    /// A new connection.
    pub fn new(app: Arc<App>, principal: Principal, rules: Rules, outbox: Arc<dyn Outbox>) -> Arc<Self> {
        Arc::new(Self {
            peer: Peer::new(),
            client_roots: Mutex::default(),
            app,
            principal: Arc::new(principal),
            counted: AtomicU64::new(0),
            rules,
            outbox,
            session: Session::new(),
            work: Workload::new(),
            ending: CancellationToken::new(),
            speaks_envelope: AtomicBool::new(false),
            warnings: Warnings::default(),
        })
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) fn peer(&self) -> &Peer {
        &self.peer
    }

    pub(crate) fn work(&self) -> &Arc<Workload> {
        &self.work
    }

    pub(crate) fn warnings(&self) -> &Warnings {
        &self.warnings
    }

    pub(crate) fn rules(&self) -> Rules {
        self.rules
    }

    /// Where goes what belongs to no request.
    pub(crate) fn outbox(&self) -> &Arc<dyn Outbox> {
        &self.outbox
    }

    pub(crate) fn ending(&self) -> &CancellationToken {
        &self.ending
    }

    /// Takes one line or body. Returns whether an answer will come out of the outbox.
    ///
    /// What can be answered at once is answered before this returns; the rest goes on as a task of the current tokio
    /// runtime.
    pub fn receive(self: &Arc<Self>, bytes: &[u8]) -> bool {
        self.handle(self.app.decode(bytes), Delivery::to(Arc::clone(&self.outbox)))
    }

    /// The same for what is decoded already, with answers to wherever the delivery says.
    pub fn handle(self: &Arc<Self>, letter: Letter, delivery: Delivery) -> bool {
        let sender = delivery.sender.map_or_else(|| Arc::clone(&self.principal), Arc::new);
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
                let dialect = if self.rules == Rules::Pipe { Dialect::Envelope } else { usual };
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
        Watch::start(&self.app, request, "unknown", &Notes::default()).end(Some(kind));
    }

    fn responder(&self, to: Destination, dialect: Dialect, request: Arc<RequestSpan>) -> Responder {
        Responder::new(to, Manner { dialect, language: self.rules.language(), is_flow: false }, request)
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
        let throttles = Arc::clone(&self.app.throttles);
        RequestSpan::new(number, id, method, Arc::clone(way.sender), trace_id, throttles)
    }

    /// The same for what is refused before its method is read.
    fn unread(&self, way: Way<'_>, id: Option<Id>) -> Arc<RequestSpan> {
        self.request(way, id, String::new(), None)
    }

    /// Answers for a line that was longer than a message may be.
    pub fn receive_too_long(self: &Arc<Self>) {
        let problem = Problem::TooLarge { limit: self.app.limits.bytes };
        let malformed = Malformed { id: None, problem, envelope: None };
        let way = Way {
            outbox: &self.outbox,
            sender: &self.principal,
            claims: None,
            correlation: &Correlation::default(),
            in_batch: false,
        };
        self.take(Err(malformed), Destination::Outbox(Arc::clone(&self.outbox)), way);
    }

    /// The longest line that is taken.
    pub fn longest_message(&self) -> usize {
        self.app.longest_message()
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
        let spoken = match self.rules {
            Rules::Codefluss(_) => None,
            Rules::Stateless => Some(Revision::NEWEST),
            Rules::Pipe | Rules::Session => self.session.negotiated(),
        };
        spoken.filter(|revision| !revision.has_batches())
    }

    fn note_dialect(&self, message: &Message) {
        self.speaks_envelope.store(matches!(message, Message::Envelope(_)), Ordering::Relaxed);
    }

    /// The dialect of a message that does not say which one it is in.
    fn default_dialect(&self) -> Dialect {
        match self.rules {
            Rules::Pipe | Rules::Session => Dialect::Mcp(self.session.revision()),
            Rules::Codefluss(_) | Rules::Stateless => self.rules.dialect(),
        }
    }

    fn take(self: &Arc<Self>, message: Result<Message, Malformed>, to: Destination, way: Way<'_>) {
        match message {
            Ok(Message::Request(request)) => self.start(request, to, way),
            Ok(Message::Notification(notification)) => self.note(notification),
            Ok(Message::Response(response)) => self.peer.settle(&response.id, response.outcome),
            Ok(Message::Envelope(request)) => self.start_envelope(request, to, way),
            Err(malformed) => self.refuse(malformed, to, way),
        }
    }

    fn refuse(&self, malformed: Malformed, to: Destination, way: Way<'_>) {
        let speaks_envelope =
            malformed.envelope.unwrap_or_else(|| self.speaks_envelope.load(Ordering::Relaxed));
        let dialect = match self.rules {
            Rules::Pipe if speaks_envelope && !way.in_batch => Dialect::Envelope,
            _ => self.default_dialect(),
        };
        self.responder(to, dialect, self.unread(way, malformed.id))
            .fail(&Failure::Malformed(malformed.problem));
    }

    fn start_envelope(self: &Arc<Self>, request: EnvelopeRequest, to: Destination, way: Way<'_>) {
        if self.rules != Rules::Pipe || way.in_batch {
            let problem = Problem::MissingField { field: "jsonrpc" };
            return self.refuse(Malformed { id: request.id, problem, envelope: Some(false) }, to, way);
        }
        let span = self.request(way, request.id.clone(), "envelope".to_owned(), None);
        let responder = self.responder(to, Dialect::Envelope, span);
        if let Err(failure) = self.session.admit("handshake or tool", false) {
            return responder.fail(&failure);
        }
        let stop = CancellationToken::new();
        let citations = self.app.envelope_citations;
        let call = Call { citations, ..self.call(way, None, None, None, stop.clone()) };
        let connection = Arc::clone(self);
        self.work.run(None, stop, responder, async move {
            envelope::answer(&connection, call, request).await.map(Spoken::from)
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
            language: self.rules.language(),
            is_flow: interaction::is_method(request.method()),
        };
        let responder = Responder::new(to, manner, Arc::clone(&request));
        if let Err(failure) = self.admit(dialect, request.method(), &id, way.in_batch) {
            return responder.fail(&failure);
        }
        let (client, log_level) = match &meta.stateless {
            Some(stateless) => (stateless.capabilities.clone().unwrap_or_default(), stateless.log_level),
            None => (self.session.capabilities(), self.session.log_level()),
        };
        let stop = CancellationToken::new();
        let call = self.call(way, dialect.revision(), meta.progress_token, log_level, stop.clone());
        let key = id.key().into_owned();
        let (connection, claims, notes) = (Arc::clone(self), way.claims.cloned(), Notes::default());
        let context =
            Context { connection, dialect, client, id, call, claims, notes, afterwards: Mutex::default() };
        self.work.run(Some(key), stop, responder, async move {
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
        let stateless = match meta.stateless.as_ref().filter(|_| self.rules.take_stateless()) {
            Some(stateless) => stateless,
            None if self.rules == Rules::Stateless => {
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
        let has_lifecycle = matches!(self.rules, Rules::Pipe | Rules::Session);
        let stateless = dialect.revision().is_some_and(Revision::is_stateless);
        if self.rules == Rules::Session && method != "initialize" {
            // POSTs can overtake each other; who sends a request has seen the answer to `initialize`.
            self.session.initialized();
        }
        // `server/discover` without its `_meta` is a mistake of its own kind, not a request that came too early.
        let is_greeted = stateless || method == "server/discover" || interaction::needs_no_greeting(method);
        self.session.admit(method, has_lifecycle && !is_greeted)?;
        if let Some(revision) = dialect.revision().filter(|_| stateless && in_batch) {
            return Err(Failure::BatchNotAllowed(revision));
        }
        if has_lifecycle && in_batch && method == "initialize" {
            return Err(Failure::InitializeInBatch);
        }
        if self.work.is_running(&id.key()) {
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
            roots: Arc::clone(&self.app.roots),
            now: self.app.clock.now(),
            received: self.app.reading(),
            entropy: Arc::clone(&self.app.entropy),
            app: Arc::clone(&self.app),
            documents: Arc::clone(&self.app.documents),
            projects: Arc::clone(&self.app.projects),
            citations: CitationFormat::default(),
        }
    }

    fn note(&self, notification: Notification) {
        match (notification.method.as_str(), notification.params) {
            ("notifications/initialized", _) => self.session.initialized(),
            ("notifications/roots/list_changed", _) => self.set_client_roots(ClientRoots::Unknown),
            ("notifications/cancelled", Params::Object(params)) => {
                if let Some(id) = params.get("requestId") {
                    self.work.cancel(id);
                }
            }
            (other, _) => tracing::debug!(rpc.method = other, "notification ignored"),
        }
    }

    pub(crate) fn client_roots(&self) -> ClientRoots {
        self.client_roots.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_client_roots(&self, roots: ClientRoots) {
        *self.client_roots.lock().unwrap_or_else(PoisonError::into_inner) = roots;
    }

    pub(crate) fn app(&self) -> &Arc<App> {
        &self.app
    }

    /// Stops everything that runs, without a word.
    pub fn cancel_all(&self) {
        self.work.cancel_all();
    }

    /// Whether there is room for another request. A transport asks before it reads on.
    pub fn has_room(&self) -> bool {
        self.work.has_room()
    }

    /// Waits until there is room for another request.
    pub async fn room(&self) {
        self.work.room().await;
    }

    /// Tells the client whenever something changes that it wants to hear of, for as long as the connection lives.
    ///
    /// It listens from this call on, and not from when the future is first run: nothing is missed in between.
    pub fn announce_changes(self: Arc<Self>) -> impl Future<Output = ()> + Send {
        let mut news = self.app.news();
        async move {
            loop {
                let news = tokio::select! {
                    () = self.ending.cancelled() => return,
                    news = subscriptions::next(&mut news) => news,
                };
                let Some(news) = news else { return };
                if self.session.is_ready() {
                    self.announce(&news);
                }
            }
        }
    }

    fn announce(&self, news: &News) {
        for (method, params) in self.session.interests(|interests| interests.notices(news, &self.principal)) {
            let params = Some(&params).filter(|params| !params.is_empty());
            self.outbox.push(protocol::encode::notification(method, params));
        }
    }

    /// The revision that was agreed on.
    pub fn negotiated(&self) -> Option<Revision> {
        self.session.negotiated()
    }

    /// Takes no new requests, lets what runs come to its end, and stops it when `patience` is over.
    ///
    /// `client_is_gone`: nobody will answer questions any more.
    pub async fn drain(&self, patience: Duration, client_is_gone: bool) {
        self.session.shut_down();
        self.ending.cancel();
        if client_is_gone {
            self.peer.close();
        }
        self.work.drain(patience).await;
    }
}
