//! Questions to the user: `elicitation/create`, and `input_required`, which carries the same payload.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::Revision;

/// Parameters of `elicitation/create`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ElicitParams {
    /// Absent in 2025-06-18, which only has forms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<&'static str>,
    pub message: String,
    pub requested_schema: FormSchema,
}

impl ElicitParams {
    pub fn form(message: String, requested_schema: FormSchema, revision: Revision) -> Self {
        Self { mode: revision.has_rich_forms().then_some("form"), message, requested_schema }
    }
}

/// A flat object of primitive fields.
#[derive(Debug, Serialize)]
pub struct FormSchema {
    /// Always `object`.
    pub r#type: &'static str,
    /// The fields, in display order.
    #[serde(serialize_with = "in_order")]
    pub properties: Vec<(String, Value)>,
    pub required: Vec<String>,
}

/// Serializes an object with its members in this order: clients show the fields in member order.
fn in_order<S: Serializer>(fields: &[(String, Value)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(fields.iter().map(|(name, schema)| (name, schema)))
}

#[derive(Debug, Deserialize)]
pub struct ElicitResult {
    pub action: ElicitAction,
    #[serde(default)]
    pub content: Option<Map<String, Value>>,
    #[serde(rename = "_meta", default)]
    pub meta: Option<Map<String, Value>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElicitAction {
    /// The user submitted the form.
    Accept,
    /// The user declined.
    Decline,
    /// The user closed the form.
    Cancel,
}

/// A result that requests input instead of completing the call.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InputRequired {
    /// The questions, by names that the server chose.
    pub input_requests: BTreeMap<String, InputRequest>,
    /// Opaque to the client, which sends it back unchanged.
    pub request_state: String,
}

#[derive(Serialize)]
#[serde(tag = "method", content = "params")]
pub enum InputRequest {
    #[serde(rename = "elicitation/create")]
    Elicit(ElicitParams),
    /// Asks for the folders open in the client.
    #[serde(rename = "roots/list")]
    ListRoots {},
}
