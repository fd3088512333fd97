//! The envelope of fluxloop-mcp: the same tools under another wrapping.

use std::sync::Arc;

use protocol::{Dialect, EnvelopeCall, EnvelopeRequest, encode};
use serde::Serialize;

use crate::connection::state::ConnectionState;
use crate::error::RequestError;
use crate::tools::{self, ToolOutcome, ToolRequest};
use crate::{App, EnvelopeErrors, ToolContext};

/// The name that clients of the envelope know.
const ENVELOPE_SERVER_NAME: &str = "fluxloop-mcp";

/// Who the server is, as the envelope says it.
#[derive(Serialize)]
struct Handshake<'a> {
    name: &'static str,
    version: &'a str,
    capabilities: EnvelopeCapabilities,
}

#[derive(Serialize)]
struct EnvelopeCapabilities {
    tools: Vec<String>,
}

/// Answers one envelope.
pub(crate) async fn handle_request(
    connection: &Arc<ConnectionState>,
    call: ToolContext,
    request: EnvelopeRequest,
) -> Result<Vec<u8>, RequestError> {
    let app = connection.app();
    let id = request.id.as_ref();
    match request.call {
        EnvelopeCall::Handshake => {
            let capabilities = EnvelopeCapabilities { tools: tool_names(app, &call) };
            let version = &app.info.version;
            Ok(encode::envelope_response(
                id,
                &Handshake { name: ENVELOPE_SERVER_NAME, version, capabilities },
            ))
        }
        EnvelopeCall::Tool { name, arguments } => {
            let Some(tool) = app.catalog().find(&name) else { return Err(unknown_tool(app, &call, name)) };
            let invocation = ToolRequest::non_interactive(arguments, Dialect::Envelope);
            match tools::run(connection, &tool, call, invocation).await? {
                ToolOutcome::Done(reply) => Ok(encode::envelope_response(id, &reply.structured)),
                // The envelope has no way to ask, and the front for it never does.
                ToolOutcome::InputRequired(_) => Err(RequestError::internal(
                    "a tool asked for input in the envelope, which cannot carry questions",
                )),
            }
        }
    }
}

/// `handshake` counts as a tool here, and only here.
fn tool_names(app: &App, call: &ToolContext) -> Vec<String> {
    let catalog = app.catalog();
    let allowed = catalog.tools().filter(|tool| tool.spec.check_access(&call.principal).is_ok());
    std::iter::once("handshake").chain(allowed.map(|tool| tool.spec.name)).map(str::to_owned).collect()
}

fn unknown_tool(app: &App, call: &ToolContext, name: String) -> RequestError {
    let code = match app.envelope_errors {
        EnvelopeErrors::Protocol => "tool_not_found",
        EnvelopeErrors::ToolsReference => "unknown_tool",
    };
    let name = name.chars().take(128).collect();
    RequestError::UnknownTool { name, field: "tool", available: tool_names(app, call), code }
}
