//! Asking line by line: for screen readers, and where a terminal can do no more than print lines.

use std::io::{self, BufRead, Write};

use serde_json::{Map, Value};

use super::PromptOutcome;
use super::form::{PromptField, PromptFieldKind, PromptForm, PromptOption};
use super::validate;
use crate::styling::{self, escape_controls, render_message};

/// What is typed to return to the previous question.
const BACK_INPUT: &str = "<";

/// Asks a form, one line per field. The end of input means that the user has gone.
pub(super) fn ask(form: &PromptForm) -> io::Result<PromptOutcome> {
    let mut lines = io::stdin().lock().lines();
    let width = styling::stderr_columns().unwrap_or(usize::MAX);
    ask_with(form, &mut io::stderr(), width, || lines.next().transpose())
}

fn ask_with(
    form: &PromptForm,
    screen: &mut impl Write,
    width: usize,
    mut next_line: impl FnMut() -> io::Result<Option<String>>,
) -> io::Result<PromptOutcome> {
    write!(screen, "{}", render_message(&form.message, false, width))?;
    let mut values: Vec<Option<Value>> = Vec::new();
    while let Some(field) = form.fields.get(values.len()) {
        write!(screen, "{}", render_question(field, width))?;
        screen.flush()?;
        let Some(line) = next_line()? else { return Ok(PromptOutcome::EndOfInput) };
        if line.trim() == BACK_INPUT {
            if values.pop().is_none() {
                return Ok(PromptOutcome::Back);
            }
            continue;
        }
        match validate::parse_line(field, &line) {
            Ok(value) => values.push(value),
            Err(problem) => write!(screen, "{}", render_message(&format!("{problem}."), false, width))?,
        }
    }
    let names = form.fields.iter().map(|field| field.name.clone());
    let content: Map<_, _> = names.zip(values).filter_map(|(name, value)| Some((name, value?))).collect();
    Ok(PromptOutcome::Filled(content))
}

/// Everything to know before the answer, a line each, and where to type it.
fn render_question(field: &PromptField, width: usize) -> String {
    let mut lines = vec![field.label.clone()];
    lines.extend(field.help.clone());
    if let PromptFieldKind::Choice(options) | PromptFieldKind::Choices { options, .. } = &field.kind {
        let numbered =
            options.iter().zip(1..).map(|(PromptOption { title, .. }, n)| format!("  {n}. {title}"));
        lines.extend(numbered);
    }
    let form = match &field.kind {
        PromptFieldKind::Confirm => Some("y or n".to_owned()),
        PromptFieldKind::Choice(_) => Some("a number or a name".to_owned()),
        PromptFieldKind::Choices { .. } => {
            let count = validate::describe_expected(&field.kind).map(|count| format!(", {count}"));
            Some(format!("numbers or names, separated by commas{}", count.unwrap_or_default()))
        }
        kind => validate::describe_expected(kind),
    };
    let default = field.default.as_ref().map(|default| format!("default {}", format_default(default)));
    let optional = (default.is_none() && !field.required).then(|| "optional".to_owned());
    let notes: Vec<String> = form.into_iter().chain(default).chain(optional).collect();
    let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
    lines.push(format!("Answer{notes}:"));
    let wrapped: Vec<String> = lines.iter().flat_map(|line| styling::wrap_hanging(line, width)).collect();
    wrapped.join("\n") + " "
}

fn format_default(default: &Value) -> String {
    match default {
        Value::String(text) => escape_controls(text),
        Value::Array(items) => items.iter().map(format_default).collect::<Vec<_>>().join(", "),
        Value::Bool(answer) => if *answer { "y" } else { "n" }.to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form() -> PromptForm {
        let classes = json!([{ "const": "eco", "title": "Economy" }, { "const": "first", "title": "First" }]);
        PromptForm::from_params(
            &json!({ "message": "When?", "requestedSchema": { "required": ["ok"], "properties": {
            "class": { "type": "string", "title": "Class", "oneOf": classes, "default": "eco" },
            "from": { "type": "string", "format": "date", "title": "First day" },
            "ok": { "type": "boolean", "title": "Sure?" },
        } } }),
        )
    }

    /// What is shown and answered if these lines are typed and then nothing more.
    fn play(typed: &[&str]) -> (String, Value) {
        play_in(&form(), usize::MAX, typed)
    }

    fn play_in(form: &PromptForm, width: usize, typed: &[&str]) -> (String, Value) {
        let mut typed = typed.iter().map(|line| (*line).to_owned());
        let mut screen = Vec::new();
        let answer = ask_with(form, &mut screen, width, || Ok(typed.next())).unwrap();
        (String::from_utf8(screen).unwrap(), answer.to_result())
    }

    #[test]
    fn lines_are_wrapped_between_words() {
        let classes = json!([{ "const": "eco", "title": "The cheapest of all the classes there are" }]);
        let field = json!({ "type": "string", "title": "Which class of seats would you like?",
            "description": "There may be none left of it.", "oneOf": classes });
        let params = json!({ "message": "A flight of three hours and a half.\nWell",
            "requestedSchema": { "required": ["class"], "properties": { "class": field } } });
        let (shown, _) = play_in(&PromptForm::from_params(&params), 30, &["2"]);
        let question = "Which class of seats would you\nlike?\nThere may be none left of it.\n  1. The cheapest of all the\n     \
                        classes there are\nAnswer (a number or a name): ";
        assert_eq!(
            shown,
            format!(
                "A flight of three hours and a\nhalf.\nWell\n{question}`2` is not one of the options.\n{question}"
            )
        );
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
    fn back_and_end_of_input_are_reported() {
        let (shown, answer) = play(&["", "<", "first", "", "n"]);
        assert_eq!(answer["content"], json!({ "class": "first", "ok": false }));
        assert_eq!(shown.matches("Class\n").count(), 2);
        assert_eq!(play(&["<"]).1["_meta"]["fluxway/action"], "back");
        assert_eq!(play(&["eco"]).1, json!({ "action": "cancel" }));
    }
}
