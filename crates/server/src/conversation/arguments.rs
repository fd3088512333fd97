//! For clients that cannot be asked: everything comes with the call, and what is missing is named.

use flow::{AnswerShape, Durability, Journal, Question, Turn};
use protocol::{Dialect, Revision};
use serde_json::{Value, json};

use super::{ConversationRun, error_from_halt, form, outcome_from_done};
use crate::error::RequestError;
use crate::tools::ToolOutcome;

/// One turn is all there is.
pub(super) async fn run(run: &ConversationRun<'_>) -> Result<ToolOutcome, RequestError> {
    match run.advance(&mut Journal::default(), None, Durability::InProcess).await {
        Turn::Done(finished) => Ok(outcome_from_done(finished)),
        Turn::Ask(asked) => {
            Err(RequestError::InputNeeded { tool: run.tool.to_owned(), question: asked.question })
        }
        Turn::Halted(halt) => Err(error_from_halt(halt)),
    }
}

/// What a model needs to know to call again with success.
pub(crate) fn explain(tool: &str, question: &Question) -> String {
    let fields: Vec<String> = question
        .fields
        .iter()
        .map(|field| {
            let options = match &field.prompt.shape {
                AnswerShape::Choice { options, .. } => {
                    let values: Vec<_> = options.iter().map(|(value, _)| value.as_str()).collect();
                    format!(" One of: {}", values.join(", "))
                }
                AnswerShape::Date { .. } => ", YYYY-MM-DD".to_owned(),
                _ => String::new(),
            };
            format!("`{}` ({}{options})", field.name, field.prompt.message)
        })
        .collect();
    // What the user has to see before they can answer, such as a diff.
    let shown =
        if question.message.contains('\n') { format!("\n\n{}", question.message) } else { String::new() };
    format!(
        "{tool} needs more: {}. Ask the user, then call {tool} again with the same arguments and these added.{shown}",
        fields.join("; ")
    )
}

/// The same for programs.
pub(crate) fn missing_input_data(question: &Question, dialect: Dialect) -> Value {
    let first = question.fields.first().map(|field| field.name.as_str());
    let schema = form::form_schema(question, Revision::OFFERED);
    match dialect {
        Dialect::Envelope => json!({ "missing_param": first, "schema": schema }),
        Dialect::Codefluss | Dialect::Mcp(_) => {
            json!({ "field": first, "error": "Required field missing", "schema": schema })
        }
    }
}
