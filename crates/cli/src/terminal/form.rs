//! A form of `elicitation/create`, read once: what is asked, and what may be answered.

use serde_json::Value;

use crate::paint::safe;

#[derive(Debug, PartialEq)]
pub(super) struct Form {
    /// What to say above the questions. It may be long, and hold diffs.
    pub(super) message: String,
    pub(super) fields: Vec<Field>,
}

#[derive(Debug, PartialEq)]
pub(super) struct Field {
    pub(super) name: String,
    /// As it came.
    pub(super) title: String,
    /// The title as it is shown; left out where the message has just said it.
    pub(super) label: Option<String>,
    pub(super) help: Option<String>,
    pub(super) kind: Kind,
    pub(super) required: bool,
    pub(super) default: Option<Value>,
}

#[derive(Debug, PartialEq)]
pub(super) enum Kind {
    Text { min: Option<u64>, max: Option<u64> },
    Date,
    Number { min: Option<f64>, max: Option<f64>, whole: bool },
    Confirm,
    Choice(Vec<Choice>),
    Choices { options: Vec<Choice>, min: Option<u64>, max: Option<u64> },
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    pub(super) value: String,
    pub(super) title: String,
}

impl Form {
    pub(super) fn read(params: &Value) -> Self {
        let schema = &params["requestedSchema"];
        let message = params["message"].as_str().unwrap_or_default().trim_end();
        let required: Vec<&Value> = schema["required"].as_array().into_iter().flatten().collect();
        let properties = schema["properties"].as_object();
        let alone = properties.is_some_and(|fields| fields.len() == 1);
        let fields = properties.into_iter().flatten().map(|(name, schema)| {
            let title = schema["title"].as_str().unwrap_or(name).trim();
            let is_said = alone && (title == name || message.ends_with(title));
            Field {
                name: name.clone(),
                title: title.to_owned(),
                label: (!is_said).then(|| safe(title)),
                help: schema["description"].as_str().map(safe),
                kind: Kind::read(schema),
                required: required.iter().any(|required| *required == name),
                default: schema.get("default").filter(|default| !default.is_null()).cloned(),
            }
        });
        Self { message: message.to_owned(), fields: fields.collect() }
    }
}

impl Kind {
    /// What is not known is a text: the server says what is wrong with it.
    fn read(schema: &Value) -> Self {
        let options = options(schema);
        match (schema["type"].as_str(), schema["format"].as_str()) {
            (Some("boolean"), _) => Self::Confirm,
            (Some("array"), _) => Self::Choices {
                options: self::options(&schema["items"]),
                min: schema["minItems"].as_u64(),
                max: schema["maxItems"].as_u64(),
            },
            (Some(number @ ("number" | "integer")), _) => Self::Number {
                min: schema["minimum"].as_f64(),
                max: schema["maximum"].as_f64(),
                whole: number == "integer",
            },
            _ if !options.is_empty() => Self::Choice(options),
            (_, Some("date")) => Self::Date,
            _ => Self::Text { min: schema["minLength"].as_u64(), max: schema["maxLength"].as_u64() },
        }
    }
}

/// The options, with their titles or, in the older way of writing them, with a list of names beside them.
fn options(schema: &Value) -> Vec<Choice> {
    let titled = [&schema["oneOf"], &schema["anyOf"]].into_iter().filter_map(Value::as_array).flatten();
    let titled = titled.map(|option| (&option["const"], &option["title"]));
    let bare = schema["enum"].as_array().into_iter().flatten().enumerate();
    let bare = bare.map(|(n, value)| (value, &schema["enumNames"][n]));
    let choice = |(value, title): (&Value, &Value)| {
        let value = value.as_str()?.to_owned();
        Some(Choice { title: safe(title.as_str().unwrap_or(&value)), value })
    };
    titled.chain(bare).filter_map(choice).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: Value, expected: Kind) {
        assert_eq!(Kind::read(&schema), expected, "{schema}");
    }

    fn two() -> Vec<Choice> {
        [("a", "Option A"), ("b", "b")]
            .map(|(value, title)| Choice { value: value.to_owned(), title: title.to_owned() })
            .to_vec()
    }

    #[test]
    fn schemas_become_kinds() {
        let one_of = json!([{ "const": "a", "title": "Option A" }, { "const": "b" }]);
        check(json!({ "type": "string", "oneOf": one_of }), Kind::Choice(two()));
        check(
            json!({ "type": "string", "enum": ["a", "b"], "enumNames": ["Option A"] }),
            Kind::Choice(two()),
        );
        check(
            json!({ "type": "array", "items": { "anyOf": one_of }, "minItems": 1 }),
            Kind::Choices { options: two(), min: Some(1), max: None },
        );
        check(json!({ "type": "boolean" }), Kind::Confirm);
        check(
            json!({ "type": "integer", "minimum": 1, "maximum": 9 }),
            Kind::Number { min: Some(1.0), max: Some(9.0), whole: true },
        );
        check(json!({ "type": "number" }), Kind::Number { min: None, max: None, whole: false });
        check(json!({ "type": "string", "format": "date" }), Kind::Date);
        check(json!({ "type": "string", "minLength": 2 }), Kind::Text { min: Some(2), max: None });
        check(json!({ "type": "hologram" }), Kind::Text { min: None, max: None });
    }

    #[test]
    fn a_label_is_left_out_where_the_message_says_it() {
        let label = |message: &str, title: &str| {
            let properties = json!({ "x": { "type": "string", "title": title } });
            let form =
                Form::read(&json!({ "message": message, "requestedSchema": { "properties": properties } }));
            form.fields[0].label.clone()
        };
        assert_eq!(label("Where to?", "Where to?"), None);
        assert_eq!(label("That is no place.\nWhere to?", "Where to?"), None);
        assert_eq!(label("Where to?", "x"), None);
        assert_eq!(label("About you", "Name\u{1b}"), Some("Name\\u{1b}".to_owned()));
    }
}
