//! Projects and their content: types, rules, and the use cases of a store.
//!
//! Only rules: no network, no SQL, no files. The time is passed in, and ids are derived from an [`IdSeed`]
//! that the caller draws.
//!
//! | what | where |
//! |---|---|
//! | a project, its revision, a write to it | [`Project`], [`ProjectWrite`], [`NewProject`] |
//! | pages and blocks: insert, update, move, copy, validate | [`blocks`]; order of siblings: [`order`] |
//! | block types, built-in and custom | [`types`]; URLs allowed in blocks: [`links`] |
//! | pages as HTML | [`render`] |
//! | assets | [`asset`] |
//! | design systems | [`design_tokens`]; edits to the one of a project: [`DesignEdit`] |
//! | a project from another store | [`ProjectImport`] |
//! | versions and their differences | [`Version`], [`ProjectContent`], [`diff_content`] |
//! | use cases on stored projects | [`store`]; conformance tests for databases: the feature `suite` |
//! | limits | [`limits`] |
//!
//! # Not in this crate
//!
//! Permissions are up to `access`; here they are reduced to an [`Account`]. A project of another account is
//! not forbidden but absent. There are no explicit locks either: a write can name the revision it is based
//! on.

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
