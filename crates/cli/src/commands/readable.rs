//! A tool's answer for people: names and values, lists in a line, lists of things as tables.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::paint::{self, safe};

/// JSON in the order in which it was written: a tool says the important things first.
#[derive(Debug)]
pub(crate) enum Shown {
    Text(String),
    /// A unified diff, with its lines.
    Diff(String),
    List(Vec<Shown>),
    Map(Vec<(String, Shown)>),
}

/// What only programs read: the diff says the same, and says it better.
const FOR_PROGRAMS: [&str; 5] = ["changes", "reverseDiff", "postCheckCommands", "payload", "anchors"];

/// The text of an answer, for a terminal.
pub(crate) fn readable(json: &str) -> String {
    match serde_json::from_str::<Shown>(json) {
        Ok(shown) => shown.lines(0),
        Err(_) => safe(json),
    }
}

impl Shown {
    fn lines(&self, depth: usize) -> String {
        let indent = "  ".repeat(depth);
        match self {
            Self::Map(entries) => {
                entries.iter().map(|(name, value)| value.entry(name, &indent, depth)).collect()
            }
            Self::List(items) if items.iter().all(Self::is_row) => table(items, &indent),
            Self::List(items) => {
                let item = |item: &Self| [&indent, "-\n", &item.lines(depth + 1)].concat();
                items.iter().map(item).collect()
            }
            Self::Text(text) => format!("{indent}{text}\n"),
            Self::Diff(text) => paint::diff(text, paint::on_stdout()),
        }
    }

    fn entry(&self, name: &str, indent: &str, depth: usize) -> String {
        match self.in_line() {
            Some(text) => format!("{indent}{name}: {text}\n"),
            None => format!("{indent}{name}:\n{}", self.lines(depth + 1)),
        }
    }

    /// What fits behind a name: a text, a list of texts, a few texts with names.
    fn in_line(&self) -> Option<String> {
        let text = |shown: &Self| match shown {
            Self::Text(text) => Some(text.clone()),
            Self::Diff(_) | Self::List(_) | Self::Map(_) => None,
        };
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::Diff(_) => None,
            Self::List(items) => {
                items.iter().map(text).collect::<Option<Vec<_>>>().map(|texts| texts.join(", "))
            }
            Self::Map(entries) => {
                let pair = |(name, value): &(String, Self)| Some(format!("{name} {}", text(value)?));
                entries.iter().map(pair).collect::<Option<Vec<_>>>().map(|pairs| pairs.join(", "))
            }
        }
    }

    /// Whether it can be a line of a table.
    fn is_row(&self) -> bool {
        match self {
            Self::Map(entries) => entries.iter().all(|(_, value)| value.cell().is_some()),
            Self::Text(_) | Self::Diff(_) | Self::List(_) => false,
        }
    }

    /// What fits into a table: one level more than what fits in a line.
    fn cell(&self) -> Option<String> {
        match self {
            Self::List(items) => {
                let between = if items.iter().any(|item| matches!(item, Self::Map(_))) { "; " } else { ", " };
                items.iter().map(Self::in_line).collect::<Option<Vec<_>>>().map(|texts| texts.join(between))
            }
            Self::Text(_) | Self::Diff(_) | Self::Map(_) => self.in_line(),
        }
    }
}

fn table(rows: &[Shown], indent: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for row in rows {
        if let Shown::Map(entries) = row {
            for (name, _) in entries {
                if !names.contains(&name.as_str()) {
                    names.push(name);
                }
            }
        }
    }
    let cells = |row: &Shown| -> Vec<String> {
        let Shown::Map(entries) = row else { return Vec::new() };
        let cell =
            |name: &&str| entries.iter().find(|(known, _)| known == name).and_then(|(_, value)| value.cell());
        names.iter().map(|name| cell(name).unwrap_or_default()).collect()
    };
    let mut lines: Vec<Vec<String>> = vec![names.iter().map(|name| (*name).to_owned()).collect()];
    lines.extend(rows.iter().map(cells));
    let widest = |at: usize| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..names.len()).map(widest).collect();
    let line = |cells: &Vec<String>| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("{indent}{}", padded.collect::<Vec<_>>().join("  ")).trim_end().to_owned() + "\n"
    };
    lines.iter().map(line).collect()
}

impl<'de> Deserialize<'de> for Shown {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShownVisitor)
    }
}

struct ShownVisitor;

impl<'de> Visitor<'de> for ShownVisitor {
    type Value = Shown;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_str<E>(self, text: &str) -> Result<Shown, E> {
        Ok(if paint::is_diff(text) { Shown::Diff(text.to_owned()) } else { Shown::Text(safe(text)) })
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Shown, E> {
        Ok(Shown::Text(if truth { "yes" } else { "no" }.to_owned()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Shown, E> {
        Ok(Shown::Text(number.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Shown, E> {
        Ok(Shown::Text(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Shown, E> {
        Ok(Shown::Text(number.to_string()))
    }

    fn visit_unit<E>(self) -> Result<Shown, E> {
        Ok(Shown::Text("-".to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Shown, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Shown::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Shown, A::Error> {
        let mut map = Vec::new();
        while let Some((name, value)) = entries.next_entry::<String, Shown>()? {
            if !FOR_PROGRAMS.contains(&name.as_str()) {
                map.push((safe(&name), value));
            }
        }
        Ok(Shown::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: &str) {
        assert_eq!(readable(json), expected);
    }

    #[test]
    fn answers_read_like_text() {
        check(
            r#"{"z": "x", "a": 1.5, "ok": true, "no": null, "list": ["p", "q"]}"#,
            "z: x\na: 1.5\nok: yes\nno: -\nlist: p, q\n",
        );
        check(
            r#"{"stats": {"files": 8, "loc": 34}, "deep": {"a": {"b": 1}}}"#,
            "stats: files 8, loc 34\ndeep:\n  a: b 1\n",
        );
        check(
            r#"{"mixed": ["a", ["b", ["c"]]]}"#,
            "mixed:\n  -\n    a\n  -\n    -\n      b\n    -\n      -\n        c\n",
        );
    }

    #[test]
    fn things_of_a_kind_are_a_table() {
        check(
            r#"{"packages": [{"path": ".", "languages": ["python", "go"]}, {"path": "web", "name": "w", "languages": []}]}"#,
            "packages:\n  path  languages   name\n  .     python, go\n  web               w\n",
        );
        check(
            r#"{"agents": [{"name": "a", "why": {"line": 3, "proves": "x"}}]}"#,
            "agents:\n  name  why\n  a     line 3, proves x\n",
        );
    }

    #[test]
    fn nothing_in_it_commands_the_terminal() {
        check(r#"{"a": "x\u001b[31my\u0007"}"#, "a: x\\u{1b}[31my\\u{7}\n");
        check(r#"{"a": "x\ntruncated: no"}"#, "a: x\\ntruncated: no\n");
    }
}
