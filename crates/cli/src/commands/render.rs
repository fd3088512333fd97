//! A tool's answer for people: names and values, lists in a line, lists of things as tables.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::styling::{self, escape_controls};
use crate::table::render_table_to_width;

/// JSON in the order in which it was written: a tool says the important things first.
#[derive(Debug)]
pub(crate) enum AnswerNode {
    Text(String),
    /// A unified diff, with its lines.
    Diff(String),
    /// A text for another program, with its lines.
    File(String),
    List(Vec<AnswerNode>),
    Map(Vec<(String, AnswerNode)>),
}

/// Where in an answer something stands. Names mean something only where the tools put them: what users note down, such as
/// the metadata of a project, may have the same ones.
#[derive(Clone, Copy)]
enum AnswerScope {
    /// The answer itself.
    Answer,
    /// A plan inside of it.
    Plan,
    /// An edit of a plan.
    Edit,
    /// How a plan is taken back.
    Rollback,
    /// A text for another program.
    File,
    /// Anything else.
    Nested,
}

impl AnswerScope {
    /// Where what has this name stands.
    fn child(self, name: &str) -> Self {
        match (self, name) {
            (Self::Answer, "html" | "export") => Self::File,
            (Self::Answer | Self::Plan, "integration_workflow" | "edit_plan") => Self::Plan,
            (Self::Answer | Self::Plan, "edits") => Self::Edit,
            (Self::Answer | Self::Plan, "rollback") => Self::Rollback,
            _ => Self::Nested,
        }
    }

    /// Whether only programs read it: the diff says the same, and says it better.
    fn is_machine_only(self, name: &str) -> bool {
        matches!(
            (self, name),
            (Self::Answer | Self::Plan, "postCheckCommands")
                | (Self::Edit, "changes" | "payload" | "anchors")
                | (Self::Rollback, "reverseDiff")
        )
    }
}

/// The text of an answer, for a terminal of so many columns, if that is known.
pub(crate) fn render_answer(json: &str, columns: Option<usize>) -> String {
    let mut text = serde_json::Deserializer::from_str(json);
    let shown = AnswerScope::Answer.deserialize(&mut text).and_then(|shown| text.end().map(|()| shown));
    match shown {
        Ok(shown) => shown.render_lines(0, columns),
        Err(_) => escape_controls(json),
    }
}

impl AnswerNode {
    fn render_lines(&self, depth: usize, columns: Option<usize>) -> String {
        let indent = "  ".repeat(depth);
        match self {
            Self::Map(entries) => {
                // An empty list says nothing, unless there is nothing else.
                let says_nothing = entries.iter().all(|(_, value)| value.is_empty_list());
                let shown = entries.iter().filter(|(_, value)| says_nothing || !value.is_empty_list());
                shown.map(|(name, value)| value.render_entry(name, depth, columns)).collect()
            }
            Self::List(items) if items.iter().all(Self::is_table_row) => render_rows(items, &indent, columns),
            Self::List(items) => {
                let item = |item: &Self| [&indent, "-\n", &item.render_lines(depth + 1, columns)].concat();
                items.iter().map(item).collect()
            }
            Self::Text(text) => wrap_line(&format!("{indent}{text}"), columns),
            Self::Diff(text) => styling::render_diff(text, styling::use_colour_on_stdout()),
            Self::File(text) => text.lines().map(|line| escape_controls(line) + "\n").collect(),
        }
    }

    fn render_entry(&self, name: &str, depth: usize, columns: Option<usize>) -> String {
        let indent = "  ".repeat(depth);
        match self.render_inline() {
            Some(text) => wrap_line(&format!("{indent}{name}: {text}"), columns),
            None => format!("{indent}{name}:\n{}", self.render_lines(depth + 1, columns)),
        }
    }

    fn is_empty_list(&self) -> bool {
        matches!(self, Self::List(items) if items.is_empty())
    }

    /// What fits behind a name: a text, a list of texts, a few texts with names.
    fn render_inline(&self) -> Option<String> {
        let text = |shown: &Self| match shown {
            Self::Text(text) => Some(text.clone()),
            Self::Diff(_) | Self::File(_) | Self::List(_) | Self::Map(_) => None,
        };
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::Diff(_) | Self::File(_) => None,
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
    fn is_table_row(&self) -> bool {
        match self {
            Self::Map(entries) => entries.iter().all(|(_, value)| value.render_cell().is_some()),
            Self::Text(_) | Self::Diff(_) | Self::File(_) | Self::List(_) => false,
        }
    }

    /// What fits into a table: one level more than what fits in a line.
    fn render_cell(&self) -> Option<String> {
        match self {
            Self::List(items) => {
                let between = if items.iter().any(|item| matches!(item, Self::Map(_))) { "; " } else { ", " };
                items
                    .iter()
                    .map(Self::render_inline)
                    .collect::<Option<Vec<_>>>()
                    .map(|texts| texts.join(between))
            }
            Self::Text(_) | Self::Diff(_) | Self::File(_) | Self::Map(_) => self.render_inline(),
        }
    }
}

fn wrap_line(line: &str, columns: Option<usize>) -> String {
    styling::wrap_hanging(line, columns.unwrap_or(usize::MAX)).into_iter().map(|line| line + "\n").collect()
}

fn render_rows(rows: &[AnswerNode], indent: &str, columns: Option<usize>) -> String {
    let mut names: Vec<&str> = Vec::new();
    for row in rows {
        if let AnswerNode::Map(entries) = row {
            for (name, _) in entries {
                if !names.contains(&name.as_str()) {
                    names.push(name);
                }
            }
        }
    }
    // What people look for first. What has no id begins as the tool begins.
    if names.contains(&"id") {
        names.sort_by_key(|name| ["id", "name"].iter().position(|first| first == name).unwrap_or(2));
    }
    let cells = |row: &AnswerNode| -> Vec<String> {
        let AnswerNode::Map(entries) = row else { return Vec::new() };
        let cell = |name: &&str| {
            entries.iter().find(|(known, _)| known == name).and_then(|(_, value)| value.render_cell())
        };
        names.iter().map(|name| cell(name).unwrap_or_default()).collect()
    };
    let mut lines: Vec<Vec<String>> = vec![names.iter().map(|name| (*name).to_owned()).collect()];
    lines.extend(rows.iter().map(cells));
    match columns {
        Some(columns) => render_table_to_width(&lines, indent, columns),
        None => crate::table::render_table(&lines, indent),
    }
}

impl<'de> DeserializeSeed<'de> for AnswerScope {
    type Value = AnswerNode;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<AnswerNode, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AnswerScope {
    type Value = AnswerNode;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_str<E>(self, text: &str) -> Result<AnswerNode, E> {
        Ok(match self {
            Self::File => AnswerNode::File(text.to_owned()),
            _ if styling::is_diff(text) => AnswerNode::Diff(text.to_owned()),
            _ => AnswerNode::Text(escape_controls(text)),
        })
    }

    fn visit_bool<E>(self, truth: bool) -> Result<AnswerNode, E> {
        Ok(AnswerNode::Text(if truth { "yes" } else { "no" }.to_owned()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<AnswerNode, E> {
        Ok(AnswerNode::Text(number.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<AnswerNode, E> {
        Ok(AnswerNode::Text(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<AnswerNode, E> {
        Ok(AnswerNode::Text(number.to_string()))
    }

    fn visit_unit<E>(self) -> Result<AnswerNode, E> {
        Ok(AnswerNode::Text("-".to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<AnswerNode, A::Error> {
        // A list is no file.
        let spot = if matches!(self, Self::File) { Self::Nested } else { self };
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(spot)? {
            list.push(item);
        }
        Ok(AnswerNode::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<AnswerNode, A::Error> {
        let mut map = Vec::new();
        while let Some(name) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(self.child(&name))?;
            if !self.is_machine_only(&name) {
                map.push((escape_controls(&name), value));
            }
        }
        Ok(AnswerNode::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: &str) {
        assert_eq!(render_answer(json, None), expected);
    }

    #[test]
    fn answers_render_as_text() {
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
    fn empty_lists_are_left_out() {
        check(r#"{"a": [], "b": 1, "c": {"d": [], "e": {"f": []}}}"#, "b: 1\nc:\n  e:\n    f:\n");
        check(r#"{"projects": []}"#, "projects:\n");
        check(r#"{"rows": [{"a": 1, "b": []}]}"#, "rows:\n  a  b\n  1\n");
    }

    #[test]
    fn file_contents_keep_their_lines() {
        check(
            r#"{"n": 1, "html": "<p>a</p>\n<p>\u001b[31mb</p>"}"#,
            "n: 1\nhtml:\n<p>a</p>\n<p>\\u{1b}[31mb</p>\n",
        );
    }

    #[test]
    fn user_metadata_is_shown_whatever_its_keys() {
        check(
            r#"{"metadata": {"changes": "mine", "payload": 1, "html": "a\nb", "export": {"to": "x"}}}"#,
            "metadata:\n  changes: mine\n  payload: 1\n  html: a\\nb\n  export: to x\n",
        );
        check(r#"{"export": {"a": 1}, "html": ["a"]}"#, "export: a 1\nhtml: a\n");
        check("3 blind mice", "3 blind mice");
    }

    #[test]
    fn machine_only_plan_fields_are_omitted() {
        let plan = r#"{"edits": [{"filepath": "a", "changes": [], "anchors": [], "payload": {}}], "rollback": {"reverseDiff": "x"}, "postCheckCommands": []}"#;
        let shown = "edits:\n  filepath\n  a\nrollback:\n";
        check(plan, shown);
        let deeper = shown.replace('\n', "\n  ");
        check(
            &format!(r#"{{"edit_plan": {plan}}}"#),
            &format!("edit_plan:\n  {}", deeper.trim_end_matches("  ")),
        );
    }

    #[test]
    fn lists_of_objects_render_as_tables() {
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
    fn tables_start_with_id_and_name_and_fit_the_width() {
        let json = r#"{"projects": [{"at": "2026-01-01", "name": "Site", "id": "proj_1", "slug": "site", "on": true}]}"#;
        check(
            json,
            "projects:\n  id      name  at          slug  on\n  proj_1  Site  2026-01-01  site  yes\n",
        );
        let narrow = "projects:\n  id      name  slug  on\n  proj_1  Site  site  yes\n  not shown: at; --json has all\n";
        assert_eq!(render_answer(json, Some(25)), narrow);
        check(r#"[{"path": ".", "name": "a"}]"#, "path  name\n.     a\n");
    }

    #[test]
    fn control_characters_in_answers_are_escaped() {
        check(r#"{"a": "x\u001b[31my\u0007"}"#, "a: x\\u{1b}[31my\\u{7}\n");
        check(r#"{"a": "x\ntruncated: no"}"#, "a: x\\ntruncated: no\n");
    }
}
