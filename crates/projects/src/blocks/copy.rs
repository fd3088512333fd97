//! Copies of blocks.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Block, BlockSlot, relocate};
use crate::error::ProjectRejection;
use crate::ids::BlockId;
use crate::order::OrderKey;
use crate::types::BlockTypes;

/// Copies a block with all its descendants to a new position, and returns the rows.
///
/// `subtree` starts with the block and lists parents before children. Every block gets a new id; descendants
/// keep their order. The copy of a page gets a new path, derived from the old path and the new id. Asset
/// references are unchanged.
pub fn copy_subtree(
    subtree: &[Block],
    slot: &BlockSlot,
    key: OrderKey,
    types: &BlockTypes,
    fresh: &mut dyn FnMut() -> BlockId,
) -> Result<Vec<Block>, ProjectRejection> {
    let Some(root) = subtree.first() else { return Ok(Vec::new()) };
    let ids: BTreeMap<&BlockId, BlockId> = subtree.iter().map(|block| (&block.id, fresh())).collect();
    // A copy may go inside its original, although a block cannot move into itself: only the new id is
    // checked.
    let new_root = Block { id: ids[&root.id].clone(), ..root.clone() };
    let placed = relocate(&new_root, height(subtree), slot, key, types);
    let mut blocks = vec![with_unique_path(placed.map_err(|refusal| attribute_to_original(root, refusal))?)];
    for block in &subtree[1..] {
        let parent = block.parent.as_ref().and_then(|parent| ids.get(parent)).cloned();
        blocks.push(Block { id: ids[&block.id].clone(), parent, ..block.clone() });
    }
    Ok(blocks)
}

/// Reports problems against the original: the caller does not know the id of the copy.
fn attribute_to_original(original: &Block, refusal: ProjectRejection) -> ProjectRejection {
    match refusal {
        ProjectRejection::Invalid(problems) => ProjectRejection::Invalid(
            problems.into_iter().map(|problem| problem.for_block(&original.id)).collect(),
        ),
        other => other,
    }
}

fn with_unique_path(mut block: Block) -> Block {
    if let Some(path) = block.path() {
        let tail: String =
            block.id.as_str().chars().rev().take(8).filter(char::is_ascii_alphanumeric).collect();
        let stem: String = path.chars().take(crate::limits::MAX_PAGE_PATH_CHARS - 20).collect();
        let path = format!("{}/copy-{}", stem.trim_end_matches('/'), tail.to_ascii_lowercase());
        block.props.insert("path".to_owned(), Value::String(path));
    }
    block
}

/// Number of levels of a subtree that lists parents before children.
fn height(subtree: &[Block]) -> usize {
    let mut levels: BTreeMap<&BlockId, usize> = BTreeMap::new();
    for block in subtree {
        let above = block.parent.as_ref().and_then(|parent| levels.get(parent)).copied();
        levels.insert(&block.id, above.unwrap_or(0) + 1);
    }
    levels.values().copied().max().unwrap_or(0)
}
