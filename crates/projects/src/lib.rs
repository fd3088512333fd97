//! Projects and what they own: types, rules, and the use cases of a store.
//!
//! Rules only: no wire, no SQL, no files; the time is told, and ids come from a [`IdSeed`] that somebody else has drawn.
//!
//! | what | where |
//! |---|---|
//! | a project, its revision, a write to it | [`Project`], [`ProjectWrite`], [`NewProject`] |
//! | pages and blocks: place, change, move, copy, judge | [`blocks`]; where one stands among its siblings: [`order`] |
//! | block types, built in and a project's own | [`types`]; addresses that blocks may hold: [`links`] |
//! | pages as HTML | [`render`] |
//! | assets | [`asset`] |
//! | design systems | [`design_tokens`]; a project's: [`DesignEdit`] |
//! | a project from another store | [`ProjectImport`] |
//! | versions, and what differs between two | [`Version`], [`ProjectContent`], [`diff_content`] |
//! | projects that are kept: the use cases | [`store`]; whether a database keeps them right: the feature `suite` |
//! | how much there may be | [`limits`] |
//!
//! # What is not here
//!
//! Who may do what: `access` knows, and an [`Account`] is all that is left of it here. A project of another account is
//! not refused but absent. Locks, too: every write names the revision that it was made from, if it cares.

pub mod asset;
pub mod blocks;
mod content;
pub mod cursor;
mod design;
mod error;
mod ids;
mod import;
pub mod limits;
pub mod links;
mod naming;
mod new_project;
pub mod order;
pub mod patch;
mod project;
pub mod render;
mod selection;
pub mod store;
#[cfg(any(test, feature = "suite"))]
pub mod suite;
#[cfg(any(test, feature = "suite"))]
pub mod testing;
pub mod types;
mod version;

pub use asset::{Asset, AssetPatch, ContentType, Digest, NewAsset};
pub use blocks::{Block, BlockEntry, BlockNode, BlockPosition, NewBlock, TreeQuery};
pub use content::{ContentDecodeError, ProjectContent};
pub use cursor::{Cursor, ListPage, Page};
pub use design::{DesignEdit, DesignEditReport};
pub use error::{EntityKind, Error, ProjectRejection, ValidationProblem};
pub use ids::{Account, AssetId, BlockId, IdGenerator, IdSeed, ProjectId};
pub use import::{ImportSource, ImportedVersion, ProjectHistory, ProjectImport, ProjectImporter};
pub use naming::slugify;
pub use new_project::NewProject;
pub use order::OrderKey;
pub use project::{
    AtRevision, NewProjectFields, Project, ProjectFields, ProjectFieldsPatch, ProjectStatus, ProjectUsage,
    ProjectWrite, Publication, slug_candidates,
};
pub use selection::FieldSelection;
pub use store::ProjectStore;
pub use store_api::StoreError;
pub use types::{AllowedChildren, BlockType, BlockTypes, CustomBlockType};
pub use version::{
    BlockChange, BlockMove, ContentDiff, FieldChange, NameChanges, Version, diff_content, publish,
    remove_version, restore, unpublish,
};
