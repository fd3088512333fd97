//! Generates schemas from types, small enough for a model's context.

use jsonschema::Validator;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::tools::GermanTexts;

pub(in crate::tools) struct Description {
    pub(in crate::tools) text: String,
    pub(in crate::tools) input: Value,
    /// Only the names of the top-level keys.
    pub(in crate::tools) output: Value,
    /// The full schema, for the reference page.
    pub(in crate::tools) full_output: Value,
    pub(in crate::tools) argument_validator: Validator,
    /// Description and input schema in German, if a document has them.
    pub(in crate::tools) german: Option<(&'static str, Value)>,
}

pub(in crate::tools) fn describe<Args: JsonSchema, Reply: JsonSchema>(
    texts: Option<GermanTexts>,
) -> Description {
    let mut input = generate_schema::<Args>();
    let text = input.as_object_mut().and_then(|schema| schema.remove("description"));
    let text = text.as_ref().and_then(Value::as_str).unwrap_or_default().replace('\n', " ");
    // Schemas generated from our own types compile. If one does not, accept anything: serde still validates.
    let arguments = jsonschema::validator_for(&input).unwrap_or_else(|error| {
        tracing::error!(%error, "invalid tool input schema");
        accept_anything()
    });
    let whole_output = generate_schema::<Reply>();
    let german = texts.map(|german| (german.description, translate_to_german(&input, german)));
    Description {
        text,
        output: top_level_properties(&whole_output),
        full_output: whole_output,
        argument_validator: arguments,
        german,
        input,
    }
}

fn translate_to_german(input: &Value, texts: GermanTexts) -> Value {
    let mut input = input.clone();
    for (argument, text) in texts.arguments {
        input["properties"][*argument]["description"] = json!(text);
    }
    input
}

#[expect(clippy::expect_used, reason = "`true` is a schema")]
fn accept_anything() -> Validator {
    jsonschema::validator_for(&Value::Bool(true)).expect("`true` is a schema")
}

/// A schema without references, titles, and keywords that only schema tools read.
fn generate_schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<T>().to_value();
    simplify_schema(&mut schema);
    if let Some(schema) = schema.as_object_mut() {
        // A tool without arguments still takes an object; state that explicitly.
        schema.entry("type").or_insert_with(|| json!("object"));
        schema.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

fn simplify_schema(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.remove("title");
            // Integer widths are a detail of Rust.
            if map.get("format").and_then(Value::as_str).is_some_and(|format| format != "date") {
                map.remove("format");
            }
            // Obvious defaults are omitted to save tokens.
            let is_plain =
                |value: &Value| matches!(value, Value::Null | Value::Bool(false)) || is_empty(value);
            if map.get("default").is_some_and(is_plain) {
                map.remove("default");
            }
            if map.get("additionalProperties") == Some(&Value::Bool(true)) {
                map.remove("additionalProperties");
            }
            remove_null(map);
            for (key, value) in map.iter_mut() {
                if key == "properties" {
                    // The keys of `properties` are names, not keywords: one may be `title`.
                    value
                        .as_object_mut()
                        .into_iter()
                        .flatten()
                        .for_each(|(_, property)| simplify_schema(property));
                } else if key != "enum" && key != "const" && key != "default" {
                    simplify_schema(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(simplify_schema),
        _ => {}
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty)
        || value.as_object().is_some_and(Map::is_empty)
        || value.as_str().is_some_and(str::is_empty)
}

/// For an optional argument, `null` means the same as omitting it, so the schema does not mention it.
fn remove_null(map: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            map.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = map.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    let Some(Value::Array(branches)) = map.get_mut("anyOf") else { return };
    branches.retain(|branch| branch.get("type").and_then(Value::as_str) != Some("null"));
    if let [Value::Object(only)] = branches.as_slice() {
        let only = only.clone();
        map.remove("anyOf");
        for (key, value) in only {
            map.entry(key).or_insert(value);
        }
    }
}

/// An output schema with only the top-level keys; the reference page has the rest.
fn top_level_properties(schema: &Value) -> Value {
    let names = schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone());
    let properties: Map<String, Value> = names.map(|name| (name, json!({}))).collect();
    json!({ "type": "object", "properties": properties })
}
