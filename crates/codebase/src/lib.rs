//! Facts about a source tree, each with its evidence.
//!
//! [`analyze`] walks a tree once, parses the manifests it finds, looks closer at the files that mention a library, and
//! says what is there: languages, package managers, frameworks, entry points, agents and the routes to them. Nothing is
//! concluded from comments, prose or the mere name of a file; every finding says where it comes from.

#![expect(
    clippy::case_sensitive_file_extension_comparisons,
    reason = "the tools that read these files compare them so"
)]

mod agents;
mod analyze;
mod calls;
mod confidence;
mod entry;
mod findings;
mod glance;
mod invisible;
pub mod language;
mod lock;
mod look;
pub mod manager;
mod manifest;
mod modules;
mod names;
mod place;
mod plain;
pub mod plan;
mod profile;
mod project;
mod repository_text;
mod routes;
pub mod rules;
pub mod sandbox;
mod source;
mod survey;

pub use analyze::{Request, analyze};
pub use findings::CANDIDATE;
pub use glance::{Glance, Signature, glance, locked_version};
pub use invisible::{invisible, is_invisible, reveal};
pub use manifest::Ecosystem;
pub use place::is_aside;
pub use profile::{
    Agent, Anchor, Does, EntryKind, EntryPoint, Evidence, Framework, LanguageShare, Parameter, Part, Profile,
    ProjectProfile, Risk, Route, Stats,
};
pub use repository_text::{NameKind, RepositoryText, RepositoryTexts};
pub use source::Given;
pub use survey::Reading;
