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
    Dialect, EnvelopeRequest, Id, Incoming, MalformedMessage, Message, MessageError, Notification, Params,
    Request, Revision,
};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::connection::decoded::{message_expects_response, message_id};
use crate::connection::outbox::{Destination, Responder, ResponseBatch};
use crate::connection::scheduler::CompletedRequest;
use crate::connection::state::ConnectionState;
use crate::error::{ErrorFormat, RequestError, RequestRejection};
use crate::rpc::client_roots::ClientRoots;
use crate::rpc::context::RequestContext;

use crate::rpc::subscriptions::{self, ChangeEvent};
use crate::rpc::{dispatch, envelope, method};
use crate::telemetry::request_span::{RequestNumber, RequestSpan, TraceId};
use crate::telemetry::{RequestNotes, RequestTimer};
use crate::{
    App, CitationFormat, ConnectionMode, DecodedMessage, MessageOrigin, MirroredHeaders, Notifier, Outbox,
    ToolContext,
};

/// One client's connection: decodes what comes in and starts its requests.
pub struct Connection {
    state: Arc<ConnectionState>,
    /// How many requests came in that the transport has no id for.
    request_counter: AtomicU64,
    speaks_envelope: AtomicBool,
}

impl Connection {
    /// A new connection.
    pub fn new(
        app: Arc<App>,
        principal: Principal,
        mode: ConnectionMode,
        outbox: Arc<dyn Outbox>,
    ) -> Arc<Self> {
        Arc::new(Self {
            state: ConnectionState::new(app, principal, mode, outbox),
            request_counter: AtomicU64::new(0),
            speaks_envelope: AtomicBool::new(false),
        })
    }

    /// Takes one line or body. Returns whether an answer will come out of the outbox.
    ///
    /// What can be answered at once is answered before this returns; the rest goes on as a task of the
    /// current tokio runtime.
    pub fn receive(self: &Arc<Self>, bytes: &[u8]) -> bool {
        self.handle(self.state.app.decode(bytes), MessageOrigin::for_outbox(Arc::clone(&self.state.outbox)))
    }

    /// The same for a message that is decoded already, with answers to the outbox of its origin.
    pub fn handle(self: &Arc<Self>, message: DecodedMessage, mut origin: MessageOrigin) -> bool {
        let rejection = origin.rejection.take();
        match message.0 {
            Incoming::One(message) => {
                if let Ok(message) = &message {
                    self.note_dialect(message);
                }
                let to = Destination::Outbox(Arc::clone(&origin.outbox));
                let answerable = message_expects_response(&message);
                match rejection.filter(|_| answerable && origin.max_requests == 0) {
                    None => self.handle_message(message, to, &origin),
                    Some(rejection) => self.reject(&message, to, rejection, &origin),
                }
                answerable
            }
            Incoming::Batch(messages) => {
                origin.in_batch = true;
                self.receive_batch(messages, &origin, rejection)
            }
        }
    }

    /// Rejects a message before its method is looked at.
    fn reject(
        &self,
        message: &Result<Message, MalformedMessage>,
        to: Destination,
        rejection: RequestRejection,
        origin: &MessageOrigin,
    ) {
        let dialect = match message {
            Ok(Message::Envelope(_)) if self.state.mode == ConnectionMode::Stream => Dialect::Envelope,
            _ => self.default_dialect(),
        };
        let request = self.request_span_without_method(origin, message_id(message));
        RequestTimer::record_rejected(&self.state.app, &request, rejection.kind());
        self.responder(to, dialect, request).fail(&rejection.into());
    }

    fn responder(&self, to: Destination, dialect: Dialect, request: Arc<RequestSpan>) -> Responder {
        Responder::new(
            to,
            ErrorFormat { dialect, language: self.state.mode.language(), is_flow: false },
            request,
        )
    }

    /// The caller who sent a message: usually the one who opened the connection.
    fn sender<'a>(&'a self, origin: &'a MessageOrigin) -> &'a Arc<Principal> {
        origin.sender.as_ref().unwrap_or(&self.state.principal)
    }

    /// What logs say about a request.
    fn request_span(
        &self,
        origin: &MessageOrigin,
        id: Option<Id>,
        method: String,
        trace_id: Option<TraceId>,
    ) -> Arc<RequestSpan> {
        let number = match &origin.correlation.request {
            Some(name) => RequestNumber::Named(Arc::clone(name)),
            None => RequestNumber::Counted(self.request_counter.fetch_add(1, Ordering::Relaxed) + 1),
        };
        let trace_id = trace_id.or(origin.correlation.trace_id);
        let throttles = Arc::clone(&self.state.app.throttles);
        RequestSpan::new(number, id, method, Some(Arc::clone(self.sender(origin))), trace_id, throttles)
    }

    /// The same for what is refused before its method is read.
    fn request_span_without_method(&self, origin: &MessageOrigin, id: Option<Id>) -> Arc<RequestSpan> {
        self.request_span(origin, id, String::new(), None)
    }

    /// Answers for a line that was longer than a message may be.
    pub fn receive_oversized(self: &Arc<Self>) {
        let problem = MessageError::TooLarge { limit: self.state.app.limits.bytes };
        let malformed = MalformedMessage { id: None, error: problem, is_envelope: None };
        let origin = MessageOrigin::for_outbox(Arc::clone(&self.state.outbox));
        self.handle_message(Err(malformed), Destination::Outbox(Arc::clone(&origin.outbox)), &origin);
    }

    /// The longest line that is taken.
    pub fn max_message_bytes(&self) -> usize {
        self.state.app.max_message_bytes()
    }

    fn receive_batch(
        self: &Arc<Self>,
        messages: Vec<Result<Message, MalformedMessage>>,
        origin: &MessageOrigin,
        rejection: Option<RequestRejection>,
    ) -> bool {
        self.speaks_envelope.store(false, Ordering::Relaxed);
        if let Some(revision) = self.revision_without_batches() {
            let to = Destination::Outbox(Arc::clone(&origin.outbox));
            let request = self.request_span_without_method(origin, None);
            self.responder(to, Dialect::Mcp(revision), request)
                .fail(&RequestError::BatchNotAllowed(revision));
            return true;
        }
        let slots = messages.iter().filter(|message| message_expects_response(message)).count();
        let batch = ResponseBatch::new(slots, Arc::clone(&origin.outbox));
        let granted = usize::try_from(origin.max_requests).unwrap_or(usize::MAX);
        let mut slot = 0;
        for message in messages {
            let to = Destination::Slot(Arc::clone(&batch), slot);
            let answerable = message_expects_response(&message);
            match rejection.clone().filter(|_| answerable && slot >= granted) {
                None => self.handle_message(message, to, origin),
                Some(rejection) => self.reject(&message, to, rejection, origin),
            }
            slot += usize::from(answerable);
        }
        slots > 0
    }

    /// The revision that is spoken, if it is one that knows no batches.
    fn revision_without_batches(&self) -> Option<Revision> {
        let spoken = match self.state.mode {
            ConnectionMode::Codefluss(_) => None,
            ConnectionMode::Stateless => Some(Revision::NEWEST),
            ConnectionMode::Stream | ConnectionMode::Session => self.state.session.negotiated_revision(),
        };
        spoken.filter(|revision| !revision.has_batches())
    }

    fn note_dialect(&self, message: &Message) {
        self.speaks_envelope.store(matches!(message, Message::Envelope(_)), Ordering::Relaxed);
    }

    /// The dialect of a message that does not say which one it is in.
    fn default_dialect(&self) -> Dialect {
        match self.state.mode {
            ConnectionMode::Stream | ConnectionMode::Session => Dialect::Mcp(self.state.session.revision()),
            ConnectionMode::Codefluss(_) | ConnectionMode::Stateless => self.state.mode.default_dialect(),
        }
    }

    fn handle_message(
        self: &Arc<Self>,
        message: Result<Message, MalformedMessage>,
        to: Destination,
        origin: &MessageOrigin,
    ) {
        match message {
            Ok(Message::Request(request)) => self.start_request(request, to, origin),
            Ok(Message::Notification(notification)) => self.handle_notification(notification),
            Ok(Message::Response(response)) => self.state.client_peer.resolve(&response.id, response.outcome),
            Ok(Message::Envelope(request)) => self.start_envelope(request, to, origin),
            Err(malformed) => self.reject_malformed(malformed, to, origin),
        }
    }

    fn reject_malformed(&self, malformed: MalformedMessage, to: Destination, origin: &MessageOrigin) {
        let speaks_envelope =
            malformed.is_envelope.unwrap_or_else(|| self.speaks_envelope.load(Ordering::Relaxed));
        let dialect = match self.state.mode {
            ConnectionMode::Stream if speaks_envelope && !origin.in_batch => Dialect::Envelope,
            _ => self.default_dialect(),
        };
        self.responder(to, dialect, self.request_span_without_method(origin, malformed.id))
            .fail(&RequestError::Malformed(malformed.error));
    }

    fn start_envelope(self: &Arc<Self>, request: EnvelopeRequest, to: Destination, origin: &MessageOrigin) {
        if self.state.mode != ConnectionMode::Stream || origin.in_batch {
            let problem = MessageError::MissingField { field: "jsonrpc" };
            return self.reject_malformed(
                MalformedMessage { id: request.id, error: problem, is_envelope: Some(false) },
                to,
                origin,
            );
        }
        let span = self.request_span(origin, request.id.clone(), "envelope".to_owned(), None);
        let responder = self.responder(to, Dialect::Envelope, span);
        if let Err(failure) = self.state.session.admit("handshake or tool", false) {
            return responder.fail(&failure);
        }
        let stop = CancellationToken::new();
        let citations = self.state.app.envelope_citations;
        let call = ToolContext { citations, ..self.tool_context(origin, None, None, None, stop.clone()) };
        let state = Arc::clone(&self.state);
        self.state.scheduler.run(None, stop, responder, async move {
            envelope::handle_request(&state, call, request).await.map(CompletedRequest::from)
        });
    }

    fn start_request(self: &Arc<Self>, request: Request, to: Destination, origin: &MessageOrigin) {
        let Request { id, method, params } = request;
        let default = self.default_dialect();
        let trace_id = match &params {
            Params::Object(params) => TraceId::from_params(params),
            Params::NotAnObject(_) => None,
        };
        let request = self.request_span(origin, Some(id.clone()), method, trace_id);
        let (dialect, meta, params) =
            match self.resolve_dialect(request.method(), params, origin.headers.as_ref()) {
                Ok((dialect, meta, params)) => (dialect, meta, params),
                Err(failure) => {
                    RequestTimer::record_rejected(&self.state.app, &request, failure.kind());
                    return self.responder(to, default, request).fail(&failure);
                }
            };
        let format = ErrorFormat {
            dialect,
            language: self.state.mode.language(),
            is_flow: method::is_flow(request.method()),
        };
        let responder = Responder::new(to, format, Arc::clone(&request));
        if let Err(failure) = self.admit(dialect, request.method(), &id, origin.in_batch) {
            return responder.fail(&failure);
        }
        let (client, log_level) = match &meta.stateless {
            Some(stateless) => (stateless.capabilities.clone().unwrap_or_default(), stateless.log_level),
            None => (self.state.session.capabilities(), self.state.session.log_level()),
        };
        let stop = CancellationToken::new();
        let call =
            self.tool_context(origin, dialect.revision(), meta.progress_token, log_level, stop.clone());
        let key = id.key().into_owned();
        let (connection, headers, notes) =
            (Arc::clone(&self.state), origin.headers.clone(), RequestNotes::default());
        let context = RequestContext {
            connection,
            dialect,
            client,
            id,
            call,
            headers,
            notes,
            after_response: Mutex::default(),
        };
        self.state.scheduler.run(Some(key), stop, responder, async move {
            let watch = RequestTimer::start(context.app(), &request, request.method(), &context.notes);
            let outcome = dispatch::dispatch(&context, request.method(), params).await;
            watch.finish(outcome.as_ref().err().map(RequestError::kind));
            let afterwards = context.after_response.into_inner().unwrap_or_else(PoisonError::into_inner);
            outcome.map(|answer| CompletedRequest { response: answer, after_response: afterwards })
        });
    }

    /// Finds out which revision a request is written in.
    fn resolve_dialect(
        &self,
        method: &str,
        params: Params,
        headers: Option<&MirroredHeaders>,
    ) -> Result<(Dialect, RequestMeta, Map<String, Value>), RequestError> {
        let params = match params {
            Params::Object(params) => params,
            Params::NotAnObject(found) => {
                return Err(RequestError::invalid_params(
                    "params",
                    format!("must be an object, not {found}"),
                ));
            }
        };
        let meta = RequestMeta::from_params(&params).map_err(|field| {
            let field = if field.is_empty() { "_meta".to_owned() } else { format!("_meta.{field}") };
            RequestError::invalid_params(field, "has the wrong type")
        })?;
        let missing =
            |field: &str| RequestError::invalid_params(format!("_meta.{field}"), "Required field missing");
        let stateless = match meta.stateless.as_ref().filter(|_| self.state.mode.accepts_stateless()) {
            Some(stateless) => stateless,
            None if self.state.mode == ConnectionMode::Stateless => {
                return Err(missing(protocol::mcp::keys::PROTOCOL_VERSION));
            }
            None => return Ok((self.default_dialect(), RequestMeta { stateless: None, ..meta }, params)),
        };
        let version =
            stateless.version.as_deref().ok_or_else(|| missing(protocol::mcp::keys::PROTOCOL_VERSION))?;
        headers.map_or(Ok(()), |headers| headers.check_version(version))?;
        let revision =
            Revision::parse(version).filter(|revision| revision.is_stateless()).ok_or_else(|| {
                RequestRejection::UnsupportedVersion { requested: version.chars().take(64).collect() }
            })?;
        if stateless.capabilities.is_none() {
            return Err(missing(protocol::mcp::keys::CLIENT_CAPABILITIES));
        }
        headers.map_or(Ok(()), |headers| headers.check_method(method, &params))?;
        Ok((Dialect::Mcp(revision), meta, params))
    }

    /// Whether a request may be served at all, now.
    fn admit(&self, dialect: Dialect, method: &str, id: &Id, in_batch: bool) -> Result<(), RequestError> {
        let has_lifecycle = matches!(self.state.mode, ConnectionMode::Stream | ConnectionMode::Session);
        let stateless = dialect.revision().is_some_and(Revision::is_stateless);
        if self.state.mode == ConnectionMode::Session && !method::is_initialize(method) {
            // POSTs can overtake each other; who sends a request has seen the answer to `initialize`.
            self.state.session.mark_initialized();
        }
        let is_greeted = stateless || method::is_allowed_before_initialize(method);
        self.state.session.admit(method, has_lifecycle && !is_greeted)?;
        if let Some(revision) = dialect.revision().filter(|_| stateless && in_batch) {
            return Err(RequestError::BatchNotAllowed(revision));
        }
        if has_lifecycle && in_batch && method::is_initialize(method) {
            return Err(RequestError::InitializeInBatch);
        }
        if self.state.scheduler.is_running(&id.key()) {
            return Err(RequestError::DuplicateId);
        }
        Ok(())
    }

    fn tool_context(
        &self,
        origin: &MessageOrigin,
        revision: Option<Revision>,
        progress_token: Option<Value>,
        log_level: Option<protocol::mcp::LogLevel>,
        stop: CancellationToken,
    ) -> ToolContext {
        ToolContext {
            principal: Arc::clone(self.sender(origin)),
            notifier: Notifier::new(
                Arc::clone(&origin.outbox),
                revision,
                progress_token,
                log_level,
                stop.clone(),
            ),
            stop,
            roots: Arc::clone(&self.state.app.roots),
            now: self.state.app.clock.now(),
            received: self.state.app.process_instant(),
            entropy: Arc::clone(&self.state.app.entropy),
            app: Arc::clone(&self.state.app),
            documents: Arc::clone(&self.state.app.documents),
            projects: Arc::clone(&self.state.app.projects),
            citations: CitationFormat::default(),
        }
    }

    fn handle_notification(&self, notification: Notification) {
        match (notification.method.as_str(), notification.params) {
            ("notifications/initialized", _) => self.state.session.mark_initialized(),
            ("notifications/roots/list_changed", _) => self.state.set_client_roots(ClientRoots::Unknown),
            ("notifications/cancelled", Params::Object(params)) => {
                if let Some(id) = params.get("requestId") {
                    self.state.scheduler.cancel(id);
                }
            }
            (other, _) => tracing::debug!(rpc.method = other, "notification ignored"),
        }
    }

    /// Stops everything that runs, without a word.
    pub fn cancel_all(&self) {
        self.state.scheduler.cancel_all();
    }

    /// Whether there is room for another request. A transport asks before it reads on.
    pub fn has_capacity(&self) -> bool {
        self.state.scheduler.has_capacity()
    }

    /// Waits until there is room for another request.
    pub async fn wait_for_capacity(&self) {
        self.state.scheduler.wait_for_capacity().await;
    }

    /// Tells the client whenever something changes that it wants to hear of, for as long as the connection
    /// lives.
    ///
    /// It listens from this call on, and not from when the future is first run: nothing is missed in between.
    pub fn announce_changes(self: Arc<Self>) -> impl Future<Output = ()> + Send {
        let mut news = self.state.app.subscribe_changes();
        async move {
            loop {
                let news = tokio::select! {
                    () = self.state.closing.cancelled() => return,
                    news = subscriptions::next_change(&mut news) => news,
                };
                let Some(news) = news else { return };
                if self.state.session.is_ready() {
                    self.notify_change(&news);
                }
            }
        }
    }

    fn notify_change(&self, news: &ChangeEvent) {
        for (method, params) in self
            .state
            .session
            .with_subscriptions(|interests| interests.notifications_for(news, &self.state.principal))
        {
            let params = Some(&params).filter(|params| !params.is_empty());
            self.state.outbox.send_notification(protocol::encode::notification(method, params));
        }
    }

    /// The revision that was agreed on.
    pub fn negotiated_revision(&self) -> Option<Revision> {
        self.state.session.negotiated_revision()
    }

    /// Takes no new requests, lets what runs come to its end, and stops it when `patience` is over.
    ///
    /// `client_is_gone`: open questions will not be answered.
    pub async fn drain(&self, patience: Duration, client_is_gone: bool) {
        self.state.session.shut_down();
        self.state.closing.cancel();
        if client_is_gone {
            self.state.client_peer.close();
        }
        self.state.scheduler.drain(patience).await;
    }
}
