//! Sessions and their prompts as the MCP Flow document writes them.

use flow::session::{PastTurn, Session, SessionSnapshot, SessionState};
use flow::{AnswerShape, Field, InvalidAnswer, Progress, Prompt};
use serde_json::{Map, Value, json};

/// What a prompt is called on the wire.
fn prompt_type(shape: &AnswerShape) -> &'static str {
    match shape {
        AnswerShape::Text { .. } => "text",
        AnswerShape::Choice { .. } => "choice",
        AnswerShape::Confirm => "confirm",
        AnswerShape::Number { .. } => "number",
        AnswerShape::Date { .. } => "date",
        AnswerShape::File { .. } => "file",
        AnswerShape::Custom { .. } => "custom",
    }
}

/// Every kind of prompt.
pub(super) const PROMPT_TYPES: [&str; 7] = ["text", "choice", "confirm", "number", "date", "file", "custom"];

/// A prompt as it was put.
fn render_prompt(name: &str, prompt: &Prompt) -> Value {
    let mut shown = json!({ "type": prompt_type(&prompt.shape), "message": prompt.message, "name": name });
    if let Some(placeholder) = &prompt.placeholder {
        shown["placeholder"] = json!(placeholder);
    }
    if let Some(default) = &prompt.default {
        shown["defaultValue"] = default.clone();
    }
    if let AnswerShape::Choice { options, several } = &prompt.shape {
        let choice = |(value, label): &(String, String)| json!({ "value": value, "label": label });
        shown["choices"] = options.iter().map(choice).collect();
        if *several {
            shown["multiple"] = json!(true);
        }
    }
    shown["validation"] = validation_rules(prompt);
    shown
}

/// The rules that an answer is judged by, so that a client can judge it first.
fn validation_rules(prompt: &Prompt) -> Value {
    let mut rules = Map::new();
    let mut rule = |name: &str, value: Value| {
        if !value.is_null() {
            rules.insert(name.to_owned(), value);
        }
    };
    rule("required", json!(prompt.required && prompt.default.is_none()));
    match &prompt.shape {
        AnswerShape::Text { min, max, pattern } => {
            rule("min", json!(min));
            rule("max", json!(max));
            rule("pattern", json!(pattern));
        }
        AnswerShape::Number { min, max, whole } => {
            rule("min", render_bound(*min, *whole));
            rule("max", render_bound(*max, *whole));
            rule("integer", if *whole { json!(true) } else { Value::Null });
        }
        AnswerShape::Date { min, max } => {
            rule("min", json!(min));
            rule("max", json!(max));
        }
        AnswerShape::File { max_bytes } => rule("maxBytes", json!(max_bytes)),
        AnswerShape::Custom { schema } => rule("schema", schema.clone()),
        AnswerShape::Choice { .. } | AnswerShape::Confirm => {}
    }
    Value::Object(rules)
}

/// A whole number is written like one.
fn render_bound(bound: Option<f64>, whole: bool) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "bounds of whole numbers are small and whole")]
    match bound {
        Some(bound) if whole => json!(bound as i64),
        other => json!(other),
    }
}

/// The prompt that is open, with what was wrong with the last answer.
pub(super) fn current_prompt(session: &Session) -> Option<Value> {
    let Field { name, prompt: asked } = session.current_field()?;
    let mut shown = render_prompt(name, asked);
    shown["promptId"] = json!(session.prompt_id());
    if let Some(heading) = session.heading() {
        shown["heading"] = json!(heading);
    }
    if let Some(InvalidAnswer { error, suggestion }) = session.invalid_answer() {
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
    match (session.state(), session.failure()) {
        (SessionState::Completed, _) => Some(json!({ "success": true, "data": session.result() })),
        (_, Some(failed)) => {
            Some(json!({ "success": false, "error": { "kind": failed.kind, "message": failed.message } }))
        }
        _ => None,
    }
}

/// What came of it, in a sentence.
pub(super) fn summary(session: &Session) -> Option<String> {
    match (session.state(), session.summary(), session.failure()) {
        (SessionState::Completed, summary, _) => Some(summary.unwrap_or("Completed successfully").to_owned()),
        (_, _, Some(failed)) => Some(failed.message.clone()),
        _ => None,
    }
}

/// Where a session stands after something was done with it. `prompt_name`: what the open prompt is called
/// there.
pub(super) fn render_snapshot(snapshot: &SessionSnapshot, prompt_name: &str) -> Map<String, Value> {
    let SessionSnapshot { id, session, token, expires_at: ends } = snapshot;
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
    add(prompt_name, current_prompt(session));
    add("progress", session.progress().map(progress));
    add("result", result(session));
    add("summary", summary(session).map(Value::from));
    add("token", token.clone().map(Value::from));
    shown
}

/// All that there is to know about a session.
pub(super) fn render_full_state(of: &SessionSnapshot) -> Map<String, Value> {
    let SessionSnapshot { id: _, session, token: _, expires_at: ends } = of;
    let mut shown = render_snapshot(of, "currentPrompt");
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
    let history: Vec<Value> = session.history().iter().enumerate().map(render_turn).collect();
    shown.extend([
        ("metadata".to_owned(), metadata),
        ("history".to_owned(), Value::Array(history)),
        ("accumulatedData".to_owned(), Value::Object(data)),
        ("context".to_owned(), Value::Object(session.context().clone())),
    ]);
    shown
}

fn render_turn((number, turn): (usize, &PastTurn)) -> Value {
    let mut response = json!({ "value": turn.value });
    if let Some(timestamp) = &turn.timestamp {
        response["timestamp"] = timestamp.clone();
    }
    if let Some(metadata) = &turn.metadata {
        response["metadata"] = json!(metadata);
    }
    json!({
        "turnId": number,
        "prompt": turn.prompt().map(|asked| render_prompt(&turn.name, &asked)),
        "response": response,
        "timestamp": turn.at.as_millisecond(),
    })
}
