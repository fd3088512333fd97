//! The row operations that use cases need from a database. They contain no decisions.
//!
//! An implementation works inside one transaction, which the [`Backend`](super::Backend) begins and ends.
//! Methods operate on sets of rows, to save round trips to a remote database; use cases run independent
//! operations concurrently (`try_join`), so that a database may pipeline them.
//!
//! Except in [`ProjectTables`], a method gets the id of a project that was found for its account in the same
//! transaction, and whose row is locked if the transaction writes. Reads may run concurrently with that
//! lookup: the data of another account's project is not visible then, and finding that out costs the same as
//! for a project that does not exist.
//!
//! Arguments can be stored as they are: strings without NUL, names of at most 1000 bytes, project times in
//! whole microseconds. Times of assets and versions, which may come from an import, are truncated.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use jiff::Timestamp;
use store_api::StoreError;

use crate::asset::{Asset, Digest};
use crate::blocks::{AncestorBlock, Block, BlockEntry, TreeQuery};
use crate::content::ProjectContent;
use crate::cursor::{Cursor, Page};
use crate::error::ProjectRejection;
use crate::ids::{Account, AssetId, BlockId, ProjectId};
use crate::order::OrderKey;
use crate::project::Project;
use crate::types::CustomBlockType;
use crate::version::Version;

/// All tables of projects, inside a transaction.
pub trait Tables: ProjectTables + BlockTables + AssetTables + VersionTables {
    /// Runs CPU-bound work of a few hundred milliseconds, such as validation by custom schemas. A database
    /// whose transactions share their threads with other tasks moves those away first.
    fn compute(&self, work: &mut (dyn FnMut() + Send)) {
        work();
    }
}

/// A range of a sorted list.
#[derive(Clone, Debug)]
pub struct RowWindow<K> {
    /// Key and id of the last entry that was seen.
    pub after: Option<(K, String)>,
    /// One more than requested, to know whether there are more.
    pub limit: i64,
}

impl<K> RowWindow<K> {
    pub const ALL: Self = Self { after: None, limit: i64::MAX };

    fn new(
        page: &Page,
        key: impl Fn(&Cursor) -> Result<K, ProjectRejection>,
    ) -> Result<Self, ProjectRejection> {
        let after =
            page.after.as_ref().map(|after| Ok::<_, ProjectRejection>((key(after)?, after.id.clone())));
        Ok(Self { after: after.transpose()?, limit: row_limit(page) })
    }
}

impl RowWindow<Timestamp> {
    /// A range of a list sorted by time.
    pub(super) fn by_time(page: &Page) -> Result<Self, ProjectRejection> {
        Self::new(page, Cursor::time)
    }
}

impl RowWindow<String> {
    /// A range of a list sorted by a string.
    pub(super) fn by_text(page: &Page) -> Result<Self, ProjectRejection> {
        Self::new(page, |after| Ok(after.key.clone()))
    }
}

/// Number of rows to read for a page.
pub(super) fn row_limit(page: &Page) -> i64 {
    page.limit.map_or(i64::MAX, |limit| i64::from(limit.max(1)) + 1)
}

/// State of an account before a project is added to it or changes its slug.
#[derive(Clone, Debug, Default)]
pub struct LockedAccount {
    pub projects: u64,
    /// Which of the requested slugs are taken, and by which project.
    pub taken_slugs: BTreeMap<String, ProjectId>,
}

/// Projects, their custom block types and design systems.
#[async_trait]
pub trait ProjectTables: Send + Sync {
    /// The project, if it belongs to the account.
    async fn project(&self, account: &Account, id: &ProjectId) -> Result<Option<Project>, StoreError>;

    /// Like `project`, but locks the row until the transaction ends, which serializes writers.
    async fn lock_project(&self, account: &Account, id: &ProjectId) -> Result<Option<Project>, StoreError>;

    /// The revision of the project, if it belongs to the account.
    async fn revision(&self, account: &Account, id: &ProjectId) -> Result<Option<u64>, StoreError>;

    /// The projects of an account, by creation time and then id.
    async fn projects(
        &self,
        account: &Account,
        window: RowWindow<Timestamp>,
    ) -> Result<Vec<Project>, StoreError>;

    /// The first `most` projects of an account with ids from `first` on, by id.
    async fn projects_from_id(
        &self,
        account: &Account,
        first: &str,
        most: u32,
    ) -> Result<Vec<Project>, StoreError>;

    /// Every account that has a project, in order. For operators of the store.
    async fn accounts(&self) -> Result<Vec<Account>, StoreError>;

    /// Locks an account until the transaction ends: no other transaction can add a project to it or change a
    /// slug. To avoid deadlocks, a project must be locked before its account.
    async fn lock_account(&self, account: &Account, slugs: &[String]) -> Result<LockedAccount, StoreError>;

    /// Inserts a project and increments the count of its locked account. `false` if a project of any account
    /// has the id; then nothing was inserted.
    async fn add_project(&self, project: &Project) -> Result<bool, StoreError>;

    /// Updates a locked project: everything but its id, account and creation time.
    async fn put_project(&self, project: &Project) -> Result<(), StoreError>;

    /// Like `put_project`, but without name, slug, description and metadata.
    async fn put_counters(&self, project: &Project) -> Result<(), StoreError>;

    /// Deletes a project with its rows in all tables, and decrements the count of its account.
    async fn delete_project(&self, project: &Project) -> Result<(), StoreError>;

    /// The custom block types of a project, by name: all, or those of the given names that exist.
    async fn types(
        &self,
        project: &ProjectId,
        only: Option<&BTreeSet<String>>,
    ) -> Result<Vec<CustomBlockType>, StoreError>;

    /// Inserts or replaces block types.
    async fn put_types(&self, project: &ProjectId, types: &[CustomBlockType]) -> Result<(), StoreError>;

    async fn delete_type(&self, project: &ProjectId, name: &str) -> Result<(), StoreError>;

    /// The first `most` blocks of a type, by id.
    async fn blocks_of_type(
        &self,
        project: &ProjectId,
        name: &str,
        most: usize,
    ) -> Result<Vec<BlockId>, StoreError>;

    /// The design system of a project as JSON. Empty if there is no row.
    async fn design(&self, project: &ProjectId) -> Result<String, StoreError>;

    /// Inserts or replaces the design system of a project.
    async fn put_design(&self, project: &ProjectId, text: &str) -> Result<(), StoreError>;
}

/// The gap between siblings that something is inserted into.
#[derive(Clone, Copy, Debug)]
pub enum SiblingGap<'a> {
    /// After all siblings.
    Last,
    /// After this many siblings, or after all if there are fewer.
    Index(u32),
    /// Before this sibling.
    Before(&'a Block),
    /// After this sibling.
    After(&'a Block),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NeighbourKeys {
    /// The key before the gap.
    pub left: Option<OrderKey>,
    /// The key after the gap.
    pub right: Option<OrderKey>,
}

/// Totals of the deleted blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemovedBlocks {
    pub blocks: u64,
    /// Bytes of their props, as counted by [`Block::props_len`].
    pub bytes: u64,
    /// Asset references, as counted by [`Block::mention_count`].
    pub mentions: u64,
}

/// Pages and blocks, and the assets they reference. Siblings are ordered by key and then id, as bytes.
#[async_trait]
pub trait BlockTables: Send + Sync {
    async fn block(&self, project: &ProjectId, id: &BlockId) -> Result<Option<Block>, StoreError>;

    /// All blocks, in any order.
    async fn all_blocks(&self, project: &ProjectId) -> Result<Vec<Block>, StoreError>;

    /// A block, or all pages, with descendants, in any order. Reads `query.depth` levels and at most one row
    /// more than `query.max_blocks`, which tells the caller that there are too many. Empty if the block does
    /// not exist. Children need to be counted on the last level only.
    async fn subtree(
        &self,
        project: &ProjectId,
        root: Option<&BlockId>,
        query: TreeQuery,
    ) -> Result<Vec<BlockEntry>, StoreError>;

    /// Direct children of a block, or the pages, in order.
    async fn children(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
        window: RowWindow<String>,
    ) -> Result<Vec<BlockEntry>, StoreError>;

    /// Ids and keys of all direct children of a block, or of the pages, in order.
    async fn child_keys(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
    ) -> Result<Vec<(BlockId, OrderKey)>, StoreError>;

    /// The block itself and its ancestors; the page is last. Empty if the block does not exist. Stops one
    /// level past [`MAX_BLOCK_DEPTH`](crate::limits::MAX_BLOCK_DEPTH), even if there is a cycle.
    async fn ancestors(&self, project: &ProjectId, id: &BlockId) -> Result<Vec<AncestorBlock>, StoreError>;

    /// Number of levels of a subtree. Stops one level past the maximum depth as well.
    async fn height(&self, project: &ProjectId, id: &BlockId) -> Result<usize, StoreError>;

    /// The siblings on both sides of a gap. The `moved` block does not count.
    async fn neighbours(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
        gap: SiblingGap<'_>,
        moved: Option<&BlockId>,
    ) -> Result<NeighbourKeys, StoreError>;

    /// Which of these paths are used by pages. Paths may be long, so they are indexed by digest.
    async fn taken_paths(
        &self,
        project: &ProjectId,
        paths: &BTreeSet<String>,
    ) -> Result<BTreeSet<String>, StoreError>;

    /// Inserts blocks, their paths ([`Block::path`]) and their asset references
    /// ([`Block::mentioned_assets`]).
    async fn add_blocks(&self, project: &ProjectId, blocks: &[Block]) -> Result<(), StoreError>;

    /// Updates the props of a block, its path and its asset references.
    async fn put_props(&self, project: &ProjectId, block: &Block) -> Result<(), StoreError>;

    /// Updates the parent and the order keys of these blocks.
    async fn put_positions(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
        places: &[(BlockId, OrderKey)],
    ) -> Result<(), StoreError>;

    /// Deletes a block and its descendants. Zero blocks if it does not exist.
    async fn delete_subtree(&self, project: &ProjectId, root: &BlockId) -> Result<RemovedBlocks, StoreError>;
}

/// Assets, their users, and their content.
#[async_trait]
pub trait AssetTables: Send + Sync {
    async fn asset(&self, project: &ProjectId, id: &AssetId) -> Result<Option<Asset>, StoreError>;

    /// The assets, by creation time and then id.
    async fn assets(
        &self,
        project: &ProjectId,
        window: RowWindow<Timestamp>,
    ) -> Result<Vec<Asset>, StoreError>;

    /// Which of these assets exist.
    async fn existing_assets(
        &self,
        project: &ProjectId,
        ids: &BTreeSet<AssetId>,
    ) -> Result<BTreeSet<AssetId>, StoreError>;

    /// Inserts or replaces assets.
    async fn put_assets(&self, project: &ProjectId, assets: &[Asset]) -> Result<(), StoreError>;

    async fn delete_asset(&self, project: &ProjectId, id: &AssetId) -> Result<(), StoreError>;

    /// The first `most` blocks that reference an asset, by id. The asset need not exist.
    async fn asset_users(
        &self,
        project: &ProjectId,
        id: &AssetId,
        most: usize,
    ) -> Result<Vec<BlockId>, StoreError>;

    async fn bytes(&self, project: &ProjectId, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError>;

    /// Stores content under its digest. `false` if it is already there.
    async fn add_bytes(
        &self,
        project: &ProjectId,
        digest: &Digest,
        content: &[u8],
    ) -> Result<bool, StoreError>;

    /// Copies the content of these digests from another project.
    async fn copy_bytes(
        &self,
        from: &ProjectId,
        to: &ProjectId,
        digests: &BTreeSet<Digest>,
    ) -> Result<(), StoreError>;

    /// Deletes the content of those digests that no asset or version of the project refers to any more.
    /// Returns the number of bytes freed.
    async fn release_bytes(&self, project: &ProjectId, digests: &BTreeSet<Digest>)
    -> Result<u64, StoreError>;
}

/// Versions, and the digests they refer to.
#[async_trait]
pub trait VersionTables: Send + Sync {
    /// The first `most` versions with numbers below `before`, newest first, without their content.
    async fn versions(&self, project: &ProjectId, before: i64, most: i64)
    -> Result<Vec<Version>, StoreError>;

    async fn version_content(
        &self,
        project: &ProjectId,
        number: u32,
    ) -> Result<Option<ProjectContent>, StoreError>;

    /// Inserts a version with its content as text, and the digests of its assets.
    async fn add_version(
        &self,
        project: &ProjectId,
        version: &Version,
        text: &str,
        assets: &[Asset],
    ) -> Result<(), StoreError>;

    /// Deletes a version, and returns the digests it referred to.
    async fn delete_version(&self, project: &ProjectId, number: u32) -> Result<BTreeSet<Digest>, StoreError>;

    /// Deletes the types, blocks, assets and asset references of the draft. Content, the design system and
    /// versions stay.
    async fn clear_draft(&self, project: &ProjectId) -> Result<(), StoreError>;
}
