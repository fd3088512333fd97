//! Copies of blocks.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Block, Spot, relocate};
use crate::error::Refusal;
use crate::ids::BlockId;
use crate::order::OrderKey;
use crate::types::Types;

/// The rows of a copy of a block and all that is inside, at a place.
///
/// `subtree` has the block first and parents before children. Everything gets a new id; what is inside keeps its order.
/// The copy of a page has a path of its own, made from the old one and the new id. Assets are named as they were.
pub fn copy(
    subtree: &[Block],
    spot: &Spot,
    key: OrderKey,
    types: &Types,
    fresh: &mut dyn FnMut() -> BlockId,
) -> Result<Vec<Block>, Refusal> {
    let Some(root) = subtree.first() else { return Ok(Vec::new()) };
    let ids: BTreeMap<&BlockId, BlockId> = subtree.iter().map(|block| (&block.id, fresh())).collect();
    // A copy may stand inside of its original, which a block itself cannot: only its new id counts.
    let new_root = Block { id: ids[&root.id].clone(), ..root.clone() };
    let placed = relocate(&new_root, height(subtree), spot, key, types);
    let mut blocks = vec![with_own_path(placed.map_err(|refusal| about(root, refusal))?)];
    for block in &subtree[1..] {
        let parent = block.parent.as_ref().and_then(|parent| ids.get(parent)).cloned();
        blocks.push(Block { id: ids[&block.id].clone(), parent, ..block.clone() });
    }
    Ok(blocks)
}

/// What is wrong, told of the original: nobody has heard of its copy.
fn about(original: &Block, refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::Invalid(problems) => {
            Refusal::Invalid(problems.into_iter().map(|problem| problem.of_block(&original.id)).collect())
        }
        other => other,
    }
}

fn with_own_path(mut block: Block) -> Block {
    if let Some(path) = block.path() {
        let tail: String =
            block.id.as_str().chars().rev().take(8).filter(char::is_ascii_alphanumeric).collect();
        let stem: String = path.chars().take(crate::limits::MAX_PATH - 20).collect();
        let path = format!("{}/copy-{}", stem.trim_end_matches('/'), tail.to_ascii_lowercase());
        block.props.insert("path".to_owned(), Value::String(path));
    }
    block
}

/// How many levels a subtree has, parents before children.
fn height(subtree: &[Block]) -> usize {
    let mut levels: BTreeMap<&BlockId, usize> = BTreeMap::new();
    for block in subtree {
        let above = block.parent.as_ref().and_then(|parent| levels.get(parent)).copied();
        levels.insert(&block.id, above.unwrap_or(0) + 1);
    }
    levels.values().copied().max().unwrap_or(0)
}
