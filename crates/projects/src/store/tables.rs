//! What the use cases need of a database, row by row. Both databases have it, and nothing of it decides anything.
//!
//! An implementation is inside one transaction, which the [`Backend`](super::Backend) has begun and ends. Methods work on sets
//! of rows, so that a database far away is asked seldom; use cases ask together for what does not depend on each other
//! (`try_join`), and a database may send that together.
//!
//! Except in [`ProjectTables`], a method gets the id of a project that was found for its account in the same transaction,
//! whose row is held in one that writes. What reads may be asked together with the project itself: nothing of a project of
//! another account is there then, and finding that out costs what an absent one does.
//!
//! What comes in can be kept: texts without NUL, names of at most 1000 bytes, times of projects of whole microseconds; those of
//! assets and versions, which an import brings, are cut.

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
    /// Runs work that takes a processor for some tenths of a second, such as judging by a project's own schemas. A database
    /// whose transactions share their threads with others moves those away first.
    fn compute(&self, work: &mut (dyn FnMut() + Send)) {
        work();
    }
}

/// A part of a list: what comes after an entry in its order, and how many of it.
#[derive(Clone, Debug)]
pub struct RowWindow<K> {
    /// The key and the id of the last entry that was seen.
    pub after: Option<(K, String)>,
    /// How many rows at most: one more than are wanted, to know whether there are more.
    pub limit: i64,
}

impl<K> RowWindow<K> {
    /// Everything.
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
    /// A part of a list that is sorted by time.
    pub(super) fn by_time(page: &Page) -> Result<Self, ProjectRejection> {
        Self::new(page, Cursor::time)
    }
}

impl RowWindow<String> {
    /// A part of a list that is sorted by texts.
    pub(super) fn by_text(page: &Page) -> Result<Self, ProjectRejection> {
        Self::new(page, |after| Ok(after.key.clone()))
    }
}

/// How many rows to read for a page.
pub(super) fn row_limit(page: &Page) -> i64 {
    page.limit.map_or(i64::MAX, |limit| i64::from(limit.max(1)) + 1)
}

/// What is known of an account before a project of it is made or gets another slug.
#[derive(Clone, Debug, Default)]
pub struct LockedAccount {
    /// How many projects it has.
    pub projects: u64,
    /// Which of the slugs are taken, and by which project.
    pub taken_slugs: BTreeMap<String, ProjectId>,
}

/// Projects, their own block types and design systems.
#[async_trait]
pub trait ProjectTables: Send + Sync {
    /// The project of this id, if it belongs to the account.
    async fn project(&self, account: &Account, id: &ProjectId) -> Result<Option<Project>, StoreError>;

    /// The same to write to it: its row is held until the transaction ends, and writers come one after the other.
    async fn lock_project(&self, account: &Account, id: &ProjectId) -> Result<Option<Project>, StoreError>;

    /// The revision of the project of this id, if it belongs to the account.
    async fn revision(&self, account: &Account, id: &ProjectId) -> Result<Option<u64>, StoreError>;

    /// The projects of an account by the time they were made and then by id.
    async fn projects(
        &self,
        account: &Account,
        window: RowWindow<Timestamp>,
    ) -> Result<Vec<Project>, StoreError>;

    /// The first so many projects of an account whose ids are not before `first`, by id.
    async fn projects_from_id(
        &self,
        account: &Account,
        first: &str,
        most: u32,
    ) -> Result<Vec<Project>, StoreError>;

    /// Every account that has a project, in order. For the owner of the store.
    async fn accounts(&self) -> Result<Vec<Account>, StoreError>;

    /// Holds an account until the transaction ends: no other transaction makes a project in it or changes a slug. A caller that holds a
    /// project as well has held that one first.
    async fn lock_account(&self, account: &Account, slugs: &[String]) -> Result<LockedAccount, StoreError>;

    /// Adds the row of a project, and counts it in its account, which is held. `false`: some project has its id, be it
    /// another account's, and nothing was added.
    async fn add_project(&self, project: &Project) -> Result<bool, StoreError>;

    /// Writes the row of a project, which is held: everything but id, account and the time it was made.
    async fn put_project(&self, project: &Project) -> Result<(), StoreError>;

    /// The same without name, slug, description and metadata.
    async fn put_counters(&self, project: &Project) -> Result<(), StoreError>;

    /// Deletes a project with all rows of it in all tables, and counts it out of its account.
    async fn delete_project(&self, project: &Project) -> Result<(), StoreError>;

    /// The block types of a project's own, by name: all, or those of these names that there are.
    async fn types(
        &self,
        project: &ProjectId,
        only: Option<&BTreeSet<String>>,
    ) -> Result<Vec<CustomBlockType>, StoreError>;

    /// Adds block types, or replaces those of their names.
    async fn put_types(&self, project: &ProjectId, types: &[CustomBlockType]) -> Result<(), StoreError>;

    /// Deletes a block type.
    async fn delete_type(&self, project: &ProjectId, name: &str) -> Result<(), StoreError>;

    /// The first so many blocks of a type, by id.
    async fn blocks_of_type(
        &self,
        project: &ProjectId,
        name: &str,
        most: usize,
    ) -> Result<Vec<BlockId>, StoreError>;

    /// The design system of a project as JSON. Without a row it is an empty one.
    async fn design(&self, project: &ProjectId) -> Result<String, StoreError>;

    /// Adds or replaces the design system of a project, as it is kept.
    async fn put_design(&self, project: &ProjectId, text: &str) -> Result<(), StoreError>;
}

/// Between which siblings something is to go.
#[derive(Clone, Copy, Debug)]
pub enum SiblingGap<'a> {
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
pub struct NeighbourKeys {
    /// Before the gap.
    pub left: Option<OrderKey>,
    /// After it.
    pub right: Option<OrderKey>,
}

/// What is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemovedBlocks {
    /// How many blocks.
    pub blocks: u64,
    /// How many bytes their props had, as [`Block::props_len`] counts them.
    pub bytes: u64,
    /// How many assets they named, as [`Block::mention_count`] counts them.
    pub mentions: u64,
}

/// Pages and blocks, and which assets they name. Siblings are ordered by key and then by id, as bytes.
#[async_trait]
pub trait BlockTables: Send + Sync {
    /// The block of this id.
    async fn block(&self, project: &ProjectId, id: &BlockId) -> Result<Option<Block>, StoreError>;

    /// All blocks, in any order.
    async fn all_blocks(&self, project: &ProjectId) -> Result<Vec<Block>, StoreError>;

    /// A block, or all pages, and what is inside, in any order. So many levels as `reach` says, and at most one row more
    /// than it says: a caller that gets that one knows that there are too many. Nothing if the block is not there. Children need to
    /// be counted on the last level only.
    async fn subtree(
        &self,
        project: &ProjectId,
        root: Option<&BlockId>,
        query: TreeQuery,
    ) -> Result<Vec<BlockEntry>, StoreError>;

    /// What is directly inside of a block, or the pages, in order.
    async fn children(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
        window: RowWindow<String>,
    ) -> Result<Vec<BlockEntry>, StoreError>;

    /// Where all that is directly inside of a block, or the pages, stands, in order.
    async fn child_keys(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
    ) -> Result<Vec<(BlockId, OrderKey)>, StoreError>;

    /// What is above a block: itself first, the page last. Nothing if it is not there. It ends one past
    /// [`MAX_BLOCK_DEPTH`](crate::limits::MAX_BLOCK_DEPTH), even if something goes in circles.
    async fn ancestors(&self, project: &ProjectId, id: &BlockId) -> Result<Vec<AncestorBlock>, StoreError>;

    /// How many levels a block and what is inside have. It ends one past the greatest depth as well.
    async fn height(&self, project: &ProjectId, id: &BlockId) -> Result<usize, StoreError>;

    /// The siblings on both sides of a gap. The block that is `moved` does not count among them.
    async fn neighbours(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
        gap: SiblingGap<'_>,
        moved: Option<&BlockId>,
    ) -> Result<NeighbourKeys, StoreError>;

    /// Which of these paths pages have. Paths are kept and sought by their digests, since they may be long.
    async fn taken_paths(
        &self,
        project: &ProjectId,
        paths: &BTreeSet<String>,
    ) -> Result<BTreeSet<String>, StoreError>;

    /// Adds blocks, their paths ([`Block::path`]) and which assets they name ([`Block::mentioned_assets`]).
    async fn add_blocks(&self, project: &ProjectId, blocks: &[Block]) -> Result<(), StoreError>;

    /// Writes the props of a block, its path and which assets it names.
    async fn put_props(&self, project: &ProjectId, block: &Block) -> Result<(), StoreError>;

    /// Writes what these blocks are inside of, and where they stand there.
    async fn put_positions(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
        places: &[(BlockId, OrderKey)],
    ) -> Result<(), StoreError>;

    /// Deletes a block and all that is inside. Nothing is gone if it is not there.
    async fn delete_subtree(&self, project: &ProjectId, root: &BlockId) -> Result<RemovedBlocks, StoreError>;
}

/// Assets, who names them, and what their digests stand for.
#[async_trait]
pub trait AssetTables: Send + Sync {
    /// The asset of this id.
    async fn asset(&self, project: &ProjectId, id: &AssetId) -> Result<Option<Asset>, StoreError>;

    /// The assets by the time they were put there and then by id.
    async fn assets(
        &self,
        project: &ProjectId,
        window: RowWindow<Timestamp>,
    ) -> Result<Vec<Asset>, StoreError>;

    /// Which of these assets are there.
    async fn existing_assets(
        &self,
        project: &ProjectId,
        ids: &BTreeSet<AssetId>,
    ) -> Result<BTreeSet<AssetId>, StoreError>;

    /// Adds assets, or replaces those of their ids.
    async fn put_assets(&self, project: &ProjectId, assets: &[Asset]) -> Result<(), StoreError>;

    /// Deletes an asset.
    async fn delete_asset(&self, project: &ProjectId, id: &AssetId) -> Result<(), StoreError>;

    /// The first so many blocks that name an asset, there or not, by id.
    async fn asset_users(
        &self,
        project: &ProjectId,
        id: &AssetId,
        most: usize,
    ) -> Result<Vec<BlockId>, StoreError>;

    /// The bytes of a digest.
    async fn bytes(&self, project: &ProjectId, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError>;

    /// Keeps bytes under their digest. `false`: they are there already.
    async fn add_bytes(
        &self,
        project: &ProjectId,
        digest: &Digest,
        content: &[u8],
    ) -> Result<bool, StoreError>;

    /// Keeps in one project the bytes of these digests that another project has.
    async fn copy_bytes(
        &self,
        from: &ProjectId,
        to: &ProjectId,
        digests: &BTreeSet<Digest>,
    ) -> Result<(), StoreError>;

    /// Drops the bytes of those digests that no asset and no version of the project names any more. Gives how many bytes
    /// that were.
    async fn release_bytes(&self, project: &ProjectId, digests: &BTreeSet<Digest>)
    -> Result<u64, StoreError>;
}

/// Versions, and the digests that they name.
#[async_trait]
pub trait VersionTables: Send + Sync {
    /// The first so many versions whose numbers are less than `before`, the newest first. Without their content.
    async fn versions(&self, project: &ProjectId, before: i64, most: i64)
    -> Result<Vec<Version>, StoreError>;

    /// The content of a version.
    async fn version_content(
        &self,
        project: &ProjectId,
        number: u32,
    ) -> Result<Option<ProjectContent>, StoreError>;

    /// Adds a version with its content as text, and the digests of the assets in it.
    async fn add_version(
        &self,
        project: &ProjectId,
        version: &Version,
        text: &str,
        assets: &[Asset],
    ) -> Result<(), StoreError>;

    /// Deletes a version. Gives the digests that it named.
    async fn delete_version(&self, project: &ProjectId, number: u32) -> Result<BTreeSet<Digest>, StoreError>;

    /// Deletes the types, blocks and assets of the draft, and which assets blocks name. Bytes, the design system and
    /// versions stay.
    async fn clear_draft(&self, project: &ProjectId) -> Result<(), StoreError>;
}
