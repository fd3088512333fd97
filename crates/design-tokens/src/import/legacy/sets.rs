//! Sets and themes in Tokens Studio files.

use std::collections::HashSet;

use crate::budget::CostBudget;
use crate::json::{Json, JsonMap};
use crate::limits::{MAX_MODES, MAX_RESOLVED_NODES_ALL_MODES};
use crate::resolver::{add_mode, merge_tokens};

/// Merges the sets of a file, and returns whether its themes became modes.
///
/// The base values use the first theme of every group. Every other theme becomes a mode, named after the
/// theme, or after its group and theme if there are several groups. If that exceeds a limit, all sets are
/// merged without modes.
pub(super) fn merge_sets(root: &JsonMap) -> Option<(JsonMap, bool)> {
    let sets = ordered_sets(root)?;
    let themes = root.get("$themes").and_then(Json::as_array).into_iter().flatten();
    let themes: Vec<_> = themes.filter_map(Json::as_object).collect();
    let mut budget = CostBudget::new(MAX_RESOLVED_NODES_ALL_MODES);
    if let Some(merged) = merge_themes(&sets, &themes, &mut budget).filter(|_| themes.len() > 1) {
        return Some((merged, true));
    }
    let mut merged = JsonMap::new();
    let mut budget = CostBudget::new(MAX_RESOLVED_NODES_ALL_MODES);
    sets.iter().try_for_each(|(_, tokens)| merge_tokens(&mut merged, tokens, &mut budget))?;
    Some((merged, false))
}

/// The sets in `tokenSetOrder`; unlisted ones are last.
fn ordered_sets(root: &JsonMap) -> Option<Vec<(&str, &JsonMap)>> {
    let order = root.get("$metadata")?.as_object()?.get("tokenSetOrder")?.as_array()?;
    let mut seen = HashSet::new();
    let listed = order.iter().filter_map(Json::as_str);
    let others = root.iter().map(|(name, _)| name).filter(|name| !name.starts_with('$'));
    let names = listed.chain(others).filter(|name| seen.insert(*name));
    Some(names.filter_map(|name| Some((name, root.get(name)?.as_object()?))).collect())
}

fn merge_themes(sets: &[(&str, &JsonMap)], themes: &[&JsonMap], budget: &mut CostBudget) -> Option<JsonMap> {
    let mut first: Vec<&JsonMap> = Vec::new();
    for theme in themes {
        if !first.iter().any(|known| string_member(known, "group") == string_member(theme, "group")) {
            first.push(theme);
        }
    }
    if themes.len() - first.len() > MAX_MODES {
        return None;
    }
    let base = merge_selected_sets(sets, &first, budget)?;
    let mut merged = base.clone();
    for theme in themes.iter().filter(|theme| !first.iter().any(|known| std::ptr::eq(*known, **theme))) {
        let chosen: Vec<_> =
            first
                .iter()
                .map(|known| {
                    if string_member(known, "group") == string_member(theme, "group") {
                        *theme
                    } else {
                        known
                    }
                })
                .collect();
        let name = string_member(theme, "name").unwrap_or("theme");
        let group = string_member(theme, "group").filter(|_| first.len() > 1);
        let mode = group.map_or_else(|| name.to_owned(), |group| format!("{group}-{name}"));
        add_mode(&mut merged, &base, &merge_selected_sets(sets, &chosen, budget)?, &mode);
    }
    Some(merged)
}

fn string_member<'a>(theme: &'a JsonMap, name: &str) -> Option<&'a str> {
    theme.get(name).and_then(Json::as_str)
}

/// Merges the sets that any of these themes selects.
fn merge_selected_sets(
    sets: &[(&str, &JsonMap)],
    themes: &[&JsonMap],
    budget: &mut CostBudget,
) -> Option<JsonMap> {
    let mut merged = JsonMap::new();
    for (name, tokens) in sets {
        let is_chosen = |theme: &&JsonMap| {
            let Some(chosen) = theme.get("selectedTokenSets").and_then(Json::as_object) else { return true };
            matches!(string_member(chosen, name), Some("enabled" | "source"))
        };
        if themes.iter().any(is_chosen) {
            merge_tokens(&mut merged, tokens, budget)?;
        }
    }
    Some(merged)
}
