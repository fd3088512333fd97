//! A question as an MCP form, and the filled-in form as answers.

use flow::{Answers, Asked, Prompt, Question, Shape};
use protocol::Revision;
use protocol::mcp::{ElicitAction, ElicitResult, Form};
use serde_json::{Value, json};

/// What to say above the form: what was wrong the last time, then the question.
pub(super) fn message(asked: &Asked) -> String {
    let problems: Vec<String> = asked
        .problems
        .iter()
        .map(|(name, invalid)| {
            if asked.question.fields.len() == 1 {
                format!("{invalid}.\n")
            } else {
                format!("{name}: {invalid}.\n")
            }
        })
        .collect();
    format!("{}{}", problems.concat(), asked.question.message)
}

/// The form. Only what the revision knows; the engine checks the rest.
pub(super) fn form(question: &Question, revision: Revision) -> Form {
    let property = |prompt: &Prompt| {
        let mut schema = shape(&prompt.shape, revision);
        schema["title"] = json!(prompt.message);
        if let Some(hint) = &prompt.placeholder {
            schema["description"] = json!(hint);
        }
        let may_default = revision.has_rich_forms() || prompt.shape == Shape::Confirm;
        if let Some(default) = prompt.default.as_ref().filter(|_| may_default) {
            schema["default"] = default.clone();
        }
        schema
    };
    let fields = &question.fields;
    Form {
        r#type: "object",
        properties: fields.iter().map(|field| (field.name.clone(), property(&field.prompt))).collect(),
        required: fields
            .iter()
            .filter(|field| field.prompt.required && field.prompt.default.is_none())
            .map(|field| field.name.clone())
            .collect(),
    }
}

fn shape(shape: &Shape, revision: Revision) -> Value {
    let titled = |options: &[(String, String)]| -> Value {
        options.iter().map(|(value, label)| json!({ "const": value, "title": label })).collect()
    };
    match shape {
        Shape::Text { min, max, .. } => json!({ "type": "string", "minLength": min, "maxLength": max }),
        Shape::Choice { options, several: false } if revision.has_rich_forms() => {
            json!({ "type": "string", "oneOf": titled(options) })
        }
        Shape::Choice { options, several: false } => {
            let (values, names): (Vec<_>, Vec<_>) = options.iter().cloned().unzip();
            json!({ "type": "string", "enum": values, "enumNames": names })
        }
        Shape::Choice { options, several: true } if revision.has_rich_forms() => {
            json!({ "type": "array", "items": { "anyOf": titled(options) } })
        }
        Shape::Choice { .. } | Shape::File { .. } | Shape::Custom { .. } => json!({ "type": "string" }),
        Shape::Confirm => json!({ "type": "boolean" }),
        Shape::Number { min, max, whole } => {
            let mut schema = json!({ "type": if *whole { "integer" } else { "number" } });
            #[expect(
                clippy::cast_possible_truncation,
                reason = "bounds of whole numbers are small and whole"
            )]
            let number = |n: f64| if *whole { json!(n as i64) } else { json!(n) };
            if let Some(min) = min {
                schema["minimum"] = number(*min);
            }
            if let Some(max) = max {
                schema["maximum"] = number(*max);
            }
            schema
        }
        Shape::Date { .. } => json!({ "type": "string", "format": "date" }),
    }
}

/// What the user filled in; or whether the form was declined (it may also have been dismissed).
pub(super) fn answers(result: ElicitResult) -> Result<Answers, bool> {
    match result.action {
        ElicitAction::Accept => Ok(result.content.unwrap_or_default()),
        ElicitAction::Decline => Err(true),
        ElicitAction::Cancel => Err(false),
    }
}

#[cfg(test)]
mod tests;
