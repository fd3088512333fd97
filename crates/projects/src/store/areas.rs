//! The traits, one for each area. What all of them promise is in [`super`].

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::Stored;
use crate::asset::{Asset, AssetPatch, Digest, NewAsset};
use crate::blocks::{Block, Found, NewBlock, Place, Reach};
use crate::content::Content;
use crate::cursor::{Listed, Page};
use crate::design::{DesignEdit, Designed};
use crate::ids::{Account, AssetId, BlockId, ProjectId, Seed};
use crate::import::Import;
use crate::new_project::NewProject;
use crate::project::{AtRevision, FieldsPatch, NewFields, Project, Write};
use crate::tokens::Document;
use crate::types::CustomType;
use crate::version::Version;

/// Projects and their own block types.
pub trait Projects: Send + Sync {
    /// Makes a project by [`NewProject::begin`]. `TooLarge` if the account has [`MAX_PROJECTS`](crate::limits::MAX_PROJECTS)
    /// already, however many begin at once; `Taken` for a slug that another project of the account has, or an id that any
    /// project has.
    fn create_project<'a>(
        &'a self,
        account: &'a Account,
        new: NewProject,
        dry_run: bool,
        now: Timestamp,
    ) -> Stored<'a, Project>;

    /// The project of this id.
    fn project<'a>(&'a self, account: &'a Account, id: &'a ProjectId) -> Stored<'a, Project>;

    /// The projects of an account by the time they were made and then by id; cursors are
    /// [`Project::cursor`](crate::Project::cursor).
    fn list_projects<'a>(&'a self, account: &'a Account, page: Page) -> Stored<'a, Listed<Project>>;

    /// The first so many projects of an account whose id begins like this, by id: to complete what somebody types.
    fn projects_beginning<'a>(
        &'a self,
        account: &'a Account,
        prefix: &'a str,
        most: u32,
    ) -> Stored<'a, Vec<Project>>;

    /// Changes what a project says of itself by [`FieldsPatch::apply`]. `Taken` if another project of the account has the
    /// slug.
    fn update_project(&self, write: Write, patch: FieldsPatch) -> Stored<'_, Project>;

    /// Makes a new project with all that is in the draft of this one, assets and their bytes included, versions not.
    /// Blocks and assets keep their ids; fields that are left empty are those of the original. `write` names the original,
    /// whose revision is compared and stays. Refused as [`Projects::create_project`] is.
    fn duplicate_project(&self, write: Write, id: ProjectId, fields: NewFields) -> Stored<'_, Project>;

    /// Brings in a project from another store, with its past: draft, assets, versions, times and revisions, by [`Import`].
    /// It is there as a whole or not at all, also for whoever looks meanwhile. Not all of it is held in memory at once.
    /// Refused as [`Projects::create_project`] is. For the owner of the store, never for a caller.
    fn import_project<'a>(&'a self, account: &'a Account, import: Import) -> Stored<'a, Project>;

    /// Deletes a project and everything of it. Gives what it was.
    fn delete_project(&self, write: Write) -> Stored<'_, Project>;

    /// Everything in the draft of a project, as of one moment.
    fn content<'a>(&'a self, account: &'a Account, id: &'a ProjectId) -> Stored<'a, AtRevision<Content>>;

    /// The block types of a project's own, by name.
    fn block_types<'a>(
        &'a self,
        account: &'a Account,
        id: &'a ProjectId,
    ) -> Stored<'a, AtRevision<Vec<CustomType>>>;

    /// Makes a block type, or replaces the one of its name. Blocks that are there are not judged again: publishing does.
    fn put_block_type(&self, write: Write, own: CustomType) -> Stored<'_, AtRevision<CustomType>>;

    /// Deletes a block type. `InUse` names the first [`MAX_USERS`](crate::limits::MAX_USERS) blocks that are of it, by id.
    fn delete_block_type<'a>(&'a self, write: Write, name: &'a str) -> Stored<'a, AtRevision<CustomType>>;

    /// Every account that has a project, in order. For the owner of the store, never for a caller.
    fn accounts(&self) -> Stored<'_, Vec<Account>>;
}

/// Pages and blocks.
pub trait Blocks: Send + Sync {
    /// A block, or all pages, with what is inside: parents before children, siblings in order. `AnswerTooLarge` if that is
    /// more than `reach.most`; nothing past it is read.
    fn blocks<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        root: Option<&'a BlockId>,
        reach: Reach,
    ) -> Stored<'a, AtRevision<Vec<Found>>>;

    /// What is directly inside of a block, or the pages, by order key and then by id; cursors are
    /// [`Block::cursor`](crate::Block::cursor).
    fn children<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        parent: Option<&'a BlockId>,
        page: Page,
    ) -> Stored<'a, AtRevision<Listed<Found>>>;

    /// Creates blocks with all that is inside, by [`insert`](crate::blocks::insert). Gives the rows, parents before children.
    /// `NotFound` for a parent or sibling that is not there. Ids come from the seed, in the order of the rows.
    fn insert_blocks(
        &self,
        write: Write,
        place: Place,
        new: Vec<NewBlock>,
        seed: Seed,
    ) -> Stored<'_, AtRevision<Vec<Block>>>;

    /// Changes the props of one block by a JSON Merge Patch, by [`update`](crate::blocks::update). Reads and writes that row.
    fn update_block<'a>(
        &'a self,
        write: Write,
        id: &'a BlockId,
        change: Map<String, Value>,
    ) -> Stored<'a, AtRevision<Block>>;

    /// Puts a block with all that is inside somewhere else, by [`relocate`](crate::blocks::relocate). Writes one row; all
    /// siblings there only if there is no room between two ([`Spot::keys`](crate::blocks::Spot::keys)).
    fn move_block<'a>(&'a self, write: Write, id: &'a BlockId, place: Place)
    -> Stored<'a, AtRevision<Block>>;

    /// Copies a block with all that is inside, by [`copy`](crate::blocks::copy); `TooLarge` if that is more than
    /// [`MAX_NEW_BLOCKS`](crate::limits::MAX_NEW_BLOCKS). Ids come from the seed, in the order of the rows.
    fn copy_block<'a>(
        &'a self,
        write: Write,
        id: &'a BlockId,
        place: Place,
        seed: Seed,
    ) -> Stored<'a, AtRevision<Vec<Block>>>;

    /// Deletes a block with all that is inside. Gives how many blocks are gone.
    fn delete_block<'a>(&'a self, write: Write, id: &'a BlockId) -> Stored<'a, AtRevision<u64>>;
}

/// Design systems.
pub trait DesignSystems: Send + Sync {
    /// The design system of a project.
    fn design_system<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
    ) -> Stored<'a, AtRevision<Document>>;

    /// The same as JSON. A store that keeps it as text need not read it, only to write it again.
    fn design_text<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
    ) -> Stored<'a, AtRevision<String>> {
        Box::pin(async move {
            let AtRevision { revision, value } = self.design_system(account, project).await?;
            Ok(AtRevision { revision, value: value.to_string() })
        })
    }

    /// Changes the design system by [`DesignEdit::apply`]. It is one row.
    fn edit_design_system(&self, write: Write, edit: DesignEdit) -> Stored<'_, AtRevision<Designed>>;
}

/// Assets and their bytes. Bytes are kept once for each digest in a project, and as long as an asset or a version names it.
pub trait Assets: Send + Sync {
    /// Keeps an asset with its content, judged by [`NewAsset::check`]. One of the same id is replaced
    /// and keeps the time it was made; what names it shows the new one.
    fn put_asset(&self, write: Write, new: NewAsset) -> Stored<'_, AtRevision<Asset>>;

    /// Changes what is said of an asset by [`AssetPatch::apply`].
    fn update_asset<'a>(
        &'a self,
        write: Write,
        id: &'a AssetId,
        patch: AssetPatch,
    ) -> Stored<'a, AtRevision<Asset>>;

    /// An asset without its content.
    fn asset<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        id: &'a AssetId,
    ) -> Stored<'a, Asset>;

    /// An asset with its content, as of one moment.
    fn asset_content<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        id: &'a AssetId,
    ) -> Stored<'a, AtRevision<(Asset, Vec<u8>)>>;

    /// The bytes of a digest that an asset or a version of the project names. `NotFound` for an asset called by the digest.
    fn asset_bytes<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        digest: &'a Digest,
    ) -> Stored<'a, Vec<u8>>;

    /// The assets of a project by the time they were made and then by id; cursors are
    /// [`Asset::cursor`](crate::Asset::cursor).
    fn list_assets<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        page: Page,
    ) -> Stored<'a, AtRevision<Listed<Asset>>>;

    /// The first [`MAX_USERS`](crate::limits::MAX_USERS) blocks that name an asset ([`Block::assets`]), by id: by an index,
    /// which every write to blocks keeps.
    fn asset_users<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        id: &'a AssetId,
    ) -> Stored<'a, Vec<BlockId>>;

    /// Deletes an asset. `InUse` while blocks name it, unless forced; then they go on naming what is not there.
    fn delete_asset<'a>(
        &'a self,
        write: Write,
        id: &'a AssetId,
        force: bool,
    ) -> Stored<'a, AtRevision<Asset>>;
}

/// What was published.
pub trait Versions: Send + Sync {
    /// Makes a version of the draft, which becomes what is published, by [`publish`](crate::publish()).
    fn publish<'a>(&'a self, write: Write, note: &'a str) -> Stored<'a, AtRevision<Version>>;

    /// Takes back what is published, by [`unpublish`](crate::unpublish). Its version stays.
    fn unpublish(&self, write: Write) -> Stored<'_, Project>;

    /// The versions of a project, the newest first; cursors are [`Version::cursor`].
    fn list_versions<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        page: Page,
    ) -> Stored<'a, Listed<Version>>;

    /// A version and all that is in it.
    fn version<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        number: u32,
    ) -> Stored<'a, (Version, Content)>;

    /// Makes a version the draft again, by [`restore`](crate::restore): blocks, types, assets and the design system are what
    /// they were, with the same ids; what came since is gone from the draft.
    fn restore_version(&self, write: Write, number: u32) -> Stored<'_, Project>;

    /// Deletes a version, by [`forget`](crate::forget), and the bytes of assets that nothing names any more.
    fn delete_version(&self, write: Write, number: u32) -> Stored<'_, AtRevision<Version>>;
}
