//! Settings by their keys. A value of the wrong kind is a warning, and counts as missing.

use serde_json::Value;

use super::limits;
use super::node::{Data, Node};
use super::redact::{redact, told};
use super::warning::Warnings;

/// What can be asked of a mapping.
#[derive(Clone, Copy)]
pub(super) struct Fields<'n>(pub(super) Option<&'n Node>);

impl<'n> Fields<'n> {
    /// Whatever stands under a key.
    pub(super) fn get(self, key: &str) -> Option<&'n Node> {
        self.0?.get(key)
    }

    pub(super) fn text(self, key: &str, warnings: &mut Warnings) -> Option<String> {
        let node = self.get(key)?;
        match &node.data {
            Data::Text(text) => Some(told(text, limits::TEXT)),
            _ => wrong(node, key, "a text", warnings),
        }
    }

    pub(super) fn count(self, key: &str, warnings: &mut Warnings) -> Option<u64> {
        let node = self.get(key)?;
        let count = if let Data::Number(number) = &node.data { number.as_u64() } else { None };
        count.or_else(|| wrong(node, key, "a whole number", warnings))
    }

    pub(super) fn number(self, key: &str, warnings: &mut Warnings) -> Option<f64> {
        let node = self.get(key)?;
        let number = if let Data::Number(number) = &node.data { number.as_f64() } else { None };
        number.or_else(|| wrong(node, key, "a number", warnings))
    }

    pub(super) fn flag(self, key: &str, warnings: &mut Warnings) -> Option<bool> {
        let node = self.get(key)?;
        if let Data::Flag(flag) = node.data {
            Some(flag)
        } else {
            wrong(node, key, "true or false", warnings)
        }
    }

    pub(super) fn mapping(self, key: &str, warnings: &mut Warnings) -> Fields<'n> {
        let Some(node) = self.get(key) else { return Fields(None) };
        if matches!(node.data, Data::Map(_)) {
            Fields(Some(node))
        } else {
            Fields(wrong(node, key, "a mapping", warnings))
        }
    }

    pub(super) fn list(self, key: &str, warnings: &mut Warnings) -> &'n [Node] {
        let Some(node) = self.get(key) else { return &[] };
        if let Data::List(items) = &node.data {
            items
        } else {
            wrong(node, key, "a list", warnings).unwrap_or(&[])
        }
    }

    /// A list of texts; numbers in it are taken for texts.
    pub(super) fn texts(self, key: &str, warnings: &mut Warnings) -> Vec<String> {
        let items = self.list(key, warnings);
        items
            .iter()
            .filter_map(|item| scalar(item).or_else(|| wrong(item, key, "a list of texts", warnings)))
            .collect()
    }

    /// Everything beneath a key, without secrets.
    pub(super) fn value(self, key: &str) -> Option<Value> {
        // Redacted with its key, which may say that all of it is private.
        let pair = [(key.to_owned(), self.get(key)?.to_json())];
        redact(Value::Object(pair.into_iter().collect())).get_mut(key).map(Value::take)
    }

    /// Keys and values, without those that are told elsewhere and without secrets.
    pub(super) fn others(self, known: &[&str]) -> serde_json::Map<String, Value> {
        let Some(Data::Map(entries)) = self.0.map(|node| &node.data) else { return serde_json::Map::new() };
        let others = entries.iter().filter(|(key, _)| !known.contains(&key.as_str()));
        let others = others.map(|(key, node)| (key.clone(), node.to_json())).collect();
        if let Value::Object(others) = redact(Value::Object(others)) {
            others
        } else {
            serde_json::Map::new()
        }
    }

    /// Keys and values as they are, with what is secret in them.
    pub(super) fn entries(self) -> &'n [(String, Node)] {
        match self.0.map(|node| &node.data) {
            Some(Data::Map(entries)) => entries,
            _ => &[],
        }
    }
}

/// A text or number, as a text.
pub(super) fn scalar(node: &Node) -> Option<String> {
    match &node.data {
        Data::Text(text) => Some(told(text, limits::TEXT)),
        Data::Number(number) => Some(number.to_string()),
        Data::Flag(flag) => Some(flag.to_string()),
        _ => None,
    }
}

fn wrong<T>(node: &Node, key: &str, wanted: &str, warnings: &mut Warnings) -> Option<T> {
    warnings.add(&node.file, node.line(), format!("`{key}` is {}, not {wanted}", node.kind()));
    None
}
