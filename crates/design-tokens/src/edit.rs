//! Changes to a document. Each gives a new document and says which paths it touched.

mod rename;
mod set;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use super::budget::CostBudget;
use super::document::{ParseError, TokenDocument, find_mut, remove_mode, remove_path};
use super::finding::{TokenFinding, excerpt};
use super::flatten::{PathLookup, look_up_path, resolves_to_token};
use super::json::{Json, JsonMap};
use super::kind::TokenKind;
use super::limits::{MAX_NAME_BYTES, MAX_PATH_BYTES};
use super::model::{ReferenceTarget, TokenModel, is_descendant};
use super::reference::TokenReference;
use super::validate::structure::name_problem;

pub use rename::rename_path;
pub use set::{set_token, set_tokens};

/// A document after a change.
#[derive(Clone, Debug, PartialEq)]
pub struct EditOutcome {
    /// The new document.
    pub document: TokenDocument,
    /// The paths of the tokens and groups that are not what they were, in order.
    pub touched: Vec<String>,
}

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// A path with a name that the format forbids.
    #[error("`{}` cannot be a path: {reason}", excerpt(path))]
    InvalidPath {
        /// The path.
        path: String,
        /// Which name, and why.
        reason: String,
    },
    /// A mode without a name, or with too long a one.
    #[error("a mode needs a name of 1 to {MAX_NAME_BYTES} bytes; `{}` has {}", excerpt(mode), mode.len())]
    InvalidMode {
        /// The mode.
        mode: String,
    },
    /// Nothing at the path.
    #[error("there is no token or group `{}`; look up its path", excerpt(path))]
    NotFound {
        /// The path.
        path: String,
    },
    /// Something at the path already.
    #[error("`{}` exists already; choose another path or delete it first", excerpt(path))]
    AlreadyExists {
        /// The path.
        path: String,
    },
    /// A group where a token should be, or a token where a group should be.
    #[error("`{}` is a {found}, and here a {wanted} is needed", excerpt(path))]
    WrongNodeType {
        /// The path.
        path: String,
        /// What it is.
        found: &'static str,
        /// What it should be.
        wanted: &'static str,
    },
    /// Groups on the way that extend one another too often.
    #[error(
        "`{}` was not looked up: the groups extend one another too often; use fewer `$extends` or fewer changes at once",
        excerpt(path)
    )]
    TooManyExtends {
        /// The path.
        path: String,
    },
    /// A token without a type.
    #[error("`{}` would have no type; give one, or put it into a group that has one", excerpt(path))]
    MissingType {
        /// The path.
        path: String,
    },
    /// A token that has no value of its own for a mode.
    #[error(
        "`{}` has no value of its own for mode `{}`; there is nothing to delete",
        excerpt(path),
        excerpt(mode)
    )]
    ModeNotFound {
        /// The path.
        path: String,
        /// The mode.
        mode: String,
    },
    /// A value that is wrong, or makes something else wrong.
    #[error("the value of `{}` is not usable: {}", excerpt(path), list_findings(path, findings))]
    InvalidValue {
        /// The path.
        path: String,
        /// All that is wrong.
        findings: Vec<TokenFinding>,
    },
    /// Something refers to what should go.
    #[error("`{}` is used by {}; change them first, or delete by force", excerpt(path), list_paths(users))]
    InUse {
        /// The path.
        path: String,
        /// The tokens and groups that refer to it.
        users: Vec<String>,
    },
    /// Another path would change the meaning of something.
    #[error("`{}` cannot become `{}`: {reason}", excerpt(from), excerpt(to))]
    MeaningChanged {
        /// The old path.
        from: String,
        /// The new path.
        to: String,
        /// What would change.
        reason: String,
    },
    /// The document would be too large.
    #[error(transparent)]
    Limit(#[from] ParseError),
}

/// How many things one message names.
const MAX_LISTED_ITEMS: usize = 10;

fn list_findings(path: &str, findings: &[TokenFinding]) -> String {
    let told = findings.iter().take(MAX_LISTED_ITEMS).map(|finding| {
        let is_here = finding.token_path() == path || finding.token_path().is_empty();
        if is_here {
            finding.message.clone()
        } else {
            format!("{}: {}", excerpt(&finding.path), finding.message)
        }
    });
    with_remaining_count(told.collect::<Vec<_>>().join("; "), findings.len())
}

fn list_paths(paths: &[String]) -> String {
    let told = paths.iter().take(MAX_LISTED_ITEMS).map(|path| excerpt(path));
    with_remaining_count(told.collect::<Vec<_>>().join(", "), paths.len())
}

fn with_remaining_count(text: String, count: usize) -> String {
    if count > MAX_LISTED_ITEMS { format!("{text} and {} more", count - MAX_LISTED_ITEMS) } else { text }
}

/// What to put at a path.
#[derive(Clone, Debug, PartialEq)]
pub struct NewToken {
    /// Its type. Without one it keeps the type that it has or inherits.
    pub kind: Option<TokenKind>,
    /// Its value, or an alias such as `{color.brand}`.
    pub value: Json,
    /// The mode that the value is for; without one it is for all that have none of their own.
    pub mode: Option<String>,
    /// What it is for. Without one it keeps the description that it has.
    pub description: Option<String>,
}

impl NewToken {
    /// A token of a type with a value.
    pub fn new(kind: TokenKind, value: impl Into<Json>) -> Self {
        Self { kind: Some(kind), value: value.into(), mode: None, description: None }
    }
}

/// Checks a path: its length, every name, and that `$root` is only its end.
pub(super) fn check_path(path: &str) -> Result<(), EditError> {
    // Before anything is made of it: groups for each of a million names would be too deep to be dropped again.
    if path.len() > MAX_PATH_BYTES {
        let reason = format!("it has {} bytes and may have {MAX_PATH_BYTES}", path.len());
        return Err(EditError::InvalidPath { path: path.to_owned(), reason });
    }
    let names = path.strip_suffix(".$root").unwrap_or(path);
    match names.split('.').find_map(name_problem) {
        Some(reason) => Err(EditError::InvalidPath { path: path.to_owned(), reason }),
        None => Ok(()),
    }
}

/// Refuses a path that leads into a token: what the format itself keeps there is not moved or taken.
fn check_reserved_names(path: &str) -> Result<(), EditError> {
    let names = path.strip_suffix(".$root").unwrap_or(path);
    match names.split('.').find(|name| name.starts_with('$')).and_then(name_problem) {
        Some(reason) => Err(EditError::InvalidPath { path: path.to_owned(), reason }),
        None => Ok(()),
    }
}

/// What is at a path. Refuses one that leads through a token.
fn locate_path<'a>(
    root: &'a JsonMap,
    path: &str,
    steps: &mut CostBudget,
) -> Result<PathLookup<'a>, EditError> {
    match look_up_path(root, path, steps) {
        Some(PathLookup::Blocked(end)) => {
            let path = path[..end].to_owned();
            Err(EditError::WrongNodeType { path, found: "token", wanted: "group" })
        }
        Some(found) => Ok(found),
        None => Err(EditError::TooManyExtends { path: path.to_owned() }),
    }
}

/// Takes a token or a group out. Refused while something outside refers to it, unless forced.
pub fn delete_path(document: &TokenDocument, path: &str, force: bool) -> Result<EditOutcome, EditError> {
    check_reserved_names(path)?;
    if document.get(path).is_none() {
        return Err(EditError::NotFound { path: path.to_owned() });
    }
    let mut changed = document.clone();
    remove_path(changed.root_mut(), path);
    let (before, after) = (TokenModel::new(document), TokenModel::new(&changed));
    let gone: Vec<_> = before.tokens().iter().map(|token| &*token.path).collect();
    let gone: Vec<_> = gone.into_iter().filter(|path| !after.index().contains_key(*path)).collect();
    let users = find_users(&before, &after, document, path, &gone.iter().copied().collect());
    if !users.is_empty() && !force {
        return Err(EditError::InUse { path: path.to_owned(), users });
    }
    let mut touched: Vec<String> = gone.into_iter().map(str::to_owned).collect();
    if !touched.iter().any(|known| known == path) {
        touched.insert(0, path.to_owned());
    }
    touched.extend(users);
    Ok(EditOutcome { document: changed, touched })
}

/// Takes the value out that a token has for a mode; there it then has the value that it always has. Refused if something
/// would be wrong by that, unless forced.
pub fn delete_mode_value(
    document: &TokenDocument,
    path: &str,
    mode: &str,
    force: bool,
) -> Result<EditOutcome, EditError> {
    check_reserved_names(path)?;
    let token = document.get(path).ok_or_else(|| EditError::NotFound { path: path.to_owned() })?;
    if !resolves_to_token(document.root(), token) {
        return Err(EditError::WrongNodeType { path: path.to_owned(), found: "group", wanted: "token" });
    }
    let mut changed = document.clone();
    if !find_mut(changed.root_mut(), path).is_some_and(|token| remove_mode(token, mode)) {
        return Err(EditError::ModeNotFound { path: path.to_owned(), mode: mode.to_owned() });
    }
    if !force {
        // A value for a mode may be what keeps references from going in a circle.
        set::check_edit(document, &changed, &[])
            .map_err(|findings| EditError::InvalidValue { path: path.to_owned(), findings })?;
    }
    Ok(EditOutcome { document: changed, touched: vec![path.to_owned()] })
}

/// Who refers to something that is gone: tokens that are still there, and groups that extend it.
fn find_users(
    before: &TokenModel<'_>,
    after: &TokenModel<'_>,
    document: &TokenDocument,
    path: &str,
    gone: &HashSet<&str>,
) -> Vec<String> {
    let mut users = Vec::new();
    // What many inherit is looked at once.
    let mut affected: HashMap<*const JsonMap, bool> = HashMap::new();
    for token in after.tokens() {
        let Some(&at) = before.index().get(&token.path) else { continue };
        let is_affected = affected.entry(std::ptr::from_ref(before.tokens()[at].map)).or_insert_with(|| {
            let mut references = before.mode_choices(at).flat_map(|mode| before.references(at, mode));
            references.any(|(_, reference)| {
                match reference.ok().and_then(|reference| before.locate(&reference).ok()) {
                    Some(ReferenceTarget::Token(used) | ReferenceTarget::Part(used, _)) => {
                        gone.contains(&*before.tokens()[used].path)
                    }
                    _ => false,
                }
            })
        });
        if *is_affected {
            users.push(token.path.to_string());
        }
    }
    let known: HashSet<String> = users.iter().cloned().collect();
    collect_extenders(document.root(), "", path, &known, &mut users);
    users
}

/// The groups outside a path that extend it or something in it.
fn collect_extenders(map: &JsonMap, at: &str, path: &str, known: &HashSet<String>, users: &mut Vec<String>) {
    if at == path {
        return;
    }
    let reference = map.get("$extends").or_else(|| map.get("$ref")).map(TokenReference::parse_extends);
    if let Some(Ok(reference)) = reference {
        let target = reference.segments().join(".");
        if (target == path || is_descendant(&target, path)) && !known.contains(at) {
            users.push(at.to_owned());
        }
    }
    for (name, child) in super::document::children(map) {
        collect_extenders(child, &super::document::join_path(at, name), path, known, users);
    }
}
