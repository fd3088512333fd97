//! Why a use case failed. Error codes are assigned by the server.

use std::fmt;

use store_api::StoreError;

use crate::limits::MAX_PROBLEMS;
use design_tokens::EditError;
use design_tokens::import::ImportError;

/// Names of entities in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntityKind {
    Project,
    Version,
    /// A block or a page.
    Block,
    BlockType,
    Asset,
    /// A design token or a group of them.
    Token,
}

impl fmt::Display for EntityKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Project => "project",
            Self::Version => "version",
            Self::Block => "block",
            Self::BlockType => "block type",
            Self::Asset => "asset",
            Self::Token => "design token",
        })
    }
}

/// A single problem with the input or with stored data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidationProblem {
    /// The block it is about, if it already has an id.
    pub block: Option<String>,
    /// JSON pointer into the block or the input.
    pub path: String,
    /// What is wrong and how to fix it.
    pub message: String,
}

impl ValidationProblem {
    /// A problem with the input.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { block: None, path: path.into(), message: message.into() }
    }

    /// Attributes the problem to a block.
    #[must_use]
    pub fn for_block(mut self, id: &crate::BlockId) -> Self {
        self.block = Some(id.as_str().to_owned());
        self
    }
}

impl fmt::Display for ValidationProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(block) = &self.block {
            write!(f, "block `{block}`")?;
        }
        match (self.block.is_some(), self.path.is_empty()) {
            (true, true) => f.write_str(": ")?,
            (true, false) => write!(f, " at {}: ", self.path)?,
            (false, false) => write!(f, "{}: ", self.path)?,
            (false, true) => {}
        }
        f.write_str(&self.message)
    }
}

/// Rejected by a rule. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum ProjectRejection {
    /// It does not exist or belongs to another account; callers cannot tell which.
    #[error("{what} `{id}` not found; list the existing ones and use one of their ids")]
    NotFound { what: EntityKind, id: String },
    /// The project was written in the meantime.
    #[error("the project is at revision {found}, not {expected}; read it again and repeat the change")]
    Conflict {
        /// The revision known to the caller.
        expected: u64,
        /// The current revision.
        found: u64,
    },
    /// The input or the resulting state is invalid. Contains every problem.
    #[error("{}", join_problems(.0))]
    Invalid(Vec<ValidationProblem>),
    /// A limit would be exceeded.
    #[error("this would exceed the limit of {limit} {what}; reduce the change or remove something first")]
    TooLarge {
        /// What is counted, in the plural and with its unit: `bytes in the props of a block`.
        what: &'static str,
        limit: u64,
    },
    /// The result would be too large to return.
    #[error("the result would exceed {limit} {what}; request less, such as a smaller block")]
    AnswerTooLarge {
        /// What is counted, in the plural.
        what: &'static str,
        limit: u64,
    },
    /// The value must be unique and is taken.
    #[error("the {what} `{value}` is taken; choose another")]
    Taken { what: &'static str, value: String },
    /// It cannot be deleted because it is used.
    #[error("the {what} `{id}` is used by {}; {}", list_first_ids(by), resolution_hint(*what))]
    InUse {
        what: EntityKind,
        id: String,
        /// Ids of its users, in order.
        by: Vec<String>,
    },
    /// The published version cannot be deleted.
    #[error(
        "version {version} is published and cannot be deleted; publish another version or unpublish it first"
    )]
    Published { version: u32 },
    /// The design system cannot be edited like this.
    #[error(transparent)]
    Design(#[from] EditError),
    /// The design system cannot be imported.
    #[error(transparent)]
    Import(#[from] ImportError),
}

impl ProjectRejection {
    pub fn not_found(what: EntityKind, id: impl Into<String>) -> Self {
        Self::NotFound { what, id: id.into() }
    }

    pub fn invalid(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid(vec![ValidationProblem::new(path, message)])
    }

    /// Rejects if there are problems. Reports the first [`MAX_PROBLEMS`], and that there are more.
    pub fn reject_if_any(mut problems: Vec<ValidationProblem>) -> Result<(), Self> {
        if problems.is_empty() {
            return Ok(());
        }
        if problems.len() > MAX_PROBLEMS {
            problems.truncate(MAX_PROBLEMS);
            problems.push(ValidationProblem::new("", "there are more problems; fix these first"));
        }
        Err(Self::Invalid(problems))
    }
}

fn join_problems(problems: &[ValidationProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn list_first_ids(ids: &[String]) -> String {
    const MAX_LISTED_IDS: usize = 5;
    let shown = ids.iter().take(MAX_LISTED_IDS).map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ");
    if ids.len() > MAX_LISTED_IDS {
        format!("{shown} and {} more", ids.len() - MAX_LISTED_IDS)
    } else {
        shown
    }
}

/// Only assets can be force-deleted: a block without its type would be meaningless.
fn resolution_hint(what: EntityKind) -> &'static str {
    match what {
        EntityKind::Asset => "change them first, or force the deletion",
        _ => "change or delete them first",
    }
}

/// Why a use case failed: rejected by a rule, or a store failure.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Rejected(#[from] ProjectRejection),
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_entity_cause_and_remedy() {
        let by = |count: usize| (0..count).map(|n| format!("b{n}")).collect();
        for (refusal, expected) in [
            (
                ProjectRejection::not_found(EntityKind::Project, "p"),
                "project `p` not found; list the existing ones and use one of their ids",
            ),
            (
                ProjectRejection::Conflict { expected: 3, found: 5 },
                "the project is at revision 5, not 3; read it again and repeat the change",
            ),
            (
                ProjectRejection::Invalid(vec![
                    ValidationProblem::new("/name", "is empty"),
                    ValidationProblem::new("/props/level", "is 9")
                        .for_block(&crate::BlockId::parse("b1").unwrap()),
                    ValidationProblem::new("", "no"),
                ]),
                "/name: is empty; block `b1` at /props/level: is 9; no",
            ),
            (
                ProjectRejection::InUse { what: EntityKind::Asset, id: "a".to_owned(), by: by(2) },
                "the asset `a` is used by `b0`, `b1`; change them first, or force the deletion",
            ),
            (
                ProjectRejection::InUse { what: EntityKind::BlockType, id: "t".to_owned(), by: by(1) },
                "the block type `t` is used by `b0`; change or delete them first",
            ),
            (
                ProjectRejection::InUse { what: EntityKind::Asset, id: "a".to_owned(), by: by(7) },
                "the asset `a` is used by `b0`, `b1`, `b2`, `b3`, `b4` and 2 more; change them first, or force the deletion",
            ),
            (
                ProjectRejection::AnswerTooLarge { what: "blocks", limit: 500 },
                "the result would exceed 500 blocks; request less, such as a smaller block",
            ),
            (
                ProjectRejection::Published { version: 3 },
                "version 3 is published and cannot be deleted; publish another version or unpublish it first",
            ),
        ] {
            assert_eq!(refusal.to_string(), expected);
        }
    }

    #[test]
    fn long_problem_lists_are_truncated() {
        for (count, told, last) in [
            (0, 0, ""),
            (1, 1, "0"),
            (100, 100, "99"),
            (101, 101, "there are more problems; fix these first"),
            (5000, 101, "there are more problems; fix these first"),
        ] {
            let problems = (0..count).map(|n| ValidationProblem::new("", n.to_string())).collect();
            let problems = match ProjectRejection::reject_if_any(problems) {
                Err(ProjectRejection::Invalid(problems)) => problems,
                _ => Vec::new(),
            };
            assert_eq!(problems.len(), told, "{count}");
            assert_eq!(problems.last().map_or("", |problem| &problem.message), last, "{count}");
        }
    }
}
