//! Values of settings, which know their file and line.

use std::sync::Arc;

use serde_json::{Map, Number, Value};

/// A value, and where it stands. Lines of files without them (JSON) are 0.
#[derive(Debug, Clone)]
pub(super) struct ConfigNode {
    pub(super) file: Arc<str>,
    pub(super) line: usize,
    pub(super) data: ConfigValue,
}

#[derive(Debug, Clone)]
pub(super) enum ConfigValue {
    Null,
    Flag(bool),
    Number(Number),
    Text(String),
    List(Vec<ConfigNode>),
    Map(Vec<(String, ConfigNode)>),
}

impl ConfigNode {
    pub(super) fn empty(file: &str) -> Self {
        Self { file: file.into(), line: 1, data: ConfigValue::Map(Vec::new()) }
    }

    pub(super) fn from_json(file: &Arc<str>, value: Value) -> Self {
        let data = match value {
            Value::Null => ConfigValue::Null,
            Value::Bool(flag) => ConfigValue::Flag(flag),
            Value::Number(number) => ConfigValue::Number(number),
            Value::String(text) => ConfigValue::Text(text),
            Value::Array(items) => {
                ConfigValue::List(items.into_iter().map(|item| Self::from_json(file, item)).collect())
            }
            Value::Object(entries) => ConfigValue::Map(
                entries.into_iter().map(|(key, value)| (key, Self::from_json(file, value))).collect(),
            ),
        };
        Self { file: file.clone(), line: 0, data }
    }

    pub(super) fn to_json(&self) -> Value {
        match &self.data {
            ConfigValue::Null => Value::Null,
            ConfigValue::Flag(flag) => Value::Bool(*flag),
            ConfigValue::Number(number) => Value::Number(number.clone()),
            ConfigValue::Text(text) => Value::String(text.clone()),
            ConfigValue::List(items) => Value::Array(items.iter().map(Self::to_json).collect()),
            ConfigValue::Map(entries) => Value::Object(
                entries.iter().map(|(key, node)| (key.clone(), node.to_json())).collect::<Map<_, _>>(),
            ),
        }
    }

    /// What stands under a key. The key without a value is the same as no key, as it is for the CLI.
    pub(super) fn get(&self, key: &str) -> Option<&ConfigNode> {
        let ConfigValue::Map(entries) = &self.data else { return None };
        let found = entries.iter().rev().find(|(name, _)| name == key);
        found.map(|(_, node)| node).filter(|node| !matches!(node.data, ConfigValue::Null))
    }

    /// What kind of value it is, for people.
    pub(super) fn kind(&self) -> &'static str {
        match &self.data {
            ConfigValue::Null => "empty",
            ConfigValue::Flag(_) => "true or false",
            ConfigValue::Number(_) => "a number",
            ConfigValue::Text(_) => "a text",
            ConfigValue::List(_) => "a list",
            ConfigValue::Map(_) => "a mapping",
        }
    }

    /// Its line, if its file has lines.
    pub(super) fn line(&self) -> Option<usize> {
        (self.line > 0).then_some(self.line)
    }

    /// Puts `stronger` over it: mappings key by key, everything else as a whole.
    pub(super) fn merge(&mut self, stronger: ConfigNode) {
        match (&mut self.data, stronger) {
            (ConfigValue::Map(entries), ConfigNode { data: ConfigValue::Map(others), .. }) => {
                for (key, other) in others {
                    match entries.iter_mut().find(|(name, _)| *name == key) {
                        Some((_, node)) => node.merge(other),
                        None => entries.push((key, other)),
                    }
                }
            }
            (_, stronger) => *self = stronger,
        }
    }

    /// How many values it is, with all in it.
    pub(super) fn size(&self) -> usize {
        match &self.data {
            ConfigValue::List(items) => 1 + items.iter().map(Self::size).sum::<usize>(),
            ConfigValue::Map(entries) => 1 + entries.iter().map(|(_, node)| node.size()).sum::<usize>(),
            _ => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::project::yaml::parse;

    #[test]
    fn mappings_are_merged_and_lists_replaced() {
        let mut base = parse("a", "tags: [one, two]\nmetadata: {team: a, deep: {x: 1}}").unwrap();
        base.merge(parse("b", "tags: [three]\nmetadata: {suite: s, deep: {y: 2}}\nname: n").unwrap());
        assert_eq!(
            base.to_json(),
            json!({"tags": ["three"], "metadata": {"team": "a", "suite": "s", "deep": {"x": 1, "y": 2}}, "name": "n"})
        );
        let suite = base.get("metadata").and_then(|metadata| metadata.get("suite")).unwrap();
        assert_eq!((&*suite.file, suite.line), ("b", 2));
    }
}
