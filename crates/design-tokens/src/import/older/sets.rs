//! The sets and themes that Tokens Studio keeps in one file.

use std::collections::HashSet;

use crate::budget::Budget;
use crate::json::{Json, Map};
use crate::limits::{MAX_MODES, MAX_NODES_OF_MODES};
use crate::resolver::{add_mode, merge};

/// The sets of a file as one, and whether its themes are modes of it.
///
/// Without a mode it has the first theme of every group. Every other theme is a mode, called as the theme, or as its group
/// and the theme where there are several groups. If that were too much, all sets are put together without modes.
pub(super) fn merged(root: &Map) -> Option<(Map, bool)> {
    let sets = sets(root)?;
    let themes = root.get("$themes").and_then(Json::as_array).into_iter().flatten();
    let themes: Vec<_> = themes.filter_map(Json::as_object).collect();
    let mut budget = Budget::of(MAX_NODES_OF_MODES);
    if let Some(merged) = with_themes(&sets, &themes, &mut budget).filter(|_| themes.len() > 1) {
        return Some((merged, true));
    }
    let mut merged = Map::new();
    let mut budget = Budget::of(MAX_NODES_OF_MODES);
    sets.iter().try_for_each(|(_, tokens)| merge(&mut merged, tokens, &mut budget))?;
    Some((merged, false))
}

/// The sets in their order; those that it lacks come last.
fn sets(root: &Map) -> Option<Vec<(&str, &Map)>> {
    let order = root.get("$metadata")?.as_object()?.get("tokenSetOrder")?.as_array()?;
    let mut seen = HashSet::new();
    let listed = order.iter().filter_map(Json::as_str);
    let others = root.iter().map(|(name, _)| name).filter(|name| !name.starts_with('$'));
    let names = listed.chain(others).filter(|name| seen.insert(*name));
    Some(names.filter_map(|name| Some((name, root.get(name)?.as_object()?))).collect())
}

fn with_themes(sets: &[(&str, &Map)], themes: &[&Map], budget: &mut Budget) -> Option<Map> {
    let mut first: Vec<&Map> = Vec::new();
    for theme in themes {
        if !first.iter().any(|known| text(known, "group") == text(theme, "group")) {
            first.push(theme);
        }
    }
    if themes.len() - first.len() > MAX_MODES {
        return None;
    }
    let base = put_together(sets, &first, budget)?;
    let mut merged = base.clone();
    for theme in themes.iter().filter(|theme| !first.iter().any(|known| std::ptr::eq(*known, **theme))) {
        let chosen: Vec<_> = first
            .iter()
            .map(|known| if text(known, "group") == text(theme, "group") { *theme } else { known })
            .collect();
        let name = text(theme, "name").unwrap_or("theme");
        let group = text(theme, "group").filter(|_| first.len() > 1);
        let mode = group.map_or_else(|| name.to_owned(), |group| format!("{group}-{name}"));
        add_mode(&mut merged, &base, &put_together(sets, &chosen, budget)?, &mode);
    }
    Some(merged)
}

fn text<'a>(theme: &'a Map, name: &str) -> Option<&'a str> {
    theme.get(name).and_then(Json::as_str)
}

/// The sets that any of some themes chooses.
fn put_together(sets: &[(&str, &Map)], themes: &[&Map], budget: &mut Budget) -> Option<Map> {
    let mut merged = Map::new();
    for (name, tokens) in sets {
        let is_chosen = |theme: &&Map| {
            let Some(chosen) = theme.get("selectedTokenSets").and_then(Json::as_object) else { return true };
            matches!(text(chosen, name), Some("enabled" | "source"))
        };
        if themes.iter().any(is_chosen) {
            merge(&mut merged, tokens, budget)?;
        }
    }
    Some(merged)
}
