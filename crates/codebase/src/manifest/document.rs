//! A common tree for TOML, JSON with comments, YAML and XML, in which every node has its line.

use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, ast, parse_to_ast};
use quick_xml::events::{BytesStart, Event};
use saphyr::{LoadableYamlNode, MarkedYaml, Scalar, YamlData};

use crate::source::SourceLineIndex;

/// A value and its first line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DocumentNode {
    pub(crate) line: u32,
    data: NodeValue,
}

#[derive(Debug, Clone, PartialEq)]
enum NodeValue {
    /// A string; numbers, booleans and null in their textual form.
    Text(String),
    List(Vec<DocumentNode>),
    /// Keys in text order. XML may repeat a key.
    Map(Vec<(String, DocumentNode)>),
}

static EMPTY_NODE: DocumentNode = DocumentNode { line: 0, data: NodeValue::List(Vec::new()) };

impl DocumentNode {
    fn from_text(line: u32, text: impl Into<String>) -> Self {
        Self { line, data: NodeValue::Text(text.into()) }
    }

    /// The value of a key; an empty node if it is missing.
    pub(crate) fn get(&self, key: &str) -> &DocumentNode {
        self.entries().find(|(name, _)| *name == key).map_or(&EMPTY_NODE, |(_, node)| node)
    }

    /// The value at a path of keys.
    pub(crate) fn get_path<const N: usize>(&self, keys: [&str; N]) -> &DocumentNode {
        keys.iter().fold(self, |node, key| node.get(key))
    }

    /// All values of a repeated key.
    pub(crate) fn get_all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a DocumentNode> {
        self.entries().filter(move |(name, _)| *name == key).map(|(_, node)| node)
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &DocumentNode)> {
        let entries = match &self.data {
            NodeValue::Map(entries) => entries.as_slice(),
            NodeValue::Text(_) | NodeValue::List(_) => &[],
        };
        entries.iter().map(|(key, node)| (key.as_str(), node))
    }

    pub(crate) fn items(&self) -> &[DocumentNode] {
        match &self.data {
            NodeValue::List(items) => items,
            NodeValue::Text(_) | NodeValue::Map(_) => &[],
        }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match &self.data {
            NodeValue::Text(text) => Some(text),
            NodeValue::List(_) | NodeValue::Map(_) => None,
        }
    }

    pub(crate) fn exists(&self) -> bool {
        self.line != 0
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DocumentSyntaxError {
    pub(crate) line: u32,
    pub(crate) reason: String,
}

fn syntax_error(line: u32, reason: impl ToString) -> DocumentSyntaxError {
    // Only the first line: the reason is shown in a list of warnings.
    let reason = reason.to_string();
    DocumentSyntaxError {
        line,
        reason: reason.lines().next().unwrap_or_default().chars().take(200).collect(),
    }
}

/// Accepts comments and trailing commas.
pub(crate) fn parse_json(text: &str) -> Result<DocumentNode, DocumentSyntaxError> {
    let lines = SourceLineIndex::new(text);
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default())
        .map_err(|error| syntax_error(lines.line_at(error.range().start), error.kind()))?;
    parsed
        .value
        .as_ref()
        .map(|value| from_json(value, &lines))
        .ok_or_else(|| syntax_error(1, "the file is empty"))
}

fn from_json(value: &ast::Value<'_>, lines: &SourceLineIndex) -> DocumentNode {
    let line = lines.line_at(value.range().start);
    let data = match value {
        ast::Value::StringLit(text) => NodeValue::Text(text.value.to_string()),
        ast::Value::NumberLit(number) => NodeValue::Text(number.value.to_owned()),
        ast::Value::BooleanLit(truth) => NodeValue::Text(truth.value.to_string()),
        ast::Value::NullKeyword(_) => NodeValue::Text(String::new()),
        ast::Value::Array(list) => {
            NodeValue::List(list.elements.iter().map(|item| from_json(item, lines)).collect())
        }
        ast::Value::Object(object) => {
            let pair = |property: &ast::ObjectProp<'_>| {
                (property.name.clone().into_string(), from_json(&property.value, lines))
            };
            NodeValue::Map(object.properties.iter().map(pair).collect())
        }
    };
    DocumentNode { line, data }
}

pub(crate) fn parse_toml(text: &str) -> Result<DocumentNode, DocumentSyntaxError> {
    let lines = SourceLineIndex::new(text);
    let parsed = toml_edit::Document::parse(text).map_err(|error| {
        syntax_error(lines.line_at(error.span().map_or(0, |span| span.start)), error.message())
    })?;
    Ok(DocumentNode { line: 1, data: from_table(parsed.as_table(), &lines) })
}

fn from_table(table: &dyn toml_edit::TableLike, lines: &SourceLineIndex) -> NodeValue {
    let entry = |(key, item): (&str, &toml_edit::Item)| {
        // The line of the key, since the value may begin further down.
        let at = table.get_key_value(key).and_then(|(key, _)| key.span()).or_else(|| item.span());
        (key.to_owned(), from_item(item, lines.line_at(at.map_or(0, |span| span.start)), lines))
    };
    NodeValue::Map(table.iter().map(entry).collect())
}

fn from_item(item: &toml_edit::Item, line: u32, lines: &SourceLineIndex) -> DocumentNode {
    let data = match item {
        toml_edit::Item::None => NodeValue::List(Vec::new()),
        toml_edit::Item::Value(value) => return from_value(value, line, lines),
        toml_edit::Item::Table(table) => from_table(table, lines),
        toml_edit::Item::ArrayOfTables(tables) => {
            let one = |table: &toml_edit::Table| DocumentNode {
                line: table.span().map_or(line, |span| lines.line_at(span.start)),
                data: from_table(table, lines),
            };
            NodeValue::List(tables.iter().map(one).collect())
        }
    };
    DocumentNode { line, data }
}

fn from_value(value: &toml_edit::Value, line: u32, lines: &SourceLineIndex) -> DocumentNode {
    let data = match value {
        toml_edit::Value::String(text) => NodeValue::Text(text.value().clone()),
        toml_edit::Value::Integer(number) => NodeValue::Text(number.value().to_string()),
        toml_edit::Value::Float(number) => NodeValue::Text(number.value().to_string()),
        toml_edit::Value::Boolean(truth) => NodeValue::Text(truth.value().to_string()),
        toml_edit::Value::Datetime(time) => NodeValue::Text(time.value().to_string()),
        toml_edit::Value::Array(list) => {
            let one = |value: &toml_edit::Value| {
                from_value(value, value.span().map_or(line, |span| lines.line_at(span.start)), lines)
            };
            NodeValue::List(list.iter().map(one).collect())
        }
        toml_edit::Value::InlineTable(table) => from_table(table, lines),
    };
    DocumentNode { line, data }
}

/// Parses the first document.
pub(crate) fn parse_yaml(text: &str) -> Result<DocumentNode, DocumentSyntaxError> {
    if let Some(reason) = yaml_complexity_problem(text) {
        return Err(syntax_error(1, reason));
    }
    let documents = MarkedYaml::load_from_str(text)
        .map_err(|error| syntax_error(u32::try_from(error.marker().line()).unwrap_or(0), error.info()))?;
    documents.first().map(from_yaml).ok_or_else(|| syntax_error(1, "the file is empty"))
}

/// Rejects constructs that no manifest needs and that make the parser copy or recurse excessively: many
/// anchors or aliases (each anchor keeps a copy of its value), complex keys, and lists nested in one line or
/// by indentation.
fn yaml_complexity_problem(text: &str) -> Option<&'static str> {
    const MAX_REFERENCES: usize = 20;
    const MAX_DEPTH: usize = 64;
    let words = text.split([' ', '[', ',', '\n', '\t', '{']);
    if words.filter(|word| word.starts_with(['*', '&'])).count() > MAX_REFERENCES {
        return Some("too many anchors and aliases");
    }
    for line in text.lines() {
        let inner = line.trim_start_matches([' ', '-']);
        if inner.starts_with("? ") || inner == "?" {
            return Some("complex mapping keys are not supported");
        }
        if line.len() - inner.len() > 2 * MAX_DEPTH
            || line.matches("- ").count() > MAX_DEPTH && inner.len() < line.len() / 2
        {
            return Some("nested too deeply");
        }
    }
    None
}

fn from_yaml(node: &MarkedYaml<'_>) -> DocumentNode {
    let line = u32::try_from(node.span.start.line()).unwrap_or(u32::MAX);
    let data = match &node.data {
        YamlData::Representation(text, ..) | YamlData::Value(Scalar::String(text)) => {
            NodeValue::Text(text.to_string())
        }
        YamlData::Value(Scalar::Integer(number)) => NodeValue::Text(number.to_string()),
        YamlData::Value(Scalar::FloatingPoint(number)) => NodeValue::Text(number.to_string()),
        YamlData::Value(Scalar::Boolean(truth)) => NodeValue::Text(truth.to_string()),
        YamlData::Sequence(items) => NodeValue::List(items.iter().map(from_yaml).collect()),
        YamlData::Mapping(entries) => {
            let entry = |(key, value): (&MarkedYaml<'_>, &MarkedYaml<'_>)| {
                let (key, mut value) = (from_yaml(key), from_yaml(value));
                value.line = key.line;
                (key.as_text().unwrap_or_default().to_owned(), value)
            };
            NodeValue::Map(entries.iter().map(entry).collect())
        }
        YamlData::Tagged(_, inner) => return from_yaml(inner),
        _ => NodeValue::Text(String::new()),
    };
    DocumentNode { line, data }
}

/// Elements become keys, attributes become keys with `@`, and an element with only text becomes that text.
pub(crate) fn parse_xml(text: &str) -> Result<DocumentNode, DocumentSyntaxError> {
    const MAX_DEPTH: usize = 64;
    let lines = SourceLineIndex::new(text);
    let mut reader = quick_xml::Reader::from_str(text);
    let mut open: Vec<XmlElement> = vec![XmlElement::default()];
    loop {
        let at = usize::try_from(reader.buffer_position()).unwrap_or(0);
        let event = reader
            .read_event()
            .map_err(|error| syntax_error(lines.line_at(at), xml_error_message(&error)))?;
        match event {
            Event::Start(start) if open.len() < MAX_DEPTH => {
                open.push(XmlElement::from_start_tag(&start, lines.line_at(at + 1)));
            }
            Event::Start(_) => return Err(syntax_error(lines.line_at(at), "nested too deeply")),
            Event::Empty(start) => {
                let element = XmlElement::from_start_tag(&start, lines.line_at(at + 1));
                close_element(&mut open, element);
            }
            Event::Text(words) => {
                if let Some(element) = open.last_mut() {
                    element.text.push_str(words.trim());
                }
            }
            Event::End(_) => {
                if let Some(element) = open.pop() {
                    close_element(&mut open, element);
                }
            }
            Event::Eof => break,
            _ => {}
        }
    }
    let root = open.into_iter().next().unwrap_or_default();
    Ok(DocumentNode { line: 1, data: NodeValue::Map(root.children) })
}

/// A message without the parts of the file that the parser's own message quotes.
fn xml_error_message(error: &quick_xml::Error) -> &'static str {
    match error {
        quick_xml::Error::Syntax(_) => "a tag, comment or declaration is not closed",
        quick_xml::Error::IllFormed(_) => "mismatched closing tags",
        _ => "it is not well-formed XML",
    }
}

#[derive(Default)]
struct XmlElement {
    name: String,
    line: u32,
    text: String,
    children: Vec<(String, DocumentNode)>,
}

impl XmlElement {
    fn from_start_tag(start: &BytesStart<'_>, line: u32) -> Self {
        let attribute = |attribute: quick_xml::events::attributes::Attribute<'_>| {
            (
                format!("@{}", attribute.key.local_name().as_ref()),
                DocumentNode::from_text(line, attribute.value),
            )
        };
        let children = start.attributes().flatten().map(attribute).collect();
        Self { name: start.local_name().as_ref().to_owned(), line, text: String::new(), children }
    }
}

fn close_element(open: &mut [XmlElement], element: XmlElement) {
    let Some(parent) = open.last_mut() else { return };
    let data = if element.children.is_empty() {
        NodeValue::Text(element.text)
    } else {
        NodeValue::Map(element.children)
    };
    parent.children.push((element.name, DocumentNode { line: element.line, data }));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every string in a document, with its key path and line.
    fn flatten(node: &DocumentNode, way: &str, found: &mut Vec<String>) {
        found.extend(node.as_text().map(|text| format!("{way}={text}@{}", node.line)));
        node.entries().for_each(|(key, value)| flatten(value, &format!("{way}.{key}"), found));
        node.items().iter().for_each(|item| flatten(item, &format!("{way}[]"), found));
    }

    #[track_caller]
    fn check(parsed: Result<DocumentNode, DocumentSyntaxError>, expected: &[&str]) {
        let mut found = Vec::new();
        flatten(&parsed.unwrap(), "", &mut found);
        assert_eq!(found, expected);
    }

    #[test]
    fn all_formats_parse_to_one_tree() {
        check(parse_json("{\n// c\n\"a\": {\"b\": [1,\n true,]}}"), &[".a.b[]=1@3", ".a.b[]=true@4"]);
        check(
            parse_toml("[a]\nb = [\n 1,\n \"x\"]\n[[c]]\nd.e = 1\n"),
            &[".a.b[]=1@3", ".a.b[]=x@4", ".c[].d.e=1@6"],
        );
        check(
            parse_yaml("a:\n  b: [1, x]\n  c: &z\n    d: 1.5\n  e: *z\n"),
            &[".a.b[]=1@2", ".a.b[]=x@2", ".a.c.d=1.5@4", ".a.e.d=1.5@4"],
        );
        check(
            parse_xml("<?xml version='1.0'?>\n<p x='1'>\n <a>t</a>\n <a/>\n</p>"),
            &[".p.@x=1@2", ".p.a=t@3", ".p.a=@4"],
        );
    }

    #[test]
    fn syntax_errors_report_their_line() {
        let line = |parsed: Result<DocumentNode, DocumentSyntaxError>| parsed.unwrap_err().line;
        assert_eq!(line(parse_json("{\n\"a\": }")), 2);
        assert_eq!(line(parse_toml("a = 1\nb = =\n")), 2);
        assert_eq!(line(parse_yaml("a: 1\nb: [\n")), 3);
        assert_eq!(line(parse_xml("<a>\n<b>\n</a>")), 3);
        assert_eq!(line(parse_json("")), 1);
        for text in ["<a></b EVIL>", "<a EVIL", "<a><!-- EVIL", "<a></a></EVIL>", "<!EVIL"] {
            let reason = parse_xml(text).unwrap_err().reason;
            assert!(!reason.is_empty() && !reason.contains("EVIL"), "{text}: {reason}");
        }
        let bomb: Vec<String> =
            (1..9).map(|n| format!("a{n}: [{}]\n", format!("*a{},", n - 1).repeat(9))).collect();
        for text in [
            format!("a0: &a0 x\n{}", bomb.concat()),
            format!("a: {}", "&a [".repeat(200)),
            "- ".repeat(100_000),
            "? ".repeat(100_000),
            format!("{}a", " ".repeat(500)),
        ] {
            assert!(parse_yaml(&text).is_err(), "{text:.20}");
        }
        assert!(parse_json(&"[".repeat(100_000)).is_err() && parse_yaml(&"[".repeat(100_000)).is_err());
        assert!(
            parse_toml(&format!("a={}", "[".repeat(100_000))).is_err()
                && parse_xml(&"<a>".repeat(100_000)).is_err()
        );
    }
}
