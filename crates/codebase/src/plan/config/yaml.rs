//! Settings in block-style YAML files. The parser locates the value and only that range is rewritten. The
//! result is parsed again, and rejected if anything but the intended value differs.

use saphyr::{LoadableYamlNode, MarkedYaml, Scalar, YamlData};
use serde_json::{Map, Value};

use super::format_key;
use crate::manifest::document;
use crate::plan::document::Setting;

pub(super) fn set(text: &str, setting: &Setting) -> Result<String, String> {
    let empty = text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
    let old = if empty { Value::Object(Map::new()) } else { parse_to_json(text)? };
    let mut wanted = old.clone();
    set_in_value(&mut wanted, setting)?;
    if wanted == old {
        return Ok(text.to_owned());
    }
    let new = if empty {
        append_lines(text, "", &setting.key, &setting_value(setting))
    } else {
        set_in_text(text, setting)?
    };
    match parse_to_json(&new) {
        Ok(found) if found == wanted => Ok(new),
        _ => Err(format!("{} cannot be set in place", format_key(&setting.key))),
    }
}

fn parse_to_json(text: &str) -> Result<Value, String> {
    // Applies the same limits against alias bombs as for manifests.
    document::parse_yaml(text).map_err(|broken| format!("line {}: {}", broken.line, broken.reason))?;
    let documents = MarkedYaml::load_from_str(text).map_err(|error| error.info().to_owned())?;
    match documents.as_slice() {
        [one] => to_json(one),
        _ => Err("it contains several YAML documents".to_owned()),
    }
}

/// The value to write; with `append`, a new list with that value.
fn setting_value(setting: &Setting) -> Value {
    if setting.append { Value::Array(vec![setting.value.clone()]) } else { setting.value.clone() }
}

fn set_in_value(document: &mut Value, setting: &Setting) -> Result<(), String> {
    let (last, way) = setting.key.split_last().ok_or("a setting has no key")?;
    let mut at = document;
    for name in way {
        if at.is_null() {
            *at = Value::Object(Map::new());
        }
        let object = at.as_object_mut().ok_or_else(|| format!("{} is not a mapping", format_key(way)))?;
        at = object.entry(name.clone()).or_insert(Value::Null);
    }
    if at.is_null() {
        *at = Value::Object(Map::new());
    }
    let object = at.as_object_mut().ok_or_else(|| format!("{} is not a mapping", format_key(way)))?;
    if setting.append {
        let entry = object.entry(last.clone()).or_insert_with(|| Value::Array(Vec::new()));
        let items =
            entry.as_array_mut().ok_or_else(|| format!("{} is not a list", format_key(&setting.key)))?;
        if !items.contains(&setting.value) {
            items.push(setting.value.clone());
        }
    } else {
        object.insert(last.clone(), setting.value.clone());
    }
    Ok(())
}

fn to_json(node: &MarkedYaml<'_>) -> Result<Value, String> {
    Ok(match &node.data {
        YamlData::Value(scalar) => match scalar {
            Scalar::Null => Value::Null,
            Scalar::Boolean(truth) => (*truth).into(),
            Scalar::Integer(number) => (*number).into(),
            Scalar::FloatingPoint(number) => number.into_inner().into(),
            Scalar::String(text) => text.to_string().into(),
        },
        YamlData::Representation(text, ..) => text.to_string().into(),
        YamlData::Sequence(items) => Value::Array(items.iter().map(to_json).collect::<Result<_, _>>()?),
        YamlData::Mapping(entries) => {
            let mut map = Map::new();
            for (key, inner) in entries {
                map.insert(key_name(key).ok_or("a mapping key is not a scalar")?, to_json(inner)?);
            }
            Value::Object(map)
        }
        YamlData::Tagged(_, inner) => to_json(inner)?,
        YamlData::Alias(_) | YamlData::BadValue => return Err("it uses aliases".to_owned()),
    })
}

fn key_name(key: &MarkedYaml<'_>) -> Option<String> {
    match to_json(key).ok()? {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// Converts the parser's character positions to byte offsets.
struct YamlOffsets<'t> {
    text: &'t str,
    offsets: Vec<usize>,
}

impl<'t> YamlOffsets<'t> {
    fn new(text: &'t str) -> Self {
        let offsets = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        Self { text, offsets }
    }

    fn start(&self, node: &MarkedYaml<'_>) -> usize {
        self.offsets.get(node.span.start.index()).copied().unwrap_or(self.text.len())
    }

    fn end(&self, node: &MarkedYaml<'_>) -> usize {
        self.offsets.get(node.span.end.index()).copied().unwrap_or(self.text.len())
    }

    /// The end of the last non-empty item in a node.
    fn content_end(&self, node: &MarkedYaml<'_>) -> usize {
        match &node.data {
            YamlData::Mapping(entries) if !self.is_flow(node) => entries
                .iter()
                .map(|(key, value)| self.content_end(value).max(self.end(key)))
                .max()
                .unwrap_or(0),
            YamlData::Sequence(items) if !self.is_flow(node) => {
                items.iter().map(|item| self.content_end(item)).max().unwrap_or(0)
            }
            YamlData::Value(Scalar::Null) if self.start(node) == self.end(node) => 0,
            YamlData::Value(_) | YamlData::Representation(..) => self.scalar_end(node),
            _ => self.text[..self.end(node)].trim_end().len(),
        }
    }

    /// The end of a scalar. The parser's span of a quoted scalar extends up to the comment that follows it.
    fn scalar_end(&self, node: &MarkedYaml<'_>) -> usize {
        let (start, end) = (self.start(node), self.end(node));
        let written = &self.text[start..end];
        let quoted = |quote: char| {
            let mut inner = written.char_indices().skip(1).peekable();
            while let Some((at, c)) = inner.next() {
                let doubled =
                    quote == '\'' && c == quote && inner.peek().is_some_and(|(_, next)| *next == quote);
                if doubled || quote == '"' && c == '\\' {
                    inner.next();
                } else if c == quote {
                    return Some(start + at + 1);
                }
            }
            None
        };
        let closed = match written.chars().next() {
            Some(quote @ ('"' | '\'')) => quoted(quote),
            _ => None,
        };
        closed.unwrap_or(start + written.trim_end().len())
    }

    fn is_flow(&self, node: &MarkedYaml<'_>) -> bool {
        self.text[self.start(node)..].starts_with(['{', '['])
    }

    /// The indentation of the node at `at`; `None` if it is not the first on its line.
    fn indent(&self, at: usize) -> Option<&'t str> {
        let start = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let before = &self.text[start..at];
        before.bytes().all(|byte| byte == b' ').then_some(before)
    }
}

fn set_in_text(text: &str, setting: &Setting) -> Result<String, String> {
    let documents = MarkedYaml::load_from_str(text).map_err(|error| error.info().to_owned())?;
    let root = documents.first().ok_or("it is empty")?;
    let places = YamlOffsets::new(text);
    let mut node = root;
    let mut rest = setting.key.as_slice();
    let cannot = || format!("{} cannot be set in place", format_key(&setting.key));
    loop {
        let YamlData::Mapping(entries) = &node.data else { return Err(cannot()) };
        let (first, others) = rest.split_first().ok_or_else(cannot)?;
        let Some((key, inner)) = entries.iter().find(|(key, _)| key_name(key).as_ref() == Some(first)) else {
            if places.is_flow(node) {
                return Err(cannot());
            }
            let (first_key, _) = entries.iter().next().ok_or_else(cannot)?;
            let indent = places.indent(places.start(first_key)).ok_or_else(cannot)?;
            let end = places.content_end(node);
            return Ok(insert_after_line(text, end, &render_lines(indent, rest, &setting_value(setting))));
        };
        let is_nothing =
            matches!(inner.data, YamlData::Value(Scalar::Null)) && places.start(inner) == places.end(inner);
        if is_nothing {
            let indent = places.indent(places.start(key)).ok_or_else(cannot)?;
            return Ok(fill_empty_key(text, places.end(key), indent, others, &setting_value(setting)));
        }
        if others.is_empty() {
            return replace_value(&places, key, inner, setting).ok_or_else(cannot);
        }
        (node, rest) = (inner, others);
    }
}

/// Replaces an existing value, or appends to a list.
fn replace_value(
    places: &YamlOffsets<'_>,
    key: &MarkedYaml<'_>,
    inner: &MarkedYaml<'_>,
    setting: &Setting,
) -> Option<String> {
    let (text, start, end) = (places.text, places.start(inner), places.content_end(inner));
    if setting.append {
        let YamlData::Sequence(items) = &inner.data else { return None };
        let first = items.first().filter(|_| !places.is_flow(inner))?;
        let line = text[..places.start(first)].rfind('\n').map_or(0, |end| end + 1);
        let dash = text[line..].find('-')?;
        return Some(insert_after_line(
            text,
            end,
            &format!("{}- {}\n", &text[line..line + dash], render_scalar(&setting.value, "")),
        ));
    }
    let is_scalar = matches!(inner.data, YamlData::Value(_) | YamlData::Representation(..));
    let old = text.get(start..end)?;
    if is_scalar && !old.contains('\n') && !old.starts_with(['|', '>']) && !is_nested(&setting.value) {
        return Some(format!("{}{}{}", &text[..start], render_scalar(&setting.value, old), &text[end..]));
    }
    // Replace the whole block, key line included.
    let indent = places.indent(places.start(key))?;
    let from = text[..places.start(key)].rfind('\n').map_or(0, |end| end + 1);
    let to = text[end..].find('\n').map_or(text.len(), |at| end + at + 1);
    let own = std::slice::from_ref(setting.key.last()?);
    Some(format!("{}{}{}", &text[..from], render_lines(indent, own, &setting.value), &text[to..]))
}

fn is_nested(value: &Value) -> bool {
    match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(entries) => !entries.is_empty(),
        _ => false,
    }
}

/// Inserts `lines` after the line that contains `at`.
fn insert_after_line(text: &str, at: usize, lines: &str) -> String {
    match text[at..].find('\n') {
        Some(end) => format!("{}{lines}{}", &text[..=at + end], &text[at + end + 1..]),
        None => format!("{text}\n{}", lines.trim_end_matches('\n')),
    }
}

/// Adds a value to a key without one (`key:`).
fn fill_empty_key(text: &str, key_end: usize, indent: &str, rest: &[String], value: &Value) -> String {
    if rest.is_empty() && !is_nested(value) {
        let colon = text[key_end..].find(':').map_or(key_end, |at| key_end + at + 1);
        return format!("{} {}{}", &text[..colon], render_scalar(value, ""), &text[colon..]);
    }
    let inner = format!("{indent}  ");
    let new = if rest.is_empty() { render_block(&inner, value) } else { render_lines(&inner, rest, value) };
    insert_after_line(text, key_end, &new)
}

fn append_lines(text: &str, indent: &str, key: &[String], value: &Value) -> String {
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{gap}{}", render_lines(indent, key, value))
}

/// Renders nested keys: `a:` and, indented below it, `b: value`.
fn render_lines(indent: &str, key: &[String], value: &Value) -> String {
    let Some((first, rest)) = key.split_first() else { return String::new() };
    let first = render_scalar(&Value::String(first.clone()), "");
    if !rest.is_empty() {
        return format!("{indent}{first}:\n{}", render_lines(&format!("{indent}  "), rest, value));
    }
    if is_nested(value) {
        return format!("{indent}{first}:\n{}", render_block(&format!("{indent}  "), value));
    }
    format!("{indent}{first}: {}\n", render_scalar(value, ""))
}

/// Renders a list or mapping in block style.
fn render_block(indent: &str, value: &Value) -> String {
    match value {
        Value::Array(items) if is_nested(value) => {
            let inner = format!("{indent}  ");
            // The first line of the item follows the dash.
            let item =
                |item: &Value| [indent, "- ", render_block(&inner, item).trim_start_matches(' ')].concat();
            items.iter().map(item).collect()
        }
        Value::Object(entries) if is_nested(value) => entries
            .iter()
            .map(|(key, value)| render_lines(indent, std::slice::from_ref(key), value))
            .collect(),
        other => format!("{indent}{}\n", render_scalar(other, "")),
    }
}

/// Renders a scalar in the quoting style of the one it replaces.
fn render_scalar(value: &Value, old: &str) -> String {
    match value {
        Value::String(text) => match old.chars().next() {
            Some('\'') if !text.contains(['\n', '\'']) => format!("'{text}'"),
            Some('"') => value.to_string(),
            _ if is_plain_scalar(text) => text.clone(),
            _ => value.to_string(),
        },
        other => other.to_string(),
    }
}

/// Whether a string can be written unquoted and is still parsed as a string.
fn is_plain_scalar(text: &str) -> bool {
    let safe = |c: char| {
        c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | ' ' | '(' | ')' | '+')
    };
    text.chars().next().is_some_and(|first| first.is_ascii_alphabetic() || matches!(first, '_' | '.' | '/'))
        && text.chars().all(safe)
        && !text.contains(": ")
        && !text.ends_with([':', ' '])
        && MarkedYaml::load_from_str(text).is_ok_and(|parsed| {
            parsed.first().and_then(|one| to_json(one).ok()) == Some(Value::String(text.to_owned()))
        })
        && !matches!(text.to_lowercase().as_str(), "yes" | "no" | "on" | "off" | "y" | "n")
}
