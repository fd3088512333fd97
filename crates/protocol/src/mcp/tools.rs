//! `tools/list` and `tools/call`.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::Revision;

/// Result of `tools/list`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolList<'a> {
    /// One page of tools.
    pub tools: Vec<ToolDescriptor<'a>>,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A tool as the client sees it.
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDescriptor<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<&'a str>,
    /// What the model reads.
    pub description: &'a str,
    /// What it takes.
    pub input_schema: &'a Value,
    /// What it gives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<&'a Value>,
    /// Hints about what it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
}

impl ToolDescriptor<'_> {
    /// Takes away what the revision does not know.
    #[must_use]
    pub fn for_revision(mut self, revision: Revision) -> Self {
        self.title = self.title.filter(|_| revision.has_titles());
        self.output_schema = self.output_schema.filter(|_| revision.has_structured_content());
        self.annotations = self.annotations.filter(|_| revision.has_tool_annotations());
        self
    }
}

/// Hints about what a tool does. All four are always said: the defaults of the specification surprise.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnnotations {
    /// It changes nothing.
    pub read_only_hint: bool,
    /// It may overwrite or delete. Says nothing about what changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Twice is the same as once. The same holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// It reaches out of its own world.
    pub open_world_hint: bool,
}

/// Parameters of `tools/call`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallToolParams {
    /// The tool.
    pub name: String,
    /// Its arguments; none is the same as an empty object.
    #[serde(default)]
    pub arguments: Option<Map<String, Value>>,
    /// What `input_required` gave the client to keep.
    #[serde(default)]
    pub request_state: Option<String>,
    /// The answers to what `input_required` asked.
    #[serde(default)]
    pub input_responses: Option<Map<String, Value>>,
}

/// Result of `tools/call`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallToolResult<'a> {
    /// What the model reads.
    pub content: [ContentBlock<'a>; 1],
    /// The same for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<&'a RawValue>,
    /// Whether it failed; absent where that is the same as no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
}

/// A piece of content. Texts are all that these tools produce.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ContentBlock<'a> {
    /// Text.
    Text {
        /// The text.
        text: &'a str,
    },
}

impl<'a> CallToolResult<'a> {
    /// A success.
    pub fn success(text: &'a str, structured: &'a RawValue, revision: Revision) -> Self {
        Self {
            content: [ContentBlock::Text { text }],
            structured_content: revision.has_structured_content().then_some(structured),
            is_error: None,
        }
    }

    /// A failure that the model should read. It has no structured content, which would have to fit the schema.
    pub fn failure(text: &'a str) -> Self {
        Self { content: [ContentBlock::Text { text }], structured_content: None, is_error: Some(true) }
    }
}
