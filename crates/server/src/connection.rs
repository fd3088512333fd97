//! One client's connection: bytes come in, answers go to the outbox.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use access::Principal;
use protocol::mcp::RequestMeta;
use protocol::{
    Dialect, EnvelopeRequest, Id, Incoming, Malformed, Message, Notification, Params, Problem, Request,
    Revision, decode,
};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::context::Context;
use crate::error::Failure;
use crate::outbox::{Batch, Destination, Responder};
use crate::peer::Peer;
use crate::session::Session;
use crate::work::Workload;
use crate::{App, Call, Outbox, Outlet, dispatch, envelope, subscriptions};

/// The rules of the place where a connection was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// A pipe: MCP of every revision with its lifecycle, and the envelope, mixed as the client likes.
    Pipe,
    /// A POST to `/api/mcp`: one body, no greeting, no news.
    Codefluss,
}

/// One client's connection.
pub struct Connection {
    app: Arc<App>,
    principal: Principal,
    rules: Rules,
    outbox: Arc<dyn Outbox>,
    session: Session,
    peer: Peer,
    work: Arc<Workload>,
    streams: Semaphore,
    /// Cancelled when no more requests are taken: what only waits for news ends.
    ending: CancellationToken,
    speaks_envelope: AtomicBool,
}

impl Connection {
    /// A new connection.
    pub fn new(app: Arc<App>, principal: Principal, rules: Rules, outbox: Arc<dyn Outbox>) -> Arc<Self> {
        Arc::new(Self {
            peer: Peer::new(Arc::clone(&outbox)),
            app,
            principal,
            rules,
            outbox,
            session: Session::new(),
            work: Workload::new(),
            streams: subscriptions::places(),
            ending: CancellationToken::new(),
            speaks_envelope: AtomicBool::new(false),
        })
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) fn peer(&self) -> &Peer {
        &self.peer
    }

    pub(crate) fn outbox(&self) -> &Arc<dyn Outbox> {
        &self.outbox
    }

    pub(crate) fn work(&self) -> &Arc<Workload> {
        &self.work
    }

    pub(crate) fn streams(&self) -> &Semaphore {
        &self.streams
    }

    pub(crate) fn ending(&self) -> &CancellationToken {
        &self.ending
    }

    /// Takes one line or body. Returns whether an answer will come out of the outbox.
    ///
    /// What can be answered at once is answered before this returns; the rest goes on as a task of the current tokio
    /// runtime.
    pub fn receive(self: &Arc<Self>, bytes: &[u8]) -> bool {
        match decode(bytes, &self.app.limits) {
            Incoming::One(message) => {
                if let Ok(message) = &message {
                    self.note_dialect(message);
                }
                let answerable = is_answerable(&message);
                self.take(message, Destination::Outbox(Arc::clone(&self.outbox)), false);
                answerable
            }
            Incoming::Batch(messages) => self.receive_batch(messages),
        }
    }

    /// Answers for a line that was longer than a message may be.
    pub fn receive_too_long(self: &Arc<Self>) {
        let problem = Problem::TooLarge { limit: self.app.limits.bytes };
        let malformed = Malformed { id: None, problem, envelope: None };
        self.take(Err(malformed), Destination::Outbox(Arc::clone(&self.outbox)), false);
    }

    /// The longest line that is taken.
    pub fn longest_message(&self) -> usize {
        self.app.limits.bytes
    }

    fn receive_batch(self: &Arc<Self>, messages: Vec<Result<Message, Malformed>>) -> bool {
        self.speaks_envelope.store(false, Ordering::Relaxed);
        if self.rules == Rules::Pipe
            && let Some(revision) = self.session.negotiated().filter(|revision| !revision.has_batches())
        {
            let to = Destination::Outbox(Arc::clone(&self.outbox));
            Responder::new(to, Dialect::Mcp(revision), None).fail(&Failure::BatchNotAllowed(revision));
            return true;
        }
        let slots = messages.iter().filter(|message| is_answerable(message)).count();
        let batch = Batch::new(slots, Arc::clone(&self.outbox));
        let mut slot = 0;
        for message in messages {
            let to = Destination::Slot(Arc::clone(&batch), slot);
            slot += usize::from(is_answerable(&message));
            self.take(message, to, true);
        }
        slots > 0
    }

    fn note_dialect(&self, message: &Message) {
        self.speaks_envelope.store(matches!(message, Message::Envelope(_)), Ordering::Relaxed);
    }

    /// The dialect of a message that does not say which one it is in.
    fn default_dialect(&self) -> Dialect {
        match self.rules {
            Rules::Pipe => Dialect::Mcp(self.session.revision()),
            Rules::Codefluss => Dialect::Codefluss,
        }
    }

    fn take(self: &Arc<Self>, message: Result<Message, Malformed>, to: Destination, in_batch: bool) {
        match message {
            Ok(Message::Request(request)) => self.start(request, to, in_batch),
            Ok(Message::Notification(notification)) => self.note(notification),
            Ok(Message::Response(response)) => {
                if let Some(question) = self.peer.settle(&response.id, response.outcome) {
                    self.work.answered(question);
                }
            }
            Ok(Message::Envelope(request)) => self.start_envelope(request, to, in_batch),
            Err(malformed) => self.refuse(malformed, to, in_batch),
        }
    }

    fn refuse(&self, malformed: Malformed, to: Destination, in_batch: bool) {
        let speaks_envelope =
            malformed.envelope.unwrap_or_else(|| self.speaks_envelope.load(Ordering::Relaxed));
        let dialect = match self.rules {
            Rules::Pipe if speaks_envelope && !in_batch => Dialect::Envelope,
            _ => self.default_dialect(),
        };
        Responder::new(to, dialect, malformed.id).fail(&Failure::Malformed(malformed.problem));
    }

    fn start_envelope(self: &Arc<Self>, request: EnvelopeRequest, to: Destination, in_batch: bool) {
        if self.rules == Rules::Codefluss || in_batch {
            let problem = Problem::MissingField { field: "jsonrpc" };
            return self.refuse(Malformed { id: request.id, problem, envelope: Some(false) }, to, in_batch);
        }
        let responder = Responder::new(to, Dialect::Envelope, request.id.clone());
        if let Err(failure) = self.session.admit("handshake or tool", false) {
            return responder.fail(&failure);
        }
        let stop = CancellationToken::new();
        let call = self.call(None, None, None, stop.clone());
        let connection = Arc::clone(self);
        self.work.run(
            None,
            stop,
            responder,
            async move { envelope::answer(&connection, call, request).await },
        );
    }

    fn start(self: &Arc<Self>, request: Request, to: Destination, in_batch: bool) {
        let Request { id, method, params } = request;
        let default = self.default_dialect();
        let (dialect, meta, params) = match self.identify(params) {
            Ok((dialect, meta, params)) => (dialect, meta, params),
            Err(failure) => return Responder::new(to, default, Some(id)).fail(&failure),
        };
        let responder = Responder::new(to, dialect, Some(id.clone()));
        if let Err(failure) = self.admit(dialect, &method, &id, in_batch) {
            return responder.fail(&failure);
        }
        let (client, log_level) = match &meta.stateless {
            Some(stateless) => (stateless.capabilities.clone().unwrap_or_default(), stateless.log_level),
            None => (self.session.capabilities(), self.session.log_level()),
        };
        let stop = CancellationToken::new();
        let call = self.call(dialect.revision(), meta.progress_token, log_level, stop.clone());
        let key = id.key().into_owned();
        let context = Context { connection: Arc::clone(self), dialect, client, id, call };
        self.work.run(Some(key), stop, responder, async move {
            dispatch::dispatch(&context, &method, params).await
        });
    }

    /// Finds out which revision a request is written in.
    fn identify(&self, params: Params) -> Result<(Dialect, RequestMeta, Map<String, Value>), Failure> {
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
        let Some(stateless) = meta.stateless.as_ref().filter(|_| self.rules == Rules::Pipe) else {
            return Ok((self.default_dialect(), meta, params));
        };
        let missing = |field: &str| Failure::params(format!("_meta.{field}"), "Required field missing");
        let version =
            stateless.version.as_deref().ok_or_else(|| missing(protocol::mcp::keys::PROTOCOL_VERSION))?;
        let revision = Revision::parse(version)
            .filter(|revision| revision.is_stateless())
            .ok_or_else(|| Failure::UnsupportedVersion { requested: version.to_owned() })?;
        if stateless.capabilities.is_none() {
            return Err(missing(protocol::mcp::keys::CLIENT_CAPABILITIES));
        }
        Ok((Dialect::Mcp(revision), meta, params))
    }

    /// Whether a request may be served at all, now.
    fn admit(&self, dialect: Dialect, method: &str, id: &Id, in_batch: bool) -> Result<(), Failure> {
        let is_pipe = self.rules == Rules::Pipe;
        let stateless = dialect.revision().is_some_and(Revision::is_stateless);
        // `server/discover` without its `_meta` is a mistake of its own kind, not a request that came too early.
        self.session.admit(method, is_pipe && !stateless && method != "server/discover")?;
        if let Some(revision) = dialect.revision().filter(|_| stateless && in_batch) {
            return Err(Failure::BatchNotAllowed(revision));
        }
        if is_pipe && in_batch && method == "initialize" {
            return Err(Failure::InitializeInBatch);
        }
        if self.work.is_running(&id.key()) {
            return Err(Failure::DuplicateId);
        }
        Ok(())
    }

    fn call(
        &self,
        revision: Option<Revision>,
        progress_token: Option<Value>,
        log_level: Option<protocol::mcp::LogLevel>,
        stop: CancellationToken,
    ) -> Call {
        Call {
            principal: self.principal.clone(),
            outlet: Outlet::new(Arc::clone(&self.outbox), revision, progress_token, log_level, stop.clone()),
            stop,
            roots: Arc::clone(&self.app.roots),
            now: self.app.clock.now(),
            entropy: Arc::clone(&self.app.entropy),
        }
    }

    fn note(&self, notification: Notification) {
        match (notification.method.as_str(), notification.params) {
            ("notifications/initialized", _) => self.session.initialized(),
            ("notifications/cancelled", Params::Object(params)) => {
                if let Some(id) = params.get("requestId") {
                    self.work.cancel(id);
                }
            }
            (other, _) => tracing::debug!(rpc.method = other, "notification ignored"),
        }
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

    /// Tells the client whenever the set of tools changes, for as long as the connection lives.
    pub async fn announce_changes(self: Arc<Self>) {
        let mut changes = self.app.changes();
        loop {
            tokio::select! {
                () = self.ending.cancelled() => return,
                news = changes.changed() => if news.is_err() { return },
            }
            if self.session.is_ready() {
                for list in subscriptions::Lists::ALL.methods() {
                    self.outbox.push(protocol::encode::notification(list, None::<&()>));
                }
            }
        }
    }

    /// Takes no new requests, lets what runs come to its end, and stops it when `patience` is over.
    ///
    /// `client_is_gone`: nobody will answer questions any more.
    pub async fn drain(&self, patience: Duration, client_is_gone: bool) {
        self.session.shut_down();
        self.ending.cancel();
        self.work.close_parking();
        if client_is_gone {
            self.peer.close();
        }
        self.work.drain(patience).await;
    }
}

fn is_answerable(message: &Result<Message, Malformed>) -> bool {
    matches!(message, Ok(Message::Request(_) | Message::Envelope(_)) | Err(_))
}
