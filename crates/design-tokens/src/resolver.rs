//! Resolver files (DTCG Resolver 2025.10): sets of tokens, and modifiers that choose between sets.
//!
//! Tokens are inline or referenced within the file. References to other files are rejected: this crate reads
//! no files, so callers have to inline them first.

#[cfg(test)]
mod tests;

use std::cell::OnceCell;

use super::budget::CostBudget;
use super::document::{ParseError, TokenDocument, is_token, join_path};
use super::finding::excerpt;
use super::flatten::{FlatTokens, Token, follow_pointer, resolves_to_token};
use super::json::{Json, JsonMap};
use super::limits::{MAX_MODES, MAX_RESOLVED_NODES_ALL_MODES};
use super::reference::TokenReference;

/// Why a resolver file is invalid.
#[derive(Debug, thiserror::Error)]
pub enum ResolverError {
    /// An unsupported version.
    #[error("the resolver has version {}; only \"2025.10\" is supported", excerpt(.0))]
    Version(String),
    /// A malformed part.
    #[error("`{}` of the resolver is invalid: {reason}", excerpt(at))]
    Shape { at: String, reason: String },
    /// A reference that is broken, external, or not allowed here.
    #[error("the resolver refers to {}, which is not a set in this file; inline the tokens", excerpt(.0))]
    Reference(String),
    /// The sources are too large.
    #[error("the sources of the resolver are too large in total; use fewer")]
    TooLarge,
    /// Too many contexts to become modes.
    #[error("the resolver has more than {MAX_MODES} contexts; remove some")]
    TooManyModes,
    /// The merged tokens are not a valid document.
    #[error(transparent)]
    Document(#[from] ParseError),
}

/// Maximum number of merged sources.
const MAX_MERGED_SOURCES: usize = 1_000;
/// Maximum length of a chain of set references. Also stops cycles.
const MAX_SET_NESTING: usize = 32;

/// A set or a modifier. Only borrows, because many steps may refer to the same large set.
enum ResolutionStep<'a> {
    Set(&'a [Json]),
    Modifier { name: &'a str, contexts: &'a JsonMap, default: Option<&'a str> },
}

fn shape_error(at: &str, reason: &str) -> ResolverError {
    ResolverError::Shape { at: at.to_owned(), reason: reason.to_owned() }
}

/// Merges the sources for these inputs, which are pairs of a modifier and a context.
fn merge_sources(
    file: &JsonMap,
    steps: &[ResolutionStep<'_>],
    inputs: &[(&str, &str)],
    budget: &mut CostBudget,
) -> Result<TokenDocument, ResolverError> {
    let mut root = JsonMap::new();
    let mut merging = SourceMerger { file, merges: CostBudget::new(MAX_MERGED_SOURCES), budget };
    for step in steps {
        let sources: &[Json] = match step {
            ResolutionStep::Set(sources) => sources,
            ResolutionStep::Modifier { name, contexts, .. } => {
                let context = inputs.iter().find(|(known, _)| known == name).map(|(_, context)| *context);
                let sources = context.and_then(|context| contexts.get(context)?.as_array());
                sources.ok_or_else(|| shape_error(name, "every context must be an array of sources"))?
            }
        };
        for source in sources {
            merging.add_source(source, &mut root, 0)?;
        }
    }
    Ok(TokenDocument::from_map(root)?)
}

/// Converts a resolver file to one document with modes.
///
/// The base values use the default of every modifier, or its first context. Every other context becomes a
/// mode with the changes it makes on its own: `dark`, or `theme-dark` if there are several modifiers. Changes
/// that only a combination of contexts makes are lost.
pub(super) fn to_document(file: &JsonMap) -> Result<TokenDocument, ResolverError> {
    let steps = parse_resolution_order(file)?;
    let modifiers: Vec<_> = steps
        .iter()
        .filter_map(|step| match step {
            ResolutionStep::Modifier { name, contexts, default } => {
                let first = contexts.iter().next().map(|(name, _)| name);
                Some((*name, *contexts, default.or(first).unwrap_or_default()))
            }
            ResolutionStep::Set(_) => None,
        })
        .collect();
    if modifiers.iter().map(|(_, contexts, _)| contexts.len()).sum::<usize>() > MAX_MODES {
        return Err(ResolverError::TooManyModes);
    }
    let mut budget = CostBudget::new(MAX_RESOLVED_NODES_ALL_MODES);
    let defaults: Vec<_> = modifiers.iter().map(|(name, _, default)| (*name, *default)).collect();
    let base = merge_sources(file, &steps, &defaults, &mut budget)?;
    let mut root = base.root().clone();
    for (name, contexts, default) in &modifiers {
        for (context, _) in contexts.iter().filter(|(context, _)| context != default) {
            let mut inputs = defaults.clone();
            inputs.retain(|(known, _)| known != name);
            inputs.push((name, context));
            let mode = if modifiers.len() > 1 { format!("{name}-{context}") } else { context.to_owned() };
            add_mode(
                &mut root,
                base.root(),
                merge_sources(file, &steps, &inputs, &mut budget)?.root(),
                &mode,
            );
        }
    }
    Ok(TokenDocument::from_map(root)?)
}

/// Adds the values of a context as a mode. A token that only exists in the context is added to the document.
pub(super) fn add_mode(into: &mut JsonMap, base: &JsonMap, other: &JsonMap, mode: &str) {
    ModeMerger { mode, base, other, base_tokens: OnceCell::new() }.merge_group(into, base, other, "");
}

struct ModeMerger<'a> {
    mode: &'a str,
    base: &'a JsonMap,
    other: &'a JsonMap,
    /// The base tokens, inherited ones included. Lazy, because most contexts only change written tokens.
    base_tokens: OnceCell<FlatTokens<'a>>,
}

impl<'a> ModeMerger<'a> {
    fn merge_group(&self, into: &mut JsonMap, base: &JsonMap, other: &JsonMap, path: &str) {
        for (name, value) in other.iter().filter(|(name, _)| *name == "$root" || !name.starts_with('$')) {
            let Some(map) = value.as_object() else { continue };
            let is_token = resolves_to_token(self.other, map);
            let kept = into.get(name).and_then(Json::as_object);
            if kept.is_some_and(|kept| resolves_to_token(self.other, kept) != is_token) {
                continue; // A path cannot be a token in one mode and a group in another.
            }
            let path = join_path(path, name);
            let old = base.get(name).and_then(Json::as_object);
            if is_token {
                self.merge_token(into, old, (name, map), &path);
                continue;
            }
            if !into.contains(name) {
                let own = map.iter().filter(|(name, _)| name.starts_with('$') && *name != "$root");
                into.set(name, own.map(|(name, value)| (name, value.clone())).collect::<JsonMap>());
            }
            self.merge_group(into.object_entry(name), old.unwrap_or(&JsonMap::new()), map, &path);
        }
    }

    fn merge_token(
        &self,
        into: &mut JsonMap,
        old: Option<&JsonMap>,
        (name, map): (&str, &JsonMap),
        path: &str,
    ) {
        let inherited = if old.is_none() { self.inherited(path) } else { None };
        if !into.contains(name) {
            into.set(name, inherited.map_or_else(|| map.clone(), alias_to_origin));
        }
        let old = old.or(inherited.map(|token| token.map)).and_then(value_or_pointer);
        if let Some(special) = value_or_pointer(map).filter(|special| old.as_ref() != Some(special)) {
            into.object_entry(name).object_entry("$extensions").object_entry("mode").set(self.mode, special);
        }
    }

    /// The base token that a group inherits at a path.
    fn inherited(&self, path: &str) -> Option<&Token<'a>> {
        let all = self.base_tokens.get_or_init(|| FlatTokens::from_root(self.base));
        all.index.get(path).map(|&at| &all.tokens[at])
    }
}

/// The explicit form of an inherited token: an alias, so that it keeps following its origin in other modes.
fn alias_to_origin(token: &Token<'_>) -> JsonMap {
    if token.origin.contains(['{', '}']) {
        return token.map.clone(); // An alias cannot refer to it.
    }
    let own = token.map.iter().filter(|(name, _)| !["$value", "$ref", "$extensions"].contains(name));
    let mut map: JsonMap = own.map(|(name, value)| (name, value.clone())).collect();
    map.set("$value", format!("{{{}}}", token.origin));
    map
}

/// The value of a token, or its pointer.
fn value_or_pointer(token: &JsonMap) -> Option<Json> {
    let pointer = || token.get("$ref").map(|pointer| JsonMap::from_iter([("$ref", pointer.clone())]).into());
    token.get("$value").cloned().or_else(pointer)
}

fn parse_resolution_order(file: &JsonMap) -> Result<Vec<ResolutionStep<'_>>, ResolverError> {
    let version = file.get("version");
    if version.and_then(Json::as_str) != Some("2025.10") {
        let version = version.map_or_else(|| "none".to_owned(), Json::to_string);
        return Err(ResolverError::Version(version));
    }
    let order = file.get("resolutionOrder").and_then(Json::as_array);
    let order = order.ok_or_else(|| shape_error("resolutionOrder", "it must be an array"))?;
    if order.len() > MAX_MERGED_SOURCES {
        return Err(shape_error("resolutionOrder", "it has too many entries"));
    }
    let mut names: Vec<&str> = Vec::new();
    let mut steps = Vec::new();
    for (at, item) in order.iter().enumerate() {
        let at = format!("resolutionOrder/{at}");
        let map = item.as_object().ok_or_else(|| shape_error(&at, "it must be an object"))?;
        if let Some(pointer) = map.get("$ref").and_then(Json::as_str) {
            let (name, kind, target) = look_up_step(file, pointer)?;
            // Members next to the reference take precedence.
            steps.push(parse_step(name, kind, |member| map.get(member).or_else(|| target.get(member)))?);
            continue;
        }
        let (name, kind) = {
            let text = |name| map.get(name).and_then(Json::as_str);
            let name = text("name").ok_or_else(|| shape_error(&at, "it has no `name`"))?;
            let kind =
                text("type").ok_or_else(|| shape_error(&at, "it has no `type`; use set or modifier"))?;
            if names.contains(&name) {
                return Err(shape_error(&at, "its name is not unique"));
            }
            names.push(name);
            (name, kind)
        };
        steps.push(parse_step(name, kind, |member| map.get(member))?);
    }
    Ok(steps)
}

fn look_up_step<'a>(
    file: &'a JsonMap,
    pointer: &str,
) -> Result<(&'a str, &'static str, &'a JsonMap), ResolverError> {
    let unknown = || ResolverError::Reference(pointer.to_owned());
    let reference = TokenReference::parse_pointer(pointer).map_err(|_| unknown())?;
    let segments = reference.segments();
    let (kind, [holder, name]) = match segments.as_slice() {
        ["sets", name] => ("set", ["sets", name]),
        ["modifiers", name] => ("modifier", ["modifiers", name]),
        _ => return Err(unknown()),
    };
    let holder = file.get(holder).and_then(Json::as_object).ok_or_else(unknown)?;
    let (name, value) = holder.iter().find(|(known, _)| *known == name).ok_or_else(unknown)?;
    Ok((name, kind, value.as_object().ok_or_else(unknown)?))
}

/// The members of a target, overridden by the members next to the reference.
fn with_overrides<'a>(
    target: &'a JsonMap,
    reference: &'a JsonMap,
) -> impl Iterator<Item = (&'a str, &'a Json)> {
    let known = target.iter().map(|(name, value)| (name, reference.get(name).unwrap_or(value)));
    known.chain(reference.iter().filter(|(name, _)| *name != "$ref" && !target.contains(name)))
}

fn parse_step<'a>(
    name: &'a str,
    kind: &str,
    member: impl Fn(&str) -> Option<&'a Json>,
) -> Result<ResolutionStep<'a>, ResolverError> {
    match kind {
        "set" => {
            let sources = member("sources").and_then(Json::as_array);
            sources
                .map(ResolutionStep::Set)
                .ok_or_else(|| shape_error(name, "a set needs an array `sources`"))
        }
        "modifier" => {
            let contexts =
                member("contexts").and_then(Json::as_object).filter(|contexts| !contexts.is_empty());
            let contexts = contexts.ok_or_else(|| shape_error(name, "a modifier needs `contexts`"))?;
            let default = member("default").and_then(Json::as_str);
            if default.is_some_and(|default| !contexts.contains(default)) {
                return Err(shape_error(name, "its default is not one of its contexts"));
            }
            Ok(ResolutionStep::Modifier { name, contexts, default })
        }
        _ => Err(shape_error(name, "its `type` is neither set nor modifier")),
    }
}

/// Merges sources.
struct SourceMerger<'a> {
    file: &'a JsonMap,
    merges: CostBudget,
    budget: &'a mut CostBudget,
}

impl SourceMerger<'_> {
    /// Adds a source: tokens, or a reference to a set. Later tokens replace earlier ones.
    fn add_source(&mut self, source: &Json, root: &mut JsonMap, depth: usize) -> Result<(), ResolverError> {
        let map = source.as_object().ok_or_else(|| shape_error("sources", "a source must be an object"))?;
        if depth > MAX_SET_NESTING || self.merges.spend(1).is_none() {
            return Err(shape_error("sources", "they refer to each other too often"));
        }
        let Some(pointer) = map.get("$ref").and_then(Json::as_str) else {
            return self.merge(root, map.iter());
        };
        let unknown = || ResolverError::Reference(pointer.to_owned());
        let reference = TokenReference::parse_pointer(pointer).map_err(|_| unknown())?;
        let segments = reference.segments();
        if matches!(segments.first(), Some(&("modifiers" | "resolutionOrder"))) {
            return Err(unknown());
        }
        let target = follow_pointer(self.file, &segments).and_then(Json::as_object).ok_or_else(unknown)?;
        let sources = map.get("sources").or_else(|| target.get("sources")).and_then(Json::as_array);
        match sources.filter(|_| segments.first() == Some(&"sets")) {
            Some(sources) => sources.iter().try_for_each(|source| self.add_source(source, root, depth + 1)),
            None => self.merge(root, with_overrides(target, map)),
        }
    }

    fn merge<'m>(
        &mut self,
        into: &mut JsonMap,
        members: impl Iterator<Item = (&'m str, &'m Json)>,
    ) -> Result<(), ResolverError> {
        merge_members(into, members, self.budget).ok_or(ResolverError::TooLarge)
    }
}

/// Merges tokens, replacing existing ones. `None` if the budget is exhausted.
pub(super) fn merge_tokens(into: &mut JsonMap, from: &JsonMap, budget: &mut CostBudget) -> Option<()> {
    merge_members(into, from.iter(), budget)
}

fn merge_members<'a>(
    into: &mut JsonMap,
    members: impl Iterator<Item = (&'a str, &'a Json)>,
    budget: &mut CostBudget,
) -> Option<()> {
    for (name, value) in members {
        match value {
            Json::Object(map) if !name.starts_with('$') && !is_token(map) && !map.contains("$ref") => {
                budget.spend(1)?;
                let group = into.object_entry(name);
                if is_token(group) {
                    *group = JsonMap::new(); // The last source wins.
                }
                merge_tokens(group, map, budget)?;
            }
            other => {
                other.charge(budget)?;
                into.set(name, other.clone());
            }
        }
    }
    Some(())
}
