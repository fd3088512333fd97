//! Settings in TOML files.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, TableLike};

use super::format_key;
use crate::plan::document::Setting;

pub(super) fn set(text: &str, Setting { key, value, append }: &Setting) -> Result<String, String> {
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    let (last, way) = key.split_last().ok_or("a setting has no key")?;
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for name in way {
        let entry = table.entry(name).or_insert_with(toml_edit::table);
        table = entry.as_table_like_mut().ok_or_else(|| format!("{} is not a table", format_key(way)))?;
    }
    let new = from_json(value).ok_or("the value cannot be represented in TOML")?;
    if *append {
        let entry = table.entry(last).or_insert_with(|| Item::Value(Array::new().into()));
        let array = entry.as_array_mut().ok_or_else(|| format!("{} is not a list", format_key(key)))?;
        if !array.iter().any(|known| is_same_value(known, &new)) {
            append_item(array, new);
        }
        return Ok(document.to_string());
    }
    match table.get_mut(last) {
        Some(Item::Value(old)) if is_same_value(old, &new) => {}
        Some(Item::Value(old)) => {
            let decor = old.decor().clone();
            *old = new;
            *old.decor_mut() = decor;
        }
        Some(Item::None) | None => drop(table.insert(last, Item::Value(new))),
        Some(_) => return Err(format!("{} is a table", format_key(key))),
    }
    Ok(document.to_string())
}

/// Appends to a list in the layout of its last item: on a new line, or on the same one.
fn append_item(list: &mut Array, new: toml_edit::Value) {
    let before = list.iter().last().and_then(|last| last.decor().prefix()).and_then(|prefix| prefix.as_str());
    let before = before.filter(|before| before.contains('\n')).map(|before| {
        // The prefix may contain a comment about the last item; only its indentation is reused.
        before.rsplit_once('\n').map_or(String::new(), |(_, indent)| format!("\n{indent}"))
    });
    match before {
        None => list.push(new),
        Some(before) => list.push_formatted(new.decorated(before, "")),
    }
}

fn is_same_value(one: &toml_edit::Value, other: &toml_edit::Value) -> bool {
    let plain = |value: &toml_edit::Value| value.clone().decorated("", "").to_string();
    match (one.as_str(), other.as_str()) {
        (Some(one), Some(other)) => one == other,
        _ => plain(one) == plain(other),
    }
}

fn from_json(value: &Value) -> Option<toml_edit::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(truth) => (*truth).into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            // TOML integers are limited to `i64`.
            None if number.is_u64() => return None,
            None => number.as_f64()?.into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => items.iter().map(from_json).collect::<Option<Array>>()?.into(),
        Value::Object(entries) => {
            let entry = |(key, value): (&String, &Value)| Some((key.clone(), from_json(value)?));
            entries.iter().map(entry).collect::<Option<InlineTable>>()?.into()
        }
    })
}
