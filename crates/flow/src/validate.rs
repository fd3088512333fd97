//! Validates answers before the conversation sees them.

use std::path::{Component, Path};

use jiff::civil;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::form_check::compile_pattern;
use crate::{AnswerShape, Prompt};

/// Upper limit for the size of any answer, regardless of the limits of the question.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;
pub(crate) const MAX_PATTERN_BYTES: usize = 1024;
/// Maximum size of a compiled pattern.
pub(crate) const MAX_COMPILED_PATTERN_BYTES: usize = 64 * 1024;

/// Why an answer was rejected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{error}{}", suggestion.as_ref().map(|s| format!(". {s}")).unwrap_or_default())]
pub struct InvalidAnswer {
    /// What is wrong with the answer.
    pub error: String,
    /// How to correct it.
    pub suggestion: Option<String>,
}

impl InvalidAnswer {
    /// An error and a suggestion for correcting it.
    ///
    /// ```
    /// let invalid = flow::InvalidAnswer::new("That day is a Sunday", "Choose Monday");
    /// assert_eq!(invalid.to_string(), "That day is a Sunday. Choose Monday");
    /// ```
    pub fn new(error: impl Into<String>, suggestion: impl Into<String>) -> Self {
        Self { error: error.into(), suggestion: Some(suggestion.into()) }
    }
}

fn reject<T>(error: impl Into<String>, suggestion: impl Into<String>) -> Result<T, InvalidAnswer> {
    Err(InvalidAnswer::new(error, suggestion))
}

/// Validates an answer and normalizes it: a number typed as a string becomes a number, an empty answer
/// becomes the default, and a comma-separated string becomes a list. Lenient about how a value is written,
/// strict about what it is: `"12"` is a number, `"12abc"` is not.
pub fn validate_answer(prompt: &Prompt, answer: &Value) -> Result<Value, InvalidAnswer> {
    let is_empty =
        answer.is_null() || (answer == "" && !matches!(prompt.shape, AnswerShape::Text { min: 0, .. }));
    match (is_empty, &prompt.default) {
        (false, _) => check_shape(&prompt.shape, answer),
        (true, Some(default)) => check_shape(&prompt.shape, default),
        (true, None) if prompt.required => reject("An answer is required", answer_hint(&prompt.shape)),
        (true, None) => Ok(Value::Null),
    }
}

fn check_shape(shape: &AnswerShape, answer: &Value) -> Result<Value, InvalidAnswer> {
    match shape {
        AnswerShape::Text { min, max, pattern } => check_text(answer, *min, *max, pattern.as_deref()),
        AnswerShape::Choice { options, several: false } => check_option(options, answer),
        AnswerShape::Choice { options, several: true } => check_options(options, answer),
        AnswerShape::Confirm => check_confirm(answer),
        AnswerShape::Number { min, max, whole } => check_number(answer, *min, *max, *whole),
        AnswerShape::Date { min, max } => check_date(answer, *min, *max),
        AnswerShape::File { max_bytes } => check_file(answer, *max_bytes),
        AnswerShape::Custom { schema } => check_custom(answer, schema),
    }
}

/// Describes a valid answer.
fn answer_hint(shape: &AnswerShape) -> String {
    match shape {
        AnswerShape::Text { min, max, pattern: None } => format!("Enter text of {min} to {max} characters"),
        AnswerShape::Text { pattern: Some(pattern), .. } => format!("Enter text that matches {pattern}"),
        AnswerShape::Choice { options, several } => {
            let values: Vec<_> = options.iter().take(12).map(|(value, _)| value.as_str()).collect();
            format!("Choose {} {}", if *several { "any of" } else { "one of" }, values.join(", "))
        }
        AnswerShape::Confirm => "Answer true or false".to_owned(),
        AnswerShape::Number { min, max, whole } => {
            let what = if *whole { "a whole number" } else { "a number" };
            match (min, max) {
                (Some(min), Some(max)) => format!("Enter {what} from {min} to {max}"),
                (Some(min), None) => format!("Enter {what} of at least {min}"),
                (None, Some(max)) => format!("Enter {what} of at most {max}"),
                (None, None) => format!("Enter {what}"),
            }
        }
        AnswerShape::Date { min, max } => match (min, max) {
            (Some(min), Some(max)) => format!("Use YYYY-MM-DD, from {min} to {max}"),
            (Some(min), None) => format!("Use YYYY-MM-DD, {min} or later"),
            (None, Some(max)) => format!("Use YYYY-MM-DD, {max} or earlier"),
            (None, None) => "Use YYYY-MM-DD".to_owned(),
        },
        AnswerShape::File { .. } => "Enter a path inside the root, or {\"name\", \"content\"}".to_owned(),
        AnswerShape::Custom { .. } => "Enter a value that matches the schema".to_owned(),
    }
}

fn check_text(answer: &Value, min: usize, max: usize, pattern: Option<&str>) -> Result<Value, InvalidAnswer> {
    let want = || answer_hint(&AnswerShape::Text { min, max, pattern: pattern.map(str::to_owned) });
    let Some(text) = answer.as_str() else { return reject("That is not a string", want()) };
    if text.len() > MAX_ANSWER_BYTES || text.chars().count() > max {
        return reject(format!("That is longer than {max} characters"), want());
    }
    if text.chars().count() < min {
        return reject(format!("That is shorter than {min} characters"), want());
    }
    if let Some(pattern) = pattern {
        match compile_pattern(pattern) {
            Some(regex) if regex.is_match(text) => {}
            Some(_) => return reject("That does not match the required format", want()),
            // No answer can match an invalid pattern. Rejecting every answer is safer than accepting every
            // answer.
            None => {
                return reject("This question has an invalid pattern", "Report it to the tool's author");
            }
        }
    }
    Ok(answer.clone())
}

fn check_option(options: &[(String, String)], answer: &Value) -> Result<Value, InvalidAnswer> {
    match answer.as_str() {
        Some(chosen) if options.iter().any(|(value, _)| value == chosen) => Ok(answer.clone()),
        _ => reject(
            "That is not one of the options",
            answer_hint(&AnswerShape::Choice { options: options.to_vec(), several: false }),
        ),
    }
}

fn check_options(options: &[(String, String)], answer: &Value) -> Result<Value, InvalidAnswer> {
    if let Some(text) = answer.as_str() {
        let typed: Value = text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
        return check_options(options, &typed);
    }
    let Some(chosen) = answer.as_array() else {
        return reject(
            "That is not a list",
            answer_hint(&AnswerShape::Choice { options: options.to_vec(), several: true }),
        );
    };
    for (n, value) in chosen.iter().enumerate() {
        check_option(options, value)?;
        if chosen[..n].contains(value) {
            return reject("An option is listed twice", "List each option once");
        }
    }
    Ok(answer.clone())
}

fn check_confirm(answer: &Value) -> Result<Value, InvalidAnswer> {
    match answer {
        Value::Bool(_) => Ok(answer.clone()),
        Value::String(text) => match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "y" => Ok(Value::Bool(true)),
            "false" | "no" | "n" => Ok(Value::Bool(false)),
            _ => reject("That is neither yes nor no", answer_hint(&AnswerShape::Confirm)),
        },
        _ => reject("That is neither yes nor no", answer_hint(&AnswerShape::Confirm)),
    }
}

fn check_number(
    answer: &Value,
    min: Option<f64>,
    max: Option<f64>,
    whole: bool,
) -> Result<Value, InvalidAnswer> {
    let want = || answer_hint(&AnswerShape::Number { min, max, whole });
    let number = match answer {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    let Some(number) = number.filter(|number: &f64| number.is_finite()) else {
        return reject("That is not a number", want());
    };
    if would_be_rounded(answer) {
        return reject("That number has too many digits", want());
    }
    if min.is_some_and(|min| number < min) || max.is_some_and(|max| number > max) {
        return reject("That is out of range", want());
    }
    if !whole {
        return Ok(json!(number));
    }
    #[expect(clippy::cast_possible_truncation, reason = "checked by the comparison")]
    let integer = number as i64;
    #[expect(
        clippy::cast_precision_loss,
        clippy::float_cmp,
        reason = "numbers that would lose precision are rejected"
    )]
    if integer as f64 == number && integer.unsigned_abs() <= 1 << 53 {
        Ok(json!(integer))
    } else {
        reject("That is not a whole number", want())
    }
}

/// Whether the answer is an integer that an `f64` cannot represent exactly.
fn would_be_rounded(answer: &Value) -> bool {
    let exact = match answer {
        Value::Number(number) => number.as_i64().map(i128::from).or(number.as_u64().map(i128::from)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    exact.is_some_and(|exact: i128| exact.unsigned_abs() > 1 << 53)
}

fn check_date(
    answer: &Value,
    min: Option<civil::Date>,
    max: Option<civil::Date>,
) -> Result<Value, InvalidAnswer> {
    let want = || answer_hint(&AnswerShape::Date { min, max });
    let Some(text) = answer.as_str() else { return reject("That is not a date", want()) };
    // The parser also accepts a time and a zone after the date, so compare with the canonical form.
    let parsed = text.parse::<civil::Date>().ok().filter(|day| day.to_string() == text);
    let Some(day) = parsed else { return reject("That is not a valid date", want()) };
    if min.is_some_and(|min| day < min) || max.is_some_and(|max| day > max) {
        return reject("That day is out of range", want());
    }
    Ok(answer.clone())
}

fn check_file(answer: &Value, max_bytes: usize) -> Result<Value, InvalidAnswer> {
    let want = || answer_hint(&AnswerShape::File { max_bytes });
    match answer {
        Value::String(path) if is_path_below_root(path) => Ok(answer.clone()),
        Value::String(_) => reject("That path leaves the root", want()),
        Value::Object(file) => match (file.get("name"), file.get("content"), file.len()) {
            (Some(Value::String(name)), Some(Value::String(content)), 2) => {
                if !is_path_below_root(name) || name.contains('/') {
                    return reject("`name` must be a file name without a path", want());
                }
                if content.len() > max_bytes.min(MAX_ANSWER_BYTES) {
                    return reject(format!("The content is larger than {max_bytes} bytes"), want());
                }
                Ok(answer.clone())
            }
            _ => reject("A file requires exactly `name` and `content`", want()),
        },
        _ => reject("That is not a file", want()),
    }
}

/// Compares path components, never string prefixes. Symbolic links must be checked by the code that opens the
/// file.
fn is_path_below_root(path: &str) -> bool {
    let drive = path.as_bytes().get(1) == Some(&b':');
    !path.is_empty()
        && path.len() <= 4096
        && !path.contains(['\0', '\\'])
        && !drive
        && Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
        && Path::new(path).components().any(|part| matches!(part, Component::Normal(_)))
}

/// Deeper values would exceed the recursion limit of the JSON parser: they could be written but not read
/// again.
const MAX_ANSWER_DEPTH: usize = 64;

fn exceeds_depth(value: &Value, left: usize) -> bool {
    match value {
        Value::Array(items) => left == 0 || items.iter().any(|item| exceeds_depth(item, left - 1)),
        Value::Object(map) => left == 0 || map.values().any(|item| exceeds_depth(item, left - 1)),
        _ => false,
    }
}

fn check_custom(answer: &Value, schema: &Value) -> Result<Value, InvalidAnswer> {
    let Ok(validator) = jsonschema::validator_for(schema) else {
        return reject("This question has an invalid schema", "Report it to the tool's author");
    };
    // A front end whose only input is a line of text sends JSON as a string.
    let typed = answer.as_str().and_then(|text| serde_json::from_str(text).ok());
    if typed.as_ref().is_some_and(|typed| exceeds_depth(typed, MAX_ANSWER_DEPTH))
        || exceeds_depth(answer, MAX_ANSWER_DEPTH)
    {
        return reject("That is nested too deeply", format!("Use at most {MAX_ANSWER_DEPTH} levels"));
    }
    if let Some(typed) = typed.filter(|typed| !validator.is_valid(answer) && validator.is_valid(typed)) {
        return Ok(typed);
    }
    match validator.validate(answer) {
        Ok(()) => Ok(answer.clone()),
        Err(error) => {
            let at = error.instance_path().to_string();
            let place = if at.is_empty() { String::new() } else { format!(" at {at}") };
            reject(
                format!("That does not match the schema{place}"),
                error.to_string().chars().take(200).collect::<String>(),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TypedPrompt, choice, choices, confirm, custom, date, file, integer, number, text};

    /// `Ok` contains the normalized value, `Err` the whole message.
    #[track_caller]
    fn assert_answers<K>(prompt: TypedPrompt<K>, cases: &[(Value, Result<Value, &str>)]) {
        for (answer, expected) in cases {
            let found = validate_answer(&prompt.prompt, answer).map_err(|invalid| invalid.to_string());
            assert_eq!(found, expected.clone().map_err(str::to_owned), "{answer}");
        }
    }

    #[test]
    fn text_answers_are_checked_for_length_and_pattern() {
        assert_answers(
            text("?").length(2..=4),
            &[
                (json!("ab"), Ok(json!("ab"))),
                (json!("äöüß"), Ok(json!("äöüß"))),
                (json!("a"), Err("That is shorter than 2 characters. Enter text of 2 to 4 characters")),
                (json!("abcde"), Err("That is longer than 4 characters. Enter text of 2 to 4 characters")),
                (json!(""), Err("An answer is required. Enter text of 2 to 4 characters")),
                (Value::Null, Err("An answer is required. Enter text of 2 to 4 characters")),
                (json!(12), Err("That is not a string. Enter text of 2 to 4 characters")),
            ],
        );
        assert_answers(
            text("?").pattern("[a-z]+"),
            &[
                (json!("abc"), Ok(json!("abc"))),
                (
                    json!("abc1"),
                    Err("That does not match the required format. Enter text that matches [a-z]+"),
                ),
                (
                    json!("abc\nabc"),
                    Err("That does not match the required format. Enter text that matches [a-z]+"),
                ),
            ],
        );
        for bomb in ["(", "(a{1000}){1000}", &"(".repeat(300), &"a".repeat(2000)] {
            let refused = validate_answer(&text("?").pattern(bomb).prompt, &json!("a")).unwrap_err();
            assert_eq!(refused.error, "This question has an invalid pattern");
        }
        assert_answers(text("?").optional(), &[(Value::Null, Ok(Value::Null)), (json!(""), Ok(Value::Null))]);
        assert_answers(
            text("?").default("x"),
            &[(Value::Null, Ok(json!("x"))), (json!("y"), Ok(json!("y")))],
        );
    }

    #[test]
    fn numeric_answers_are_checked_for_range_and_precision() {
        assert_answers(
            number("?").within(0.0..=10.5),
            &[
                (json!(10.5), Ok(json!(10.5))),
                (json!("7"), Ok(json!(7.0))),
                (json!("12abc"), Err("That is not a number. Enter a number from 0 to 10.5")),
                (json!("NaN"), Err("That is not a number. Enter a number from 0 to 10.5")),
                (json!("inf"), Err("That is not a number. Enter a number from 0 to 10.5")),
                (json!(-1), Err("That is out of range. Enter a number from 0 to 10.5")),
                (json!(true), Err("That is not a number. Enter a number from 0 to 10.5")),
            ],
        );
        assert_answers(
            integer("?"),
            &[
                (json!(3), Ok(json!(3))),
                (json!(3.0), Ok(json!(3))),
                (json!("3"), Ok(json!(3))),
                (json!(3.5), Err("That is not a whole number. Enter a whole number")),
                (json!(1e300), Err("That is not a whole number. Enter a whole number")),
                (json!(9_007_199_254_740_992_u64), Ok(json!(9_007_199_254_740_992_u64))),
                (
                    json!(9_007_199_254_740_993_u64),
                    Err("That number has too many digits. Enter a whole number"),
                ),
                (json!("-9007199254740993"), Err("That number has too many digits. Enter a whole number")),
                (json!(u64::MAX), Err("That number has too many digits. Enter a whole number")),
            ],
        );
    }

    #[test]
    fn date_answers_are_checked_for_format_and_range() {
        let from = civil::date(2026, 1, 1);
        assert_answers(
            date("?").not_before(from),
            &[
                (json!("2028-02-29"), Ok(json!("2028-02-29"))),
                (json!("2024-02-30"), Err("That is not a valid date. Use YYYY-MM-DD, 2026-01-01 or later")),
                (json!("2025-12-31"), Err("That day is out of range. Use YYYY-MM-DD, 2026-01-01 or later")),
                (json!("2026-1-1"), Err("That is not a valid date. Use YYYY-MM-DD, 2026-01-01 or later")),
                (
                    json!("2026-03-01T10:00"),
                    Err("That is not a valid date. Use YYYY-MM-DD, 2026-01-01 or later"),
                ),
                (json!(20_260_301), Err("That is not a date. Use YYYY-MM-DD, 2026-01-01 or later")),
            ],
        );
    }

    #[test]
    fn choice_answers_must_be_among_the_options() {
        let options = [("a", "Option A"), ("b", "Option B")];
        assert_answers(
            choice("?", options),
            &[
                (json!("a"), Ok(json!("a"))),
                (json!("Option A"), Err("That is not one of the options. Choose one of a, b")),
                (json!(["a"]), Err("That is not one of the options. Choose one of a, b")),
            ],
        );
        assert_answers(
            choices("?", options),
            &[
                (json!(["b", "a"]), Ok(json!(["b", "a"]))),
                (json!([]), Ok(json!([]))),
                (json!(["a", "a"]), Err("An option is listed twice. List each option once")),
                (json!("a, b"), Ok(json!(["a", "b"]))),
                (json!(1), Err("That is not a list. Choose any of a, b")),
            ],
        );
        assert_answers(
            confirm("?"),
            &[
                (json!(true), Ok(json!(true))),
                (json!("Yes"), Ok(json!(true))),
                (json!("no"), Ok(json!(false))),
                (json!("maybe"), Err("That is neither yes nor no. Answer true or false")),
                (json!(1), Err("That is neither yes nor no. Answer true or false")),
            ],
        );
    }

    #[test]
    fn file_answers_must_stay_below_the_root() {
        let file = file("?").at_most(4).prompt;
        for good in
            [json!("a.txt"), json!("a/b.txt"), json!("./a"), json!({ "name": "a", "content": "1234" })]
        {
            assert_eq!(validate_answer(&file, &good), Ok(good.clone()));
        }
        for bad in ["../a", "/etc/passwd", "a/../../b", "C:\\x", "C:/x", "a\0b", "."] {
            let refused = validate_answer(&file, &json!(bad)).unwrap_err();
            assert_eq!(refused.error, "That path leaves the root", "{bad}");
        }
        for bad in [
            json!({ "name": "a", "content": "12345" }),
            json!({ "name": "../a", "content": "" }),
            json!({ "name": "a" }),
            json!(7),
        ] {
            validate_answer(&file, &bad).unwrap_err();
        }
    }

    #[test]
    fn custom_answers_must_match_their_schema() {
        let schema =
            json!({ "type": "object", "required": ["x"], "properties": { "x": { "type": "integer" } } });
        let ask = custom("?", schema).prompt;
        assert_eq!(validate_answer(&ask, &json!({ "x": 1 })), Ok(json!({ "x": 1 })));
        assert_eq!(validate_answer(&ask, &json!("{\"x\": 1}")), Ok(json!({ "x": 1 })));
        assert_eq!(
            validate_answer(&ask, &json!({ "x": "1" })).unwrap_err().error,
            "That does not match the schema at /x"
        );
        let broken = custom("?", json!({ "type": 7 })).prompt;
        assert_eq!(
            validate_answer(&broken, &json!(1)).unwrap_err().error,
            "This question has an invalid schema"
        );
    }
}
