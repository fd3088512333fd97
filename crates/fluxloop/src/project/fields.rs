//! Settings by their keys. A value of the wrong kind is a warning, and counts as missing.

use serde_json::Value;

use super::config_node::{ConfigNode, ConfigValue};
use super::limits;
use super::redact::{redact, redact_and_truncate};
use super::warning::FileWarnings;

/// What can be asked of a mapping.
#[derive(Clone, Copy)]
pub(super) struct ConfigFields<'n>(pub(super) Option<&'n ConfigNode>);

impl<'n> ConfigFields<'n> {
    /// Whatever stands under a key.
    pub(super) fn get(self, key: &str) -> Option<&'n ConfigNode> {
        self.0?.get(key)
    }

    pub(super) fn text(self, key: &str, warnings: &mut FileWarnings) -> Option<String> {
        let node = self.get(key)?;
        match &node.data {
            ConfigValue::Text(text) => Some(redact_and_truncate(text, limits::MAX_TEXT_CHARS)),
            _ => warn_wrong_type(node, key, "a text", warnings),
        }
    }

    pub(super) fn count(self, key: &str, warnings: &mut FileWarnings) -> Option<u64> {
        let node = self.get(key)?;
        let count = if let ConfigValue::Number(number) = &node.data { number.as_u64() } else { None };
        count.or_else(|| warn_wrong_type(node, key, "a whole number", warnings))
    }

    pub(super) fn number(self, key: &str, warnings: &mut FileWarnings) -> Option<f64> {
        let node = self.get(key)?;
        let number = if let ConfigValue::Number(number) = &node.data { number.as_f64() } else { None };
        number.or_else(|| warn_wrong_type(node, key, "a number", warnings))
    }

    pub(super) fn flag(self, key: &str, warnings: &mut FileWarnings) -> Option<bool> {
        let node = self.get(key)?;
        if let ConfigValue::Flag(flag) = node.data {
            Some(flag)
        } else {
            warn_wrong_type(node, key, "true or false", warnings)
        }
    }

    pub(super) fn mapping(self, key: &str, warnings: &mut FileWarnings) -> ConfigFields<'n> {
        let Some(node) = self.get(key) else { return ConfigFields(None) };
        if matches!(node.data, ConfigValue::Map(_)) {
            ConfigFields(Some(node))
        } else {
            ConfigFields(warn_wrong_type(node, key, "a mapping", warnings))
        }
    }

    pub(super) fn list(self, key: &str, warnings: &mut FileWarnings) -> &'n [ConfigNode] {
        let Some(node) = self.get(key) else { return &[] };
        if let ConfigValue::List(items) = &node.data {
            items
        } else {
            warn_wrong_type(node, key, "a list", warnings).unwrap_or(&[])
        }
    }

    /// A list of texts; numbers in it are taken for texts.
    pub(super) fn texts(self, key: &str, warnings: &mut FileWarnings) -> Vec<String> {
        let items = self.list(key, warnings);
        items
            .iter()
            .filter_map(|item| {
                scalar_text(item).or_else(|| warn_wrong_type(item, key, "a list of texts", warnings))
            })
            .collect()
    }

    /// Everything beneath a key, without secrets.
    pub(super) fn value(self, key: &str) -> Option<Value> {
        // Redacted with its key, which may say that all of it is private.
        let pair = [(key.to_owned(), self.get(key)?.to_json())];
        redact(Value::Object(pair.into_iter().collect())).get_mut(key).map(Value::take)
    }

    /// Keys and values, without those that are told elsewhere and without secrets.
    pub(super) fn remaining(self, known: &[&str]) -> serde_json::Map<String, Value> {
        let Some(ConfigValue::Map(entries)) = self.0.map(|node| &node.data) else {
            return serde_json::Map::new();
        };
        let others = entries.iter().filter(|(key, _)| !known.contains(&key.as_str()));
        let others = others.map(|(key, node)| (key.clone(), node.to_json())).collect();
        if let Value::Object(others) = redact(Value::Object(others)) {
            others
        } else {
            serde_json::Map::new()
        }
    }

    /// Keys and values as they are, with what is secret in them.
    pub(super) fn entries(self) -> &'n [(String, ConfigNode)] {
        match self.0.map(|node| &node.data) {
            Some(ConfigValue::Map(entries)) => entries,
            _ => &[],
        }
    }
}

/// A text or number, as a text.
pub(super) fn scalar_text(node: &ConfigNode) -> Option<String> {
    match &node.data {
        ConfigValue::Text(text) => Some(redact_and_truncate(text, limits::MAX_TEXT_CHARS)),
        ConfigValue::Number(number) => Some(number.to_string()),
        ConfigValue::Flag(flag) => Some(flag.to_string()),
        _ => None,
    }
}

fn warn_wrong_type<T>(node: &ConfigNode, key: &str, wanted: &str, warnings: &mut FileWarnings) -> Option<T> {
    warnings.add(&node.file, node.line(), format!("`{key}` is {}, not {wanted}", node.kind()));
    None
}
