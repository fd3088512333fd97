//! Blocks in memory, as a tree: for what needs all of them, and as the model of what a database does with rows.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;

use super::{Above, Block, Place, Spot};
use crate::cursor::{Listed, Page};
use crate::error::Refusal;
use crate::ids::BlockId;
use crate::limits::MAX_DEPTH;
use crate::order::{self, OrderKey};

/// How much of a tree is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// How many levels; 1 is the block itself, or the pages.
    pub depth: u32,
    /// The most blocks. More than that is refused, and less depth should be asked for.
    pub most: u32,
}

impl Reach {
    /// Everything.
    pub const ALL: Self = Self { depth: u32::MAX, most: u32::MAX };

    /// Says that there are more blocks than wanted.
    pub fn exceeded(self) -> Refusal {
        Refusal::AnswerTooLarge { what: "blocks", limit: u64::from(self.most) }
    }
}

/// A block that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The block.
    pub block: Block,
    /// How many blocks are directly inside, read or not.
    pub children: u64,
}

/// A block with what was read of its inside.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The block.
    pub block: Block,
    /// What is inside, in order.
    pub children: Vec<Node>,
    /// How many more are directly inside that were not read.
    pub hidden: u64,
}

/// Puts blocks inside one another that were read in the order of reading: after each what is inside of it. Those that do not
/// come after what they are inside of are the roots.
pub fn nest(found: Vec<Found>) -> Vec<Node> {
    let mut rest = found.into_iter().peekable();
    let mut roots = Vec::new();
    while let Some(root) = rest.next() {
        roots.push(grow(root, &mut rest));
    }
    roots
}

fn grow(Found { block, children }: Found, rest: &mut Peekable<impl Iterator<Item = Found>>) -> Node {
    let mut inside = Vec::new();
    while let Some(child) = rest.next_if(|next| next.block.parent.as_ref() == Some(&block.id)) {
        inside.push(grow(child, rest));
    }
    Node { hidden: children.saturating_sub(inside.len() as u64), children: inside, block }
}

/// All blocks of a project.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree {
    blocks: BTreeMap<BlockId, Block>,
    inside: BTreeMap<Option<BlockId>, BTreeSet<(OrderKey, BlockId)>>,
}

impl Tree {
    /// These blocks.
    pub fn of(blocks: impl IntoIterator<Item = Block>) -> Self {
        let mut tree = Self::default();
        blocks.into_iter().for_each(|block| tree.put(block));
        tree
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The block of this id.
    pub fn get(&self, id: &BlockId) -> Result<&Block, Refusal> {
        self.blocks.get(id).ok_or_else(|| id.missing())
    }

    /// All blocks, by id.
    pub fn iter(&self) -> impl Iterator<Item = &Block> {
        self.blocks.values()
    }

    /// Puts a block where it says, instead of the one with its id.
    pub fn put(&mut self, block: Block) {
        self.take(&block.id);
        let place = (block.order.clone(), block.id.clone());
        self.inside.entry(block.parent.clone()).or_default().insert(place);
        self.blocks.insert(block.id.clone(), block);
    }

    fn take(&mut self, id: &BlockId) -> Option<Block> {
        let block = self.blocks.remove(id)?;
        if let Some(siblings) = self.inside.get_mut(&block.parent) {
            siblings.remove(&(block.order.clone(), id.clone()));
            if siblings.is_empty() {
                self.inside.remove(&block.parent);
            }
        }
        Some(block)
    }

    /// Takes a block and all that is inside out. Gives what is gone, parents before children.
    pub fn remove(&mut self, id: &BlockId) -> Result<Vec<Block>, Refusal> {
        let gone = self.subtree(id)?;
        for block in &gone {
            self.take(&block.id);
        }
        Ok(gone)
    }

    /// What is directly inside of a block, or the pages, in order.
    pub fn children(&self, parent: Option<&BlockId>) -> impl Iterator<Item = &Block> {
        let inside = self.inside.get(&parent.cloned()).into_iter().flatten();
        inside.filter_map(|(_, id)| self.blocks.get(id))
    }

    /// What is above a block, itself first, the page last.
    pub fn above(&self, id: Option<&BlockId>) -> Result<Vec<Above>, Refusal> {
        let mut above: Vec<Above> = Vec::new();
        let mut next = id;
        while let Some(id) = next.filter(|_| above.len() <= MAX_DEPTH) {
            let block = self.get(id)?;
            above.push(Above { id: block.id.clone(), kind: block.kind.clone() });
            next = block.parent.as_ref();
        }
        Ok(above)
    }

    /// A block and all that is inside, parents before children, siblings in order.
    pub fn subtree(&self, id: &BlockId) -> Result<Vec<Block>, Refusal> {
        let root = self.get(id)?;
        Ok(self.walk_from(vec![(root, 1, None)]).map(|(block, ..)| block.clone()).collect())
    }

    /// How many levels a block and what is inside have.
    pub fn height(&self, id: &BlockId) -> Result<usize, Refusal> {
        let root = self.get(id)?;
        Ok(self.walk_from(vec![(root, 1, None)]).map(|(_, depth, _)| depth).max().unwrap_or(0))
    }

    /// All blocks that hang on a page, in the order of reading, each with its depth and what it is inside of.
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

    /// What is wanted of a block, or of all pages.
    pub fn read(&self, root: Option<&BlockId>, reach: Reach) -> Result<Vec<Found>, Refusal> {
        let walked: Box<dyn Iterator<Item = _>> = match root {
            Some(id) => Box::new(self.walk_from(vec![(self.get(id)?, 1, None)])),
            None => Box::new(self.walk()),
        };
        let near = walked.filter(|(_, depth, _)| *depth <= reach.depth as usize);
        let found = near.map(|(block, ..)| self.found(block));
        let found: Vec<Found> = found.take((reach.most as usize).saturating_add(1)).collect();
        if found.len() > reach.most as usize {
            return Err(reach.exceeded());
        }
        Ok(found)
    }

    /// What is directly inside of a block, or the pages: the part of it that is wanted.
    pub fn list(&self, parent: Option<&BlockId>, page: &Page) -> Result<Listed<Found>, Refusal> {
        parent.map(|parent| self.get(parent)).transpose()?;
        let is_next = |block: &&Block| page.after.as_ref().is_none_or(|after| block.cursor() > *after);
        // One more, to know whether there are more.
        let most = page.limit.map_or(usize::MAX, |limit| limit.max(1) as usize + 1);
        let found = self.children(parent).filter(is_next).take(most).map(|block| self.found(block));
        Ok(Listed::cut(found.collect(), page, |found: &Found| found.block.cursor()))
    }

    fn found(&self, block: &Block) -> Found {
        Found { children: self.children(Some(&block.id)).count() as u64, block: block.clone() }
    }

    /// The spot of a place. `moved` is a block that is to go there, and does not count among the siblings.
    pub fn spot(&self, place: &Place, moved: Option<&BlockId>) -> Result<Spot, Refusal> {
        let beside = |id: &BlockId| {
            let block = self.get(id)?;
            if moved == Some(id) {
                return Err(Place::beside_itself(id));
            }
            Ok(block.parent.clone())
        };
        let parent = match place {
            Place::In { parent, .. } => parent.clone(),
            Place::Before(id) | Place::After(id) => beside(id)?,
        };
        let above = self.above(parent.as_ref())?;
        let siblings: Vec<&Block> =
            self.children(parent.as_ref()).filter(|block| Some(&block.id) != moved).collect();
        let find = |id: &BlockId| siblings.iter().position(|block| block.id == *id).unwrap_or(siblings.len());
        let at = match place {
            Place::In { index, .. } => index.map_or(siblings.len(), |at| (at as usize).min(siblings.len())),
            Place::Before(id) => find(id),
            Place::After(id) => (find(id) + 1).min(siblings.len()),
        };
        let key = |at: usize| siblings.get(at).map(|block| block.order.clone());
        Ok(Spot { above, left: at.checked_sub(1).and_then(key), right: key(at) })
    }

    /// Gives what is directly inside of a block, or the pages, new keys in the same order. Gives those that changed.
    pub fn spread(&mut self, parent: Option<&BlockId>) -> Vec<Block> {
        let siblings: Vec<Block> = self.children(parent).cloned().collect();
        let keys = order::spread(siblings.len());
        let changed = siblings.into_iter().zip(keys).filter(|(block, key)| block.order != *key);
        let changed: Vec<Block> = changed.map(|(block, order)| Block { order, ..block }).collect();
        for block in &changed {
            self.put(block.clone());
        }
        changed
    }
}
