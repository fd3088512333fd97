//! `initialize` and `server/discover`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::Revision;

/// Name and version of a client or server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Implementation {
    pub name: String,
    pub version: String,
}

/// Parameters of `initialize`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// The revision that the client requests.
    pub protocol_version: String,
    pub capabilities: ClientCapabilities,
    pub client_info: Implementation,
}

/// The client capabilities that the server uses.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct ClientCapabilities {
    elicitation: Option<Map<String, Value>>,
    sampling: Option<Map<String, Value>>,
    roots: Option<Map<String, Value>>,
}

impl ClientCapabilities {
    /// An empty `elicitation` object means forms: the first revision with elicitation had nothing else.
    pub fn has_forms(&self) -> bool {
        self.elicitation.as_ref().is_some_and(|modes| modes.is_empty() || modes.contains_key("form"))
    }
}

impl ClientCapabilities {
    /// The client can run model requests for the server.
    pub fn has_sampling(&self) -> bool {
        self.sampling.is_some()
    }

    /// The client can list its open folders.
    pub fn has_roots(&self) -> bool {
        self.roots.is_some()
    }
}

/// Result of `initialize`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult<'a> {
    /// The negotiated revision.
    pub protocol_version: Revision,
    pub capabilities: ServerCapabilities,
    pub server_info: &'a Implementation,
    /// Guidance for the model on how to use the tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<&'a str>,
}

/// Result of `server/discover`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoverResult<'a> {
    pub supported_versions: [Revision; Revision::ALL.len()],
    pub capabilities: ServerCapabilities,
    /// Guidance for the model on how to use the tools.
    pub instructions: &'a str,
}

#[derive(Serialize)]
pub struct ServerCapabilities {
    tools: ListChangedCapability,
    #[serde(skip_serializing_if = "Option::is_none")]
    completions: Option<EmptyCapability>,
    resources: ResourcesCapability,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompts: Option<ListChangedCapability>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logging: Option<EmptyCapability>,
    #[serde(skip_serializing_if = "Option::is_none")]
    experimental: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extensions: Option<Value>,
}

/// The name of MCP Flow among the extensions of 2026-07-28.
const FLOW_EXTENSION: &str = "dev.fluxway/mcp-flow";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListChangedCapability {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    list_changed: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourcesCapability {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    subscribe: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    list_changed: bool,
}

#[derive(Serialize)]
struct EmptyCapability {}

impl ServerCapabilities {
    /// All capabilities that the revision defines.
    pub fn for_revision(revision: Revision) -> Self {
        Self {
            tools: ListChangedCapability { list_changed: true },
            completions: revision.announces_completions().then_some(EmptyCapability {}),
            resources: ResourcesCapability { subscribe: true, list_changed: true },
            prompts: Some(ListChangedCapability { list_changed: true }),
            logging: Some(EmptyCapability {}),
            experimental: None,
            extensions: None,
        }
    }

    /// Announces MCP Flow where clients of this revision look for it.
    #[must_use]
    pub fn with_flow(mut self, features: Value, revision: Revision) -> Self {
        if revision.is_stateless() {
            self.extensions = Some(json!({ FLOW_EXTENSION: features }));
        } else {
            self.experimental = Some(json!({ "interactive": features }));
        }
        self
    }

    /// The capabilities in the CODEFLUSS document: tools and resources over plain POST, without
    /// notifications.
    pub fn codefluss() -> Self {
        Self {
            tools: ListChangedCapability { list_changed: false },
            completions: None,
            resources: ResourcesCapability { subscribe: false, list_changed: false },
            prompts: None,
            logging: None,
            experimental: None,
            extensions: None,
        }
    }
}

impl Serialize for Revision {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
