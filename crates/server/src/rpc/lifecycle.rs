//! Greetings, and what belongs to the session as a whole.

use protocol::mcp::{DiscoverResult, InitializeParams, InitializeResult, LogLevel, ServerCapabilities};
use protocol::{Dialect, Revision};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::error::RequestError;
use crate::rpc::context::{self, RequestContext};
use crate::rpc::interaction;
use crate::telemetry::request_span::in_request_span;

/// `initialize`.
pub(crate) fn initialize(ctx: &RequestContext, params: Map<String, Value>) -> Result<Vec<u8>, RequestError> {
    let params: InitializeParams =
        context::parse_params(params, &["protocolVersion", "capabilities", "clientInfo"])?;
    let codefluss = ctx.dialect == Dialect::Codefluss;
    // There, answers have one shape whatever is asked for.
    let revision = if codefluss { ctx.revision() } else { Revision::negotiate(&params.protocol_version) };
    // As a quoted text: a name with line breaks must not look like two entries.
    let name: String = params.client_info.name.chars().take(128).collect();
    in_request_span(|| tracing::info!(client.name = name, %revision, "client connected"));
    if !codefluss {
        ctx.session().initialize(revision, params.capabilities);
    }
    let instructions = ctx.app().instructions();
    Ok(ctx.result(&InitializeResult {
        protocol_version: revision,
        capabilities: if codefluss {
            ServerCapabilities::codefluss()
        } else {
            ServerCapabilities::for_revision(revision).with_flow(interaction::features(ctx.app()), revision)
        },
        server_info: &ctx.app().info,
        instructions: (!codefluss).then_some(&instructions),
    }))
}

/// `server/discover`, which exists only in requests that carry their version.
pub(crate) fn discover(ctx: &RequestContext) -> Result<Vec<u8>, RequestError> {
    let revision = ctx.revision();
    if !revision.is_stateless() {
        let field = format!("_meta.{}", protocol::mcp::keys::PROTOCOL_VERSION);
        return Err(RequestError::invalid_params(field, "Required field missing"));
    }
    Ok(ctx.cacheable_result(&DiscoverResult {
        supported_versions: Revision::ALL,
        capabilities: ServerCapabilities::for_revision(revision)
            .with_flow(interaction::features(ctx.app()), revision),
        instructions: &ctx.app().instructions(),
    }))
}

/// `ping`.
pub(crate) fn ping(ctx: &RequestContext) -> Vec<u8> {
    ctx.result(&json!({}))
}

/// `logging/setLevel`.
pub(crate) fn set_level(ctx: &RequestContext, params: Map<String, Value>) -> Result<Vec<u8>, RequestError> {
    #[derive(Deserialize)]
    struct SetLevelParams {
        level: LogLevel,
    }
    let SetLevelParams { level } = context::parse_params(params, &["level"])?;
    ctx.session().set_log_level(level);
    Ok(ctx.result(&json!({})))
}
