//! What an embedding program serves beside the product's own tools: tools, prompts and resources as plain JSON.
//!
//! The product's own tools are written as types (`tools.rs`), and gain their schemas and checks from that. A guest says all
//! of it itself. The official conformance suite wants servers with tools that no product has; ours bring them as a guest, so
//! that everything around them is what users run.

use std::pin::Pin;
use std::sync::LazyLock;

use flow::{Binding, SealError};
use protocol::mcp::{ClientCapabilities, Stamped};
use protocol::{Revision, encode};
use serde_json::{Map, Value};

use crate::Outlet;
use crate::error::Failure;
use crate::rpc::context::Context;

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

/// Methods that a guest may answer.
const ANSWERED: [&str; 4] = ["tools/call", "prompts/get", "resources/read", "completion/complete"];

/// The guest's answer, if there is a guest who knows one.
pub(crate) async fn answer(
    ctx: &Context,
    method: &str,
    params: &Map<String, Value>,
) -> Option<Result<Vec<u8>, Failure>> {
    let guest = ctx.app().guest.clone()?;
    if !ANSWERED.contains(&method) || !guest.knows(method, params) {
        return None;
    }
    if let Err(failure) = check_headers(ctx, guest.list(Listing::Tools), params) {
        return Some(Err(failure));
    }
    let reply = ctx.call.outlet.during(guest.answer(Visit::new(ctx), method, params.clone())).await;
    Some(match reply {
        Ok(GuestReply::Done(result)) if method == "resources/read" => Ok(ctx.list(&result)),
        Ok(GuestReply::Done(result)) => Ok(ctx.result(&result)),
        Ok(GuestReply::InputRequired(result)) => {
            Ok(encode::result(&ctx.id, &Stamped::input_required(&result, &ctx.app().info)))
        }
        Err(fault) => Err(fault.into()),
    })
}

/// Whether a guest has this resource.
pub(crate) fn has_resource(ctx: &Context, uri: &str) -> bool {
    let params = Map::from_iter([("uri".to_owned(), Value::from(uri))]);
    ctx.app().guest.as_ref().is_some_and(|guest| guest.knows("resources/read", &params))
}

/// Adds to a list what the guest has, after its last page.
pub(crate) fn extend(ctx: &Context, method: &str, answer: Vec<u8>) -> Vec<u8> {
    let (listing, member) = match method {
        "tools/list" => (Listing::Tools, "tools"),
        "prompts/list" => (Listing::Prompts, "prompts"),
        "resources/list" => (Listing::Resources, "resources"),
        "resources/templates/list" => (Listing::Templates, "resourceTemplates"),
        _ => return answer,
    };
    let Some(guest) = &ctx.app().guest else { return answer };
    let Ok(Value::Object(mut whole)) = serde_json::from_slice(&answer) else { return answer };
    let Some(mut result) = whole.remove("result").filter(|result| result.get("nextCursor").is_none()) else {
        return answer;
    };
    if let Some(entries) = result.get_mut(member).and_then(Value::as_array_mut) {
        entries.extend(guest.list(listing).into_iter().map(|entry| for_revision(entry, ctx.revision())));
    }
    encode::result(&ctx.id, &result)
}

fn for_revision(mut entry: Value, revision: Revision) -> Value {
    if let Some(entry) = entry.as_object_mut().filter(|_| !revision.has_titles()) {
        entry.remove("title");
    }
    entry
}

fn check_headers(ctx: &Context, tools: Vec<Value>, params: &Map<String, Value>) -> Result<(), Failure> {
    let (Some(claims), Some(name)) = (&ctx.claims, params.get("name")) else { return Ok(()) };
    let tool = tools.into_iter().find(|tool| tool.get("name") == Some(name));
    let Some(schema) = tool.as_ref().and_then(|tool| tool.get("inputSchema")) else { return Ok(()) };
    let arguments = params.get("arguments").and_then(Value::as_object).unwrap_or(no_arguments());
    claims.check_arguments(schema, arguments)
}
