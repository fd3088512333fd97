//! `resources/list`, `resources/templates/list` and `resources/read`.

use serde::{Deserialize, Serialize};

use crate::Revision;

/// Result of `resources/list`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceList {
    pub resources: Vec<ResourceDescriptor>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceDescriptor {
    pub uri: String,
    pub name: String,
    /// Display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub description: String,
    pub mime_type: &'static str,
}

impl ResourceDescriptor {
    /// Removes members that the revision does not define.
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
    pub resource_templates: Vec<ResourceTemplate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A URI template for a family of resources.
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplate {
    pub uri_template: &'static str,
    pub name: &'static str,
    pub description: &'static str,
    pub mime_type: &'static str,
}

/// Parameters of `resources/read`.
#[derive(Debug, Deserialize)]
pub struct ReadResourceParams {
    pub uri: String,
}

/// Result of `resources/read`.
#[derive(Serialize)]
pub struct ReadResourceResult {
    pub contents: [ResourceContents; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceContents {
    pub uri: String,
    pub mime_type: &'static str,
    #[serde(flatten)]
    pub body: ResourceBody,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ResourceBody {
    Text(String),
    /// Base64.
    Blob(String),
}
