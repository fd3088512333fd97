//! Facts about a source tree, each with its evidence.
//!
//! [`analyze`] walks a tree once, parses its manifests and the files that mention a library, and reports
//! languages, package managers, frameworks, entry points, agents and the routes to them. Nothing is concluded
//! from comments, prose or the mere name of a file; every finding cites its source.

#![expect(
    clippy::case_sensitive_file_extension_comparisons,
    reason = "the tools that read these files compare extensions case-sensitively"
)]

mod agents;
mod analyze;
mod call_graph;
mod client_calls;
mod confidence;
mod entry_points;
mod file_summary;
mod framework_detection;
mod import_resolution;
mod instances;
mod inventory;
mod invisible_chars;
pub mod language;
mod line_scan;
mod lock_files;
mod manifest;
mod name_redaction;
pub mod package_manager;
mod path_role;
pub mod plan;
mod profile;
mod project;
mod routes;
pub mod rules;
pub mod sandbox;
mod source;
mod source_cache;
mod symbols;
mod text_encoding;

pub use analyze::{AnalysisRequest, analyze};
pub use file_summary::{FileSummary, FunctionSignature, locked_version, summarize_file};
pub use framework_detection::MIN_CANDIDATE_CONFIDENCE;
pub use inventory::ScanDepth;
pub use invisible_chars::{find_invisible_chars, is_invisible_char, replace_invisible_chars};
pub use manifest::Ecosystem;
pub use name_redaction::{NameKind, NameRedactor, RedactedName};
pub use path_role::is_example_or_test;
pub use profile::{
    Agent, AgentFunction, AgentFunctionRole, EntryPoint, EntryPointKind, Evidence, Framework,
    FunctionParameter, InsertionAnchor, LanguageShare, ObjectMaker, Profile, ProjectProfile, Risk, Route,
    SourceTreeStats,
};
pub use source::ParameterKind;
pub use text_encoding::decode_text;
