//! Detects questions that cannot be answered because their author defined them incorrectly.

use regex::RegexBuilder;
use serde_json::Value;

use crate::validate::{MAX_COMPILED_PATTERN_BYTES, MAX_PATTERN_BYTES};
use crate::{AnswerShape, Field, Prompt, validate_answer};

/// Why this form cannot be answered, as a message for its author.
pub(crate) fn find_form_defect(fields: &[&Field]) -> Option<String> {
    fields.iter().enumerate().find_map(|(n, field)| {
        let is_twice = fields[..n].iter().any(|other| other.name == field.name);
        let why = if is_twice {
            Some("appears twice on one form".to_owned())
        } else {
            find_name_defect(&field.name).or_else(|| find_prompt_defect(&field.prompt))
        };
        why.map(|why| format!("the question `{}` cannot be asked: it {why}", field.name))
    })
}

/// Answers pass through models, client logs and histories, so they must not contain secrets.
const SECRET_FIELD_NAMES: [&str; 10] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "secrets",
    "apikey",
    "api_key",
    "access_token",
    "private_key",
    "credentials",
];

fn find_name_defect(name: &str) -> Option<String> {
    // Whole words only, so that `secretary` is allowed.
    let words = format!("_{}_", name.to_lowercase().replace(|c: char| !c.is_alphanumeric(), "_"));
    let is_secret = SECRET_FIELD_NAMES.iter().any(|secret| words.contains(&format!("_{secret}_")));
    is_secret.then(|| "asks for a secret, which forms must not do".to_owned())
}

fn find_prompt_defect(prompt: &Prompt) -> Option<String> {
    find_shape_defect(&prompt.shape).or_else(|| {
        let invalid =
            validate_answer(prompt, prompt.default.as_ref().filter(|default| !default.is_null())?).err()?;
        Some(format!("has an invalid default ({})", invalid.error))
    })
}

fn find_shape_defect(shape: &AnswerShape) -> Option<String> {
    let order = |fits: bool, min: &dyn std::fmt::Display, max: &dyn std::fmt::Display| {
        (!fits).then(|| format!("has a minimum of {min} and a maximum of {max}"))
    };
    match shape {
        AnswerShape::Text { min, max, pattern } => order(min <= max, min, max).or_else(|| {
            pattern.as_deref().filter(|pattern| compile_pattern(pattern).is_none()).map(describe_bad_pattern)
        }),
        AnswerShape::Choice { options, several } => find_options_defect(options, *several),
        AnswerShape::Number { min: Some(min), max: Some(max), .. } => order(min <= max, min, max),
        AnswerShape::Date { min: Some(min), max: Some(max) } => order(min <= max, min, max),
        AnswerShape::Custom { schema } => find_schema_defect(schema),
        AnswerShape::Confirm
        | AnswerShape::Number { .. }
        | AnswerShape::Date { .. }
        | AnswerShape::File { .. } => None,
    }
}

fn describe_bad_pattern(pattern: &str) -> String {
    format!("has an invalid or oversized pattern: {}", pattern.chars().take(80).collect::<String>())
}

fn find_options_defect(options: &[(String, String)], several: bool) -> Option<String> {
    if options.is_empty() && !several {
        return Some("has no options".to_owned());
    }
    let twice =
        options.iter().enumerate().find(|(n, (value, _))| options[..*n].iter().any(|(v, _)| v == value));
    twice.map(|(_, (value, _))| format!("has the option `{value}` twice"))
}

fn find_schema_defect(schema: &Value) -> Option<String> {
    let error = jsonschema::validator_for(schema).err()?;
    Some(format!("has an invalid schema: {}", error.to_string().chars().take(200).collect::<String>()))
}

/// Compiles a pattern so that it must match the whole answer; `None` if it is invalid or too large.
pub(crate) fn compile_pattern(pattern: &str) -> Option<regex::Regex> {
    let whole = format!("^(?:{pattern})$");
    let mut builder = RegexBuilder::new(&whole);
    builder.size_limit(MAX_COMPILED_PATTERN_BYTES).nest_limit(50);
    builder.build().ok().filter(|_| pattern.len() <= MAX_PATTERN_BYTES)
}

#[cfg(test)]
mod tests {
    use jiff::civil::date as day;
    use serde_json::json;

    use super::*;
    use crate::{choice, choices, confirm, custom, date, integer, number, text};

    #[test]
    #[expect(clippy::reversed_empty_ranges, reason = "the test needs invalid ranges")]
    fn unanswerable_questions_are_reported() {
        let field = |prompt: Prompt| Field { name: "q".to_owned(), prompt };
        let none: [(&str, &str); 0] = [];
        for (prompt, expected) in [
            (text("?").length(5..=3).into(), "has a minimum of 5 and a maximum of 3"),
            (text("?").pattern("(").into(), "has an invalid or oversized pattern: ("),
            (
                text("?").pattern("(a{1000}){1000}").into(),
                "has an invalid or oversized pattern: (a{1000}){1000}",
            ),
            (number("?").within(1.5..=1.0).into(), "has a minimum of 1.5 and a maximum of 1"),
            (number("?").within(f64::NAN..=1.0).into(), "has a minimum of NaN and a maximum of 1"),
            (integer("?").within(2..=1).into(), "has a minimum of 2 and a maximum of 1"),
            (integer("?").at_least(9).at_most(8).into(), "has a minimum of 9 and a maximum of 8"),
            (
                date("?").not_before(day(2026, 2, 1)).not_after(day(2026, 1, 1)).into(),
                "has a minimum of 2026-02-01 and a maximum of 2026-01-01",
            ),
            (choice("?", none).into(), "has no options"),
            (choice("?", [("a", "A"), ("b", "B"), ("a", "C")]).into(), "has the option `a` twice"),
            (choices("?", [("a", "A"), ("a", "A")]).into(), "has the option `a` twice"),
            (confirm("?").default("perhaps").into(), "has an invalid default (That is neither yes nor no)"),
            (
                choice("?", [("a", "A")]).default("b").optional().into(),
                "has an invalid default (That is not one of the options)",
            ),
        ] {
            let found = find_form_defect(&[&field(prompt)]).unwrap();
            assert_eq!(found, format!("the question `q` cannot be asked: it {expected}"));
        }
        for name in ["password", "user.Api-Key", "db_credentials"] {
            let secret = Field { name: name.to_owned(), prompt: text("?").into() };
            assert!(find_form_defect(&[&secret]).unwrap().contains("asks for a secret"), "{name}");
        }
        let secretary = Field { name: "secretary".to_owned(), prompt: text("?").into() };
        assert_eq!(find_form_defect(&[&secretary]), None);
        let broken = find_form_defect(&[&field(custom("?", json!({ "type": 7 })).into())]).unwrap();
        assert!(broken.contains("has an invalid schema"), "{broken}");
        let twice = field(confirm("?").into());
        assert_eq!(
            find_form_defect(&[&twice, &twice]).unwrap(),
            "the question `q` cannot be asked: it appears twice on one form"
        );
        for fine in [
            text("?").length(3..=3).pattern("[a-z]+").default("abc").into(),
            integer("?").at_least(1).into(),
            number("?").at_most(0.5).default(0).into(),
            choices("?", none).into(),
            date("?").not_after(day(2026, 1, 1)).optional().into(),
            confirm("?").default(false).into(),
        ] {
            assert_eq!(find_form_defect(&[&field(fine)]), None);
        }
    }
}
