//! Sessions and their prompts as the MCP Flow document writes them.

use flow::session::{PastTurn, Session, Standing, State};
use flow::{Field, Invalid, Progress, Prompt, Shape};
use serde_json::{Map, Value, json};

/// What a prompt is called on the wire.
fn kind(shape: &Shape) -> &'static str {
    match shape {
        Shape::Text { .. } => "text",
        Shape::Choice { .. } => "choice",
        Shape::Confirm => "confirm",
        Shape::Number { .. } => "number",
        Shape::Date { .. } => "date",
        Shape::File { .. } => "file",
        Shape::Custom { .. } => "custom",
    }
}

/// Every kind of prompt.
pub(super) const KINDS: [&str; 7] = ["text", "choice", "confirm", "number", "date", "file", "custom"];

/// A prompt as it was put.
fn prompt(name: &str, prompt: &Prompt) -> Value {
    let mut shown = json!({ "type": kind(&prompt.shape), "message": prompt.message, "name": name });
    if let Some(placeholder) = &prompt.placeholder {
        shown["placeholder"] = json!(placeholder);
    }
    if let Some(default) = &prompt.default {
        shown["defaultValue"] = default.clone();
    }
    if let Shape::Choice { options, several } = &prompt.shape {
        let choice = |(value, label): &(String, String)| json!({ "value": value, "label": label });
        shown["choices"] = options.iter().map(choice).collect();
        if *several {
            shown["multiple"] = json!(true);
        }
    }
    shown["validation"] = validation(prompt);
    shown
}

/// The rules that an answer is judged by, so that a client can judge it first.
fn validation(prompt: &Prompt) -> Value {
    let mut rules = Map::new();
    let mut rule = |name: &str, value: Value| {
        if !value.is_null() {
            rules.insert(name.to_owned(), value);
        }
    };
    rule("required", json!(prompt.required && prompt.default.is_none()));
    match &prompt.shape {
        Shape::Text { min, max, pattern } => {
            rule("min", json!(min));
            rule("max", json!(max));
            rule("pattern", json!(pattern));
        }
        Shape::Number { min, max, whole } => {
            rule("min", bound(*min, *whole));
            rule("max", bound(*max, *whole));
            rule("integer", if *whole { json!(true) } else { Value::Null });
        }
        Shape::Date { min, max } => {
            rule("min", json!(min));
            rule("max", json!(max));
        }
        Shape::File { max_bytes } => rule("maxBytes", json!(max_bytes)),
        Shape::Custom { schema } => rule("schema", schema.clone()),
        Shape::Choice { .. } | Shape::Confirm => {}
    }
    Value::Object(rules)
}

/// A whole number is written like one.
fn bound(bound: Option<f64>, whole: bool) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "bounds of whole numbers are small and whole")]
    match bound {
        Some(bound) if whole => json!(bound as i64),
        other => json!(other),
    }
}

/// The prompt that is open, with what was wrong with the last answer.
pub(super) fn current(session: &Session) -> Option<Value> {
    let Field { name, prompt: asked } = session.current()?;
    let mut shown = prompt(name, asked);
    shown["promptId"] = json!(session.prompt_id());
    if let Some(heading) = session.heading() {
        shown["heading"] = json!(heading);
    }
    if let Some(Invalid { error, suggestion }) = session.invalid() {
        shown["error"] = json!(error);
        shown["suggestion"] = json!(suggestion);
    }
    Some(shown)
}

pub(super) fn progress(progress: &Progress) -> Value {
    let Progress { current, total, message } = progress;
    json!({ "current": current, "total": total, "message": message })
}

/// What came of it: the tool's reply, or why there is none.
pub(super) fn result(session: &Session) -> Option<Value> {
    match (session.state(), session.failed()) {
        (State::Completed, _) => Some(json!({ "success": true, "data": session.result() })),
        (_, Some(failed)) => {
            Some(json!({ "success": false, "error": { "kind": failed.kind, "message": failed.message } }))
        }
        _ => None,
    }
}

/// What came of it, in a sentence.
pub(super) fn summary(session: &Session) -> Option<String> {
    match (session.state(), session.summary(), session.failed()) {
        (State::Completed, summary, _) => Some(summary.unwrap_or("Completed successfully").to_owned()),
        (_, _, Some(failed)) => Some(failed.message.clone()),
        _ => None,
    }
}

/// Where a session stands after something was done with it. `prompt_name`: what the open prompt is called there.
pub(super) fn standing(standing: &Standing, prompt_name: &str) -> Map<String, Value> {
    let Standing { id, session, token, ends } = standing;
    let mut shown = Map::from_iter([
        ("sessionId".to_owned(), json!(id)),
        ("state".to_owned(), json!(session.state())),
        ("expiresAt".to_owned(), json!(ends.as_millisecond())),
    ]);
    let mut add = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            shown.insert(name.to_owned(), value);
        }
    };
    add(prompt_name, current(session));
    add("progress", session.progress().map(progress));
    add("result", result(session));
    add("summary", summary(session).map(Value::from));
    add("token", token.clone().map(Value::from));
    shown
}

/// All that there is to know about a session.
pub(super) fn state(of: &Standing) -> Map<String, Value> {
    let Standing { id: _, session, token: _, ends } = of;
    let mut shown = standing(of, "currentPrompt");
    shown.remove("expiresAt");
    let metadata = json!({
        "createdAt": session.created().as_millisecond(),
        "lastActivityAt": session.last_active().as_millisecond(),
        "expiresAt": ends.as_millisecond(),
        "timeout": session.timeout().as_millis(),
        "toolName": session.tool(),
    });
    let mut data = session.answers();
    if let Some(result) = session.result() {
        data.insert("result".to_owned(), result.clone());
    }
    let history: Vec<Value> = session.history().iter().enumerate().map(turn).collect();
    shown.extend([
        ("metadata".to_owned(), metadata),
        ("history".to_owned(), Value::Array(history)),
        ("accumulatedData".to_owned(), Value::Object(data)),
        ("context".to_owned(), Value::Object(session.context().clone())),
    ]);
    shown
}

fn turn((number, turn): (usize, &PastTurn)) -> Value {
    let mut response = json!({ "value": turn.value });
    if let Some(timestamp) = &turn.timestamp {
        response["timestamp"] = timestamp.clone();
    }
    if let Some(metadata) = &turn.metadata {
        response["metadata"] = json!(metadata);
    }
    json!({
        "turnId": number,
        "prompt": turn.prompt().map(|asked| prompt(&turn.name, &asked)),
        "response": response,
        "timestamp": turn.at.as_millisecond(),
    })
}
