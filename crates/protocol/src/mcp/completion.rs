//! `completion/complete`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Parameters of `completion/complete`.
#[derive(Debug, Deserialize)]
pub struct CompleteParams {
    /// What is being filled in.
    pub r#ref: CompletionReference,
    /// Which argument of it.
    pub argument: CompletionArgument,
    /// What has been filled in before.
    #[serde(default)]
    pub context: Option<Map<String, Value>>,
}

/// An argument and what has been typed of it.
#[derive(Debug, Deserialize)]
pub struct CompletionArgument {
    /// Its name.
    pub name: String,
    /// What has been typed.
    pub value: String,
}

/// What is being filled in.
#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
pub enum CompletionReference {
    /// A prompt, by name.
    #[serde(rename = "ref/prompt")]
    Prompt {
        /// The prompt's name.
        name: String,
    },
    /// A resource template, by its URI.
    #[serde(rename = "ref/resource")]
    Resource {
        /// The template.
        uri: String,
    },
    /// A tool, by name: an addition of the reference server.
    #[serde(rename = "ref/tool")]
    Tool {
        /// The tool's name.
        name: String,
    },
}

/// Result of `completion/complete`.
#[derive(Serialize)]
pub struct CompleteResult {
    /// The suggestions.
    pub completion: Completion,
}

/// At most a hundred suggestions.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Completion {
    /// The suggestions.
    pub values: Vec<String>,
    /// How many there are in all. Left out with those that were left off: candidates are only looked for until it is known
    /// that there are more, so nobody has counted all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<usize>,
    /// Whether some were left off.
    pub has_more: bool,
}

impl Completion {
    const MAX_VALUES: usize = 100;

    /// The candidates that begin with what was typed, in their order.
    pub fn from_candidates<'a>(candidates: impl IntoIterator<Item = &'a str>, typed: &str) -> Self {
        let typed = typed.to_lowercase();
        let mut values: Vec<String> = candidates
            .into_iter()
            .filter(|candidate| candidate.to_lowercase().starts_with(&typed))
            .map(str::to_owned)
            .collect();
        let count = values.len();
        values.truncate(Self::MAX_VALUES);
        let has_more = count > Self::MAX_VALUES;
        Self { values, total: (!has_more).then_some(count), has_more }
    }
}
