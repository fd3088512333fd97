//! Values of settings, which know their file and line.

use std::sync::Arc;

use serde_json::{Map, Number, Value};

/// A value, and where it stands. Lines of files without them (JSON) are 0.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) file: Arc<str>,
    pub(super) line: usize,
    pub(super) data: Data,
}

#[derive(Debug, Clone)]
pub(super) enum Data {
    Null,
    Flag(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

impl Node {
    pub(super) fn empty(file: &str) -> Self {
        Self { file: file.into(), line: 1, data: Data::Map(Vec::new()) }
    }

    pub(super) fn from_json(file: &Arc<str>, value: Value) -> Self {
        let data = match value {
            Value::Null => Data::Null,
            Value::Bool(flag) => Data::Flag(flag),
            Value::Number(number) => Data::Number(number),
            Value::String(text) => Data::Text(text),
            Value::Array(items) => {
                Data::List(items.into_iter().map(|item| Self::from_json(file, item)).collect())
            }
            Value::Object(entries) => Data::Map(
                entries.into_iter().map(|(key, value)| (key, Self::from_json(file, value))).collect(),
            ),
        };
        Self { file: file.clone(), line: 0, data }
    }

    pub(super) fn to_json(&self) -> Value {
        match &self.data {
            Data::Null => Value::Null,
            Data::Flag(flag) => Value::Bool(*flag),
            Data::Number(number) => Value::Number(number.clone()),
            Data::Text(text) => Value::String(text.clone()),
            Data::List(items) => Value::Array(items.iter().map(Self::to_json).collect()),
            Data::Map(entries) => Value::Object(
                entries.iter().map(|(key, node)| (key.clone(), node.to_json())).collect::<Map<_, _>>(),
            ),
        }
    }

    /// What stands under a key. The key without a value is the same as no key, as it is for the CLI.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        let Data::Map(entries) = &self.data else { return None };
        let found = entries.iter().rev().find(|(name, _)| name == key);
        found.map(|(_, node)| node).filter(|node| !matches!(node.data, Data::Null))
    }

    /// What kind of value it is, for people.
    pub(super) fn kind(&self) -> &'static str {
        match &self.data {
            Data::Null => "empty",
            Data::Flag(_) => "true or false",
            Data::Number(_) => "a number",
            Data::Text(_) => "a text",
            Data::List(_) => "a list",
            Data::Map(_) => "a mapping",
        }
    }

    /// Its line, if its file has lines.
    pub(super) fn line(&self) -> Option<usize> {
        (self.line > 0).then_some(self.line)
    }

    /// Puts `stronger` over it: mappings key by key, everything else as a whole.
    pub(super) fn merge(&mut self, stronger: Node) {
        match (&mut self.data, stronger) {
            (Data::Map(entries), Node { data: Data::Map(others), .. }) => {
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
            Data::List(items) => 1 + items.iter().map(Self::size).sum::<usize>(),
            Data::Map(entries) => 1 + entries.iter().map(|(_, node)| node.size()).sum::<usize>(),
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
