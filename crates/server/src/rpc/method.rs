//! What the server has to know about a method apart from its handler. Together with
//! [`dispatch`](super::dispatch) this is the only place where the method of a request is compared with a
//! name.

use super::embedded::ProviderListKind;

/// The handshake of a session.
pub(crate) fn is_initialize(method: &str) -> bool {
    method == "initialize"
}

/// Answered in every state, even while the server shuts down.
pub(crate) fn is_ping(method: &str) -> bool {
    method == "ping"
}

/// Part of MCP Flow, whose document has error codes of its own.
pub(crate) fn is_flow(method: &str) -> bool {
    method.starts_with("interaction.") || method.starts_with("interaction/")
}

/// Needs no `initialize` before it. `server/discover` without its `_meta` is a mistake of its own kind, not a
/// request that came too early.
pub(crate) fn is_allowed_before_initialize(method: &str) -> bool {
    is_flow(method) || matches!(method, "capabilities" | "server/discover")
}

/// The parameter that clients repeat in the header `Mcp-Name`.
pub(crate) fn mirrored_param(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        _ => None,
    }
}

/// An embedded provider may answer it.
pub(crate) fn is_open_to_providers(method: &str) -> bool {
    matches!(method, "tools/call" | "prompts/get" | "completion/complete") || reads_resource(method)
}

/// Its result may be cached like a list.
pub(crate) fn reads_resource(method: &str) -> bool {
    method == "resources/read"
}

/// The list that an embedded provider may add to, and the member of the result that holds it.
pub(crate) fn provider_list(method: &str) -> Option<(ProviderListKind, &'static str)> {
    match method {
        "tools/list" => Some((ProviderListKind::Tools, "tools")),
        "prompts/list" => Some((ProviderListKind::Prompts, "prompts")),
        "resources/list" => Some((ProviderListKind::Resources, "resources")),
        "resources/templates/list" => Some((ProviderListKind::Templates, "resourceTemplates")),
        _ => None,
    }
}
