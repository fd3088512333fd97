//! What changed between two documents.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

use super::budget::CostBudget;
use super::document::{TokenDocument, mode_values};
use super::evaluate::ModeResolver;
use super::json::{Json, JsonMap};
use super::kind::TokenKind;
use super::limits::MAX_RESOLVED_NODES;
use super::model::TokenModel;
use super::resolve::{token_deprecation, token_description};
use super::rewrite;

/// What changed between two documents. Paths are in the order of the documents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TokenDiff {
    /// Tokens that are new.
    pub added: Vec<TokenState>,
    /// Tokens that are gone.
    pub removed: Vec<TokenState>,
    /// Tokens that say something else.
    pub changed: Vec<TokenChange>,
    /// Tokens that say the same under another path.
    pub renamed: Vec<TokenRename>,
}

/// What a token says.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenState {
    /// Its path.
    pub path: String,
    /// Its type.
    pub kind: Option<TokenKind>,
    /// Its value as it is written; an alias is an alias. `…` if there is too much to show.
    pub value: Json,
    /// Its values for modes, in the order of their names.
    pub modes: Vec<(String, Json)>,
    /// What it is for.
    pub description: Option<String>,
    /// Set if it should not be used any more: why, or an empty text.
    pub deprecated: Option<String>,
}

/// A token that says something else.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenChange {
    /// What it said.
    pub before: TokenState,
    /// What it says.
    pub after: TokenState,
}

/// A token under another path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRename {
    /// The old path.
    pub from: String,
    /// The new path.
    pub to: String,
}

impl TokenDiff {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty() && self.renamed.is_empty()
    }
}

/// Compares two documents token by token. In what order members and modes are written, and whether a number is `4` or
/// `4.0`, makes no difference.
///
/// A token that is gone and one that is new count as renamed if they have the same type and final value in every mode, and
/// no other token that came or went has them. An alias that only follows such a renaming did not change.
pub fn diff_documents(old: &TokenDocument, new: &TokenDocument) -> TokenDiff {
    let (old_model, new_model) = (TokenModel::new(old), TokenModel::new(new));
    let (before, after) = (token_contents(&old_model), token_contents(&new_model));
    let (old_index, new_index) = (old_model.index(), new_model.index());
    let gone: Vec<_> = before.iter().filter(|said| !new_index.contains_key(said.path)).collect();
    let come: Vec<_> = after.iter().filter(|said| !old_index.contains_key(said.path)).collect();
    let renamed = if gone.is_empty() || come.is_empty() {
        Vec::new()
    } else {
        match_renames(
            &gone,
            &come,
            &token_fingerprints(old, &old_model, &gone),
            &token_fingerprints(new, &new_model, &come),
        )
    };
    let moves: HashMap<&str, &str> = renamed.iter().map(|one| (one.from.as_str(), one.to.as_str())).collect();
    let arrived: HashSet<&str> = renamed.iter().map(|one| one.to.as_str()).collect();
    let mut room = CostBudget::new(MAX_RESOLVED_NODES);
    let mut diff = TokenDiff::default();
    for said in &before {
        let Some(&at) = new_index.get(said.path) else { continue };
        if !said.is_equivalent(&after[at], &moves) {
            let (before, after) = (said.to_state(&mut room), after[at].to_state(&mut room));
            diff.changed.push(TokenChange { before, after });
        }
    }
    let stay_gone = gone.into_iter().filter(|said| !moves.contains_key(said.path));
    diff.removed = stay_gone.map(|said| said.to_state(&mut room)).collect();
    let really_new = come.into_iter().filter(|said| !arrived.contains(said.path));
    diff.added = really_new.map(|said| said.to_state(&mut room)).collect();
    diff.renamed = renamed;
    diff
}

/// What a token says, where it says it. Through `$extends` many tokens may say the same large thing.
struct TokenContent<'a> {
    path: &'a str,
    kind: Option<TokenKind>,
    value: Cow<'a, Json>,
    /// In the order of their names, each once.
    modes: Vec<(&'a str, &'a Json)>,
    description: Option<&'a str>,
    deprecated: Option<&'a str>,
}

fn token_contents<'a>(model: &'a TokenModel<'_>) -> Vec<TokenContent<'a>> {
    let tokens = model.tokens().iter().zip(&model.kinds);
    tokens
        .map(|(token, kind)| TokenContent {
            path: &token.path,
            kind: *kind,
            value: token.map.get("$value").map_or_else(
                || {
                    let pointer = token.map.get("$ref").cloned().unwrap_or(Json::Null);
                    Cow::Owned(JsonMap::from_iter([("$ref", pointer)]).into())
                },
                Cow::Borrowed,
            ),
            modes: sorted_mode_values(token.map),
            description: token_description(token),
            deprecated: token_deprecation(token),
        })
        .collect()
}

/// The values that a token has for modes, by name. Where there are several for one, the first counts.
fn sorted_mode_values(token: &JsonMap) -> Vec<(&str, &Json)> {
    let mut modes: Vec<_> = mode_values(token).collect();
    modes.sort_by_key(|(mode, _)| *mode);
    modes.dedup_by_key(|(mode, _)| *mode);
    modes
}

impl TokenContent<'_> {
    /// Whether another says the same, where references follow what was renamed.
    fn is_equivalent(&self, other: &TokenContent<'_>, moves: &HashMap<&str, &str>) -> bool {
        let new = |path: &str| moves.get(path).map(|to| (*to).to_owned());
        let is_same_value = |one: &Json, two: &Json| {
            if moves.is_empty() {
                return one.is_equivalent(two);
            }
            let mut one = one.clone();
            rewrite::rewrite_value(&mut one, &new);
            one.is_equivalent(two)
        };
        self.kind == other.kind
            && (self.description, self.deprecated) == (other.description, other.deprecated)
            && self.modes.len() == other.modes.len()
            && is_same_value(&self.value, &other.value)
            && self
                .modes
                .iter()
                .zip(&other.modes)
                .all(|(one, two)| one.0 == two.0 && is_same_value(one.1, two.1))
    }

    /// The same to keep. What is too large to be shown is not.
    fn to_state(&self, room: &mut CostBudget) -> TokenState {
        let mut keep = |value: &Json| match value.charge(room) {
            Some(()) => value.clone(),
            None => Json::from("…"),
        };
        TokenState {
            path: self.path.to_owned(),
            kind: self.kind,
            value: keep(&self.value),
            modes: self.modes.iter().map(|(mode, value)| ((*mode).to_owned(), keep(value))).collect(),
            description: self.description.map(str::to_owned),
            deprecated: self.deprecated.map(str::to_owned),
        }
    }
}

/// Pairs those that went with those that came and mean the same, where there is no doubt.
fn match_renames(
    gone: &[&TokenContent<'_>],
    come: &[&TokenContent<'_>],
    left: &[Option<String>],
    joined: &[Option<String>],
) -> Vec<TokenRename> {
    let (left_counts, joined_counts) = (count_fingerprints(left), count_fingerprints(joined));
    let meanings = joined.iter().enumerate();
    let places: HashMap<&str, usize> =
        meanings.filter_map(|(at, meaning)| Some((meaning.as_deref()?, at))).collect();
    let mut renamed = Vec::new();
    for (said, meaning) in gone.iter().zip(left) {
        let Some(meaning) = meaning.as_deref() else { continue };
        if left_counts.get(meaning) == Some(&1) && joined_counts.get(meaning) == Some(&1) {
            let to = come[places[meaning]].path.to_owned();
            renamed.push(TokenRename { from: said.path.to_owned(), to });
        }
    }
    renamed
}

fn count_fingerprints(meanings: &[Option<String>]) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for meaning in meanings.iter().flatten() {
        *counts.entry(meaning.as_str()).or_default() += 1;
    }
    counts
}

/// What tokens come to: type and final values, as texts to compare. What has no value means nothing.
fn token_fingerprints(
    document: &TokenDocument,
    model: &TokenModel<'_>,
    tokens: &[&TokenContent<'_>],
) -> Vec<Option<String>> {
    let mut everywhere = ModeResolver::new(model, &mut |_| {});
    let mut meanings: Vec<_> = tokens
        .iter()
        .map(|said| {
            let value = everywhere.base.get(*model.index().get(said.path)?)?;
            Some(format!("{:?}:{}", said.kind, value.canonical()))
        })
        .collect();
    // By name, for documents may have the same modes in another order.
    for mode in document.modes().into_iter().collect::<BTreeSet<_>>() {
        let values = everywhere.resolve_mode(&mode, &mut |_| {});
        for (said, meaning) in tokens.iter().zip(&mut meanings) {
            let Some((meaning, &at)) = meaning.as_mut().zip(model.index().get(said.path)) else { continue };
            // A mode without a difference is no difference, so that documents with other modes compare.
            let value = values.get(at).filter(|_| values.differs_from_base(at));
            let is_other =
                |value: &Json| everywhere.base.get(at).is_none_or(|base| !value.is_equivalent(base));
            if values.differs_from_base(at) && value.is_none_or(is_other) {
                let value = value.map(|value| value.canonical().to_string()).unwrap_or_default();
                let _ = write!(meaning, "\n{mode:?}:{value}");
            }
        }
    }
    meanings
}
