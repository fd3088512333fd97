//! Settings in JSON files, comments included.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstRootNode};
use serde_json::Value;

use super::format_key;
use crate::plan::document::Setting;

pub(super) fn set(text: &str, Setting { key, value, append }: &Setting) -> Result<String, String> {
    let root =
        CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| error.kind().to_string())?;
    let (last, way) = key.split_last().ok_or("a setting has no key")?;
    let other = || format!("{} is not an object", format_key(way));
    let mut object = root.object_value_or_create().ok_or_else(other)?;
    for name in way {
        object = object.object_value_or_create(name).ok_or_else(other)?;
    }
    if *append {
        let array =
            object.array_value_or_create(last).ok_or_else(|| format!("{} is not a list", format_key(key)))?;
        let has = array.elements().iter().any(|element| element.to_serde_value().as_ref() == Some(value));
        if !has {
            array.append(to_cst_value(value));
        }
        return Ok(root.to_string());
    }
    match object.get(last) {
        Some(property) if property.to_serde_value().as_ref() == Some(value) => {}
        Some(property) => property.set_value(to_cst_value(value)),
        None => drop(object.append(last, to_cst_value(value))),
    }
    Ok(root.to_string())
}

fn to_cst_value(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(truth) => CstInputValue::Bool(*truth),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(to_cst_value).collect()),
        Value::Object(entries) => CstInputValue::Object(
            entries.iter().map(|(key, value)| (key.clone(), to_cst_value(value))).collect(),
        ),
    }
}
