//! Validation of props by schemas, and messages for the errors.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::{Map, Value};

use super::cost::{SchemaCost, ValidationBudget};
use crate::error::ValidationProblem;
use crate::limits::MAX_PROBLEMS;
use crate::links;

/// Maximum memory of a compiled pattern.
const MAX_PATTERN_BYTES: usize = 1 << 16;

/// Up to this cost every error is reported. Each one uses memory until all are found.
const MAX_FULL_REPORT_STEPS: u64 = 30_000;

/// Cost of finding all errors, relative to finding out whether there are any.
const FULL_REPORT_COST_FACTOR: u64 = 300;

/// A compiled schema.
pub(super) struct SchemaValidator {
    validator: Validator,
    /// `None` for built-in schemas: they are cheap per value, and the number of values is limited.
    cost: Option<SchemaCost>,
}

impl SchemaValidator {
    /// Compiles a schema, or returns why it is invalid.
    pub(super) fn new(schema: &Value, is_ours: bool) -> Result<Self, String> {
        Ok(Self { validator: compile(schema)?, cost: (!is_ours).then(|| SchemaCost::new(schema)) })
    }

    pub(super) fn problems(
        &self,
        props: &Map<String, Value>,
        budget: &mut ValidationBudget,
    ) -> Vec<ValidationProblem> {
        let props = Value::Object(props.clone());
        let steps = self.cost.as_ref().map_or(0, |demand| demand.validation_cost(&props));
        if !budget.spend(steps) {
            return budget.report_exhausted("");
        }
        if self.validator.is_valid(&props) {
            return Vec::new();
        }
        if steps > MAX_FULL_REPORT_STEPS || !budget.spend(steps * FULL_REPORT_COST_FACTOR) {
            let message = "does not match the schema of its type, and is too large to locate the error; try smaller parts";
            return vec![ValidationProblem::new("", message)];
        }
        let told = self.validator.iter_errors(&props).take(MAX_PROBLEMS + 1);
        let told = told
            .map(|error| ValidationProblem::new(error.instance_path().to_string(), describe_error(&error)));
        let mut told: Vec<ValidationProblem> = told.collect();
        told.sort_by(|one, other| (&one.path, &one.message).cmp(&(&other.path, &other.message)));
        told
    }
}

/// Number of values at all levels.
pub(super) fn count_values(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count_values).sum(),
        Value::Object(map) => map.values().map(count_values).sum(),
        _ => 0,
    }
}

fn compile(schema: &Value) -> Result<Validator, String> {
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .should_validate_formats(true)
        .with_format("link", links::is_link)
        .with_format("image", links::is_media_source)
        .with_format("embed", links::is_embeddable)
        .with_format("page-path", links::is_page_path)
        // Checking a regex takes quadratic time, which the linear cost model does not cover.
        .with_format("regex", |_: &str| true)
        .with_format("line", |text: &str| !text.chars().any(char::is_control))
        .with_pattern_options(
            PatternOptions::regex().size_limit(MAX_PATTERN_BYTES).dfa_size_limit(MAX_PATTERN_BYTES),
        )
        .build(schema)
        .map_err(|error| truncate(&error.masked().to_string()))
}

fn describe_error(error: &ValidationError<'_>) -> String {
    match error.kind() {
        ValidationErrorKind::Format { format } => match format.as_str() {
            "link" => "must be a URL: http, https, mailto, tel, relative, or asset:<id>".to_owned(),
            "image" => "must be the URL of a file: http, https, relative, or asset:<id>".to_owned(),
            "embed" => {
                format!("must be an https URL on one of these hosts: {}", links::EMBED_HOSTS.join(", "))
            }
            "page-path" => "must be a path such as / or /about-us, of a-z, 0-9, -, _ and /".to_owned(),
            "line" => "must be a single line without control characters".to_owned(),
            other => format!("must be a valid {other}"),
        },
        ValidationErrorKind::Enum { options } => truncate(&format!("must be one of {options}")),
        ValidationErrorKind::Required { property } => {
            format!("must have the member {}", truncate(&property.to_string()))
        }
        _ => truncate(&error.masked().to_string()),
    }
}

fn truncate(text: &str) -> String {
    text.chars().take(300).collect()
}
