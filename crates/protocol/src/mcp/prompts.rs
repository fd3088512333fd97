//! `prompts/list` and `prompts/get`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ContentBlock;
use crate::Revision;

/// Result of `prompts/list`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptList {
    /// One page of prompts.
    pub prompts: Vec<PromptDescriptor>,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A prompt that a person can pick.
#[derive(Clone, Serialize)]
pub struct PromptDescriptor {
    /// Its name.
    pub name: &'static str,
    /// Its name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<&'static str>,
    /// What it is for.
    pub description: &'static str,
    /// What it takes.
    pub arguments: &'static [PromptArgument],
}

impl PromptDescriptor {
    /// Takes away what the revision does not know.
    #[must_use]
    pub fn for_revision(mut self, revision: Revision) -> Self {
        self.title = self.title.filter(|_| revision.has_titles());
        self
    }
}

/// An argument of a prompt. Always a string.
#[derive(Clone, Serialize)]
pub struct PromptArgument {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub description: &'static str,
    /// Whether the prompt cannot do without.
    pub required: bool,
}

/// Parameters of `prompts/get`.
#[derive(Debug, Deserialize)]
pub struct GetPromptParams {
    /// Which one.
    pub name: String,
    /// What to fill in.
    #[serde(default)]
    pub arguments: BTreeMap<String, String>,
}

/// Result of `prompts/get`.
#[derive(Serialize)]
pub struct GetPromptResult<'a> {
    /// What the prompt is for.
    pub description: &'a str,
    /// What to say to the model.
    pub messages: [PromptMessage<'a>; 1],
}

/// One thing to say to the model.
#[derive(Serialize)]
pub struct PromptMessage<'a> {
    /// Who says it.
    pub role: &'static str,
    /// What is said.
    pub content: ContentBlock<'a>,
}
