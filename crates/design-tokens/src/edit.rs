//! Edits to a document. Each returns a new document and the touched paths.

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

/// A document after an edit.
#[derive(Clone, Debug, PartialEq)]
pub struct EditOutcome {
    pub document: TokenDocument,
    /// Paths of the changed tokens and groups, in order.
    pub touched: Vec<String>,
}

/// Why an edit was rejected.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The path contains a name that the format forbids.
    #[error("`{}` is not a valid path: {reason}", excerpt(path))]
    InvalidPath {
        path: String,
        /// Which name is invalid, and why.
        reason: String,
    },
    /// The name of the mode is empty or too long.
    #[error("the name of a mode must have 1 to {MAX_NAME_BYTES} bytes; `{}` has {}", excerpt(mode), mode.len())]
    InvalidMode { mode: String },
    /// There is nothing at the path.
    #[error("token or group `{}` not found; look up its path", excerpt(path))]
    NotFound { path: String },
    /// The path is taken.
    #[error("`{}` already exists; choose another path or delete it first", excerpt(path))]
    AlreadyExists { path: String },
    /// A group instead of a token, or a token instead of a group.
    #[error("`{}` is a {found}, but a {wanted} is required", excerpt(path))]
    WrongNodeType { path: String, found: &'static str, wanted: &'static str },
    /// Groups along the path extend each other too often.
    #[error(
        "`{}` was not looked up: its groups extend each other too often; use fewer `$extends` or fewer changes at once",
        excerpt(path)
    )]
    TooManyExtends { path: String },
    /// The token would have no type.
    #[error("`{}` would have no type; specify one or move it into a group with a type", excerpt(path))]
    MissingType { path: String },
    /// The token has no value for the mode.
    #[error("`{}` has no value for mode `{}`; there is nothing to delete", excerpt(path), excerpt(mode))]
    ModeNotFound { path: String, mode: String },
    /// The value is invalid, or makes another token invalid.
    #[error("the value of `{}` is invalid: {}", excerpt(path), list_findings(path, findings))]
    InvalidValue {
        path: String,
        /// Every problem.
        findings: Vec<TokenFinding>,
    },
    /// It cannot be deleted because it is used.
    #[error("`{}` is used by {}; change them first, or force the deletion", excerpt(path), list_paths(users))]
    InUse {
        path: String,
        /// The tokens and groups that refer to it.
        users: Vec<String>,
    },
    /// Renaming would change the meaning of the document.
    #[error("`{}` cannot become `{}`: {reason}", excerpt(from), excerpt(to))]
    MeaningChanged {
        from: String,
        to: String,
        /// What would change.
        reason: String,
    },
    /// The document would exceed a limit.
    #[error(transparent)]
    Limit(#[from] ParseError),
}

/// Maximum number of items listed in a message.
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

/// A token to write.
#[derive(Clone, Debug, PartialEq)]
pub struct NewToken {
    /// If `None`, it keeps its own or inherited type.
    pub kind: Option<TokenKind>,
    /// The value, or an alias such as `{color.brand}`.
    pub value: Json,
    /// The mode that the value is for. If `None`, the value applies to every mode without one.
    pub mode: Option<String>,
    /// If `None`, it keeps its description.
    pub description: Option<String>,
}

impl NewToken {
    /// A token with a type and a value.
    pub fn new(kind: TokenKind, value: impl Into<Json>) -> Self {
        Self { kind: Some(kind), value: value.into(), mode: None, description: None }
    }
}

/// Checks the length of a path and each of its names. `$root` is only allowed at the end.
pub(super) fn check_path(path: &str) -> Result<(), EditError> {
    // Checked first, because creating groups for a million names would overflow the stack when they are
    // dropped.
    if path.len() > MAX_PATH_BYTES {
        let reason = format!("it has {} bytes, but the limit is {MAX_PATH_BYTES}", path.len());
        return Err(EditError::InvalidPath { path: path.to_owned(), reason });
    }
    let names = path.strip_suffix(".$root").unwrap_or(path);
    match names.split('.').find_map(name_problem) {
        Some(reason) => Err(EditError::InvalidPath { path: path.to_owned(), reason }),
        None => Ok(()),
    }
}

/// Rejects a path into a token: members that belong to the format cannot be moved or deleted.
fn check_reserved_names(path: &str) -> Result<(), EditError> {
    let names = path.strip_suffix(".$root").unwrap_or(path);
    match names.split('.').find(|name| name.starts_with('$')).and_then(name_problem) {
        Some(reason) => Err(EditError::InvalidPath { path: path.to_owned(), reason }),
        None => Ok(()),
    }
}

/// Looks up a path. Rejects a path through a token.
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

/// Deletes a token or group. Rejected while anything else refers to it, unless forced.
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

/// Deletes a token's value for a mode, which then falls back to its base value. Rejected if that makes a
/// token invalid, unless forced.
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
        // A value for a mode may be what breaks a reference cycle.
        set::check_edit(document, &changed, &[])
            .map_err(|findings| EditError::InvalidValue { path: path.to_owned(), findings })?;
    }
    Ok(EditOutcome { document: changed, touched: vec![path.to_owned()] })
}

/// Users of deleted tokens: remaining tokens, and groups that extend the path.
fn find_users(
    before: &TokenModel<'_>,
    after: &TokenModel<'_>,
    document: &TokenDocument,
    path: &str,
    gone: &HashSet<&str>,
) -> Vec<String> {
    let mut users = Vec::new();
    // Inherited tokens share their map, which is checked only once.
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

/// The groups outside a path that extend it or anything inside it.
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
