//! Another path for a token or a group, and for every reference to it.

use super::{EditError, Edited, check_names, check_path, look_up};
use crate::budget::Budget;
use crate::document::{Document, ParseError, find_mut, join, make_group, take};
use crate::flat::{MAX_LOOKED_UP, Token};
use crate::follow::{Everywhere, Values};
use crate::json::{Json, Map};
use crate::limits::MAX_BYTES;
use crate::model::{Model, beneath};
use crate::resolve::{brief, reason};
use crate::rewrite;

/// Gives a token or a group another path and rewrites every reference to it.
///
/// The meaning stays: every token has the type and the value that it had, in every mode. Where that cannot be, nothing is
/// changed. A token that had its type from a group that it leaves gets it written down.
pub fn rename(document: &Document, from: &str, to: &str) -> Result<Edited, EditError> {
    check_names(from)?;
    check_path(to)?;
    if document.get(from).is_none() {
        return Err(EditError::Missing { path: from.to_owned() });
    }
    if document.get(to).is_some() {
        return Err(EditError::Taken { path: to.to_owned() });
    }
    let refused = |reason: &str| EditError::Meaning {
        from: from.to_owned(),
        to: to.to_owned(),
        reason: reason.to_owned(),
    };
    if beneath(to, from) {
        return Err(refused("a thing cannot be moved into itself"));
    }
    look_up(document.root(), to, &mut Budget::of(MAX_LOOKED_UP))?;
    let model = Model::of(document);
    let moves = Moves { model: &model, from, to };
    if model.tokens().iter().any(|token| moves.of(token).is_none()) {
        return Err(refused("groups inherit it through `$extends`, and it would leave what they extend"));
    }
    let mut changed = document.clone();
    let mut touched = Vec::new();
    let new = |path: &str| Some(moves.path(path)).filter(|new| new != path);
    rewrite::in_group(changed.root_mut(), "", &new, &mut touched);
    relocate(changed.root_mut(), from, to);
    keep_inherited(&moves, &mut changed)?;
    let changed = Document::from_map(changed.into_root())?;
    if !same_meaning(&moves, &changed) {
        return Err(refused(
            "other tokens would change, for what they refer to or inherit would be another thing",
        ));
    }
    touched.retain(|path| path != from && !beneath(path, from));
    touched.insert(0, to.to_owned());
    Ok(Edited { document: changed, touched })
}

/// Where things go.
struct Moves<'a> {
    model: &'a Model<'a>,
    from: &'a str,
    to: &'a str,
}

impl Moves<'_> {
    /// The new path of anything that is written at a path.
    fn written(&self, path: &str) -> String {
        match path.strip_prefix(self.from) {
            Some(rest) if rest.is_empty() || rest.starts_with('.') => format!("{}{rest}", self.to),
            _ => path.to_owned(),
        }
    }

    /// The new path of a token. `None`: it is inherited, and what it is inherited from leaves the group.
    fn of(&self, token: &Token<'_>) -> Option<String> {
        let written = self.written(&token.origin);
        if token.path == token.origin {
            return Some(written);
        }
        // Inherited: `heir.rest` is written as `group.rest`. Both may move.
        let heir = without_end(&token.path, token.shared);
        let group = without_end(&token.origin, token.shared);
        let (group, heir) = (self.written(group), self.written(heir));
        if group.is_empty() {
            return Some(join(&heir, &written));
        }
        let rest = written.strip_prefix(group.as_str())?.strip_prefix('.')?;
        Some(join(&heir, rest))
    }

    fn path(&self, path: &str) -> String {
        let token = self.model.index().get(path).map(|&at| &self.model.tokens()[at]);
        token.and_then(|token| self.of(token)).unwrap_or_else(|| self.written(path))
    }
}

/// A path without its last names.
fn without_end(path: &str, names: usize) -> &str {
    path.rmatch_indices('.').nth(names.saturating_sub(1)).map_or("", |(at, _)| &path[..at])
}

/// Moves what stands at a path. Within its group it keeps its place.
fn relocate(root: &mut Map, from: &str, to: &str) {
    let (old_group, old_name) = from.rsplit_once('.').unwrap_or(("", from));
    let (new_group, new_name) = to.rsplit_once('.').unwrap_or(("", to));
    if old_group == new_group {
        make_group(root, old_group).rename(old_name, new_name);
    } else if let Some(value) = take(root, from) {
        make_group(root, new_group).set(new_name, value);
    }
}

/// Writes down what tokens had from groups that they leave: types, and that they should not be used any more.
fn keep_inherited(moves: &Moves<'_>, changed: &mut Document) -> Result<(), EditError> {
    let mut lost: Vec<(String, &str, Json)> = Vec::new();
    // A long reason in a group may become one in each of its tokens.
    let mut bytes = 0;
    {
        let after = Model::of(changed);
        for (token, kind) in moves.model.tokens().iter().zip(&moves.model.kinds) {
            let path = moves.of(token).filter(|path| path == moves.to || beneath(path, moves.to));
            let Some(path) = path.filter(|_| token.path == token.origin) else { continue };
            let Some(&at) = after.index().get(path.as_str()) else { continue };
            if let Some(kind) = kind.filter(|kind| after.kinds[at] != Some(*kind)) {
                lost.push((path.clone(), "$type", kind.as_str().into()));
            }
            if !has_same_reason(token, &after.tokens()[at]) {
                bytes += reason(token).map_or(0, str::len);
                if bytes > MAX_BYTES {
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

/// Whether two should not be used any more for the same reason. Of a long one the length and the beginning are compared:
/// thousands of tokens may have it from one group.
fn has_same_reason(one: &Token<'_>, two: &Token<'_>) -> bool {
    fn told(why: &str) -> (usize, &str) {
        (why.len(), brief(why))
    }
    reason(one).map(told) == reason(two).map(told)
}

/// Whether every token is what it was, under its new path, in every mode.
fn same_meaning(moves: &Moves<'_>, after: &Document) -> bool {
    let (old, new) = (moves.model, &Model::of(after));
    let place = |token: &Token<'_>| new.index().get(moves.path(&token.path).as_str()).copied();
    let places: Option<Vec<usize>> = old.tokens().iter().map(place).collect();
    let Some(places) = places.filter(|places| places.len() == new.tokens().len()) else { return false };
    let is_same = |(from, to): (usize, &usize)| {
        old.kinds[from] == new.kinds[*to] && has_same_reason(&old.tokens()[from], &new.tokens()[*to])
    };
    if !places.iter().enumerate().all(is_same) {
        return false;
    }
    let (mut before, mut now) = (Everywhere::of(old, &mut |_| {}), Everywhere::of(new, &mut |_| {}));
    let have_same = |(before, now): (&Values, &Values)| {
        places.iter().enumerate().all(|(from, &to)| {
            let is_special = before.is_special(from) || now.is_special(to);
            !is_special || before.get(from) == now.get(to)
        })
    };
    have_same((&before.base, &now.base))
        && after
            .modes()
            .iter()
            .all(|mode| have_same((&before.mode(mode, &mut |_| {}), &now.mode(mode, &mut |_| {}))))
}
