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

/// What a question is about, in a line: what stands below is for whoever answers it.
pub(super) fn subject(question: &Question) -> String {
    question.message.lines().next().unwrap_or_default().to_owned()
}

/// What an answer is that leaves everything open, if everything may be left open. Whoever turns away from such a question
/// has not stopped the call.
pub(super) fn left_open(question: &Question) -> Option<Answers> {
    question.fields.iter().all(|field| !field.prompt.required).then(Answers::new)
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

/// What became of a form.
pub(super) enum Filled {
    /// These are the answers.
    In(Answers),
    /// The user wants to see the question before.
    Back,
    /// There are none.
    Not {
        /// The user said no, rather than going away.
        declined: bool,
    },
}

/// Where a client says that its user wants to go back. Ours does; others have no word for it.
const ACTION: &str = "fluxway/action";

/// What the user did with the form.
pub(super) fn answers(result: ElicitResult) -> Filled {
    let wants_back =
        result.meta.as_ref().and_then(|meta| meta.get(ACTION)).is_some_and(|action| action == "back");
    match result.action {
        ElicitAction::Accept if wants_back => Filled::Back,
        ElicitAction::Accept => Filled::In(result.content.unwrap_or_default()),
        ElicitAction::Decline => Filled::Not { declined: true },
        ElicitAction::Cancel => Filled::Not { declined: false },
    }
}

#[cfg(test)]
mod tests;
