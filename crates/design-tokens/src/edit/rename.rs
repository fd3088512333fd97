//! Renames a token or group, and updates every reference to it.

use super::{EditError, EditOutcome, check_path, check_reserved_names, locate_path};
use crate::budget::CostBudget;
use crate::document::{ParseError, TokenDocument, ensure_group, find_mut, join_path, remove_path};
use crate::evaluate::{ModeResolver, ModeValues};
use crate::flatten::{MAX_LOOKUP_EXTENDS, Token};
use crate::json::{Json, JsonMap};
use crate::limits::MAX_DOCUMENT_BYTES;
use crate::model::{TokenModel, is_descendant};
use crate::resolve::{deprecation_reason, truncate_inherited};
use crate::rewrite;

/// Moves a token or group to another path and rewrites every reference to it.
///
/// The meaning does not change: every token keeps its type and value in every mode, otherwise the rename is
/// rejected. A token that leaves the group it inherited its type from gets an explicit one.
pub fn rename_path(document: &TokenDocument, from: &str, to: &str) -> Result<EditOutcome, EditError> {
    check_reserved_names(from)?;
    check_path(to)?;
    if document.get(from).is_none() {
        return Err(EditError::NotFound { path: from.to_owned() });
    }
    if document.get(to).is_some() {
        return Err(EditError::AlreadyExists { path: to.to_owned() });
    }
    let refused = |reason: &str| EditError::MeaningChanged {
        from: from.to_owned(),
        to: to.to_owned(),
        reason: reason.to_owned(),
    };
    if is_descendant(to, from) {
        return Err(refused("it cannot be moved into itself"));
    }
    locate_path(document.root(), to, &mut CostBudget::new(MAX_LOOKUP_EXTENDS))?;
    let model = TokenModel::new(document);
    let moves = PathMove { model: &model, from, to };
    if model.tokens().iter().any(|token| moves.move_token(token).is_none()) {
        return Err(refused("other groups inherit it through `$extends` and would lose it"));
    }
    let mut changed = document.clone();
    let mut touched = Vec::new();
    let new = |path: &str| Some(moves.new_path(path)).filter(|new| new != path);
    rewrite::rewrite_group(changed.root_mut(), "", &new, &mut touched);
    move_node(changed.root_mut(), from, to);
    keep_inherited(&moves, &mut changed)?;
    let changed = TokenDocument::from_map(changed.into_root())?;
    if !preserves_meaning(&moves, &changed) {
        return Err(refused(
            "other tokens would change, because they would refer to or inherit something else",
        ));
    }
    touched.retain(|path| path != from && !is_descendant(path, from));
    touched.insert(0, to.to_owned());
    Ok(EditOutcome { document: changed, touched })
}

/// A move of everything under a path.
struct PathMove<'a> {
    model: &'a TokenModel<'a>,
    from: &'a str,
    to: &'a str,
}

impl PathMove<'_> {
    /// The new path of anything written at a path.
    fn move_path(&self, path: &str) -> String {
        match path.strip_prefix(self.from) {
            Some(rest) if rest.is_empty() || rest.starts_with('.') => format!("{}{rest}", self.to),
            _ => path.to_owned(),
        }
    }

    /// The new path of a token. `None` if it is inherited and its original leaves the extended group.
    fn move_token(&self, token: &Token<'_>) -> Option<String> {
        let written = self.move_path(&token.origin);
        if token.path == token.origin {
            return Some(written);
        }
        // Inherited: `heir.rest` is written as `group.rest`, and both may move.
        let heir = strip_last_segments(&token.path, token.shared_suffix_len);
        let group = strip_last_segments(&token.origin, token.shared_suffix_len);
        let (group, heir) = (self.move_path(group), self.move_path(heir));
        if group.is_empty() {
            return Some(join_path(&heir, &written));
        }
        let rest = written.strip_prefix(group.as_str())?.strip_prefix('.')?;
        Some(join_path(&heir, rest))
    }

    fn new_path(&self, path: &str) -> String {
        let token = self.model.index().get(path).map(|&at| &self.model.tokens()[at]);
        token.and_then(|token| self.move_token(token)).unwrap_or_else(|| self.move_path(path))
    }
}

/// A path without its last segments.
fn strip_last_segments(path: &str, names: usize) -> &str {
    path.rmatch_indices('.').nth(names.saturating_sub(1)).map_or("", |(at, _)| &path[..at])
}

/// Moves the node at a path. It keeps its position if it stays in its group.
fn move_node(root: &mut JsonMap, from: &str, to: &str) {
    let (old_group, old_name) = from.rsplit_once('.').unwrap_or(("", from));
    let (new_group, new_name) = to.rsplit_once('.').unwrap_or(("", to));
    if old_group == new_group {
        ensure_group(root, old_group).rename(old_name, new_name);
    } else if let Some(value) = remove_path(root, from) {
        ensure_group(root, new_group).set(new_name, value);
    }
}

/// Makes members explicit that tokens inherited from groups they leave: types and deprecation.
fn keep_inherited(moves: &PathMove<'_>, changed: &mut TokenDocument) -> Result<(), EditError> {
    let mut lost: Vec<(String, &str, Json)> = Vec::new();
    // A long reason on a group may be copied to each of its tokens.
    let mut bytes = 0;
    {
        let after = TokenModel::new(changed);
        for (token, kind) in moves.model.tokens().iter().zip(&moves.model.kinds) {
            let path =
                moves.move_token(token).filter(|path| path == moves.to || is_descendant(path, moves.to));
            let Some(path) = path.filter(|_| token.path == token.origin) else { continue };
            let Some(&at) = after.index().get(path.as_str()) else { continue };
            if let Some(kind) = kind.filter(|kind| after.kinds[at] != Some(*kind)) {
                lost.push((path.clone(), "$type", kind.as_str().into()));
            }
            if !has_same_reason(token, &after.tokens()[at]) {
                bytes += deprecation_reason(token).map_or(0, str::len);
                if bytes > MAX_DOCUMENT_BYTES {
                    return Err(ParseError::TooLarge { bytes }.into());
                }
                lost.push((path, "$deprecated", token.deprecated.cloned().unwrap_or(Json::Bool(false))));
            }
        }
    }
    for (path, name, value) in lost {
        if let Some(map) = find_mut(changed.root_mut(), &path) {
            map.set(name, value);
        }
    }
    Ok(())
}

/// Whether two tokens are deprecated for the same reason. For long reasons only length and beginning are
/// compared, since thousands of tokens may inherit one from a group.
fn has_same_reason(one: &Token<'_>, two: &Token<'_>) -> bool {
    fn comparable_reason(why: &str) -> (usize, &str) {
        (why.len(), truncate_inherited(why))
    }
    deprecation_reason(one).map(comparable_reason) == deprecation_reason(two).map(comparable_reason)
}

/// Whether every token is unchanged at its new path, in every mode.
fn preserves_meaning(moves: &PathMove<'_>, after: &TokenDocument) -> bool {
    let (old, new) = (moves.model, &TokenModel::new(after));
    let place = |token: &Token<'_>| new.index().get(moves.new_path(&token.path).as_str()).copied();
    let places: Option<Vec<usize>> = old.tokens().iter().map(place).collect();
    let Some(places) = places.filter(|places| places.len() == new.tokens().len()) else { return false };
    let is_same = |(from, to): (usize, &usize)| {
        old.kinds[from] == new.kinds[*to] && has_same_reason(&old.tokens()[from], &new.tokens()[*to])
    };
    if !places.iter().enumerate().all(is_same) {
        return false;
    }
    let (mut before, mut now) = (ModeResolver::new(old, &mut |_| {}), ModeResolver::new(new, &mut |_| {}));
    let have_same = |(before, now): (&ModeValues, &ModeValues)| {
        places.iter().enumerate().all(|(from, &to)| {
            let is_special = before.differs_from_base(from) || now.differs_from_base(to);
            !is_special || before.get(from) == now.get(to)
        })
    };
    have_same((&before.base, &now.base))
        && after.modes().iter().all(|mode| {
            have_same((&before.resolve_mode(mode, &mut |_| {}), &now.resolve_mode(mode, &mut |_| {})))
        })
}
