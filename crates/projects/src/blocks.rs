//! Pages and blocks: a tree in each project, whose roots are the pages.
//!
//! A page is a block of the type `page`, and its title, path and meta are its props; so there is one kind of row, one
//! way to change it, and one tree. A block's type never changes: another type is another block.
//!
//! The rules here are pure. A store reads the few rows that a rule wants, in the transaction that writes what the rule
//! gives: the project, what is above the place ([`BlockSlot`]), and what the new props name ([`BlockLookups`], [`BlockLookupResults`]).

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

/// A block as it is kept: one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Its id, unique in the project.
    pub id: BlockId,
    /// The name of its type.
    pub kind: String,
    /// What it is inside of. Pages are inside of nothing.
    pub parent: Option<BlockId>,
    /// Where it stands among its siblings.
    pub order: OrderKey,
    /// What its type wants to know. They come back equal as JSON, so databases keep them as text.
    pub props: Map<String, Value>,
}

impl Block {
    /// Its place among its siblings.
    pub fn cursor(&self) -> Cursor {
        Cursor::new(self.order.as_str(), self.id.as_str())
    }

    /// The path, if it is a page. No two pages of a project have the same.
    pub fn path(&self) -> Option<&str> {
        if self.kind == PAGE { self.props.get("path").and_then(Value::as_str) } else { None }
    }

    /// The assets that its props name anywhere, in Markdown as well: what [`ProjectRejection::InUse`](crate::ProjectRejection) is about.
    pub fn mentioned_assets(&self) -> BTreeSet<AssetId> {
        asset_refs::mentioned_assets(&self.props)
    }

    /// How many assets that are: what counts towards the limits.
    pub fn mention_count(&self) -> u64 {
        self.mentioned_assets().len() as u64
    }

    /// Whether a text of its props contains this one, whatever the case of letters.
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

    /// How many bytes its props have as JSON: what counts towards the limits.
    pub fn props_len(&self) -> u64 {
        naming::json_len(&self.props) as u64
    }
}

/// What a store has to look up before a rule can judge new props.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockLookups {
    /// Types that are not built in.
    pub kinds: BTreeSet<String>,
    /// Assets that must be there.
    pub assets: BTreeSet<AssetId>,
    /// Paths that no other page may have.
    pub paths: BTreeSet<String>,
}

impl BlockLookups {
    /// What these blocks need at this place.
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

/// What a store found of what was needed.
#[derive(Clone, Debug, Default)]
pub struct BlockLookupResults {
    /// The types that are there.
    pub types: BlockTypes,
    /// The assets of [`BlockLookups`] that are not there.
    pub missing_assets: BTreeSet<AssetId>,
    /// The paths of [`BlockLookups`] that another page has.
    pub taken_paths: BTreeSet<String>,
}

impl BlockLookupResults {
    fn is_missing(&self) -> impl Fn(&AssetId) -> bool {
        |asset| self.missing_assets.contains(asset)
    }
}
