//! `resources/list`, `resources/templates/list` and `resources/read`.

use serde::{Deserialize, Serialize};

use crate::Revision;

/// Result of `resources/list`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceList {
    /// One page of resources.
    pub resources: Vec<ResourceDescriptor>,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Something that can be read.
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceDescriptor {
    /// Where it is.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// Its name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is.
    pub description: String,
    /// How it is written.
    pub mime_type: &'static str,
}

impl ResourceDescriptor {
    /// Takes away what the revision does not know.
    #[must_use]
    pub fn for_revision(mut self, revision: Revision) -> Self {
        self.title = self.title.filter(|_| revision.has_titles());
        self
    }
}

/// Result of `resources/templates/list`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplateList {
    /// One page of templates.
    pub resource_templates: Vec<ResourceTemplate>,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A family of resources.
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplate {
    /// Where they are.
    pub uri_template: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What they are.
    pub description: &'static str,
    /// How they are written.
    pub mime_type: &'static str,
}

/// Parameters of `resources/read`.
#[derive(Debug, Deserialize)]
pub struct ReadResourceParams {
    /// Which one.
    pub uri: String,
}

/// Result of `resources/read`.
#[derive(Serialize)]
pub struct ReadResourceResult {
    /// What it holds.
    pub contents: [ResourceContents; 1],
}

/// What a resource holds.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceContents {
    /// Where it is.
    pub uri: String,
    /// How it is written.
    pub mime_type: &'static str,
    /// What it says, or its bytes.
    #[serde(flatten)]
    pub body: ResourceBody,
}

/// What a resource says, or its bytes.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Bytes, in base64.
    Blob(String),
}
