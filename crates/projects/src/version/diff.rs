//! Differences between two contents.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::asset::Asset;
use crate::blocks::Block;
use crate::content::ProjectContent;
use crate::ids::BlockId;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContentDiff {
    pub fields: Vec<FieldChange>,
    /// Custom block types.
    pub types: NameChanges,
    /// In reading order.
    pub added: Vec<Block>,
    /// In reading order.
    pub removed: Vec<Block>,
    /// Blocks with different props or another type.
    pub changed: Vec<BlockChange>,
    /// Blocks with another parent, or reordered among the same siblings. The smallest set that explains the
    /// order.
    pub moved: Vec<BlockMove>,
    pub tokens: design_tokens::TokenDiff,
    /// By id. Changed if the content, type, name or alternative text differs.
    pub assets: NameChanges,
}

impl ContentDiff {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A field with another value.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldChange {
    pub field: &'static str,
    pub before: Value,
    pub after: Value,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameChanges {
    pub added: Vec<String>,
    pub removed: Vec<String>,
    pub changed: Vec<String>,
}

/// A block with different props or another type.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockChange {
    pub before: Block,
    pub after: Block,
}

/// A block at another position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockMove {
    pub id: BlockId,
    /// The old parent.
    pub from: Option<BlockId>,
    /// The new parent.
    pub to: Option<BlockId>,
}

pub fn diff_content(old: &ProjectContent, new: &ProjectContent) -> ContentDiff {
    let before: BTreeMap<&BlockId, &Block> = old.blocks.iter().map(|block| (&block.id, block)).collect();
    let after: BTreeMap<&BlockId, &Block> = new.blocks.iter().map(|block| (&block.id, block)).collect();
    let only = |blocks: &[Block], other: &BTreeMap<&BlockId, &Block>| -> Vec<Block> {
        blocks.iter().filter(|block| !other.contains_key(&block.id)).cloned().collect()
    };
    let mut found = ContentDiff {
        fields: diff_fields(old, new),
        types: diff_names(
            old.types.iter().map(|own| (own.name.clone(), own)),
            new.types.iter().map(|own| (own.name.clone(), own)),
        ),
        added: only(&new.blocks, &before),
        removed: only(&old.blocks, &after),
        tokens: design_tokens::diff_documents(&old.design, &new.design),
        assets: diff_names(old.assets.iter().map(comparable_asset), new.assets.iter().map(comparable_asset)),
        ..ContentDiff::default()
    };
    let shuffled = reordered_blocks(&old.blocks, &after);
    for block in &new.blocks {
        let Some(was) = before.get(&block.id) else { continue };
        if was.props != block.props || was.kind != block.kind {
            found.changed.push(BlockChange { before: (*was).clone(), after: block.clone() });
        }
        if was.parent != block.parent || shuffled.contains(&block.id) {
            let (from, to) = (was.parent.clone(), block.parent.clone());
            found.moved.push(BlockMove { id: block.id.clone(), from, to });
        }
    }
    found
}

/// The compared parts of an asset. The creation time does not count.
fn comparable_asset(asset: &Asset) -> (String, impl PartialEq) {
    (asset.id.to_string(), (&asset.digest, asset.content_type, &asset.name, &asset.alt))
}

fn diff_fields(old: &ProjectContent, new: &ProjectContent) -> Vec<FieldChange> {
    let all = [
        ("name", Value::from(old.fields.name.clone()), Value::from(new.fields.name.clone())),
        ("slug", Value::from(old.fields.slug.clone()), Value::from(new.fields.slug.clone())),
        (
            "description",
            Value::from(old.fields.description.clone()),
            Value::from(new.fields.description.clone()),
        ),
        ("metadata", Value::from(old.fields.metadata.clone()), Value::from(new.fields.metadata.clone())),
    ];
    let changed = all.into_iter().filter(|(_, before, after)| before != after);
    changed.map(|(field, before, after)| FieldChange { field, before, after }).collect()
}

fn diff_names<T: PartialEq>(
    old: impl Iterator<Item = (String, T)>,
    new: impl Iterator<Item = (String, T)>,
) -> NameChanges {
    let (old, new): (BTreeMap<_, _>, BTreeMap<_, _>) = (old.collect(), new.collect());
    let mut names = NameChanges::default();
    for (name, is) in &new {
        match old.get(name) {
            None => names.added.push(name.clone()),
            Some(was) if was != is => names.changed.push(name.clone()),
            Some(_) => {}
        }
    }
    names.removed = old.into_keys().filter(|name| !new.contains_key(name)).collect();
    names
}

/// Blocks that kept their parent but moved relative to the other blocks that kept it.
fn reordered_blocks<'a>(old: &'a [Block], after: &BTreeMap<&BlockId, &Block>) -> BTreeSet<&'a BlockId> {
    let mut stayed: BTreeMap<Option<&BlockId>, Vec<(&BlockId, &Block)>> = BTreeMap::new();
    for block in old {
        if let Some(is) = after.get(&block.id).filter(|is| is.parent == block.parent) {
            stayed.entry(block.parent.as_ref()).or_default().push((&block.id, is));
        }
    }
    let mut found = BTreeSet::new();
    for siblings in stayed.values_mut() {
        let keys: Vec<_> = siblings.iter().map(|(_, is)| (&is.order, &is.id)).collect();
        let kept = longest_increasing_subsequence(&keys);
        let moved = siblings.iter().zip(kept).filter(|(_, kept)| !kept);
        found.extend(moved.map(|((id, _), _)| *id));
    }
    found
}

/// Marks the items of a longest increasing subsequence. These are considered not moved.
fn longest_increasing_subsequence<T: Ord>(items: &[T]) -> Vec<bool> {
    // For every length, the smallest item that an increasing subsequence of that length can end with.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; items.len()];
    for (at, item) in items.iter().enumerate() {
        let length = ends.partition_point(|end| items[*end] < *item);
        before[at] = length.checked_sub(1).map(|shorter| ends[shorter]);
        if length == ends.len() {
            ends.push(at);
        } else {
            ends[length] = at;
        }
    }
    let mut kept = vec![false; items.len()];
    let mut next = ends.last().copied();
    while let Some(at) = next {
        kept[at] = true;
        next = before[at];
    }
    kept
}
