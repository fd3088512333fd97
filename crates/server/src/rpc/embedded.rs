//! What an embedding program serves beside the product's own tools: tools, prompts and resources as plain
//! JSON.
//!
//! The product's own tools are written as types (`tools.rs`), and gain their schemas and checks from that. A
//! provider says all of it itself. The official conformance suite wants servers with tools that no product
//! has; ours bring them as a provider, so that everything around them is what users run.

use std::pin::Pin;
use std::sync::LazyLock;

use flow::{SealError, TokenBinding};
use protocol::mcp::{ClientCapabilities, StampedResult};
use protocol::{Revision, encode};
use serde_json::{Map, Value};

use crate::Notifier;
use crate::error::RequestError;
use crate::rpc::context::RequestContext;
use crate::rpc::method;

/// What a provider lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderListKind {
    /// `tools/list`
    Tools,
    /// `prompts/list`
    Prompts,
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    Templates,
}

/// What a provider comes to.
pub enum ProviderReply {
    /// The result.
    Done(Value),
    /// `inputRequests` and `requestState`, for revisions that ask this way.
    InputRequired(Value),
}

/// Why a provider does not answer with a result.
#[derive(Clone, Debug)]
pub enum ProviderError {
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

/// The answer of a provider, sooner or later.
pub type ProviderFuture<'a> = Pin<Box<dyn Future<Output = Result<ProviderReply, ProviderError>> + Send + 'a>>;

/// Tools, prompts and resources of an embedding program.
pub trait EmbeddedProvider: Send + Sync {
    /// The entries of a list.
    fn list(&self, listing: ProviderListKind) -> Vec<Value>;

    /// Whether it would answer this request, which is a `tools/call`, `prompts/get`, `resources/read` or
    /// `completion/complete`.
    fn handles(&self, method: &str, params: &Map<String, Value>) -> bool;

    /// Answers it.
    fn handle<'a>(
        &'a self,
        context: ProviderContext<'a>,
        method: &'a str,
        params: Map<String, Value>,
    ) -> ProviderFuture<'a>;
}

/// What a provider has at hand while it answers.
#[derive(Clone, Copy)]
pub struct ProviderContext<'a> {
    ctx: &'a RequestContext,
}

impl<'a> ProviderContext<'a> {
    pub(crate) fn new(ctx: &'a RequestContext) -> Self {
        Self { ctx }
    }

    /// Progress and log messages.
    pub fn notifier(&self) -> &'a Notifier {
        &self.ctx.call.notifier
    }

    /// What the client can do.
    pub fn client_capabilities(&self) -> &'a ClientCapabilities {
        &self.ctx.client
    }

    /// Whether the server may send requests of its own; if not, it asks through
    /// [`ProviderReply::InputRequired`].
    pub fn can_send_requests(&self) -> bool {
        !self.ctx.revision().asks_by_input_required()
    }

    /// Asks the client, and waits for what it says.
    pub async fn send_request(&self, method: &str, params: &Value) -> Result<Value, ProviderError> {
        let outbox = self.ctx.call.notifier.outbox();
        let answer = self.ctx.connection.client_peer().request(outbox, method, params).await;
        answer.map_err(|_| ProviderError::Unanswered)
    }

    /// Tells everybody who listens that the lists have changed.
    pub fn notify_lists_changed(&self) {
        self.ctx.app().notify_lists_changed();
    }

    /// Lets the stream of this request go; the client comes back for the answer.
    pub fn detach(&self) {
        self.ctx.call.notifier.outbox().detach();
    }

    /// Seals what the client is to bring back.
    pub fn seal(&self, tool: &str, state: &Value) -> String {
        let app = self.ctx.app();
        let expires = self.ctx.call.now + jiff::SignedDuration::from_mins(10);
        app.seal.seal(state, &self.binding(tool), expires, app.entropy.as_ref())
    }

    /// Opens what the client brought back.
    pub fn open(&self, tool: &str, token: &str) -> Result<Value, ProviderError> {
        let opened: Result<Value, SealError> =
            self.ctx.app().seal.open(token, &self.binding(tool), self.ctx.call.now);
        opened.map_err(|error| ProviderError::Params {
            field: "requestState".to_owned(),
            error: error.to_string(),
        })
    }

    fn binding<'b>(&'b self, tool: &'b str) -> TokenBinding<'b> {
        TokenBinding {
            owner: self.ctx.call.principal.subject(),
            method: "guest",
            tool,
            arguments: empty_arguments(),
        }
    }
}

/// What stands in for arguments where there are none.
pub(crate) fn empty_arguments() -> &'static Map<String, Value> {
    static EMPTY: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
    &EMPTY
}

impl From<ProviderError> for RequestError {
    fn from(fault: ProviderError) -> Self {
        match fault {
            ProviderError::Params { field, error } => Self::invalid_params(field, error),
            ProviderError::MissingCapability(required) => Self::MissingCapability { required },
            ProviderError::Unanswered => {
                Self::internal("the client did not answer a question of a provider tool")
            }
        }
    }
}

/// The guest's answer, if there is a provider who knows one.
pub(crate) async fn handle_request(
    ctx: &RequestContext,
    method: &str,
    params: &Map<String, Value>,
) -> Option<Result<Vec<u8>, RequestError>> {
    let provider = ctx.app().provider.clone()?;
    if !method::is_open_to_providers(method) || !provider.handles(method, params) {
        return None;
    }
    if let Err(failure) = check_headers(ctx, provider.list(ProviderListKind::Tools), params) {
        return Some(Err(failure));
    }
    let reply = ctx
        .call
        .notifier
        .hold_progress(provider.handle(ProviderContext::new(ctx), method, params.clone()))
        .await;
    Some(match reply {
        Ok(ProviderReply::Done(result)) if method::reads_resource(method) => {
            Ok(ctx.cacheable_result(&result))
        }
        Ok(ProviderReply::Done(result)) => Ok(ctx.result(&result)),
        Ok(ProviderReply::InputRequired(result)) => {
            Ok(encode::result(&ctx.id, &StampedResult::input_required(&result, &ctx.app().info)))
        }
        Err(fault) => Err(fault.into()),
    })
}

/// Whether a provider has this resource.
pub(crate) fn has_resource(ctx: &RequestContext, uri: &str) -> bool {
    let params = Map::from_iter([("uri".to_owned(), Value::from(uri))]);
    ctx.app().provider.as_ref().is_some_and(|provider| provider.handles("resources/read", &params))
}

/// Adds to a list what the provider has, after its last page.
pub(crate) fn extend_list(ctx: &RequestContext, method: &str, answer: Vec<u8>) -> Vec<u8> {
    let Some((listing, member)) = method::provider_list(method) else { return answer };
    let Some(provider) = &ctx.app().provider else { return answer };
    let Ok(Value::Object(mut whole)) = serde_json::from_slice(&answer) else { return answer };
    let Some(mut result) = whole.remove("result").filter(|result| result.get("nextCursor").is_none()) else {
        return answer;
    };
    if let Some(entries) = result.get_mut(member).and_then(Value::as_array_mut) {
        entries.extend(
            provider.list(listing).into_iter().map(|entry| entry_for_revision(entry, ctx.revision())),
        );
    }
    encode::result(&ctx.id, &result)
}

fn entry_for_revision(mut entry: Value, revision: Revision) -> Value {
    if let Some(entry) = entry.as_object_mut().filter(|_| !revision.has_titles()) {
        entry.remove("title");
    }
    entry
}

fn check_headers(
    ctx: &RequestContext,
    tools: Vec<Value>,
    params: &Map<String, Value>,
) -> Result<(), RequestError> {
    let (Some(headers), Some(name)) = (&ctx.headers, params.get("name")) else { return Ok(()) };
    let tool = tools.into_iter().find(|tool| tool.get("name") == Some(name));
    let Some(schema) = tool.as_ref().and_then(|tool| tool.get("inputSchema")) else { return Ok(()) };
    let arguments = params.get("arguments").and_then(Value::as_object).unwrap_or(empty_arguments());
    headers.check_arguments(schema, arguments)
}
