//! Creates tokens and replaces their values.

use std::collections::HashSet;

use super::{EditError, EditOutcome, NewToken, check_path, locate_path};
use crate::budget::CostBudget;
use crate::document::{ParseError, TokenDocument, ensure_group, find_mut, find_written};
use crate::evaluate::ModeValues;
use crate::finding::{FindingCollector, SeenFindings, TokenFinding};
use crate::flatten::{MAX_LOOKUP_EXTENDS, PathLookup};
use crate::json::{Json, JsonMap};
use crate::kind::TokenKind;
use crate::limits::{MAX_DOCUMENT_BYTES, MAX_NAME_BYTES};
use crate::model::TokenModel;
use crate::reference::TokenReference;
use crate::validate::{normalise_value, validate_with};

/// Creates a token or replaces its value. The edit must not introduce errors.
pub fn set_token(document: &TokenDocument, path: &str, new: &NewToken) -> Result<EditOutcome, EditError> {
    set_tokens(document, &[(path, new)])
}

/// Creates tokens or replaces their values, in order. They are validated together, so they may refer to each
/// other in any order.
pub fn set_tokens(document: &TokenDocument, tokens: &[(&str, &NewToken)]) -> Result<EditOutcome, EditError> {
    let mut changed = document.clone();
    let mut means = SetBudget {
        steps: CostBudget::new(MAX_LOOKUP_EXTENDS),
        copied_bytes: CostBudget::new(MAX_DOCUMENT_BYTES),
    };
    for (path, new) in tokens {
        write_token(changed.root_mut(), path, new, &mut means)?;
    }
    let kinds = resolve_kinds(&changed, tokens)?;
    for ((path, new), kind) in tokens.iter().zip(kinds) {
        if let (Some(kind), Some(token)) = (kind, find_mut(changed.root_mut(), path)) {
            normalise_token(token, new, kind);
        }
    }
    let changed = TokenDocument::from_map(changed.into_root())?;
    check_edit(document, &changed, tokens).map_err(|findings| {
        let is_set = |path: &&str| tokens.iter().any(|(known, _)| known == path);
        let first = findings.iter().map(TokenFinding::token_path).find(is_set);
        let path = first.or_else(|| tokens.first().map(|(path, _)| *path)).unwrap_or_default().to_owned();
        EditError::InvalidValue { path, findings }
    })?;
    let mut touched = Vec::new();
    let mut seen = HashSet::new();
    touched.extend(tokens.iter().filter(|(path, _)| seen.insert(*path)).map(|(path, _)| (*path).to_owned()));
    Ok(EditOutcome { document: changed, touched })
}

/// Budgets shared by all tokens that are set together.
struct SetBudget {
    /// Steps for looking up paths.
    steps: CostBudget,
    /// Bytes of inherited tokens that are copied. A small document can inherit a large token many times.
    copied_bytes: CostBudget,
}

impl SetBudget {
    fn copy_inherited(&mut self, token: &JsonMap) -> Result<JsonMap, EditError> {
        let bytes = token.encoded_len();
        let all = MAX_DOCUMENT_BYTES - self.copied_bytes.remaining() + bytes;
        self.copied_bytes.spend(bytes).ok_or(ParseError::TooLarge { bytes: all })?;
        Ok(token.clone())
    }
}

fn write_token(
    root: &mut JsonMap,
    path: &str,
    new: &NewToken,
    means: &mut SetBudget,
) -> Result<(), EditError> {
    check_path(path)?;
    if let Some(mode) = new.mode.as_ref().filter(|mode| mode.is_empty() || mode.len() > MAX_NAME_BYTES) {
        return Err(EditError::InvalidMode { mode: mode.clone() });
    }
    let inherited = match locate_path(root, path, &mut means.steps)? {
        PathLookup::Group => {
            return Err(EditError::WrongNodeType { path: path.to_owned(), found: "group", wanted: "token" });
        }
        // An inherited token is copied here with all its members.
        PathLookup::Token(token) if find_written(root, path).is_none() => Some(means.copy_inherited(token)?),
        _ => None,
    };
    let (group, name) = path.rsplit_once('.').unwrap_or(("", path));
    let group = ensure_group(root, group);
    if let Some(token) = inherited {
        group.set(name, token);
    }
    fill_token(group.object_entry(name), new);
    Ok(())
}

pub(super) fn fill_token(token: &mut JsonMap, new: &NewToken) {
    if let Some(kind) = new.kind {
        token.set("$type", kind.as_str());
    }
    if let Some(mode) = &new.mode {
        token.object_entry("$extensions").object_entry("mode").set(mode.as_str(), new.value.clone());
        // A new token with a value for one mode gets the same base value.
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

/// The types of the tokens once they are in place.
fn resolve_kinds(
    changed: &TokenDocument,
    tokens: &[(&str, &NewToken)],
) -> Result<Vec<Option<TokenKind>>, EditError> {
    let model = TokenModel::new(changed);
    let kind = |(path, new): &(&str, &NewToken)| {
        let kind = model.index().get(*path).map(|at| model.kinds[*at]);
        match kind {
            Some(None) if TokenReference::from_value(&new.value).is_none() => {
                Err(EditError::MissingType { path: (*path).to_owned() })
            }
            kind => Ok(kind.flatten()),
        }
    };
    tokens.iter().map(kind).collect()
}

/// Normalises new values to the 2025.10 format.
pub(super) fn normalise_token(token: &mut JsonMap, new: &NewToken, kind: TokenKind) {
    let is_new = |value: &&mut Json| **value == new.value;
    if let Some(value) = token.get_mut("$value").filter(is_new) {
        normalise_value(kind, value);
    }
    if let Some(mode) = &new.mode {
        let modes = token.object_entry("$extensions").object_entry("mode");
        if let Some(value) = modes.get_mut(mode).filter(is_new) {
            normalise_value(kind, value);
        }
    }
}

/// Rejects edits that introduce errors or leave a new token without a value.
pub(super) fn check_edit(
    before: &TokenDocument,
    after: &TokenDocument,
    tokens: &[(&str, &NewToken)],
) -> Result<(), Vec<TokenFinding>> {
    let model = TokenModel::new(after);
    let mut has_errors = false;
    let mut without: Vec<&str> = Vec::new();
    let mut look = |mode: Option<&str>, values: &ModeValues| {
        let set_here = tokens.iter().filter(|(_, new)| new.mode.as_deref() == mode);
        let has_none = |path: &str| model.index().get(path).is_none_or(|at| values.get(*at).is_none());
        without.extend(set_here.map(|(path, _)| *path).filter(|path| has_none(path)));
    };
    validate_with(after, &model, &mut |finding| has_errors |= finding.is_error(), &mut look);
    // Rare: most documents have no errors, and then the old document need not be validated.
    let mut findings = if has_errors { new_errors(before, after, &model, tokens) } else { Vec::new() };
    if findings.is_empty() {
        let message = "it would have no value, because its reference has none; fix that first";
        findings.extend(without.into_iter().map(|path| TokenFinding::error(path, message)));
    }
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}

/// Errors of the tokens that were set, and errors that did not exist before.
fn new_errors(
    before: &TokenDocument,
    after: &TokenDocument,
    model: &TokenModel<'_>,
    tokens: &[(&str, &NewToken)],
) -> Vec<TokenFinding> {
    let paths: HashSet<&str> = tokens.iter().map(|(path, _)| *path).collect();
    let mut known = SeenFindings::default();
    let mut remember = |finding: TokenFinding| {
        if finding.is_error() && !paths.contains(finding.token_path()) {
            known.insert(&finding);
        }
    };
    validate_with(before, &TokenModel::new(before), &mut remember, &mut |_, _| {});
    let mut wrong = FindingCollector::default();
    let mut compare = |finding: TokenFinding| {
        if finding.is_error() && known.insert(&finding) {
            wrong.push(finding);
        }
    };
    validate_with(after, model, &mut compare, &mut |_, _| {});
    wrong.into_vec()
}
