//! `tools/list` and `tools/call`.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::Revision;

/// Result of `tools/list`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolList<'a> {
    pub tools: Vec<ToolDescriptor<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A tool as listed for clients.
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDescriptor<'a> {
    pub name: &'a str,
    /// Display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<&'a str>,
    pub description: &'a str,
    pub input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
}

impl ToolDescriptor<'_> {
    /// Removes members that the revision does not define.
    #[must_use]
    pub fn for_revision(mut self, revision: Revision) -> Self {
        self.title = self.title.filter(|_| revision.has_titles());
        self.output_schema = self.output_schema.filter(|_| revision.has_structured_content());
        self.annotations = self.annotations.filter(|_| revision.has_tool_annotations());
        self
    }
}

/// Hints about the effects of a tool. They are sent explicitly, because the defaults of the specification are
/// surprising: a tool without hints counts as destructive.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnnotations {
    pub read_only_hint: bool,
    /// The tool may overwrite or delete. Only meaningful for tools that are not read-only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Repeating the call has no further effect. Only meaningful for tools that are not read-only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// The tool interacts with external systems.
    pub open_world_hint: bool,
}

/// Parameters of `tools/call`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallToolParams {
    pub name: String,
    /// Absent means an empty object.
    #[serde(default)]
    pub arguments: Option<Map<String, Value>>,
    /// The state from a previous `input_required` result.
    #[serde(default)]
    pub request_state: Option<String>,
    /// The answers to the questions of a previous `input_required` result.
    #[serde(default)]
    pub input_responses: Option<Map<String, Value>>,
}

/// Result of `tools/call`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallToolResult<'a> {
    pub content: [ContentBlock<'a>; 1],
    /// The same content, machine-readable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<&'a RawValue>,
    /// Absent on success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
}

/// A content block. These tools only produce text.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ContentBlock<'a> {
    Text { text: &'a str },
}

impl<'a> CallToolResult<'a> {
    pub fn success(text: &'a str, structured: &'a RawValue, revision: Revision) -> Self {
        Self {
            content: [ContentBlock::Text { text }],
            structured_content: revision.has_structured_content().then_some(structured),
            is_error: None,
        }
    }

    /// An error for the model to read. It has no structured content, because that would have to match the
    /// output schema.
    pub fn failure(text: &'a str) -> Self {
        Self { content: [ContentBlock::Text { text }], structured_content: None, is_error: Some(true) }
    }
}
