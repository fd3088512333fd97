//! Differences between two documents.

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

/// Differences between two documents. Paths are in document order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TokenDiff {
    /// New tokens.
    pub added: Vec<TokenState>,
    /// Deleted tokens.
    pub removed: Vec<TokenState>,
    /// Tokens with another type, value, description or deprecation.
    pub changed: Vec<TokenChange>,
    /// Tokens with the same content at another path.
    pub renamed: Vec<TokenRename>,
}

/// The content of a token.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenState {
    pub path: String,
    pub kind: Option<TokenKind>,
    /// The value as written; aliases are not resolved. `…` if it is too large to show.
    pub value: Json,
    /// Values for modes, ordered by name.
    pub modes: Vec<(String, Json)>,
    pub description: Option<String>,
    /// `Some` if deprecated: the reason, or an empty string.
    pub deprecated: Option<String>,
}

/// A token with changed content.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenChange {
    pub before: TokenState,
    pub after: TokenState,
}

/// A token that moved to another path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRename {
    pub from: String,
    pub to: String,
}

impl TokenDiff {
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty() && self.renamed.is_empty()
    }
}

/// Compares two documents token by token. The order of members and modes does not matter, nor does `4` versus
/// `4.0`.
///
/// A deleted and a new token count as renamed if they have the same type and the same resolved value in every
/// mode, and no other deleted or new token has these. An alias that only follows such a rename is not a
/// change.
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

/// The content of a token, borrowed: through `$extends` many tokens may share a large value.
struct TokenContent<'a> {
    path: &'a str,
    kind: Option<TokenKind>,
    value: Cow<'a, Json>,
    /// Ordered by name, without duplicates.
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

/// A token's values for modes, ordered by name. The first one wins if a mode occurs several times.
fn sorted_mode_values(token: &JsonMap) -> Vec<(&str, &Json)> {
    let mut modes: Vec<_> = mode_values(token).collect();
    modes.sort_by_key(|(mode, _)| *mode);
    modes.dedup_by_key(|(mode, _)| *mode);
    modes
}

impl TokenContent<'_> {
    /// Whether another token has the same content, with references updated for renames.
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

    /// An owned copy. Values beyond the budget are replaced by `…`.
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

/// Matches deleted and new tokens with the same fingerprint, if the match is unambiguous.
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

/// Type and resolved values of tokens as strings to compare. `None` for tokens without a value.
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
    // Ordered by name, because documents may have the same modes in another order.
    for mode in document.modes().into_iter().collect::<BTreeSet<_>>() {
        let values = everywhere.resolve_mode(&mode, &mut |_| {});
        for (said, meaning) in tokens.iter().zip(&mut meanings) {
            let Some((meaning, &at)) = meaning.as_mut().zip(model.index().get(said.path)) else { continue };
            // A mode without an effect is ignored, so that documents with different modes can be compared.
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
