//! An in-memory block tree, for operations that need all blocks and as the reference model for what databases
//! do with rows.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;

use super::{AncestorBlock, Block, BlockPosition, BlockSlot};
use crate::cursor::{ListPage, Page};
use crate::error::ProjectRejection;
use crate::ids::BlockId;
use crate::limits::MAX_BLOCK_DEPTH;
use crate::order::{self, OrderKey};

/// How much of a tree to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeQuery {
    /// Number of levels; 1 is the block itself, or the pages.
    pub depth: u32,
    /// Larger results are rejected, and the caller should ask for less depth.
    pub max_blocks: u32,
}

impl TreeQuery {
    /// The whole tree.
    pub const ALL: Self = Self { depth: u32::MAX, max_blocks: u32::MAX };

    /// Rejection for more than `max_blocks` blocks.
    pub fn exceeded(self) -> ProjectRejection {
        ProjectRejection::AnswerTooLarge { what: "blocks", limit: u64::from(self.max_blocks) }
    }
}

/// A block as read from a store.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockEntry {
    pub block: Block,
    /// Number of direct children, whether read or not.
    pub children: u64,
}

/// A block with those descendants that were read.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockNode {
    pub block: Block,
    /// In order.
    pub children: Vec<BlockNode>,
    /// Number of direct children that were not read.
    pub hidden: u64,
}

/// Nests blocks that are listed depth first. A block that does not follow its parent becomes a root.
pub fn build_nodes(entry: Vec<BlockEntry>) -> Vec<BlockNode> {
    let mut rest = entry.into_iter().peekable();
    let mut roots = Vec::new();
    while let Some(root) = rest.next() {
        roots.push(build_node(root, &mut rest));
    }
    roots
}

fn build_node(
    BlockEntry { block, children }: BlockEntry,
    rest: &mut Peekable<impl Iterator<Item = BlockEntry>>,
) -> BlockNode {
    let mut inside = Vec::new();
    while let Some(child) = rest.next_if(|next| next.block.parent.as_ref() == Some(&block.id)) {
        inside.push(build_node(child, rest));
    }
    BlockNode { hidden: children.saturating_sub(inside.len() as u64), children: inside, block }
}

/// All blocks of a project.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockTree {
    blocks: BTreeMap<BlockId, Block>,
    children_by_parent: BTreeMap<Option<BlockId>, BTreeSet<(OrderKey, BlockId)>>,
}

impl BlockTree {
    pub fn from_blocks(blocks: impl IntoIterator<Item = Block>) -> Self {
        let mut tree = Self::default();
        blocks.into_iter().for_each(|block| tree.insert(block));
        tree
    }

    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    pub fn get(&self, id: &BlockId) -> Result<&Block, ProjectRejection> {
        self.blocks.get(id).ok_or_else(|| id.missing())
    }

    /// All blocks, ordered by id.
    pub fn iter(&self) -> impl Iterator<Item = &Block> {
        self.blocks.values()
    }

    /// Inserts a block, replacing one with the same id.
    pub fn insert(&mut self, block: Block) {
        self.detach(&block.id);
        let place = (block.order.clone(), block.id.clone());
        self.children_by_parent.entry(block.parent.clone()).or_default().insert(place);
        self.blocks.insert(block.id.clone(), block);
    }

    fn detach(&mut self, id: &BlockId) -> Option<Block> {
        let block = self.blocks.remove(id)?;
        if let Some(siblings) = self.children_by_parent.get_mut(&block.parent) {
            siblings.remove(&(block.order.clone(), id.clone()));
            if siblings.is_empty() {
                self.children_by_parent.remove(&block.parent);
            }
        }
        Some(block)
    }

    /// Removes a block and its descendants. Returns them, parents before children.
    pub fn remove_subtree(&mut self, id: &BlockId) -> Result<Vec<Block>, ProjectRejection> {
        let gone = self.subtree(id)?;
        for block in &gone {
            self.detach(&block.id);
        }
        Ok(gone)
    }

    /// Direct children of a block, or the pages, in order.
    pub fn children(&self, parent: Option<&BlockId>) -> impl Iterator<Item = &Block> {
        let inside = self.children_by_parent.get(&parent.cloned()).into_iter().flatten();
        inside.filter_map(|(_, id)| self.blocks.get(id))
    }

    /// The block itself and its ancestors; the page is last.
    pub fn ancestors(&self, id: Option<&BlockId>) -> Result<Vec<AncestorBlock>, ProjectRejection> {
        let mut above: Vec<AncestorBlock> = Vec::new();
        let mut next = id;
        while let Some(id) = next.filter(|_| above.len() <= MAX_BLOCK_DEPTH) {
            let block = self.get(id)?;
            above.push(AncestorBlock { id: block.id.clone(), kind: block.kind.clone() });
            next = block.parent.as_ref();
        }
        Ok(above)
    }

    /// A block and its descendants, parents before children, siblings in order.
    pub fn subtree(&self, id: &BlockId) -> Result<Vec<Block>, ProjectRejection> {
        let root = self.get(id)?;
        Ok(self.walk_from(vec![(root, 1, None)]).map(|(block, ..)| block.clone()).collect())
    }

    /// Number of levels of a subtree.
    pub fn height(&self, id: &BlockId) -> Result<usize, ProjectRejection> {
        let root = self.get(id)?;
        Ok(self.walk_from(vec![(root, 1, None)]).map(|(_, depth, _)| depth).max().unwrap_or(0))
    }

    /// All blocks reachable from a page, depth first, each with its depth and parent.
    pub fn walk(&self) -> impl Iterator<Item = (&Block, usize, Option<&Block>)> {
        let mut pages: Vec<_> = self.children(None).map(|page| (page, 1, None)).collect();
        pages.reverse();
        self.walk_from(pages)
    }

    fn walk_from<'a>(
        &'a self,
        mut open: Vec<(&'a Block, usize, Option<&'a Block>)>,
    ) -> impl Iterator<Item = (&'a Block, usize, Option<&'a Block>)> {
        std::iter::from_fn(move || {
            let (block, depth, parent) = open.pop()?;
            let mut inside: Vec<_> = self.children(Some(&block.id)).collect();
            inside.reverse();
            open.extend(inside.into_iter().map(|child| (child, depth + 1, Some(block))));
            Some((block, depth, parent))
        })
    }

    /// Reads part of the subtree of a block, or of all pages.
    pub fn query(
        &self,
        root: Option<&BlockId>,
        query: TreeQuery,
    ) -> Result<Vec<BlockEntry>, ProjectRejection> {
        let walked: Box<dyn Iterator<Item = _>> = match root {
            Some(id) => Box::new(self.walk_from(vec![(self.get(id)?, 1, None)])),
            None => Box::new(self.walk()),
        };
        let near = walked.filter(|(_, depth, _)| *depth <= query.depth as usize);
        let found = near.map(|(block, ..)| self.entry(block));
        let found: Vec<BlockEntry> = found.take((query.max_blocks as usize).saturating_add(1)).collect();
        if found.len() > query.max_blocks as usize {
            return Err(query.exceeded());
        }
        Ok(found)
    }

    /// One page of the direct children of a block, or of the pages.
    pub fn list_children(
        &self,
        parent: Option<&BlockId>,
        page: &Page,
    ) -> Result<ListPage<BlockEntry>, ProjectRejection> {
        parent.map(|parent| self.get(parent)).transpose()?;
        let is_next = |block: &&Block| page.after.as_ref().is_none_or(|after| block.cursor() > *after);
        // One extra, to know whether there are more.
        let most = page.limit.map_or(usize::MAX, |limit| limit.max(1) as usize + 1);
        let found = self.children(parent).filter(is_next).take(most).map(|block| self.entry(block));
        Ok(ListPage::from_rows(found.collect(), page, |found: &BlockEntry| found.block.cursor()))
    }

    fn entry(&self, block: &Block) -> BlockEntry {
        BlockEntry { children: self.children(Some(&block.id)).count() as u64, block: block.clone() }
    }

    /// Resolves a position. A `moved` block does not count among the siblings.
    pub fn resolve_position(
        &self,
        position: &BlockPosition,
        moved: Option<&BlockId>,
    ) -> Result<BlockSlot, ProjectRejection> {
        let beside = |id: &BlockId| {
            let block = self.get(id)?;
            if moved == Some(id) {
                return Err(BlockPosition::self_sibling_rejection(id));
            }
            Ok(block.parent.clone())
        };
        let parent = match position {
            BlockPosition::In { parent, .. } => parent.clone(),
            BlockPosition::Before(id) | BlockPosition::After(id) => beside(id)?,
        };
        let above = self.ancestors(parent.as_ref())?;
        let siblings: Vec<&Block> =
            self.children(parent.as_ref()).filter(|block| Some(&block.id) != moved).collect();
        let find = |id: &BlockId| siblings.iter().position(|block| block.id == *id).unwrap_or(siblings.len());
        let at = match position {
            BlockPosition::In { index, .. } => {
                index.map_or(siblings.len(), |at| (at as usize).min(siblings.len()))
            }
            BlockPosition::Before(id) => find(id),
            BlockPosition::After(id) => (find(id) + 1).min(siblings.len()),
        };
        let key = |at: usize| siblings.get(at).map(|block| block.order.clone());
        Ok(BlockSlot { ancestors: above, left: at.checked_sub(1).and_then(key), right: key(at) })
    }

    /// Assigns new keys to the children of a block, or to the pages, in the same order. Returns the blocks
    /// that changed.
    pub fn respace_children(&mut self, parent: Option<&BlockId>) -> Vec<Block> {
        let siblings: Vec<Block> = self.children(parent).cloned().collect();
        let keys = order::evenly_spaced_keys(siblings.len());
        let changed = siblings.into_iter().zip(keys).filter(|(block, key)| block.order != *key);
        let changed: Vec<Block> = changed.map(|(block, order)| Block { order, ..block }).collect();
        for block in &changed {
            self.insert(block.clone());
        }
        changed
    }
}
