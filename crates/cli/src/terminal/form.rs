//! A form of `elicitation/create`, read once: what is asked, and what may be answered.

use serde_json::Value;

use crate::styling::escape_controls;

#[derive(Debug, PartialEq)]
pub(super) struct PromptForm {
    /// What to show above the questions. It may be long, and contain diffs.
    pub(super) message: String,
    pub(super) fields: Vec<PromptField>,
}

#[derive(Debug, PartialEq)]
pub(super) struct PromptField {
    pub(super) name: String,
    /// As it came.
    pub(super) title: String,
    /// The question, on one line.
    pub(super) label: String,
    pub(super) help: Option<String>,
    pub(super) kind: PromptFieldKind,
    pub(super) required: bool,
    pub(super) default: Option<Value>,
}

#[derive(Debug, PartialEq)]
pub(super) enum PromptFieldKind {
    Text { min: Option<u64>, max: Option<u64> },
    Date,
    Number { min: Option<f64>, max: Option<f64>, is_integer: bool },
    Confirm,
    Choice(Vec<PromptOption>),
    Choices { options: Vec<PromptOption>, min: Option<u64>, max: Option<u64> },
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct PromptOption {
    pub(super) value: String,
    pub(super) title: String,
}

impl PromptForm {
    pub(super) fn from_params(params: &Value) -> Self {
        let schema = &params["requestedSchema"];
        let message = params["message"].as_str().unwrap_or_default().trim_end();
        let required: Vec<&Value> = schema["required"].as_array().into_iter().flatten().collect();
        let properties = schema["properties"].as_object();
        let is_single = properties.is_some_and(|fields| fields.len() == 1);
        let mut above = message.to_owned();
        let fields = properties.into_iter().flatten().map(|(name, schema)| {
            let title = schema["title"].as_str().unwrap_or(name).trim();
            let mut label = title.to_owned();
            if is_single {
                (above, label) = split_question(message, title, title == name);
            }
            PromptField {
                name: name.clone(),
                title: title.to_owned(),
                label: escape_controls(&label),
                help: schema["description"].as_str().map(escape_controls),
                kind: PromptFieldKind::from_schema(schema),
                required: required.iter().any(|required| *required == name),
                default: schema.get("default").filter(|default| !default.is_null()).cloned(),
            }
        });
        let fields = fields.collect();
        Self { message: above, fields }
    }
}

/// What to show above a form's only question, and the question. Mostly the message asks it, in its first line or its last.
fn split_question(message: &str, title: &str, is_bare: bool) -> (String, String) {
    let lines: Vec<&str> = message.lines().collect();
    let last = lines.len().saturating_sub(1);
    let at = match lines.last() {
        Some(line) if *line == title => Some(last),
        _ if is_bare || message == title => {
            let is_prose = |line: &&str| !line.trim().is_empty() && !line.starts_with("--- ");
            let asks = |line: &&str| is_prose(line) && line.trim_end().ends_with('?');
            lines.iter().position(asks).or_else(|| lines.iter().position(is_prose))
        }
        _ => None,
    };
    let Some(at) = at else { return (message.to_owned(), title.lines().next().unwrap_or(title).to_owned()) };
    let above: Vec<&str> = lines[..at].iter().chain(&lines[at + 1..]).copied().collect();
    (above.join("\n").trim_matches('\n').to_owned(), lines[at].to_owned())
}

impl PromptFieldKind {
    /// What is not known is a text: the server says what is wrong with it.
    fn from_schema(schema: &Value) -> Self {
        let options = parse_options(schema);
        match (schema["type"].as_str(), schema["format"].as_str()) {
            (Some("boolean"), _) => Self::Confirm,
            (Some("array"), _) => Self::Choices {
                options: self::parse_options(&schema["items"]),
                min: schema["minItems"].as_u64(),
                max: schema["maxItems"].as_u64(),
            },
            (Some(number @ ("number" | "integer")), _) => Self::Number {
                min: schema["minimum"].as_f64(),
                max: schema["maximum"].as_f64(),
                is_integer: number == "integer",
            },
            _ if !options.is_empty() => Self::Choice(options),
            (_, Some("date")) => Self::Date,
            _ => Self::Text { min: schema["minLength"].as_u64(), max: schema["maxLength"].as_u64() },
        }
    }
}

/// The options, with their titles or, in the older way of writing them, with a list of names beside them.
fn parse_options(schema: &Value) -> Vec<PromptOption> {
    let titled = [&schema["oneOf"], &schema["anyOf"]].into_iter().filter_map(Value::as_array).flatten();
    let titled = titled.map(|option| (&option["const"], &option["title"]));
    let bare = schema["enum"].as_array().into_iter().flatten().enumerate();
    let bare = bare.map(|(n, value)| (value, &schema["enumNames"][n]));
    let choice = |(value, title): (&Value, &Value)| {
        let value = value.as_str()?.to_owned();
        Some(PromptOption { title: escape_controls(title.as_str().unwrap_or(&value)), value })
    };
    titled.chain(bare).filter_map(choice).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: Value, expected: PromptFieldKind) {
        assert_eq!(PromptFieldKind::from_schema(&schema), expected, "{schema}");
    }

    fn two_options() -> Vec<PromptOption> {
        [("a", "Option A"), ("b", "b")]
            .map(|(value, title)| PromptOption { value: value.to_owned(), title: title.to_owned() })
            .to_vec()
    }

    #[test]
    fn schemas_become_field_kinds() {
        let one_of = json!([{ "const": "a", "title": "Option A" }, { "const": "b" }]);
        check(json!({ "type": "string", "oneOf": one_of }), PromptFieldKind::Choice(two_options()));
        check(
            json!({ "type": "string", "enum": ["a", "b"], "enumNames": ["Option A"] }),
            PromptFieldKind::Choice(two_options()),
        );
        check(
            json!({ "type": "array", "items": { "anyOf": one_of }, "minItems": 1 }),
            PromptFieldKind::Choices { options: two_options(), min: Some(1), max: None },
        );
        check(json!({ "type": "boolean" }), PromptFieldKind::Confirm);
        check(
            json!({ "type": "integer", "minimum": 1, "maximum": 9 }),
            PromptFieldKind::Number { min: Some(1.0), max: Some(9.0), is_integer: true },
        );
        check(
            json!({ "type": "number" }),
            PromptFieldKind::Number { min: None, max: None, is_integer: false },
        );
        check(json!({ "type": "string", "format": "date" }), PromptFieldKind::Date);
        check(json!({ "type": "string", "minLength": 2 }), PromptFieldKind::Text { min: Some(2), max: None });
        check(json!({ "type": "hologram" }), PromptFieldKind::Text { min: None, max: None });
    }

    #[test]
    fn question_is_taken_from_the_message() {
        let split = |message: &str, title: &str| {
            let properties = json!({ "x": { "type": "string", "title": title } });
            let form = PromptForm::from_params(
                &json!({ "message": message, "requestedSchema": { "properties": properties } }),
            );
            (form.message, form.fields[0].label.clone())
        };
        for (message, title, above, label) in [
            ("Where to?", "Where to?", "", "Where to?"),
            ("That is no place.\nWhere to?", "Where to?", "That is no place.", "Where to?"),
            ("Where to?", "x", "", "Where to?"),
            ("That is no place.\nWhere to?", "x", "That is no place.", "Where to?"),
            ("Apply this?\n\n--- a/f\n+++ b/f", "x", "--- a/f\n+++ b/f", "Apply this?"),
            ("--- a/f\n+++ b/f", "Sure?", "--- a/f\n+++ b/f", "Sure?"),
            ("About you", "Name\u{1b}", "About you", "Name\\u{1b}"),
        ] {
            assert_eq!(split(message, title), (above.to_owned(), label.to_owned()), "{message:?} {title:?}");
        }
    }
}
