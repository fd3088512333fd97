//! Asking line by line: for screen readers, and where a terminal can do no more than print lines.

use std::io::{self, BufRead, Write};

use serde_json::{Map, Value};

use super::Answer;
use super::check;
use super::form::{Choice, Field, Form, Kind};
use crate::paint::{message, safe};

/// What is typed to return to the previous question.
const BACK: &str = "<";

/// Asks a form, one line per field. The end of input means that the user has gone.
pub(super) fn ask(form: &Form) -> io::Result<Answer> {
    let mut lines = io::stdin().lock().lines();
    ask_with(form, &mut io::stderr(), || lines.next().transpose())
}

fn ask_with(
    form: &Form,
    screen: &mut impl Write,
    mut next_line: impl FnMut() -> io::Result<Option<String>>,
) -> io::Result<Answer> {
    write!(screen, "{}", message(&form.message, false, usize::MAX))?;
    let mut values: Vec<Option<Value>> = Vec::new();
    while let Some(field) = form.fields.get(values.len()) {
        write!(screen, "{}", question(field))?;
        screen.flush()?;
        let Some(line) = next_line()? else { return Ok(Answer::Gone) };
        if line.trim() == BACK {
            if values.pop().is_none() {
                return Ok(Answer::Back);
            }
            continue;
        }
        match check::typed(field, &line) {
            Ok(value) => values.push(value),
            Err(problem) => writeln!(screen, "{problem}.")?,
        }
    }
    let names = form.fields.iter().map(|field| field.name.clone());
    let content: Map<_, _> = names.zip(values).filter_map(|(name, value)| Some((name, value?))).collect();
    Ok(Answer::Filled(content))
}

/// Everything to know before the answer, a line each, and where to type it.
fn question(field: &Field) -> String {
    let mut lines = vec![field.label.clone()];
    lines.extend(field.help.clone());
    if let Kind::Choice(options) | Kind::Choices { options, .. } = &field.kind {
        let numbered = options.iter().zip(1..).map(|(Choice { title, .. }, n)| format!("  {n}. {title}"));
        lines.extend(numbered);
    }
    let form = match &field.kind {
        Kind::Confirm => Some("y or n".to_owned()),
        Kind::Choice(_) => Some("a number or a name".to_owned()),
        Kind::Choices { .. } => {
            let count = check::expected(&field.kind).map(|count| format!(", {count}"));
            Some(format!("numbers or names, separated by commas{}", count.unwrap_or_default()))
        }
        kind => check::expected(kind),
    };
    let default = field.default.as_ref().map(|default| format!("default {}", shown(default)));
    let optional = (default.is_none() && !field.required).then(|| "optional".to_owned());
    let notes: Vec<String> = form.into_iter().chain(default).chain(optional).collect();
    let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
    format!("{}\nAnswer{notes}: ", lines.join("\n"))
}

fn shown(default: &Value) -> String {
    match default {
        Value::String(text) => safe(text),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        Value::Bool(answer) => if *answer { "y" } else { "n" }.to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form() -> Form {
        let classes = json!([{ "const": "eco", "title": "Economy" }, { "const": "first", "title": "First" }]);
        Form::read(&json!({ "message": "When?", "requestedSchema": { "required": ["ok"], "properties": {
            "class": { "type": "string", "title": "Class", "oneOf": classes, "default": "eco" },
            "from": { "type": "string", "format": "date", "title": "First day" },
            "ok": { "type": "boolean", "title": "Sure?" },
        } } }))
    }

    /// What is shown and answered if these lines are typed and then nothing more.
    fn play(typed: &[&str]) -> (String, Value) {
        let mut typed = typed.iter().map(|line| (*line).to_owned());
        let mut screen = Vec::new();
        let answer = ask_with(&form(), &mut screen, || Ok(typed.next())).unwrap();
        (String::from_utf8(screen).unwrap(), answer.result())
    }

    #[test]
    fn a_form_is_asked_line_by_line() {
        let (shown, answer) = play(&["2", "2026-13-01", "2026-03-01", "y"]);
        assert_eq!(
            answer,
            json!({ "action": "accept", "content": { "class": "first", "from": "2026-03-01", "ok": true } })
        );
        assert_eq!(
            shown,
            "When?\nClass\n  1. Economy\n  2. First\nAnswer (a number or a name; default eco): \
             First day\nAnswer (YYYY-MM-DD; optional): \
             That is not a day of the calendar: use YYYY-MM-DD.\n\
             First day\nAnswer (YYYY-MM-DD; optional): Sure?\nAnswer (y or n): "
        );
    }

    #[test]
    fn going_back_and_leaving() {
        let (shown, answer) = play(&["", "<", "first", "", "n"]);
        assert_eq!(answer["content"], json!({ "class": "first", "ok": false }));
        assert_eq!(shown.matches("Class\n").count(), 2);
        assert_eq!(play(&["<"]).1["_meta"]["fluxway/action"], "back");
        assert_eq!(play(&["eco"]).1, json!({ "action": "cancel" }));
    }
}
