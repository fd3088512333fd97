//! Changes to a document. Each gives a new document and says which paths it touched.

mod rename;
mod set;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use super::budget::Budget;
use super::document::{Document, ParseError, find_mut, take, take_mode};
use super::finding::{Finding, shown};
use super::flat::{Found, find, is_token_in};
use super::json::{Json, Map};
use super::kind::Kind;
use super::limits::{MAX_NAME, MAX_PATH};
use super::model::{Model, Target, beneath};
use super::reference::Reference;
use super::validate::shape::bad_name;

pub use rename::rename;
pub use set::{set, set_all};

/// A document after a change.
#[derive(Clone, Debug, PartialEq)]
pub struct Edited {
    /// The new document.
    pub document: Document,
    /// The paths of the tokens and groups that are not what they were, in order.
    pub touched: Vec<String>,
}

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// A path with a name that the format forbids.
    #[error("`{}` cannot be a path: {reason}", shown(path))]
    BadPath {
        /// The path.
        path: String,
        /// Which name, and why.
        reason: String,
    },
    /// A mode without a name, or with too long a one.
    #[error("a mode needs a name of 1 to {MAX_NAME} bytes; `{}` has {}", shown(mode), mode.len())]
    BadMode {
        /// The mode.
        mode: String,
    },
    /// Nothing at the path.
    #[error("there is no token or group `{}`; look up its path", shown(path))]
    Missing {
        /// The path.
        path: String,
    },
    /// Something at the path already.
    #[error("`{}` exists already; choose another path or delete it first", shown(path))]
    Taken {
        /// The path.
        path: String,
    },
    /// A group where a token should be, or a token where a group should be.
    #[error("`{}` is a {found}, and here a {wanted} is needed", shown(path))]
    Misplaced {
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
        shown(path)
    )]
    Tangled {
        /// The path.
        path: String,
    },
    /// A token without a type.
    #[error("`{}` would have no type; give one, or put it into a group that has one", shown(path))]
    NoKind {
        /// The path.
        path: String,
    },
    /// A token that has no value of its own for a mode.
    #[error(
        "`{}` has no value of its own for mode `{}`; there is nothing to delete",
        shown(path),
        shown(mode)
    )]
    NoMode {
        /// The path.
        path: String,
        /// The mode.
        mode: String,
    },
    /// A value that is wrong, or makes something else wrong.
    #[error("the value of `{}` is not usable: {}", shown(path), listed(path, findings))]
    Wrong {
        /// The path.
        path: String,
        /// All that is wrong.
        findings: Vec<Finding>,
    },
    /// Something refers to what should go.
    #[error("`{}` is used by {}; change them first, or delete by force", shown(path), first_few(users))]
    InUse {
        /// The path.
        path: String,
        /// The tokens and groups that refer to it.
        users: Vec<String>,
    },
    /// Another path would change the meaning of something.
    #[error("`{}` cannot become `{}`: {reason}", shown(from), shown(to))]
    Meaning {
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
const NAMED: usize = 10;

fn listed(path: &str, findings: &[Finding]) -> String {
    let told = findings.iter().take(NAMED).map(|finding| {
        let is_here = finding.token() == path || finding.token().is_empty();
        if is_here {
            finding.message.clone()
        } else {
            format!("{}: {}", shown(&finding.path), finding.message)
        }
    });
    and_more(told.collect::<Vec<_>>().join("; "), findings.len())
}

fn first_few(paths: &[String]) -> String {
    let told = paths.iter().take(NAMED).map(|path| shown(path));
    and_more(told.collect::<Vec<_>>().join(", "), paths.len())
}

fn and_more(text: String, count: usize) -> String {
    if count > NAMED { format!("{text} and {} more", count - NAMED) } else { text }
}

/// What to put at a path.
#[derive(Clone, Debug, PartialEq)]
pub struct NewToken {
    /// Its type. Without one it keeps the type that it has or inherits.
    pub kind: Option<Kind>,
    /// Its value, or an alias such as `{color.brand}`.
    pub value: Json,
    /// The mode that the value is for; without one it is for all that have none of their own.
    pub mode: Option<String>,
    /// What it is for. Without one it keeps the description that it has.
    pub description: Option<String>,
}

impl NewToken {
    /// A token of a type with a value.
    pub fn new(kind: Kind, value: impl Into<Json>) -> Self {
        Self { kind: Some(kind), value: value.into(), mode: None, description: None }
    }
}

/// Checks a path: its length, every name, and that `$root` is only its end.
pub(super) fn check_path(path: &str) -> Result<(), EditError> {
    // Before anything is made of it: groups for each of a million names would be too deep to be dropped again.
    if path.len() > MAX_PATH {
        let reason = format!("it has {} bytes and may have {MAX_PATH}", path.len());
        return Err(EditError::BadPath { path: path.to_owned(), reason });
    }
    let names = path.strip_suffix(".$root").unwrap_or(path);
    match names.split('.').find_map(bad_name) {
        Some(reason) => Err(EditError::BadPath { path: path.to_owned(), reason }),
        None => Ok(()),
    }
}

/// Refuses a path that leads into a token: what the format itself keeps there is not moved or taken.
fn check_names(path: &str) -> Result<(), EditError> {
    let names = path.strip_suffix(".$root").unwrap_or(path);
    match names.split('.').find(|name| name.starts_with('$')).and_then(bad_name) {
        Some(reason) => Err(EditError::BadPath { path: path.to_owned(), reason }),
        None => Ok(()),
    }
}

/// What is at a path. Refuses one that leads through a token.
fn look_up<'a>(root: &'a Map, path: &str, steps: &mut Budget) -> Result<Found<'a>, EditError> {
    match find(root, path, steps) {
        Some(Found::Blocked(end)) => {
            let path = path[..end].to_owned();
            Err(EditError::Misplaced { path, found: "token", wanted: "group" })
        }
        Some(found) => Ok(found),
        None => Err(EditError::Tangled { path: path.to_owned() }),
    }
}

/// Takes a token or a group out. Refused while something outside refers to it, unless forced.
pub fn delete(document: &Document, path: &str, force: bool) -> Result<Edited, EditError> {
    check_names(path)?;
    if document.get(path).is_none() {
        return Err(EditError::Missing { path: path.to_owned() });
    }
    let mut changed = document.clone();
    take(changed.root_mut(), path);
    let (before, after) = (Model::of(document), Model::of(&changed));
    let gone: Vec<_> = before.tokens().iter().map(|token| &*token.path).collect();
    let gone: Vec<_> = gone.into_iter().filter(|path| !after.index().contains_key(*path)).collect();
    let users = users(&before, &after, document, path, &gone.iter().copied().collect());
    if !users.is_empty() && !force {
        return Err(EditError::InUse { path: path.to_owned(), users });
    }
    let mut touched: Vec<String> = gone.into_iter().map(str::to_owned).collect();
    if !touched.iter().any(|known| known == path) {
        touched.insert(0, path.to_owned());
    }
    touched.extend(users);
    Ok(Edited { document: changed, touched })
}

/// Takes the value out that a token has for a mode; there it then has the value that it always has. Refused if something
/// would be wrong by that, unless forced.
pub fn delete_mode(document: &Document, path: &str, mode: &str, force: bool) -> Result<Edited, EditError> {
    check_names(path)?;
    let token = document.get(path).ok_or_else(|| EditError::Missing { path: path.to_owned() })?;
    if !is_token_in(document.root(), token) {
        return Err(EditError::Misplaced { path: path.to_owned(), found: "group", wanted: "token" });
    }
    let mut changed = document.clone();
    if !find_mut(changed.root_mut(), path).is_some_and(|token| take_mode(token, mode)) {
        return Err(EditError::NoMode { path: path.to_owned(), mode: mode.to_owned() });
    }
    if !force {
        // A value for a mode may be what keeps references from going in a circle.
        set::judge(document, &changed, &[])
            .map_err(|findings| EditError::Wrong { path: path.to_owned(), findings })?;
    }
    Ok(Edited { document: changed, touched: vec![path.to_owned()] })
}

/// Who refers to something that is gone: tokens that are still there, and groups that extend it.
fn users(
    before: &Model<'_>,
    after: &Model<'_>,
    document: &Document,
    path: &str,
    gone: &HashSet<&str>,
) -> Vec<String> {
    let mut users = Vec::new();
    // What many inherit is looked at once.
    let mut affected: HashMap<*const Map, bool> = HashMap::new();
    for token in after.tokens() {
        let Some(&at) = before.index().get(&token.path) else { continue };
        let is_affected = affected.entry(std::ptr::from_ref(before.tokens()[at].map)).or_insert_with(|| {
            let mut references = before.choices(at).flat_map(|mode| before.references(at, mode));
            references.any(|(_, reference)| {
                match reference.ok().and_then(|reference| before.locate(&reference).ok()) {
                    Some(Target::Token(used) | Target::Part(used, _)) => {
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
    extenders(document.root(), "", path, &known, &mut users);
    users
}

/// The groups outside a path that extend it or something in it.
fn extenders(map: &Map, at: &str, path: &str, known: &HashSet<String>, users: &mut Vec<String>) {
    if at == path {
        return;
    }
    let reference = map.get("$extends").or_else(|| map.get("$ref")).map(Reference::in_extends);
    if let Some(Ok(reference)) = reference {
        let target = reference.segments().join(".");
        if (target == path || beneath(&target, path)) && !known.contains(at) {
            users.push(at.to_owned());
        }
    }
    for (name, child) in super::document::children(map) {
        extenders(child, &super::document::join(at, name), path, known, users);
    }
}
