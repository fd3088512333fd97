//! Errors of projects and their contents.

use std::sync::Arc;

use design_tokens::{EditError, TokenFinding};
use projects::{EntityKind, Error, ProjectRejection, StoreError, ValidationProblem};
use serde_json::{Value, json};

use super::policy::ErrorPolicy;
use super::{RequestError, codefluss};

/// Why an operation on a project was rejected. Nothing was changed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ProjectRequestError(Arc<ProjectRejection>);

impl ProjectRequestError {
    pub(super) fn is_not_found(&self) -> bool {
        matches!(*self.0, ProjectRejection::NotFound { .. })
    }

    pub(super) fn policy(&self) -> ErrorPolicy {
        let (kind, code) = match self.0.as_ref() {
            ProjectRejection::NotFound { .. } | ProjectRejection::Design(EditError::NotFound { .. }) => {
                ("not_found", codefluss::NOT_FOUND)
            }
            ProjectRejection::Conflict { .. } => ("conflict", codefluss::VALIDATION),
            ProjectRejection::Invalid(_) => ("invalid", codefluss::VALIDATION),
            ProjectRejection::TooLarge { .. }
            | ProjectRejection::AnswerTooLarge { .. }
            | ProjectRejection::Design(EditError::Limit(_)) => ("too_large", codefluss::VALIDATION),
            ProjectRejection::Taken { .. } => ("taken", codefluss::VALIDATION),
            ProjectRejection::InUse { .. } | ProjectRejection::Design(EditError::InUse { .. }) => {
                ("in_use", codefluss::VALIDATION)
            }
            ProjectRejection::Published { .. } => ("published", codefluss::VALIDATION),
            ProjectRejection::Design(_) => ("design_refused", codefluss::VALIDATION),
            ProjectRejection::Import(_) => ("import_failed", codefluss::VALIDATION),
        };
        ErrorPolicy::model(kind, code)
    }

    /// The message in German. `None` for errors about the content to be written, which are not translated.
    pub(super) fn german_text(&self) -> Option<String> {
        match self.0.as_ref() {
            ProjectRejection::NotFound { what, id } => {
                let what = match what {
                    EntityKind::Project => "das Projekt",
                    EntityKind::Version => "die Version",
                    EntityKind::Block => "den Block",
                    EntityKind::BlockType => "den Blocktyp",
                    EntityKind::Asset => "das Asset",
                    EntityKind::Token => "das Design Token",
                };
                Some(format!("Es gibt {what} `{id}` nicht; eine ID aus der Liste verwenden"))
            }
            ProjectRejection::Conflict { expected, found } => Some(format!(
                "Das Projekt hat Revision {found} und nicht {expected}; neu lesen und die Änderung wiederholen"
            )),
            _ => None,
        }
    }

    pub(super) fn data(&self) -> Value {
        match self.0.as_ref() {
            ProjectRejection::NotFound { what, id } => json!({ "resource": what.to_string(), "id": id }),
            ProjectRejection::Conflict { expected, found } => json!({ "expected": expected, "found": found }),
            ProjectRejection::Invalid(problems) => {
                json!({ "errors": problems.iter().map(render_problem).collect::<Vec<_>>() })
            }
            ProjectRejection::TooLarge { what, limit } | ProjectRejection::AnswerTooLarge { what, limit } => {
                json!({ "limit": limit, "of": what })
            }
            ProjectRejection::Taken { what, value } => json!({ "field": what, "value": truncate(value) }),
            ProjectRejection::InUse { what, id, by } => {
                json!({ "resource": what.to_string(), "id": id, "usedBy": by })
            }
            ProjectRejection::Published { version } => json!({ "version": version }),
            ProjectRejection::Design(EditError::NotFound { path }) => {
                json!({ "resource": EntityKind::Token.to_string(), "id": truncate(path) })
            }
            ProjectRejection::Design(EditError::InUse { path, users }) => {
                json!({ "resource": EntityKind::Token.to_string(), "id": truncate(path), "usedBy": users })
            }
            ProjectRejection::Design(EditError::InvalidValue { findings, .. }) => {
                let told =
                    |finding: &TokenFinding| json!({ "path": finding.path, "message": finding.message });
                json!({ "errors": findings.iter().map(told).collect::<Vec<_>>() })
            }
            ProjectRejection::Design(_) | ProjectRejection::Import(_) => {
                json!({ "errors": [{ "path": "", "message": self.0.to_string() }] })
            }
        }
    }
}

fn render_problem(problem: &ValidationProblem) -> Value {
    let mut told = json!({ "path": problem.path, "message": problem.message });
    if let Some(block) = &problem.block {
        told["blockId"] = json!(block);
    }
    told
}

/// Input is echoed in errors, but not a megabyte of it.
fn truncate(text: &str) -> String {
    text.chars().take(128).collect()
}

impl From<ProjectRejection> for RequestError {
    fn from(refused: ProjectRejection) -> Self {
        let refused = match refused {
            ProjectRejection::NotFound { what, id } => ProjectRejection::NotFound { what, id: truncate(&id) },
            other => other,
        };
        Self::Project(ProjectRequestError(Arc::new(refused)))
    }
}

impl From<Error> for RequestError {
    fn from(error: Error) -> Self {
        match error {
            Error::Rejected(refused) => refused.into(),
            Error::Store(error @ (StoreError::Unreachable(_) | StoreError::Full(_))) => {
                Self::store_unavailable(error)
            }
            // Retrying does not help.
            Error::Store(error @ StoreError::Broken(_)) => Self::internal(error),
        }
    }
}
