//! Checking an answer before it is sent. The server checks it again; this saves the user the round trip.

use jiff::civil::Date;
use serde_json::{Value, json};

use super::form::{Choice, Field, Kind};

/// The answer in a typed line, or what is wrong with it. An empty line is the default, or no answer where none is required.
pub(super) fn typed(field: &Field, line: &str) -> Result<Option<Value>, String> {
    let line = line.trim();
    if line.is_empty() {
        return match &field.default {
            Some(default) => Ok(Some(default.clone())),
            None if field.required => Err("An answer is required".to_owned()),
            None => Ok(None),
        };
    }
    match &field.kind {
        Kind::Number { min, max, whole } => number(line, *min, *max, *whole),
        Kind::Date => date(line),
        Kind::Text { min, max } => text(line, *min, *max),
        Kind::Confirm => yes_or_no(line),
        Kind::Choice(options) => chosen(line, options),
        Kind::Choices { options, min, max } => {
            let names: Vec<&str> = line.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
            marked(names.len(), *min, *max)
                .and_then(|()| names.iter().map(|name| chosen(name, options)).collect())
        }
    }
    .map(Some)
}

fn yes_or_no(line: &str) -> Result<Value, String> {
    match line.to_lowercase().as_str() {
        "y" | "yes" | "true" => Ok(json!(true)),
        "n" | "no" | "false" => Ok(json!(false)),
        _ => Err("Answer y or n".to_owned()),
    }
}

/// The option that is meant: by its number, its value or its title.
fn chosen(name: &str, options: &[Choice]) -> Result<Value, String> {
    let is_meant =
        |option: &&Choice| option.value.eq_ignore_ascii_case(name) || option.title.eq_ignore_ascii_case(name);
    let numbered = || options.get(name.parse::<usize>().ok()?.checked_sub(1)?);
    let found = options.iter().find(is_meant).or_else(numbered);
    found.map(|option| json!(option.value)).ok_or_else(|| format!("`{name}` is not one of the options"))
}

/// Whether enough options are marked, and not too many.
pub(super) fn marked(count: usize, min: Option<u64>, max: Option<u64>) -> Result<(), String> {
    let count = count as u64;
    match (min, max) {
        (Some(min), _) if count < min => Err(format!("Choose at least {min}")),
        (_, Some(max)) if count > max => Err(format!("Choose at most {max}")),
        _ => Ok(()),
    }
}

/// What is expected, in a few words.
pub(super) fn expected(kind: &Kind) -> Option<String> {
    match kind {
        Kind::Date => Some("YYYY-MM-DD".to_owned()),
        Kind::Number { min, max, .. } => range(*min, *max),
        Kind::Choices { min: Some(min), max: Some(max), .. } => Some(format!("{min} to {max} of them")),
        Kind::Choices { min: Some(min), .. } => Some(format!("{min} or more of them")),
        Kind::Choices { max: Some(max), .. } => Some(format!("at most {max} of them")),
        Kind::Text { .. } | Kind::Confirm | Kind::Choice(_) | Kind::Choices { .. } => None,
    }
}

fn range(min: Option<f64>, max: Option<f64>) -> Option<String> {
    match (min, max) {
        (Some(min), Some(max)) => Some(format!("{min} to {max}")),
        (Some(min), None) => Some(format!("{min} or more")),
        (None, Some(max)) => Some(format!("{max} or less")),
        (None, None) => None,
    }
}

fn text(line: &str, min: Option<u64>, max: Option<u64>) -> Result<Value, String> {
    let length = line.chars().count() as u64;
    match (min, max) {
        (Some(min), _) if length < min => Err(format!("That is shorter than {min} characters")),
        (_, Some(max)) if length > max => Err(format!("That is longer than {max} characters")),
        _ => Ok(json!(line)),
    }
}

fn number(line: &str, min: Option<f64>, max: Option<f64>, whole: bool) -> Result<Value, String> {
    let Some(number) = line.parse().ok().filter(|number: &f64| number.is_finite()) else {
        return Err("That is not a number".to_owned());
    };
    if min.is_some_and(|min| number < min) || max.is_some_and(|max| number > max) {
        return Err(format!("That is out of range: {}", range(min, max).unwrap_or_default()));
    }
    // What is written as a whole number is sent as one.
    match line.parse::<i64>() {
        Ok(integer) => Ok(json!(integer)),
        Err(_) if whole => Err("That is not a whole number".to_owned()),
        Err(_) => Ok(json!(number)),
    }
}

fn date(line: &str) -> Result<Value, String> {
    // The parser also reads times and zones behind the day; a date is ten characters and no more.
    match line.parse::<Date>() {
        Ok(day) if day.to_string() == line => Ok(json!(line)),
        _ => Err("That is not a day of the calendar: use YYYY-MM-DD".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(kind: Kind, required: bool, default: Option<Value>) -> Field {
        Field {
            name: "x".to_owned(),
            title: String::new(),
            label: String::new(),
            help: None,
            kind,
            required,
            default,
        }
    }

    fn two() -> Vec<Choice> {
        [("a", "Option A"), ("b", "b")]
            .map(|(value, title)| Choice { value: value.to_owned(), title: title.to_owned() })
            .to_vec()
    }

    fn several() -> Kind {
        Kind::Choices { options: two(), min: Some(1), max: None }
    }

    #[test]
    fn lines_are_checked() {
        let text = || Kind::Text { min: Some(2), max: Some(4) };
        let whole = || Kind::Number { min: Some(1.0), max: Some(9.0), whole: true };
        let any = || Kind::Number { min: None, max: Some(1.5), whole: false };
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
            (Kind::Confirm, "Yes", Ok(json!(true))),
            (Kind::Confirm, "n", Ok(json!(false))),
            (Kind::Confirm, "perhaps", Err("Answer y or n")),
            (Kind::Choice(two()), "2", Ok(json!("b"))),
            (Kind::Choice(two()), "option a", Ok(json!("a"))),
            (Kind::Choice(two()), "B", Ok(json!("b"))),
            (Kind::Choice(two()), "3", Err("`3` is not one of the options")),
            (several(), "1, b", Ok(json!(["a", "b"]))),
            (several(), ",", Err("Choose at least 1")),
            (several(), "a, c", Err("`c` is not one of the options")),
            (Kind::Date, "2028-02-29", Ok(json!("2028-02-29"))),
            (Kind::Date, "2027-02-29", Err("That is not a day of the calendar: use YYYY-MM-DD")),
            (Kind::Date, "2028-2-9", Err("That is not a day of the calendar: use YYYY-MM-DD")),
            (Kind::Date, "2028-02-29T10:00", Err("That is not a day of the calendar: use YYYY-MM-DD")),
        ] {
            let found = typed(&field(kind, true, None), line);
            assert_eq!(found, expected.map(Some).map_err(str::to_owned), "{line}");
        }
    }

    #[test]
    fn an_empty_line_is_the_default_or_no_answer() {
        assert_eq!(
            typed(&field(Kind::Date, true, Some(json!("2028-02-29"))), ""),
            Ok(Some(json!("2028-02-29")))
        );
        assert_eq!(typed(&field(Kind::Date, false, None), " "), Ok(None));
        assert_eq!(marked(0, Some(1), None), Err("Choose at least 1".to_owned()));
        assert_eq!(marked(3, None, Some(2)), Err("Choose at most 2".to_owned()));
        assert_eq!(marked(0, None, None), Ok(()));
    }
}
