//! A question as an MCP form, and the filled-in form as answers.

use flow::{AnswerShape, Answers, PendingQuestion, Prompt, Question};
use protocol::Revision;
use protocol::mcp::{ElicitAction, ElicitResult, FormSchema};
use serde_json::{Value, json};

/// What to say above the form: what was wrong the last time, then the question.
pub(super) fn form_message(question: &PendingQuestion) -> String {
    let problems: Vec<String> = question
        .problems
        .iter()
        .map(|(name, invalid)| {
            if question.question.fields.len() == 1 {
                format!("{invalid}.\n")
            } else {
                format!("{name}: {invalid}.\n")
            }
        })
        .collect();
    format!("{}{}", problems.concat(), question.question.message)
}

/// The first line of a question: the details below it are for the user who answers.
pub(super) fn question_title(question: &Question) -> String {
    question.message.lines().next().unwrap_or_default().to_owned()
}

/// An answer that leaves every field open, if every field is optional. A user who dismisses
/// such a question has not stopped the call.
pub(super) fn empty_answers(question: &Question) -> Option<Answers> {
    question.fields.iter().all(|field| !field.prompt.required).then(Answers::new)
}

/// The form. Only what the revision knows; the engine checks the rest.
pub(super) fn form_schema(question: &Question, revision: Revision) -> FormSchema {
    let property = |prompt: &Prompt| {
        let mut schema = field_schema(&prompt.shape, revision);
        schema["title"] = json!(prompt.message);
        if let Some(hint) = &prompt.placeholder {
            schema["description"] = json!(hint);
        }
        let may_default = revision.has_rich_forms() || prompt.shape == AnswerShape::Confirm;
        if let Some(default) = prompt.default.as_ref().filter(|_| may_default) {
            schema["default"] = default.clone();
        }
        schema
    };
    let fields = &question.fields;
    FormSchema {
        r#type: "object",
        properties: fields.iter().map(|field| (field.name.clone(), property(&field.prompt))).collect(),
        required: fields
            .iter()
            .filter(|field| field.prompt.required && field.prompt.default.is_none())
            .map(|field| field.name.clone())
            .collect(),
    }
}

fn field_schema(shape: &AnswerShape, revision: Revision) -> Value {
    let titled = |options: &[(String, String)]| -> Value {
        options.iter().map(|(value, label)| json!({ "const": value, "title": label })).collect()
    };
    match shape {
        AnswerShape::Text { min, max, .. } => json!({ "type": "string", "minLength": min, "maxLength": max }),
        AnswerShape::Choice { options, several: false } if revision.has_rich_forms() => {
            json!({ "type": "string", "oneOf": titled(options) })
        }
        AnswerShape::Choice { options, several: false } => {
            let (values, names): (Vec<_>, Vec<_>) = options.iter().cloned().unzip();
            json!({ "type": "string", "enum": values, "enumNames": names })
        }
        AnswerShape::Choice { options, several: true } if revision.has_rich_forms() => {
            json!({ "type": "array", "items": { "anyOf": titled(options) } })
        }
        AnswerShape::Choice { .. } | AnswerShape::File { .. } | AnswerShape::Custom { .. } => {
            json!({ "type": "string" })
        }
        AnswerShape::Confirm => json!({ "type": "boolean" }),
        AnswerShape::Number { min, max, whole } => {
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
        AnswerShape::Date { .. } => json!({ "type": "string", "format": "date" }),
    }
}

/// What became of a form.
pub(super) enum FormOutcome {
    /// These are the answers.
    Answered(Answers),
    /// The user wants to see the question before.
    Back,
    /// There are none.
    Unanswered {
        /// The user said no, rather than going away.
        declined: bool,
    },
}

/// Where a client says that its user wants to go back. Ours does; others have no word for it.
const ACTION_META_KEY: &str = "fluxway/action";

/// What the user did with the form.
pub(super) fn parse_result(result: ElicitResult) -> FormOutcome {
    let wants_back = result
        .meta
        .as_ref()
        .and_then(|meta| meta.get(ACTION_META_KEY))
        .is_some_and(|action| action == "back");
    match result.action {
        ElicitAction::Accept if wants_back => FormOutcome::Back,
        ElicitAction::Accept => FormOutcome::Answered(result.content.unwrap_or_default()),
        ElicitAction::Decline => FormOutcome::Unanswered { declined: true },
        ElicitAction::Cancel => FormOutcome::Unanswered { declined: false },
    }
}

#[cfg(test)]
mod tests;
