//! Validation of single blocks and of all blocks of a project.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{Block, asset_refs};
use crate::error::ValidationProblem;
use crate::ids::{AssetId, BlockId};
use crate::limits::{MAX_BLOCK_DEPTH, MAX_NAME_CHARS, MAX_PROBLEMS, MAX_PROPS_BYTES};
use crate::naming;
use crate::types::{BlockTypes, PAGE, ValidationBudget};

/// Every problem with the props of a block, missing assets included. Pointers start with `/props`.
pub(super) fn validate_props(
    kind: &str,
    props: &Map<String, Value>,
    types: &BlockTypes,
    is_gone: &dyn Fn(&AssetId) -> bool,
    budget: &mut ValidationBudget,
) -> Vec<ValidationProblem> {
    let Some(known) = types.get(kind) else {
        return vec![ValidationProblem::new("/type", types.unknown_type_message(kind))];
    };
    let problems = naming::check_json("/props", props, MAX_PROPS_BYTES);
    if !problems.is_empty() {
        return problems;
    }
    let mut told = known.problems(props, budget);
    let gone = asset_refs::missing_assets(props, is_gone).into_iter();
    told.extend(gone.map(|(place, asset)| {
        ValidationProblem::new(place, format!("asset `{asset}` not found; upload it first"))
    }));
    told.into_iter()
        .map(|problem| ValidationProblem { path: format!("/props{}", problem.path), ..problem })
        .collect()
}

/// Every problem with the blocks of a project, in tree order and up to the reporting limit: tree structure,
/// types and placement, props, and missing assets.
pub fn validate_blocks(
    blocks: &[Block],
    types: &BlockTypes,
    assets: &BTreeSet<AssetId>,
) -> Vec<ValidationProblem> {
    let mut left = ValidationBudget::per_call();
    collect_problems(blocks, &mut |block, parent| {
        let is_gone = |asset: &AssetId| !assets.contains(asset);
        let mut told = validate_props(&block.kind, &block.props, types, &is_gone, &mut left);
        let misplaced = types.placement_error(&block.kind, parent.map(|parent| parent.kind.as_str()));
        told.extend(misplaced.map(|message| ValidationProblem::new("/parent", message)));
        told
    })
}

/// Problems that prevent blocks from being stored at all: not a tree, too deep, or too large. Blocks of a
/// draft may be invalid in other ways, because a type has changed or an asset was force-deleted.
pub fn validate_structure(blocks: &[Block]) -> Vec<ValidationProblem> {
    collect_problems(blocks, &mut |block, parent| {
        let mut told = naming::check_json("/props", &block.props, MAX_PROPS_BYTES);
        told.extend(naming::check_line("/type", &block.kind, MAX_NAME_CHARS));
        if (block.kind == PAGE) != parent.is_none() {
            told.push(ValidationProblem::new(
                "/parent",
                "must be inside a block, or at the top level if it is a page; move it there",
            ));
        }
        told
    })
}

fn collect_problems(
    blocks: &[Block],
    look: &mut dyn FnMut(&Block, Option<&Block>) -> Vec<ValidationProblem>,
) -> Vec<ValidationProblem> {
    let mut problems = Vec::new();
    let mut seen: BTreeMap<&BlockId, &Block> = BTreeMap::new();
    for block in blocks {
        if seen.insert(&block.id, block).is_some() {
            problems.push(
                ValidationProblem::new("/id", "is not unique; change one of the ids").for_block(&block.id),
            );
        }
    }
    let mut paths: BTreeMap<&str, &BlockId> = BTreeMap::new();
    let mut reached = 0;
    for (block, depth, parent) in depth_first(seen.values().copied()) {
        reached += 1;
        let mut told = look(block, parent);
        if depth > MAX_BLOCK_DEPTH {
            told.push(ValidationProblem::new(
                "/parent",
                format!("is nested more than {MAX_BLOCK_DEPTH} blocks deep; move it higher up"),
            ));
        }
        if let Some(path) = block.path()
            && paths.insert(path, &block.id).is_some()
        {
            told.push(ValidationProblem::new(
                "/props/path",
                format!("another page has the path `{path}`; choose another"),
            ));
        }
        problems.extend(told.into_iter().map(|problem| problem.for_block(&block.id)));
        if problems.len() > MAX_PROBLEMS {
            return problems;
        }
    }
    if reached < seen.len() {
        let lost = seen.len() - reached;
        let message = format!(
            "blocks not reachable from any page, because of a missing parent or a cycle: {lost}; move them to a page"
        );
        problems.push(ValidationProblem::new("/parent", message));
    }
    problems
}

/// All blocks reachable from a page, depth first, each with its depth and parent. They are borrowed because
/// there may be many: a [`BlockTree`](super::BlockTree) would copy them.
fn depth_first<'a>(
    blocks: impl Iterator<Item = &'a Block>,
) -> impl Iterator<Item = (&'a Block, usize, Option<&'a Block>)> {
    let mut inside: BTreeMap<Option<&BlockId>, Vec<&Block>> = BTreeMap::new();
    for block in blocks {
        inside.entry(block.parent.as_ref()).or_default().push(block);
    }
    // In reverse, because blocks are popped from the end.
    for siblings in inside.values_mut() {
        siblings.sort_by(|one, other| (&other.order, &other.id).cmp(&(&one.order, &one.id)));
    }
    let pages = inside.remove(&None).unwrap_or_default();
    let mut open: Vec<_> = pages.into_iter().map(|page| (page, 1, None)).collect();
    std::iter::from_fn(move || {
        let (block, depth, parent) = open.pop()?;
        let children = inside.remove(&Some(&block.id)).unwrap_or_default();
        open.extend(children.into_iter().map(|child| (child, depth + 1, Some(block))));
        Some((block, depth, parent))
    })
}
