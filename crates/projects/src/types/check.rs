//! Schemas that judge props, and what they say in words.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::{Map, Value};

use super::cost::Cost;
use super::effort::Effort;
use crate::error::Problem;
use crate::limits::MAX_PROBLEMS;
use crate::links;

/// The most bytes that a compiled pattern may take.
const PATTERN_SIZE: usize = 1 << 16;

/// Up to this cost every mistake is told. Each takes memory until all are found.
const THOROUGH: u64 = 30_000;

/// How many times more it costs to find all mistakes than to find out whether there are any.
const TELLING: u64 = 300;

/// The most that judging one block may cost: more would take long, and others wait for it.
const MOST: u64 = 7_500_000;

/// A schema that judges props.
pub(super) struct Judge {
    validator: Validator,
    /// What judging costs; nothing if the schema is ours: that is little for each value of props, of which there are only so
    /// many.
    cost: Option<Cost>,
}

impl Judge {
    /// What is told of one that cannot be used.
    pub(super) fn of(schema: &Value, is_ours: bool) -> Result<Self, String> {
        let cost = (!is_ours).then(|| Cost::of(schema));
        Ok(Self { validator: compile(schema)?, cost })
    }

    /// Everything that is wrong with props. What would be too much for the call is left out.
    pub(super) fn problems(&self, props: &Map<String, Value>, effort: &mut Effort) -> Vec<Problem> {
        let cost = self.cost.as_ref().map(|cost| cost.of_props(props));
        if cost > Some(MOST) {
            let message = "has too much in it for the schema of its type; make either of them smaller, or take out patterns and \
                `multipleOf`";
            return vec![Problem::new("", message)];
        }
        if !effort.take(cost.unwrap_or(0)) {
            return Vec::new();
        }
        let props = Value::Object(props.clone());
        if self.validator.is_valid(&props) {
            return Vec::new();
        }
        // A schema of ours has few mistakes to tell of a value.
        let cost = cost.unwrap_or_else(|| values(&props) as u64);
        if cost > THOROUGH || !effort.spare(cost * TELLING) {
            let message =
                "does not fit the schema of its type, and is too large to tell where; try parts of it";
            return vec![Problem::new("", message)];
        }
        let told = self.validator.iter_errors(&props).take(MAX_PROBLEMS + 1);
        let told = told.map(|error| Problem::new(error.instance_path().to_string(), words(&error)));
        let mut told: Vec<Problem> = told.collect();
        told.sort_by(|one, other| (&one.path, &one.message).cmp(&(&other.path, &other.message)));
        told
    }
}

/// How many values there are in JSON, all levels together.
pub(super) fn values(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(values).sum(),
        Value::Object(map) => map.values().map(values).sum(),
        _ => 0,
    }
}

fn compile(schema: &Value) -> Result<Validator, String> {
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .should_validate_formats(true)
        .with_format("link", links::is_link)
        .with_format("image", links::is_source)
        .with_format("embed", links::is_embed)
        .with_format("page-path", links::is_page_path)
        .with_format("line", |text: &str| !text.chars().any(char::is_control))
        .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_SIZE).dfa_size_limit(PATTERN_SIZE))
        .build(schema)
        .map_err(|error| shortened(&error.masked().to_string()))
}

fn words(error: &ValidationError<'_>) -> String {
    match error.kind() {
        ValidationErrorKind::Format { format } => match format.as_str() {
            "link" => "must be an address: http, https, mailto, tel, relative, or asset:<id>".to_owned(),
            "image" => "must be an address of a file: http, https, relative, or asset:<id>".to_owned(),
            "embed" => format!("must be an https address at one of {}", links::EMBED_HOSTS.join(", ")),
            "page-path" => "must be a path such as / or /about-us, of a-z, 0-9, -, _ and /".to_owned(),
            "line" => "must be one line without control characters".to_owned(),
            other => format!("must be a valid {other}"),
        },
        ValidationErrorKind::Enum { options } => shortened(&format!("must be one of {options}")),
        ValidationErrorKind::Required { property } => {
            format!("must have the member {}", shortened(&property.to_string()))
        }
        _ => shortened(&error.masked().to_string()),
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(300).collect()
}
