//! The envelope of fluxloop-mcp: the same tools under another wrapping.

use std::sync::Arc;

use protocol::{Dialect, EnvelopeCall, EnvelopeRequest, encode};
use serde::Serialize;

use crate::connection::state::ConnectionState;
use crate::error::Failure;
use crate::tools::{self, Invocation, Outcome};
use crate::{App, Call, EnvelopeErrors};

/// The name that clients of the envelope know.
const NAME: &str = "fluxloop-mcp";

/// Who the server is, as the envelope says it.
#[derive(Serialize)]
struct Handshake<'a> {
    name: &'static str,
    version: &'a str,
    capabilities: Capabilities,
}

#[derive(Serialize)]
struct Capabilities {
    tools: Vec<String>,
}

/// Answers one envelope.
pub(crate) async fn answer(
    connection: &Arc<ConnectionState>,
    call: Call,
    request: EnvelopeRequest,
) -> Result<Vec<u8>, Failure> {
    let app = connection.app();
    let id = request.id.as_ref();
    match request.call {
        EnvelopeCall::Handshake => {
            let capabilities = Capabilities { tools: tool_names(app, &call) };
            let version = &app.info.version;
            Ok(encode::envelope_response(id, &Handshake { name: NAME, version, capabilities }))
        }
        EnvelopeCall::Tool { name, arguments } => {
            let Some(tool) = app.catalog().find(&name) else { return Err(unknown_tool(app, &call, name)) };
            let invocation = Invocation::plain(arguments, Dialect::Envelope);
            match tools::run(connection, &tool, call, invocation).await? {
                Outcome::Done(reply) => Ok(encode::envelope_response(id, &reply.structured)),
                // The envelope has no way to ask, and the front for it never does.
                Outcome::InputRequired(_) => Err(Failure::internal(
                    "a tool asked for input in the envelope, which cannot carry questions",
                )),
            }
        }
    }
}

/// `handshake` counts as a tool here, and only here.
fn tool_names(app: &App, call: &Call) -> Vec<String> {
    let catalog = app.catalog();
    let allowed = catalog.tools().filter(|tool| tool.spec.admit(&call.principal).is_ok());
    std::iter::once("handshake").chain(allowed.map(|tool| tool.spec.name)).map(str::to_owned).collect()
}

fn unknown_tool(app: &App, call: &Call, name: String) -> Failure {
    let code = match app.envelope_errors {
        EnvelopeErrors::Protocol => "tool_not_found",
        EnvelopeErrors::ToolsReference => "unknown_tool",
    };
    let name = name.chars().take(128).collect();
    Failure::UnknownTool { name, field: "tool", available: tool_names(app, call), code }
}
