//! `initialize` and `server/discover`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::Revision;

/// Who somebody is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Implementation {
    /// The program's name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// Parameters of `initialize`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// The revision that the client would like to speak.
    pub protocol_version: String,
    /// What the client can do.
    pub capabilities: ClientCapabilities,
    /// Who the client is.
    pub client_info: Implementation,
}

/// What a client can do, as far as the server cares.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct ClientCapabilities {
    elicitation: Option<Map<String, Value>>,
    sampling: Option<Map<String, Value>>,
    roots: Option<Map<String, Value>>,
}

impl ClientCapabilities {
    /// The client can show a form. An empty `elicitation` object means forms, since there was nothing else at first.
    pub fn has_forms(&self) -> bool {
        self.elicitation.as_ref().is_some_and(|modes| modes.is_empty() || modes.contains_key("form"))
    }
}

impl ClientCapabilities {
    /// The client can ask a model for the server.
    pub fn has_sampling(&self) -> bool {
        self.sampling.is_some()
    }

    /// The client can say which folders it is about.
    pub fn has_roots(&self) -> bool {
        self.roots.is_some()
    }
}

/// Result of `initialize`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult<'a> {
    /// The revision that will be spoken.
    pub protocol_version: Revision,
    /// What the server can do.
    pub capabilities: ServerCapabilities,
    /// Who the server is.
    pub server_info: &'a Implementation,
    /// What a model should know before it uses the tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<&'a str>,
}

/// Result of `server/discover`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoverResult<'a> {
    /// Every revision that is spoken here.
    pub supported_versions: [Revision; Revision::ALL.len()],
    /// What the server can do.
    pub capabilities: ServerCapabilities,
    /// What a model should know before it uses the tools.
    pub instructions: &'a str,
}

/// What the server can do.
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

/// Whether changes of a list are announced.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListChangedCapability {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    list_changed: bool,
}

/// The same, and whether a client may watch a single one.
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
    /// Everything, as far as the revision has a word for it.
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

    /// Announces MCP Flow, in the place where clients of this revision look for it.
    #[must_use]
    pub fn with_flow(mut self, features: Value, revision: Revision) -> Self {
        if revision.is_stateless() {
            self.extensions = Some(json!({ FLOW_EXTENSION: features }));
        } else {
            self.experimental = Some(json!({ "interactive": features }));
        }
        self
    }

    /// What the CODEFLUSS document announces: tools and resources over plain POST, which carries no news.
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
