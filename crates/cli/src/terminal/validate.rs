//! Checking an answer before it is sent. The server checks it again; this saves the user the round trip.

use jiff::civil::Date;
use serde_json::{Value, json};

use super::form::{PromptField, PromptFieldKind, PromptOption};

/// The answer in a typed line, or what is wrong with it. An empty line is the default, or no answer where none is required.
pub(super) fn parse_line(field: &PromptField, line: &str) -> Result<Option<Value>, String> {
    let line = line.trim();
    if line.is_empty() {
        return match &field.default {
            Some(default) => Ok(Some(default.clone())),
            None if field.required => Err("An answer is required".to_owned()),
            None => Ok(None),
        };
    }
    match &field.kind {
        PromptFieldKind::Number { min, max, is_integer: whole } => parse_number(line, *min, *max, *whole),
        PromptFieldKind::Date => parse_date(line),
        PromptFieldKind::Text { min, max } => check_text(line, *min, *max),
        PromptFieldKind::Confirm => parse_yes_or_no(line),
        PromptFieldKind::Choice(options) => find_option(line, options),
        PromptFieldKind::Choices { options, min, max } => {
            let names: Vec<&str> = line.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
            check_selection_count(names.len(), *min, *max)
                .and_then(|()| names.iter().map(|name| find_option(name, options)).collect())
        }
    }
    .map(Some)
}

fn parse_yes_or_no(line: &str) -> Result<Value, String> {
    match line.to_lowercase().as_str() {
        "y" | "yes" | "true" => Ok(json!(true)),
        "n" | "no" | "false" => Ok(json!(false)),
        _ => Err("Answer y or n".to_owned()),
    }
}

/// The option that is meant: by its number, its value or its title.
fn find_option(name: &str, options: &[PromptOption]) -> Result<Value, String> {
    let is_meant = |option: &&PromptOption| {
        option.value.eq_ignore_ascii_case(name) || option.title.eq_ignore_ascii_case(name)
    };
    let numbered = || options.get(name.parse::<usize>().ok()?.checked_sub(1)?);
    let found = options.iter().find(is_meant).or_else(numbered);
    found.map(|option| json!(option.value)).ok_or_else(|| format!("`{name}` is not one of the options"))
}

/// Whether enough options are marked, and not too many.
pub(super) fn check_selection_count(count: usize, min: Option<u64>, max: Option<u64>) -> Result<(), String> {
    let count = count as u64;
    match (min, max) {
        (Some(min), _) if count < min => Err(format!("Choose at least {min}")),
        (_, Some(max)) if count > max => Err(format!("Choose at most {max}")),
        _ => Ok(()),
    }
}

/// What is expected, in a few words.
pub(super) fn describe_expected(kind: &PromptFieldKind) -> Option<String> {
    match kind {
        PromptFieldKind::Date => Some("YYYY-MM-DD".to_owned()),
        PromptFieldKind::Number { min, max, .. } => describe_range(*min, *max),
        PromptFieldKind::Choices { min: Some(min), max: Some(max), .. } => {
            Some(format!("{min} to {max} of them"))
        }
        PromptFieldKind::Choices { min: Some(min), .. } => Some(format!("{min} or more of them")),
        PromptFieldKind::Choices { max: Some(max), .. } => Some(format!("at most {max} of them")),
        PromptFieldKind::Text { .. }
        | PromptFieldKind::Confirm
        | PromptFieldKind::Choice(_)
        | PromptFieldKind::Choices { .. } => None,
    }
}

fn describe_range(min: Option<f64>, max: Option<f64>) -> Option<String> {
    match (min, max) {
        (Some(min), Some(max)) => Some(format!("{min} to {max}")),
        (Some(min), None) => Some(format!("{min} or more")),
        (None, Some(max)) => Some(format!("{max} or less")),
        (None, None) => None,
    }
}

fn check_text(line: &str, min: Option<u64>, max: Option<u64>) -> Result<Value, String> {
    let length = line.chars().count() as u64;
    match (min, max) {
        (Some(min), _) if length < min => Err(format!("That is shorter than {min} characters")),
        (_, Some(max)) if length > max => Err(format!("That is longer than {max} characters")),
        _ => Ok(json!(line)),
    }
}

fn parse_number(line: &str, min: Option<f64>, max: Option<f64>, whole: bool) -> Result<Value, String> {
    let Some(number) = line.parse().ok().filter(|number: &f64| number.is_finite()) else {
        return Err("That is not a number".to_owned());
    };
    if min.is_some_and(|min| number < min) || max.is_some_and(|max| number > max) {
        return Err(format!("That is out of range: {}", describe_range(min, max).unwrap_or_default()));
    }
    // What is written as a whole number is sent as one.
    match line.parse::<i64>() {
        Ok(integer) => Ok(json!(integer)),
        Err(_) if whole => Err("That is not a whole number".to_owned()),
        Err(_) => Ok(json!(number)),
    }
}

fn parse_date(line: &str) -> Result<Value, String> {
    // The parser also reads times and zones behind the day; a date is ten characters and no more.
    match line.parse::<Date>() {
        Ok(day) if day.to_string() == line => Ok(json!(line)),
        _ => Err("That is not a day of the calendar: use YYYY-MM-DD".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(kind: PromptFieldKind, required: bool, default: Option<Value>) -> PromptField {
        PromptField {
            name: "x".to_owned(),
            title: String::new(),
            label: String::new(),
            help: None,
            kind,
            required,
            default,
        }
    }

    fn two_options() -> Vec<PromptOption> {
        [("a", "Option A"), ("b", "b")]
            .map(|(value, title)| PromptOption { value: value.to_owned(), title: title.to_owned() })
            .to_vec()
    }

    fn multi_choice() -> PromptFieldKind {
        PromptFieldKind::Choices { options: two_options(), min: Some(1), max: None }
    }

    #[test]
    fn typed_lines_are_validated() {
        let text = || PromptFieldKind::Text { min: Some(2), max: Some(4) };
        let whole = || PromptFieldKind::Number { min: Some(1.0), max: Some(9.0), is_integer: true };
        let any = || PromptFieldKind::Number { min: None, max: Some(1.5), is_integer: false };
        for (kind, line, expected) in [
            (text(), " äöüß ", Ok(json!("äöüß"))),
            (text(), "a", Err("That is shorter than 2 characters")),
            (text(), "abcde", Err("That is longer than 4 characters")),
            (text(), "  ", Err("An answer is required")),
            (whole(), "9", Ok(json!(9))),
            (whole(), "0", Err("That is out of range: 1 to 9")),
            (whole(), "1.5", Err("That is not a whole number")),
            (whole(), "two", Err("That is not a number")),
            (any(), "-3", Ok(json!(-3))),
            (any(), "0.5", Ok(json!(0.5))),
            (any(), "2", Err("That is out of range: 1.5 or less")),
            (any(), "inf", Err("That is not a number")),
            (PromptFieldKind::Confirm, "Yes", Ok(json!(true))),
            (PromptFieldKind::Confirm, "n", Ok(json!(false))),
            (PromptFieldKind::Confirm, "perhaps", Err("Answer y or n")),
            (PromptFieldKind::Choice(two_options()), "2", Ok(json!("b"))),
            (PromptFieldKind::Choice(two_options()), "option a", Ok(json!("a"))),
            (PromptFieldKind::Choice(two_options()), "B", Ok(json!("b"))),
            (PromptFieldKind::Choice(two_options()), "3", Err("`3` is not one of the options")),
            (multi_choice(), "1, b", Ok(json!(["a", "b"]))),
            (multi_choice(), ",", Err("Choose at least 1")),
            (multi_choice(), "a, c", Err("`c` is not one of the options")),
            (PromptFieldKind::Date, "2028-02-29", Ok(json!("2028-02-29"))),
            (PromptFieldKind::Date, "2027-02-29", Err("That is not a day of the calendar: use YYYY-MM-DD")),
            (PromptFieldKind::Date, "2028-2-9", Err("That is not a day of the calendar: use YYYY-MM-DD")),
            (
                PromptFieldKind::Date,
                "2028-02-29T10:00",
                Err("That is not a day of the calendar: use YYYY-MM-DD"),
            ),
        ] {
            let found = parse_line(&field(kind, true, None), line);
            assert_eq!(found, expected.map(Some).map_err(str::to_owned), "{line}");
        }
    }

    #[test]
    fn an_empty_line_is_the_default_or_no_answer() {
        assert_eq!(
            parse_line(&field(PromptFieldKind::Date, true, Some(json!("2028-02-29"))), ""),
            Ok(Some(json!("2028-02-29")))
        );
        assert_eq!(parse_line(&field(PromptFieldKind::Date, false, None), " "), Ok(None));
        assert_eq!(check_selection_count(0, Some(1), None), Err("Choose at least 1".to_owned()));
        assert_eq!(check_selection_count(3, None, Some(2)), Err("Choose at most 2".to_owned()));
        assert_eq!(check_selection_count(0, None, None), Ok(()));
    }
}
