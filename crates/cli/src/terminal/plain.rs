//! Asking line by line, where a terminal can do no more than that.

use std::io::{self, BufRead, Write};

use serde_json::{Map, Value, json};

use super::Answer;
use crate::paint::{message, safe};

/// Puts a form to the user, one line per field. The end of input means that they went away.
pub(super) fn ask(params: &Value) -> io::Result<Answer> {
    let mut lines = io::stdin().lock().lines();
    ask_with(params, &mut io::stderr(), || lines.next().transpose())
}

fn ask_with(
    params: &Value,
    screen: &mut impl Write,
    mut next_line: impl FnMut() -> io::Result<Option<String>>,
) -> io::Result<Answer> {
    write!(screen, "{}", message(params["message"].as_str().unwrap_or_default(), false))?;
    let fields = params["requestedSchema"]["properties"].as_object();
    let single = fields.is_some_and(|fields| fields.len() == 1);
    let mut content = Map::new();
    for (name, schema) in fields.into_iter().flatten() {
        let label = if single { String::new() } else { safe(schema["title"].as_str().unwrap_or(name)) };
        write!(screen, "{}", format!("{label}{}> ", safe(&hint(schema))).trim_start())?;
        screen.flush()?;
        let Some(line) = next_line()? else { return Ok(Answer::Gone) };
        if !line.trim().is_empty() {
            content.insert(name.clone(), answer(schema, line.trim()));
        }
    }
    Ok(Answer::Filled(content))
}

/// What may be typed, in brackets.
fn hint(schema: &Value) -> String {
    let options: Vec<&str> = [&schema["oneOf"], &schema["items"]["anyOf"]]
        .into_iter()
        .filter_map(Value::as_array)
        .flatten()
        .filter_map(|option| option["const"].as_str())
        .collect();
    let mut hint = match (schema["type"].as_str(), schema["format"].as_str()) {
        (Some("boolean"), _) => "y/n".to_owned(),
        (_, Some("date")) => "YYYY-MM-DD".to_owned(),
        _ => options.join("/"),
    };
    if let Some(default) = schema.get("default") {
        let default = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
        hint = if hint.is_empty() { default } else { format!("{hint}, empty: {default}") };
    }
    if hint.is_empty() { String::new() } else { format!(" [{hint}]") }
}

/// What was typed, with the type that the form wants. The server judges what does not fit.
fn answer(schema: &Value, typed: &str) -> Value {
    match schema["type"].as_str() {
        Some("number" | "integer") => serde_json::from_str(typed).unwrap_or_else(|_| json!(typed)),
        Some("boolean") => match typed.to_lowercase().as_str() {
            "y" | "yes" | "true" => json!(true),
            "n" | "no" | "false" => json!(false),
            _ => json!(typed),
        },
        Some("array") => typed.split(',').map(str::trim).collect(),
        _ => json!(typed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_asked_line_by_line() {
        let params = json!({ "message": "When?", "requestedSchema": { "properties": {
            "from": { "type": "string", "format": "date", "title": "First day" },
            "n": { "type": "integer", "title": "How many", "default": 2 },
            "ok": { "type": "boolean", "title": "Sure?" },
        } } });
        let mut typed = ["2026-03-01", "", "y"].into_iter().map(str::to_owned);
        let mut screen = Vec::new();
        let answer = ask_with(&params, &mut screen, || Ok(typed.next())).unwrap();
        assert_eq!(
            answer.result(),
            json!({ "action": "accept", "content": { "from": "2026-03-01", "ok": true } })
        );
        let shown = String::from_utf8(screen).unwrap();
        assert_eq!(shown, "When?\nFirst day [YYYY-MM-DD]> How many [2]> Sure? [y/n]> ");

        let gone = ask_with(&params, &mut Vec::new(), || Ok(None)).unwrap();
        assert_eq!(gone.result(), json!({ "action": "cancel" }));
    }
}
