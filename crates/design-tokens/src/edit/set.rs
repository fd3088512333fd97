//! Tokens created and replaced.

use std::collections::HashSet;

use super::{EditError, Edited, NewToken, check_path, look_up};
use crate::budget::Budget;
use crate::document::{Document, ParseError, find_mut, make_group, written};
use crate::finding::{Finding, Findings, Told};
use crate::flat::{Found, MAX_LOOKED_UP};
use crate::follow::Values;
use crate::json::{Json, Map};
use crate::kind::Kind;
use crate::limits::{MAX_BYTES, MAX_NAME};
use crate::model::Model;
use crate::reference::Reference;
use crate::validate::{judge_all, renew};

/// Creates a token, or replaces its value. The document afterwards has no error that it had not before.
pub fn set(document: &Document, path: &str, new: &NewToken) -> Result<Edited, EditError> {
    set_all(document, &[(path, new)])
}

/// Creates tokens or replaces their values, one after the other. They are judged together, so that they may refer to one
/// another in any order.
pub fn set_all(document: &Document, tokens: &[(&str, &NewToken)]) -> Result<Edited, EditError> {
    let mut changed = document.clone();
    let mut means = Means { steps: Budget::of(MAX_LOOKED_UP), copies: Budget::of(MAX_BYTES) };
    for (path, new) in tokens {
        put(changed.root_mut(), path, new, &mut means)?;
    }
    let kinds = kinds(&changed, tokens)?;
    for ((path, new), kind) in tokens.iter().zip(kinds) {
        if let (Some(kind), Some(token)) = (kind, find_mut(changed.root_mut(), path)) {
            renew_token(token, new, kind);
        }
    }
    let changed = Document::from_map(changed.into_root())?;
    judge(document, &changed, tokens).map_err(|findings| {
        let is_set = |path: &&str| tokens.iter().any(|(known, _)| known == path);
        let first = findings.iter().map(Finding::token).find(is_set);
        let path = first.or_else(|| tokens.first().map(|(path, _)| *path)).unwrap_or_default().to_owned();
        EditError::Wrong { path, findings }
    })?;
    let mut touched = Vec::new();
    let mut seen = HashSet::new();
    touched.extend(tokens.iter().filter(|(path, _)| seen.insert(*path)).map(|(path, _)| (*path).to_owned()));
    Ok(Edited { document: changed, touched })
}

/// What all tokens that are set together may take.
struct Means {
    /// Steps to where they belong.
    steps: Budget,
    /// Bytes of inherited tokens that are written down. A small document can inherit a large token very often.
    copies: Budget,
}

impl Means {
    fn copy(&mut self, token: &Map) -> Result<Map, EditError> {
        let bytes = token.bytes();
        let all = MAX_BYTES - self.copies.left() + bytes;
        self.copies.take(bytes).ok_or(ParseError::TooLarge { bytes: all })?;
        Ok(token.clone())
    }
}

fn put(root: &mut Map, path: &str, new: &NewToken, means: &mut Means) -> Result<(), EditError> {
    check_path(path)?;
    if let Some(mode) = new.mode.as_ref().filter(|mode| mode.is_empty() || mode.len() > MAX_NAME) {
        return Err(EditError::BadMode { mode: mode.clone() });
    }
    let inherited = match look_up(root, path, &mut means.steps)? {
        Found::Group => {
            return Err(EditError::Misplaced { path: path.to_owned(), found: "group", wanted: "token" });
        }
        // One that is inherited is written down here, with all that it has.
        Found::Token(token) if written(root, path).is_none() => Some(means.copy(token)?),
        _ => None,
    };
    let (group, name) = path.rsplit_once('.').unwrap_or(("", path));
    let group = make_group(root, group);
    if let Some(token) = inherited {
        group.set(name, token);
    }
    fill(group.object_mut(name), new);
    Ok(())
}

pub(super) fn fill(token: &mut Map, new: &NewToken) {
    if let Some(kind) = new.kind {
        token.set("$type", kind.as_str());
    }
    if let Some(mode) = &new.mode {
        token.object_mut("$extensions").object_mut("mode").set(mode.as_str(), new.value.clone());
        // A token that exists in one mode only has that value in the others too.
        if !token.contains("$value") && !token.contains("$ref") {
            token.set("$value", new.value.clone());
        }
    } else {
        token.remove("$ref");
        token.set("$value", new.value.clone());
    }
    if let Some(description) = &new.description {
        token.set("$description", description.as_str());
    }
}

/// The types that tokens have after they were put where they belong.
fn kinds(changed: &Document, tokens: &[(&str, &NewToken)]) -> Result<Vec<Option<Kind>>, EditError> {
    let model = Model::of(changed);
    let kind = |(path, new): &(&str, &NewToken)| {
        let kind = model.index().get(*path).map(|at| model.kinds[*at]);
        match kind {
            Some(None) if Reference::of(&new.value).is_none() => {
                Err(EditError::NoKind { path: (*path).to_owned() })
            }
            kind => Ok(kind.flatten()),
        }
    };
    tokens.iter().map(kind).collect()
}

/// Writes what was put into a token as 2025.10 has it.
pub(super) fn renew_token(token: &mut Map, new: &NewToken, kind: Kind) {
    let is_new = |value: &&mut Json| **value == new.value;
    if let Some(value) = token.get_mut("$value").filter(is_new) {
        renew(kind, value);
    }
    if let Some(mode) = &new.mode {
        let modes = token.object_mut("$extensions").object_mut("mode");
        if let Some(value) = modes.get_mut(mode).filter(is_new) {
            renew(kind, value);
        }
    }
}

/// Refuses what brings errors, and what leaves a token that was set without a value.
pub(super) fn judge(
    before: &Document,
    after: &Document,
    tokens: &[(&str, &NewToken)],
) -> Result<(), Vec<Finding>> {
    let model = Model::of(after);
    let mut has_errors = false;
    let mut without: Vec<&str> = Vec::new();
    let mut look = |mode: Option<&str>, values: &Values| {
        let set_here = tokens.iter().filter(|(_, new)| new.mode.as_deref() == mode);
        let has_none = |path: &str| model.index().get(path).is_none_or(|at| values.get(*at).is_none());
        without.extend(set_here.map(|(path, _)| *path).filter(|path| has_none(path)));
    };
    judge_all(after, &model, &mut |finding| has_errors |= finding.is_error(), &mut look);
    // Rare: most documents have no error at all, and then what was there before need not be judged.
    let mut findings = if has_errors { new_errors(before, after, &model, tokens) } else { Vec::new() };
    if findings.is_empty() {
        let message = "it would have no value, for what it refers to has none; mend that first";
        findings.extend(without.into_iter().map(|path| Finding::error(path, message)));
    }
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}

/// The errors of what was set, and those that were not there before.
fn new_errors(
    before: &Document,
    after: &Document,
    model: &Model<'_>,
    tokens: &[(&str, &NewToken)],
) -> Vec<Finding> {
    let paths: HashSet<&str> = tokens.iter().map(|(path, _)| *path).collect();
    let mut known = Told::default();
    let mut remember = |finding: Finding| {
        if finding.is_error() && !paths.contains(finding.token()) {
            known.is_new(&finding);
        }
    };
    judge_all(before, &Model::of(before), &mut remember, &mut |_, _| {});
    let mut wrong = Findings::default();
    let mut compare = |finding: Finding| {
        if finding.is_error() && known.is_new(&finding) {
            wrong.push(finding);
        }
    };
    judge_all(after, model, &mut compare, &mut |_, _| {});
    wrong.into_vec()
}
