//! For clients that cannot be asked: everything comes with the call, and what is missing is named.

use flow::{Journal, Ledger, Question, Shape, Turn};
use protocol::{Dialect, Revision};
use serde_json::{Value, json};

use super::{Talk, done, form, halted};
use crate::error::Failure;
use crate::tools::Outcome;

/// One turn is all there is.
pub(super) async fn run(talk: &Talk<'_>) -> Result<Outcome, Failure> {
    match talk.advance(&mut Journal::default(), None, Ledger::InProcess).await {
        Turn::Done(finished) => Ok(done(finished)),
        Turn::Ask(asked) => {
            Err(Failure::InputNeeded { tool: talk.tool.to_owned(), question: asked.question })
        }
        Turn::Halted(halt) => Err(halted(halt)),
    }
}

/// What a model needs to know to call again with success.
pub(crate) fn explain(tool: &str, question: &Question) -> String {
    let fields: Vec<String> = question
        .fields
        .iter()
        .map(|field| {
            let options = match &field.prompt.shape {
                Shape::Choice { options, .. } => {
                    let values: Vec<_> = options.iter().map(|(value, _)| value.as_str()).collect();
                    format!(" One of: {}", values.join(", "))
                }
                Shape::Date { .. } => ", YYYY-MM-DD".to_owned(),
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
pub(crate) fn data(question: &Question, dialect: Dialect) -> Value {
    let first = question.fields.first().map(|field| field.name.as_str());
    let schema = form::form(question, Revision::OFFERED);
    match dialect {
        Dialect::Envelope => json!({ "missing_param": first, "schema": schema }),
        Dialect::Codefluss | Dialect::Mcp(_) => {
            json!({ "field": first, "error": "Required field missing", "schema": schema })
        }
    }
}
