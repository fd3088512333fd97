//! Rows of blocks.

use std::collections::BTreeSet;

use ::projects::blocks::Above;
use ::projects::{Block, BlockId, Found, OrderKey, ProjectId, Reach};

use super::{Answer, Database, Window};

/// Between which siblings something is to go.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Gap<'a> {
    /// After all of them.
    Last,
    /// After so many of them, or after all if there are not so many.
    Index(u32),
    /// Before this one.
    Before(&'a Block),
    /// After this one.
    After(&'a Block),
}

/// The keys of the siblings on both sides of a gap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Neighbours {
    pub(crate) left: Option<OrderKey>,
    pub(crate) right: Option<OrderKey>,
}

/// What is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Removed {
    /// How many blocks.
    pub(crate) blocks: u64,
    /// How many bytes their props had, as [`Block::bytes`] counts them.
    pub(crate) bytes: u64,
    /// How many assets they named, as [`Block::mentions`] counts them.
    pub(crate) mentions: u64,
}

/// Pages and blocks, and which assets they name. Siblings are ordered by key and then by id, as bytes.
pub(crate) trait BlockTables: Database {
    /// The block of this id.
    fn block(
        &self,
        project: &ProjectId,
        id: &BlockId,
    ) -> impl Future<Output = Answer<Self, Option<Block>>> + Send;

    /// All blocks, in any order.
    fn all_blocks(&self, project: &ProjectId) -> impl Future<Output = Answer<Self, Vec<Block>>> + Send;

    /// A block, or all pages, and what is inside, in any order. So many levels as `reach` says, and at most one row more
    /// than it says: whoever gets that one knows that there are too many. Nothing if the block is not there. Children need to
    /// be counted on the last level only.
    fn inside(
        &self,
        project: &ProjectId,
        root: Option<&BlockId>,
        reach: Reach,
    ) -> impl Future<Output = Answer<Self, Vec<Found>>> + Send;

    /// What is directly inside of a block, or the pages, in order.
    fn children(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
        window: Window<String>,
    ) -> impl Future<Output = Answer<Self, Vec<Found>>> + Send;

    /// Where all that is directly inside of a block, or the pages, stands, in order.
    fn places(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
    ) -> impl Future<Output = Answer<Self, Vec<(BlockId, OrderKey)>>> + Send;

    /// What is above a block: itself first, the page last. Nothing if it is not there. It ends one past
    /// [`MAX_DEPTH`](::projects::limits::MAX_DEPTH), even if something goes in circles.
    fn above(
        &self,
        project: &ProjectId,
        id: &BlockId,
    ) -> impl Future<Output = Answer<Self, Vec<Above>>> + Send;

    /// How many levels a block and what is inside have. It ends one past the greatest depth as well.
    fn height(&self, project: &ProjectId, id: &BlockId) -> impl Future<Output = Answer<Self, usize>> + Send;

    /// The siblings on both sides of a gap. The block that is `moved` does not count among them.
    fn neighbours(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
        gap: Gap<'_>,
        moved: Option<&BlockId>,
    ) -> impl Future<Output = Answer<Self, Neighbours>> + Send;

    /// Which of these paths pages have. Paths are kept and sought by their digests, since they may be long.
    fn taken_paths(
        &self,
        project: &ProjectId,
        paths: &BTreeSet<String>,
    ) -> impl Future<Output = Answer<Self, BTreeSet<String>>> + Send;

    /// Adds blocks, their paths ([`Block::path`]) and which assets they name ([`Block::assets`]).
    fn add_blocks(
        &self,
        project: &ProjectId,
        blocks: &[Block],
    ) -> impl Future<Output = Answer<Self, ()>> + Send;

    /// Writes the props of a block, its path and which assets it names.
    fn put_props(&self, project: &ProjectId, block: &Block) -> impl Future<Output = Answer<Self, ()>> + Send;

    /// Writes what these blocks are inside of, and where they stand there.
    fn put_places(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
        places: &[(BlockId, OrderKey)],
    ) -> impl Future<Output = Answer<Self, ()>> + Send;

    /// Deletes a block and all that is inside. Nothing is gone if it is not there.
    fn delete_inside(
        &self,
        project: &ProjectId,
        root: &BlockId,
    ) -> impl Future<Output = Answer<Self, Removed>> + Send;
}
