//! Objects in a reply whose contents the output schema does not describe.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

/// An object that is defined elsewhere.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct OpaqueObject<T>(pub(crate) T);

impl<T> JsonSchema for OpaqueObject<T> {
    fn schema_name() -> Cow<'static, str> {
        "Open".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object" })
    }
}
