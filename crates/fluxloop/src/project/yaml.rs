//! YAML as the CLI reads it.
//!
//! The parser's events are used, not its loader: a loader copies what an alias names, and nine lists of nine aliases each
//! are then larger than any memory.

use std::collections::HashMap;
use std::sync::Arc;

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::Number;

use super::config_node::{ConfigNode, ConfigValue};
use super::limits;

/// Why a document cannot be used, and where that shows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct YamlError {
    pub(super) line: usize,
    pub(super) what: String,
}

/// Parses a file with one document. No document at all is an empty mapping.
pub(super) fn parse(file: &str, text: &str) -> Result<ConfigNode, YamlError> {
    let mut building = YamlBuilder {
        file: file.into(),
        open: Vec::new(),
        anchors: HashMap::new(),
        copies: 0,
        document: None,
    };
    let mut documents = 0;
    let text = text.trim_start_matches('\u{feff}');
    for event in std::iter::from_fn({
        let mut parser = Parser::new_from_str(text);
        move || parser.next_event()
    }) {
        let (event, span) = event.map_err(|error| parser_error(text, error.marker().line(), error.info()))?;
        let line = span.start.line();
        if matches!(event, Event::DocumentStart(_)) {
            documents += 1;
            if documents > 1 {
                let what = "a second document begins here, and the CLI takes only one".to_owned();
                return Err(YamlError { line, what });
            }
        }
        building.handle_event(event, line).map_err(|what| YamlError { line, what: what.to_owned() })?;
    }
    match building.document {
        Some(ConfigNode { data: ConfigValue::Null, .. }) | None => Ok(ConfigNode::empty(file)),
        Some(document) => Ok(document),
    }
}

/// What the parser says, where people look for it.
fn parser_error(text: &str, line: usize, info: &str) -> YamlError {
    if info.contains("recursion limit") {
        return YamlError { line, what: "nested too deeply".to_owned() };
    }
    // Of a tab the parser names the line in which the text before it began.
    let is_indented_by_tab = |line: &&str| line.trim_start_matches(' ').starts_with('\t');
    let of_tab = || text.lines().skip(line.saturating_sub(1)).position(|line| is_indented_by_tab(&line));
    let further = info.contains("tab").then(of_tab).flatten().unwrap_or(0);
    let what = info.lines().next().unwrap_or_default().chars().take(200).collect();
    YamlError { line: line + further, what }
}

/// A document, as far as it has been read.
struct YamlBuilder {
    file: Arc<str>,
    open: Vec<OpenCollection>,
    anchors: HashMap<usize, ConfigNode>,
    /// Values that exist a second time, for an anchor or an alias.
    copies: usize,
    document: Option<ConfigNode>,
}

/// A list or mapping whose end has not come.
struct OpenCollection {
    node: ConfigNode,
    anchor: usize,
    /// In a mapping: the key that waits for its value.
    key: Option<(String, usize)>,
}

impl YamlBuilder {
    fn handle_event(&mut self, event: Event<'_>, line: usize) -> Result<(), &'static str> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_text = style != ScalarStyle::Plain || tag.is_some_and(|tag| tag.suffix == "str");
                let data =
                    if is_text { ConfigValue::Text(text.into_owned()) } else { parse_plain_scalar(&text) };
                self.insert_node(ConfigNode { file: self.file.clone(), line, data }, anchor)
            }
            Event::SequenceStart(anchor, _) => {
                self.begin_collection(ConfigValue::List(Vec::new()), anchor, line)
            }
            Event::MappingStart(anchor, _) => {
                self.begin_collection(ConfigValue::Map(Vec::new()), anchor, line)
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(open) => self.insert_node(open.node, open.anchor),
                None => Ok(()),
            },
            Event::Alias(anchor) => {
                let node = self.anchors.get(&anchor).ok_or("an alias of something that it stands in")?;
                self.copies += node.size();
                self.check_copies()?;
                let node = ConfigNode { line, ..node.clone() };
                self.insert_node(node, 0)
            }
            _ => Ok(()),
        }
    }

    fn begin_collection(
        &mut self,
        data: ConfigValue,
        anchor: usize,
        line: usize,
    ) -> Result<(), &'static str> {
        if self.open.len() >= limits::MAX_YAML_DEPTH {
            return Err("nested too deeply");
        }
        self.open.push(OpenCollection {
            node: ConfigNode { file: self.file.clone(), line, data },
            anchor,
            key: None,
        });
        Ok(())
    }

    /// Puts a value that is complete where it belongs.
    fn insert_node(&mut self, node: ConfigNode, anchor: usize) -> Result<(), &'static str> {
        if anchor > 0 {
            self.copies += node.size();
            self.check_copies()?;
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.document = Some(node);
            return Ok(());
        };
        match &mut open.node.data {
            ConfigValue::List(items) => items.push(node),
            ConfigValue::Map(entries) => match open.key.take() {
                None => {
                    let key = key_text(&node).ok_or("a key that is a list or a mapping")?;
                    open.key = Some((key, node.line));
                }
                Some((key, _)) if key == "<<" => apply_merge_key(entries, node),
                // The line of the key: its value may begin lines below.
                Some((key, line)) => entries.push((key, ConfigNode { line, ..node })),
            },
            _ => {}
        }
        Ok(())
    }

    fn check_copies(&self) -> Result<(), &'static str> {
        if self.copies > limits::MAX_YAML_COPIES { Err("too many aliases") } else { Ok(()) }
    }
}

/// `<<: *defaults`: what the mapping does not have itself.
fn apply_merge_key(entries: &mut Vec<(String, ConfigNode)>, node: ConfigNode) {
    match node.data {
        ConfigValue::Map(others) => {
            // In front, because a later entry of the same name wins.
            entries.splice(0..0, others);
        }
        ConfigValue::List(items) => items.into_iter().for_each(|item| apply_merge_key(entries, item)),
        _ => {}
    }
}

fn key_text(node: &ConfigNode) -> Option<String> {
    match &node.data {
        ConfigValue::Null => Some(String::new()),
        ConfigValue::Flag(flag) => Some(flag.to_string()),
        ConfigValue::Number(number) => Some(number.to_string()),
        ConfigValue::Text(text) => Some(text.clone()),
        ConfigValue::List(_) | ConfigValue::Map(_) => None,
    }
}

/// A scalar without quotes, as `PyYAML` takes it: it still has `yes` and `off`.
fn parse_plain_scalar(text: &str) -> ConfigValue {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return ConfigValue::Null,
        _ if text.len() > 5 => {}
        _ => match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => return ConfigValue::Flag(true),
            "false" | "no" | "off" => return ConfigValue::Flag(false),
            _ => {}
        },
    }
    let digits = text.replace('_', "");
    let whole = match digits.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => digits.parse::<i64>().ok(),
    };
    if let Some(whole) = whole {
        return ConfigValue::Number(whole.into());
    }
    let is_number =
        digits.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) && digits.contains('.');
    let number = digits.parse::<f64>().ok().filter(|_| is_number).and_then(Number::from_f64);
    number.map_or_else(|| ConfigValue::Text(text.to_owned()), ConfigValue::Number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn parsed(text: &str) -> Value {
        parse("x.yaml", text).unwrap().to_json()
    }

    #[test]
    fn plain_scalars_match_pyyaml() {
        assert_eq!(
            parsed(
                "{a: yes, b: 'yes', c: 1_000, d: 0.5, e: 1.2.0, f: ~, g: 0x1F, h: -3, i: .inf, j: e5, k: No}"
            ),
            json!({"a": true, "b": "yes", "c": 1000, "d": 0.5, "e": "1.2.0", "f": null, "g": 31, "h": -3,
                "i": ".inf", "j": "e5", "k": false})
        );
    }

    #[test]
    fn aliases_and_merge_keys_are_resolved() {
        assert_eq!(
            parsed("base: &b {x: 1, y: 2}\nuse: {<<: *b, y: 3}\nlist: [*b]"),
            json!({"base": {"x": 1, "y": 2}, "use": {"x": 1, "y": 3}, "list": [{"x": 1, "y": 2}]})
        );
        assert!(parse("x", "a: &a [*a]").is_err(), "a value inside of itself");
    }

    /// Where an editor shows the tab, and not where the text before it began.
    #[test]
    fn tab_error_names_its_line() {
        let check = |text: &str, line: usize| {
            let broken = parse("x.yaml", text).unwrap_err();
            assert_eq!(broken.line, line, "{text:?}: {}", broken.what);
        };
        check("personas:\n  - name: guest\n\tdescription: Somebody\ninputs_file: x\n", 3);
        check("personas:\r\n  - name: guest\r\n\tdescription: Somebody\r\n", 3);
        check("\u{feff}a:\n  - b\n\t- c\n", 3);
        check("a:\n\tb: 1\n", 2);
        check("a: 1\n\tb: 1\n", 2);
        check("a:\n  b: 1\n  \tc: 1\n", 3);
        check("# c\n\na:\n  b: 1\n\n\tc: 1\n", 6);
        check("text: |\n  x\n  \tindented\na:\n\tb: 1\n", 5);
    }

    proptest! {
        #[test]
        fn arbitrary_text_does_not_panic(text in "([ a-z:&*\\-\\[\\]{},'\"#|>?!%\n\t]|<<|---){0,60}") {
            let _ = parse("x", &text);
        }
    }
}
