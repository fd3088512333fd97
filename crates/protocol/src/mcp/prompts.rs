//! `prompts/list` and `prompts/get`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ContentBlock;
use crate::Revision;

/// Result of `prompts/list`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptList {
    pub prompts: Vec<PromptDescriptor>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A prompt that the user can select.
#[derive(Clone, Serialize)]
pub struct PromptDescriptor {
    pub name: &'static str,
    /// Display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<&'static str>,
    pub description: &'static str,
    pub arguments: &'static [PromptArgument],
}

impl PromptDescriptor {
    /// Removes members that the revision does not define.
    #[must_use]
    pub fn for_revision(mut self, revision: Revision) -> Self {
        self.title = self.title.filter(|_| revision.has_titles());
        self
    }
}

/// An argument of a prompt. Always a string.
#[derive(Clone, Serialize)]
pub struct PromptArgument {
    pub name: &'static str,
    pub description: &'static str,
    pub required: bool,
}

/// Parameters of `prompts/get`.
#[derive(Debug, Deserialize)]
pub struct GetPromptParams {
    pub name: String,
    #[serde(default)]
    pub arguments: BTreeMap<String, String>,
}

/// Result of `prompts/get`.
#[derive(Serialize)]
pub struct GetPromptResult<'a> {
    pub description: &'a str,
    pub messages: [PromptMessage<'a>; 1],
}

#[derive(Serialize)]
pub struct PromptMessage<'a> {
    pub role: &'static str,
    pub content: ContentBlock<'a>,
}
