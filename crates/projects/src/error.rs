//! Why something was not done. No numbers: the server gives each its code.

use std::fmt;

use store_api::StoreError;

use crate::limits::MAX_PROBLEMS;
use design_tokens::EditError;
use design_tokens::import::ImportError;

/// What things are called in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntityKind {
    /// A project.
    Project,
    /// A version of a project.
    Version,
    /// A block or a page.
    Block,
    /// A block type of a project.
    BlockType,
    /// An asset.
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

/// One thing that is wrong with what was given or is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidationProblem {
    /// The block that it is about, if it has an id already.
    pub block: Option<String>,
    /// Where in the block or in what was given, as a JSON pointer.
    pub path: String,
    /// What is wrong and what to do.
    pub message: String,
}

impl ValidationProblem {
    /// A problem with something that was given.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { block: None, path: path.into(), message: message.into() }
    }

    /// The same, about a block.
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

/// A rule says no. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum ProjectRejection {
    /// It is not there, or it belongs to somebody else: nobody can tell which.
    #[error("there is no {what} `{id}`; list what there is and use an id from there")]
    NotFound {
        /// What was looked for.
        what: EntityKind,
        /// What it was called.
        id: String,
    },
    /// Somebody else has written since.
    #[error("the project is at revision {found} and not {expected}; read it again and repeat the change")]
    Conflict {
        /// The revision that the caller knew.
        expected: u64,
        /// The revision that is there.
        found: u64,
    },
    /// What was given, or what would be there, breaks rules: all of them.
    #[error("{}", join_problems(.0))]
    Invalid(Vec<ValidationProblem>),
    /// More than there may be.
    #[error("the limit is {limit} {what}; make it smaller or remove something first")]
    TooLarge {
        /// What is counted, in the plural and with its unit: `bytes in the props of a block`.
        what: &'static str,
        /// The most there may be.
        limit: u64,
    },
    /// More than one answer may have.
    #[error("the answer would have more than {limit} {what}; ask for less of it, such as a smaller block")]
    AnswerTooLarge {
        /// What is counted, in the plural.
        what: &'static str,
        /// The most there may be.
        limit: u64,
    },
    /// Something else has this name.
    #[error("the {what} `{value}` is taken; choose another")]
    Taken {
        /// What must be unique.
        what: &'static str,
        /// What it was to be.
        value: String,
    },
    /// Something needs it.
    #[error("the {what} `{id}` is used by {}; {}", list_first_ids(by), resolution_hint(*what))]
    InUse {
        /// What was to go.
        what: EntityKind,
        /// Which one.
        id: String,
        /// The ids of those that use it, in order.
        by: Vec<String>,
    },
    /// A version that cannot go.
    #[error("version {version} is the one that is published; publish another or unpublish first")]
    Published {
        /// The version.
        version: u32,
    },
    /// A change to a design system that is not possible.
    #[error(transparent)]
    Design(#[from] EditError),
    /// A design system that cannot be read.
    #[error(transparent)]
    Import(#[from] ImportError),
}

impl ProjectRejection {
    /// Nothing of this name.
    pub fn not_found(what: EntityKind, id: impl Into<String>) -> Self {
        Self::NotFound { what, id: id.into() }
    }

    /// One rule that was broken.
    pub fn invalid(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid(vec![ValidationProblem::new(path, message)])
    }

    /// Says no if there are problems. Of many the first [`MAX_PROBLEMS`] are told, and that there are more.
    pub fn reject_if_any(mut problems: Vec<ValidationProblem>) -> Result<(), Self> {
        if problems.is_empty() {
            return Ok(());
        }
        if problems.len() > MAX_PROBLEMS {
            problems.truncate(MAX_PROBLEMS);
            problems.push(ValidationProblem::new("", "there are more problems; mend these first"));
        }
        Err(Self::Invalid(problems))
    }
}

fn join_problems(problems: &[ValidationProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The first few of many.
fn list_first_ids(ids: &[String]) -> String {
    const MAX_LISTED_IDS: usize = 5;
    let shown = ids.iter().take(MAX_LISTED_IDS).map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ");
    if ids.len() > MAX_LISTED_IDS {
        format!("{shown} and {} more", ids.len() - MAX_LISTED_IDS)
    } else {
        shown
    }
}

/// What to do about something that is needed. Only assets can go all the same: a block without its type would mean nothing.
fn resolution_hint(what: EntityKind) -> &'static str {
    match what {
        EntityKind::Asset => "change them first, or delete by force",
        _ => "change or delete them first",
    }
}

/// Why a use case did not happen: by a rule, or because the store could not.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A rule says no.
    #[error(transparent)]
    Rejected(#[from] ProjectRejection),
    /// The store could not.
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
                "there is no project `p`; list what there is and use an id from there",
            ),
            (
                ProjectRejection::Conflict { expected: 3, found: 5 },
                "the project is at revision 5 and not 3; read it again and repeat the change",
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
                "the asset `a` is used by `b0`, `b1`; change them first, or delete by force",
            ),
            (
                ProjectRejection::InUse { what: EntityKind::BlockType, id: "t".to_owned(), by: by(1) },
                "the block type `t` is used by `b0`; change or delete them first",
            ),
            (
                ProjectRejection::InUse { what: EntityKind::Asset, id: "a".to_owned(), by: by(7) },
                "the asset `a` is used by `b0`, `b1`, `b2`, `b3`, `b4` and 2 more; change them first, or delete by force",
            ),
            (
                ProjectRejection::AnswerTooLarge { what: "blocks", limit: 500 },
                "the answer would have more than 500 blocks; ask for less of it, such as a smaller block",
            ),
            (
                ProjectRejection::Published { version: 3 },
                "version 3 is the one that is published; publish another or unpublish first",
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
            (101, 101, "there are more problems; mend these first"),
            (5000, 101, "there are more problems; mend these first"),
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
