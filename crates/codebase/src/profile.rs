//! What is known about a tree in the end.

use std::collections::BTreeSet;

use tree::{LimitHit, SkippedPath};

use crate::language::Language;
use crate::manifest::Ecosystem;
use crate::name_redaction::NameRedactor;
use crate::package_manager::PackageManager;
use crate::rules::LibraryRole;
use crate::source::ParameterKind;

/// A place in the tree, and what it proves.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Evidence {
    /// The file, from the root.
    pub path: String,
    /// The line, counted from 1.
    pub line: u32,
    /// What it proves.
    pub fact: String,
}

impl Evidence {
    pub(crate) fn new(path: &str, line: u32, fact: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: line.max(1), fact: fact.into() }
    }
}

/// Everything that is known about a tree.
#[derive(Debug)]
pub struct Profile {
    /// Languages, the one with most lines first.
    pub languages: Vec<LanguageShare>,
    /// The package managers of all projects.
    pub managers: Vec<(PackageManager, Evidence)>,
    /// Where programs start.
    pub entry_points: Vec<EntryPoint>,
    /// Frameworks of all projects, the surest first.
    pub frameworks: Vec<Framework>,
    /// Functions that act as an agent.
    pub agents: Vec<Agent>,
    /// The routes that lead to them.
    pub routes: Vec<Route>,
    /// The projects in the tree.
    pub projects: Vec<ProjectProfile>,
    /// What to be careful about.
    pub risks: Vec<Risk>,
    /// Sizes.
    pub stats: SourceTreeStats,
    /// Manifests that could not be parsed.
    pub manifest_errors: Vec<Evidence>,
    /// What could not be read.
    pub skipped: Vec<SkippedPath>,
    /// How many files and folders could not be read, those that are not listed too.
    pub skipped_total: u64,
    /// The limits that the scan met. Empty if everything was seen.
    pub limits_hit: BTreeSet<LimitHit>,
    /// Other limits that were met, in words: what was seen, but not looked at closely.
    pub omissions: BTreeSet<String>,
    /// What of the repository is not repeated in sentences: in those of this profile, and in those made from it.
    pub redactor: NameRedactor,
}

/// A language and how much of it there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LanguageShare {
    /// The language.
    pub language: Language,
    /// Files in it.
    pub files: u64,
    /// Lines that are counted.
    pub lines: u64,
}

/// Sizes of a tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SourceTreeStats {
    /// Files that are not ignored, vendored or generated trees.
    pub files: u64,
    /// Lines of source files, without generated and binary ones.
    pub lines: u64,
    /// Folders beneath the root.
    pub directories: u64,
}

/// Where a program starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryPoint {
    /// The file.
    pub path: String,
    /// The line, where there is one.
    pub line: u32,
    /// What shows it.
    pub kind: EntryPointKind,
    /// In words.
    pub description: String,
    /// The file that says so, and its line.
    pub evidence: Evidence,
}

/// What shows an entry point, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryPointKind {
    /// A manifest, a Dockerfile or a Procfile.
    Declared,
    /// A framework calls files of this name.
    Convention,
    /// It makes the application.
    CreatesApplication,
    /// It has a `main`.
    Main,
    /// Others import it, and there is nothing else.
    Imported,
}

/// A framework that was found.
#[derive(Debug, Clone)]
pub struct Framework {
    /// Its name.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it is to a program.
    pub role: LibraryRole,
    /// Where its packages come from.
    pub ecosystem: Ecosystem,
    /// From 0 to 1.
    pub confidence: f64,
    /// Its version, if a manifest or a lock file says it exactly.
    pub version: Option<String>,
    /// The folder of the project it was found in.
    pub project: String,
    /// Why it is believed to be there: each kind of evidence once.
    pub evidence: Vec<Evidence>,
    /// Places where something can be inserted.
    pub anchors: Vec<InsertionAnchor>,
}

/// A place in a file that a pattern finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InsertionAnchor {
    /// The file.
    pub path: String,
    /// A regular expression that matches there.
    pub pattern: String,
    /// The line.
    pub line: u32,
}

/// A function that acts as an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Its file.
    pub path: String,
    /// The line of its name.
    pub line: u32,
    /// Its name; `Class.method` for a method.
    pub name: String,
    /// What it takes, without `self`.
    pub parameters: Vec<FunctionParameter>,
    /// Whether it is asynchronous.
    pub is_async: bool,
    /// The library that it calls into.
    pub library: &'static str,
    /// Why it is one.
    pub evidence: Evidence,
    /// The route or the entry point that leads to it.
    pub reached_from: Option<String>,
    /// It yields its answer in pieces.
    pub is_generator: bool,
    /// For a method: whether an object of its class can be made without arguments.
    pub is_default_constructible: bool,
    /// The functions that it works with.
    pub functions: Vec<AgentFunction>,
}

/// A parameter of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionParameter {
    /// Its name.
    pub name: String,
    /// Its type, where it is written.
    pub annotation: Option<String>,
    /// It may be left out.
    pub optional: bool,
    /// How it can be given.
    pub kind: ParameterKind,
    /// A framework fills it in.
    pub injected: bool,
}

/// A function that an agent works with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFunction {
    /// Its file.
    pub path: String,
    /// The line of its name.
    pub line: u32,
    /// Its name; `Class.method` for a method.
    pub name: String,
    /// What it does for the agent.
    pub role: AgentFunctionRole,
    /// It yields.
    pub is_generator: bool,
}

/// What a function does for an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AgentFunctionRole {
    /// It calls the model.
    ModelCaller,
    /// The model may call it.
    Tool,
    /// It stands between the agent and a call of the model.
    Step,
}

/// A route that leads to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The HTTP method; `ANY` where the route takes all.
    pub method: String,
    /// The path, as the framework writes it.
    pub path: String,
    /// The file of the handler.
    pub file: String,
    /// Its line.
    pub line: u32,
    /// Its name.
    pub handler: String,
    /// The agent that it leads to.
    pub agent: String,
    /// Fields that it reads from the request.
    pub request: Vec<String>,
    /// Fields that it answers with.
    pub response: Vec<String>,
    /// The fields of the request with their types, if a class declares them.
    pub declared: Vec<FunctionParameter>,
    /// What stands before the handler: decorators, middleware.
    pub guards: Vec<String>,
}

/// One project in a tree.
#[derive(Debug, Clone)]
pub struct ProjectProfile {
    /// Its folder; empty for the root.
    pub folder: String,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its languages, the one with most lines first.
    pub languages: Vec<Language>,
    /// Its package managers.
    pub managers: Vec<PackageManager>,
    /// Its frameworks.
    pub frameworks: Vec<&'static str>,
    /// Where its programs start.
    pub entry_points: Vec<String>,
    /// Beside the product: an example, documentation, a test.
    pub is_example_or_test: bool,
}

/// Something to be careful about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Risk {
    /// No place was found where a program starts.
    MissingEntrypoint,
    /// Several were found.
    MultipleEntrypoints,
    /// Two package managers for one language.
    MixedPackageManagers,
    /// More than 100,000 lines.
    LargeRepository,
}

impl Risk {
    /// Its documented name.
    pub fn name(self) -> &'static str {
        match self {
            Self::MissingEntrypoint => "missing_entrypoint",
            Self::MultipleEntrypoints => "multiple_entrypoints",
            Self::MixedPackageManagers => "mixed_package_managers",
            Self::LargeRepository => "large_repository",
        }
    }
}
