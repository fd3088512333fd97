//! What can go wrong with a project and what is in it.

use std::sync::Arc;

use design_tokens::{EditError, Finding};
use projects::{Error, Noun, Problem, Refusal as Refused, StoreError};
use serde_json::{Value, json};

use super::{Failure, Policy, codefluss};

/// Why something was not done to a project. Nothing has changed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ProjectProblem(Arc<Refused>);

impl ProjectProblem {
    pub(super) fn is_absent(&self) -> bool {
        matches!(*self.0, Refused::NotFound { .. })
    }

    pub(super) fn policy(&self) -> Policy {
        let (kind, code) = match self.0.as_ref() {
            Refused::NotFound { .. } | Refused::Design(EditError::Missing { .. }) => {
                ("not_found", codefluss::NOT_FOUND)
            }
            Refused::Conflict { .. } => ("conflict", codefluss::VALIDATION),
            Refused::Invalid(_) => ("invalid", codefluss::VALIDATION),
            Refused::TooLarge { .. }
            | Refused::AnswerTooLarge { .. }
            | Refused::Design(EditError::Limit(_)) => ("too_large", codefluss::VALIDATION),
            Refused::Taken { .. } => ("taken", codefluss::VALIDATION),
            Refused::InUse { .. } | Refused::Design(EditError::InUse { .. }) => {
                ("in_use", codefluss::VALIDATION)
            }
            Refused::Published { .. } => ("published", codefluss::VALIDATION),
            Refused::Design(_) => ("design_refused", codefluss::VALIDATION),
            Refused::Import(_) => ("import_failed", codefluss::VALIDATION),
        };
        Policy::model(kind, code)
    }

    /// The text in German, where it is about the project and not about what was to be written in it.
    pub(super) fn german(&self) -> Option<String> {
        match self.0.as_ref() {
            Refused::NotFound { what, id } => {
                let what = match what {
                    Noun::Project => "das Projekt",
                    Noun::Version => "die Version",
                    Noun::Block => "den Block",
                    Noun::BlockType => "den Blocktyp",
                    Noun::Asset => "das Asset",
                    Noun::Token => "das Design Token",
                };
                Some(format!("Es gibt {what} `{id}` nicht; eine ID aus der Liste verwenden"))
            }
            Refused::Conflict { expected, found } => Some(format!(
                "Das Projekt hat Revision {found} und nicht {expected}; neu lesen und die Änderung wiederholen"
            )),
            _ => None,
        }
    }

    pub(super) fn data(&self) -> Value {
        match self.0.as_ref() {
            Refused::NotFound { what, id } => json!({ "resource": what.to_string(), "id": id }),
            Refused::Conflict { expected, found } => json!({ "expected": expected, "found": found }),
            Refused::Invalid(problems) => {
                json!({ "errors": problems.iter().map(told).collect::<Vec<_>>() })
            }
            Refused::TooLarge { what, limit } | Refused::AnswerTooLarge { what, limit } => {
                json!({ "limit": limit, "of": what })
            }
            Refused::Taken { what, value } => json!({ "field": what, "value": shortened(value) }),
            Refused::InUse { what, id, by } => {
                json!({ "resource": what.to_string(), "id": id, "usedBy": by })
            }
            Refused::Published { version } => json!({ "version": version }),
            Refused::Design(EditError::Missing { path }) => {
                json!({ "resource": Noun::Token.to_string(), "id": shortened(path) })
            }
            Refused::Design(EditError::InUse { path, users }) => {
                json!({ "resource": Noun::Token.to_string(), "id": shortened(path), "usedBy": users })
            }
            Refused::Design(EditError::Wrong { findings, .. }) => {
                let told = |finding: &Finding| json!({ "path": finding.path, "message": finding.message });
                json!({ "errors": findings.iter().map(told).collect::<Vec<_>>() })
            }
            Refused::Design(_) | Refused::Import(_) => {
                json!({ "errors": [{ "path": "", "message": self.0.to_string() }] })
            }
        }
    }
}

fn told(problem: &Problem) -> Value {
    let mut told = json!({ "path": problem.path, "message": problem.message });
    if let Some(block) = &problem.block {
        told["blockId"] = json!(block);
    }
    told
}

/// What was asked for comes back, but not all of a megabyte.
fn shortened(text: &str) -> String {
    text.chars().take(128).collect()
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        let refused = match refused {
            Refused::NotFound { what, id } => Refused::NotFound { what, id: shortened(&id) },
            other => other,
        };
        Self::Project(ProjectProblem(Arc::new(refused)))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(refused) => refused.into(),
            Error::Store(error @ (StoreError::Unreachable(_) | StoreError::Full(_))) => {
                Self::store_unavailable(error)
            }
            // Trying again will not help.
            Error::Store(error @ StoreError::Broken(_)) => Self::internal(error),
        }
    }
}
