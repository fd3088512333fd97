//! `completion/complete`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Parameters of `completion/complete`.
#[derive(Debug, Deserialize)]
pub struct CompleteParams {
    pub r#ref: CompletionReference,
    pub argument: CompletionArgument,
    /// Arguments that are already filled in.
    #[serde(default)]
    pub context: Option<Map<String, Value>>,
}

#[derive(Debug, Deserialize)]
pub struct CompletionArgument {
    pub name: String,
    /// The value typed so far.
    pub value: String,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
pub enum CompletionReference {
    /// A prompt, by name.
    #[serde(rename = "ref/prompt")]
    Prompt { name: String },
    /// A resource template, by its URI template.
    #[serde(rename = "ref/resource")]
    Resource { uri: String },
    /// A tool, by name: an addition of the reference server.
    #[serde(rename = "ref/tool")]
    Tool { name: String },
}

/// Result of `completion/complete`.
#[derive(Serialize)]
pub struct CompleteResult {
    pub completion: Completion,
}

/// At most 100 suggestions.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Completion {
    pub values: Vec<String>,
    /// The total number of candidates. Absent if `has_more`: the search stops once there are more candidates
    /// than fit, so the total is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<usize>,
    /// Whether the suggestions were truncated.
    pub has_more: bool,
}

impl Completion {
    const MAX_VALUES: usize = 100;

    /// The candidates that start with `typed`, ignoring case, in their original order.
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
