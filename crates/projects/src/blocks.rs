//! Pages and blocks: each project has a tree of blocks whose roots are the pages.
//!
//! A page is a block of type `page` whose title, path and metadata are props. That way there is one kind of
//! row, one tree, and one way to change it. The type of a block never changes; to change it, create another
//! block.
//!
//! The rules here are pure. In the transaction that writes the result, a store reads the few rows that a rule
//! needs: the project, the ancestors of the position ([`BlockSlot`]), and whatever the new props reference
//! ([`BlockLookups`], [`BlockLookupResults`]).

mod asset_refs;
mod copy;
mod edit;
mod new_block;
mod position;
#[cfg(test)]
mod tests;
mod tree;
mod validate;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::cursor::Cursor;
use crate::ids::{AssetId, BlockId};
use crate::naming;
use crate::order::OrderKey;
use crate::types::{BlockTypes, PAGE, find_built_in};

pub use copy::copy_subtree;
pub use edit::{insert, lookups_for_update, relocate, update};
pub use new_block::{NewBlock, too_many_blocks};
pub use position::{AncestorBlock, BlockPosition, BlockSlot};
pub use tree::{BlockEntry, BlockNode, BlockTree, TreeQuery, build_nodes};
pub use validate::{validate_blocks, validate_structure};

/// A stored block: one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Unique in the project.
    pub id: BlockId,
    pub kind: String,
    /// `None` for pages.
    pub parent: Option<BlockId>,
    /// Position among its siblings.
    pub order: OrderKey,
    /// Must match the schema of the block's type. Databases store them as text so that they round-trip as
    /// equal JSON.
    pub props: Map<String, Value>,
}

impl Block {
    /// Position among its siblings.
    pub fn cursor(&self) -> Cursor {
        Cursor::new(self.order.as_str(), self.id.as_str())
    }

    /// The path, if this is a page. Unique in the project.
    pub fn path(&self) -> Option<&str> {
        if self.kind == PAGE { self.props.get("path").and_then(Value::as_str) } else { None }
    }

    /// Assets referenced anywhere in the props, including in Markdown. Deleting one of them is rejected with
    /// [`ProjectRejection::InUse`](crate::ProjectRejection).
    pub fn mentioned_assets(&self) -> BTreeSet<AssetId> {
        asset_refs::mentioned_assets(&self.props)
    }

    /// Number of referenced assets, which counts towards the limits.
    pub fn mention_count(&self) -> u64 {
        self.mentioned_assets().len() as u64
    }

    /// Whether any string in the props contains `wanted`, ignoring case.
    pub fn contains_text(&self, wanted: &str) -> bool {
        fn contains(value: &Value, wanted: &str) -> bool {
            match value {
                Value::String(text) => text.to_lowercase().contains(wanted),
                Value::Array(items) => items.iter().any(|item| contains(item, wanted)),
                Value::Object(map) => map.values().any(|value| contains(value, wanted)),
                _ => false,
            }
        }
        let wanted = wanted.to_lowercase();
        self.props.values().any(|value| contains(value, &wanted))
    }

    /// Size of the props as JSON, which counts towards the limits.
    pub fn props_len(&self) -> u64 {
        naming::json_len(&self.props) as u64
    }
}

/// What a store has to look up before new props can be validated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockLookups {
    /// Types that are not built in.
    pub kinds: BTreeSet<String>,
    /// Assets that must exist.
    pub assets: BTreeSet<AssetId>,
    /// Paths that no other page may have.
    pub paths: BTreeSet<String>,
}

impl BlockLookups {
    /// Lookups needed to insert these blocks under a parent of type `parent`.
    pub fn for_insert(new: &[NewBlock], parent: Option<&str>) -> Self {
        let mut needs = Self::default();
        needs.require_type(parent);
        let mut open: Vec<&NewBlock> = new.iter().collect();
        while let Some(block) = open.pop() {
            needs.require_type(Some(&block.kind));
            needs.assets.extend(asset_refs::required_assets(&block.props));
            if block.kind == PAGE {
                needs.paths.extend(block.props.get("path").and_then(Value::as_str).map(str::to_owned));
            }
            open.extend(&block.children);
        }
        needs
    }

    fn require_type(&mut self, kind: Option<&str>) {
        self.kinds.extend(kind.filter(|kind| find_built_in(kind).is_none()).map(str::to_owned));
    }
}

/// Results of [`BlockLookups`].
#[derive(Clone, Debug, Default)]
pub struct BlockLookupResults {
    /// The types that exist.
    pub types: BlockTypes,
    /// Requested assets that do not exist.
    pub missing_assets: BTreeSet<AssetId>,
    /// Requested paths that another page has.
    pub taken_paths: BTreeSet<String>,
}

impl BlockLookupResults {
    fn is_missing(&self) -> impl Fn(&AssetId) -> bool {
        |asset| self.missing_assets.contains(asset)
    }
}
