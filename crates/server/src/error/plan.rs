//! Errors of edit plans.

use std::sync::Arc;

use codebase::plan::{ApplyError, Conflict, PlanValidation, redact_diff};
use serde_json::{Value, json};

/// Why a plan was not applied or undone. No file was changed.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum PlanRequestError {
    #[error("the plan cannot be applied, and nothing was changed:\n- {}", issues.join("\n- "))]
    Invalid { issues: Vec<String> },
    #[error(
        "no plan `{id}` is stored for you; plans expire after a day: propose it again, or pass the plan itself as `plan`"
    )]
    NotFound { id: String },
    #[error("{}", explain(.0))]
    Apply(Arc<ApplyError>),
}

impl PlanRequestError {
    pub(crate) fn invalid(validation: &PlanValidation) -> Self {
        let blocking = validation.findings.iter().filter(|finding| finding.is_blocking());
        Self::Invalid { issues: blocking.map(codebase::plan::PlanFinding::sentence_with_fix).collect() }
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Invalid { .. } => "plan_invalid",
            Self::NotFound { .. } => "plan_not_found",
            Self::Apply(error) => match error.as_ref() {
                ApplyError::Busy => "busy",
                ApplyError::Conflict { .. } => "conflict",
                ApplyError::Unknown(_) => "plan_not_applied",
                ApplyError::Io(_) => "write_failed",
            },
        }
    }

    pub(super) fn data(&self) -> Value {
        let error = match self {
            Self::Invalid { issues } => return json!({ "issues": issues }),
            Self::NotFound { id } => return json!({ "plan_id": id }),
            Self::Apply(error) => error.as_ref(),
        };
        let ApplyError::Conflict { conflicts } = error else { return json!({}) };
        let one = |conflict: &Conflict| {
            let Conflict { path, message: says, ours, theirs } = conflict;
            json!({ "path": path, "problem": says, "ours": redacted(ours), "theirs": redacted(theirs) })
        };
        json!({ "conflicts": conflicts.iter().map(one).collect::<Vec<_>>() })
    }
}

impl From<ApplyError> for PlanRequestError {
    fn from(error: ApplyError) -> Self {
        Self::Apply(Arc::new(error))
    }
}

/// Removes lines with secrets: models read errors, too.
fn redacted(diff: &str) -> String {
    redact_diff(diff, fluxloop::find_secret_lines).text
}

/// Explains a conflict: the message, the changes of the plan, and the other changes to the file.
fn explain(error: &ApplyError) -> String {
    let ApplyError::Conflict { conflicts } = error else { return error.to_string() };
    let one = |conflict: &Conflict| {
        let side = |title: &str, diff: &str| {
            if diff.is_empty() { String::new() } else { format!("\n{title}:\n{}", redacted(diff)) }
        };
        format!(
            "{}{}{}",
            conflict.message,
            side("Changed by the plan", &conflict.ours),
            side("Changed by other edits", &conflict.theirs)
        )
    };
    conflicts.iter().map(one).collect::<Vec<_>>().join("\n")
}
