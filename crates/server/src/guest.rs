//! What an embedding program serves beside the product's own tools: tools, prompts and resources as plain JSON.
//!
//! The product's own tools are written as types (`tools.rs`), and gain their schemas and checks from that. A guest says all
//! of it itself. The official conformance suite wants servers with tools that no product has; ours bring them as a guest, so
//! that everything around them is what users run.

use std::pin::Pin;
use std::sync::LazyLock;

use flow::{Binding, SealError};
use protocol::mcp::ClientCapabilities;
use serde_json::{Map, Value};

use crate::Outlet;
use crate::context::Context;
use crate::error::Failure;

/// What a guest lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// `tools/list`
    Tools,
    /// `prompts/list`
    Prompts,
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    Templates,
}

/// What a guest comes to.
pub enum GuestReply {
    /// The result.
    Done(Value),
    /// `inputRequests` and `requestState`, for revisions that ask this way.
    InputRequired(Value),
}

/// Why a guest does not answer with a result.
#[derive(Clone, Debug)]
pub enum GuestFault {
    /// A parameter cannot be used.
    Params {
        /// Which.
        field: String,
        /// Why.
        error: String,
    },
    /// The client must be able to do more.
    MissingCapability(Value),
    /// The client could not be asked, or gave no answer.
    Unanswered,
}

/// The answer of a guest, sooner or later.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Result<GuestReply, GuestFault>> + Send + 'a>>;

/// Tools, prompts and resources of somebody else.
pub trait Guest: Send + Sync {
    /// The entries of a list.
    fn list(&self, listing: Listing) -> Vec<Value>;

    /// Whether it would answer this request, which is a `tools/call`, `prompts/get`, `resources/read` or
    /// `completion/complete`.
    fn knows(&self, method: &str, params: &Map<String, Value>) -> bool;

    /// Answers it.
    fn answer<'a>(&'a self, visit: Visit<'a>, method: &'a str, params: Map<String, Value>) -> Answering<'a>;
}

/// What a guest has at hand while it answers.
#[derive(Clone, Copy)]
pub struct Visit<'a> {
    ctx: &'a Context,
}

impl<'a> Visit<'a> {
    pub(crate) fn new(ctx: &'a Context) -> Self {
        Self { ctx }
    }

    /// Progress and log messages.
    pub fn outlet(&self) -> &'a Outlet {
        &self.ctx.call.outlet
    }

    /// What the client can do.
    pub fn client(&self) -> &'a ClientCapabilities {
        &self.ctx.client
    }

    /// Whether the server may send requests of its own; if not, it asks through [`GuestReply::InputRequired`].
    pub fn may_ask(&self) -> bool {
        !self.ctx.revision().asks_by_input_required()
    }

    /// Asks the client, and waits for what it says.
    pub async fn ask(&self, method: &str, params: &Value) -> Result<Value, GuestFault> {
        let outbox = self.ctx.call.outlet.outbox();
        let answer = self.ctx.connection.peer().request(outbox, method, params).await;
        answer.map_err(|_| GuestFault::Unanswered)
    }

    /// Tells everybody who listens that the lists have changed.
    pub fn announce_lists(&self) {
        self.ctx.app().announce_lists();
    }

    /// Lets the stream of this request go; the client comes back for the answer.
    pub fn let_go(&self) {
        self.ctx.call.outlet.outbox().let_go();
    }

    /// Seals what the client is to bring back.
    pub fn seal(&self, tool: &str, state: &Value) -> String {
        let app = self.ctx.app();
        let expires = self.ctx.call.now + jiff::SignedDuration::from_mins(10);
        app.seal.seal(state, &self.binding(tool), expires, app.entropy.as_ref())
    }

    /// Opens what the client brought back.
    pub fn open(&self, tool: &str, token: &str) -> Result<Value, GuestFault> {
        let opened: Result<Value, SealError> =
            self.ctx.app().seal.open(token, &self.binding(tool), self.ctx.call.now);
        opened.map_err(|error| GuestFault::Params {
            field: "requestState".to_owned(),
            error: error.to_string(),
        })
    }

    fn binding<'b>(&'b self, tool: &'b str) -> Binding<'b> {
        Binding { owner: self.ctx.call.principal.subject(), method: "guest", tool, arguments: no_arguments() }
    }
}

/// What stands in for arguments where there are none.
pub(crate) fn no_arguments() -> &'static Map<String, Value> {
    static NONE: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
    &NONE
}

impl From<GuestFault> for Failure {
    fn from(fault: GuestFault) -> Self {
        match fault {
            GuestFault::Params { field, error } => Self::params(field, error),
            GuestFault::MissingCapability(required) => Self::MissingCapability { required },
            GuestFault::Unanswered => Self::internal("the client did not answer a question of a guest tool"),
        }
    }
}
