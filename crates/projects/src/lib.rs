//! Projects and what they own: types, rules, and the use cases of a store.
//!
//! Rules only: no wire, no SQL, no files; the time is told, and ids come from a [`Seed`] that somebody else has drawn.
//!
//! | what | where |
//! |---|---|
//! | a project, its revision, a write to it | [`Project`], [`Write`], [`NewProject`] |
//! | pages and blocks: place, change, move, copy, judge | [`blocks`]; where one stands among its siblings: [`order`] |
//! | block types, built in and a project's own | [`types`]; addresses that blocks may hold: [`links`] |
//! | pages as HTML | [`render`] |
//! | assets | [`asset`] |
//! | design systems | [`design_tokens`]; a project's: [`DesignEdit`] |
//! | a project from another store | [`Import`] |
//! | versions, and what differs between two | [`Version`], [`Content`], [`differences()`] |
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
mod fields;
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
pub mod store;
#[cfg(any(test, feature = "suite"))]
pub mod suite;
#[cfg(any(test, feature = "suite"))]
pub mod testing;
pub mod types;
mod version;

pub use asset::{Asset, AssetPatch, ContentType, Digest, NewAsset};
pub use blocks::{Block, Found, NewBlock, Node, Place, Reach};
pub use content::{Content, Unreadable};
pub use cursor::{Cursor, Listed, Page};
pub use design::{DesignEdit, Designed};
pub use error::{Error, Noun, Problem, Refusal};
pub use fields::Selection;
pub use ids::{Account, AssetId, BlockId, Ids, ProjectId, Seed};
pub use import::{Import, ImportedVersion, Intake, Parts, Past};
pub use naming::slugify;
pub use new_project::NewProject;
pub use order::OrderKey;
pub use project::{
    AtRevision, Fields, FieldsPatch, NewFields, Project, Published, Status, Usage, Write, slug_candidates,
};
pub use storage::StoreError;
pub use store::ProjectStore;
pub use types::{BlockType, Children, CustomType, Types};
pub use version::{
    BlockChange, Differences, FieldChange, Moved, Names, Version, differences, forget, publish, restore,
    unpublish,
};
