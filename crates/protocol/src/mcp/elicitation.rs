//! Asking the user: `elicitation/create`, and `input_required` which carries the same.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::Revision;

/// Parameters of `elicitation/create`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ElicitParams {
    /// Which way of asking; there is only one in the oldest revision that can ask at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<&'static str>,
    /// What to say.
    pub message: String,
    /// What to fill in.
    pub requested_schema: FormSchema,
}

impl ElicitParams {
    /// A form to fill in.
    pub fn form(message: String, requested_schema: FormSchema, revision: Revision) -> Self {
        Self { mode: revision.has_rich_forms().then_some("form"), message, requested_schema }
    }
}

/// A flat object of primitive fields.
#[derive(Debug, Serialize)]
pub struct FormSchema {
    /// Always `object`.
    pub r#type: &'static str,
    /// The fields, in the order in which they are to be shown.
    #[serde(serialize_with = "in_order")]
    pub properties: Vec<(String, Value)>,
    /// Those that must be filled in.
    pub required: Vec<String>,
}

/// An object whose members stand in this order, which is the order that clients show them in.
fn in_order<S: Serializer>(fields: &[(String, Value)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(fields.iter().map(|(name, schema)| (name, schema)))
}

/// What the user did.
#[derive(Debug, Deserialize)]
pub struct ElicitResult {
    /// Filled in, refused, or went away.
    pub action: ElicitAction,
    /// What was filled in.
    #[serde(default)]
    pub content: Option<Map<String, Value>>,
    /// What the client says besides.
    #[serde(rename = "_meta", default)]
    pub meta: Option<Map<String, Value>>,
}

/// Filled in, refused, or went away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElicitAction {
    /// The user filled the form in.
    Accept,
    /// The user said no.
    Decline,
    /// The user closed the form.
    Cancel,
}

/// The result that asks instead of answering.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InputRequired {
    /// What to ask, by a name of ours.
    pub input_requests: BTreeMap<String, InputRequest>,
    /// What to send back unread.
    pub request_state: String,
}

/// One thing to ask.
#[derive(Serialize)]
#[serde(tag = "method", content = "params")]
pub enum InputRequest {
    /// A form.
    #[serde(rename = "elicitation/create")]
    Elicit(ElicitParams),
    /// The folders that the client has open.
    #[serde(rename = "roots/list")]
    ListRoots {},
}
