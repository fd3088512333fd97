//! The result of an analysis.

use std::collections::BTreeSet;

use tree::{LimitHit, SkippedPath};

use crate::language::Language;
use crate::manifest::Ecosystem;
use crate::name_redaction::NameRedactor;
use crate::package_manager::PackageManager;
use crate::rules::LibraryRole;
use crate::source::ParameterKind;

/// A location in the tree, and the fact it proves.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Evidence {
    /// Path relative to the root.
    pub path: String,
    /// Counted from 1.
    pub line: u32,
    pub fact: String,
}

impl Evidence {
    pub(crate) fn new(path: &str, line: u32, fact: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: line.max(1), fact: fact.into() }
    }
}

#[derive(Debug)]
pub struct Profile {
    /// Sorted by lines, descending.
    pub languages: Vec<LanguageShare>,
    pub managers: Vec<(PackageManager, Evidence)>,
    pub entry_points: Vec<EntryPoint>,
    /// Frameworks of all projects, sorted by confidence, descending.
    pub frameworks: Vec<Framework>,
    pub agents: Vec<Agent>,
    /// Routes that lead to an agent.
    pub routes: Vec<Route>,
    /// Other routes: nothing was found that connects them to an agent.
    pub other_routes: Vec<Route>,
    pub projects: Vec<ProjectProfile>,
    /// Files that import a library which runs agents or calls a language model, one import each.
    pub model_imports: Vec<Evidence>,
    pub risks: Vec<Risk>,
    pub stats: SourceTreeStats,
    pub manifest_errors: Vec<Evidence>,
    pub skipped: Vec<SkippedPath>,
    /// The number of files and folders that could not be read, including those not listed in `skipped`.
    pub skipped_total: u64,
    /// The limits that the scan hit. Empty if it was complete.
    pub limits_hit: BTreeSet<LimitHit>,
    /// Other limits that were hit, as sentences: files that were listed but not analysed.
    pub omissions: BTreeSet<String>,
    /// Records the names that were redacted in messages of this profile, and in messages derived from it.
    pub redactor: NameRedactor,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LanguageShare {
    pub language: Language,
    pub files: u64,
    pub lines: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SourceTreeStats {
    /// Files, not counting ignored files and vendored or generated folders.
    pub files: u64,
    /// Lines of source files, not counting generated and binary files.
    pub lines: u64,
    /// Folders below the root.
    pub directories: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryPoint {
    pub path: String,
    pub line: u32,
    pub kind: EntryPointKind,
    pub description: String,
    pub evidence: Evidence,
}

/// The kind of evidence for an entry point, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryPointKind {
    /// Declared in a manifest, a Dockerfile or a Procfile.
    Declared,
    /// A framework loads files with this name.
    Convention,
    /// It creates the application object.
    CreatesApplication,
    Main,
    /// It has the name that the first file of a program usually has.
    UsualName,
    /// Meant to be imported, and there is no other entry point.
    Imported,
}

#[derive(Debug, Clone)]
pub struct Framework {
    pub name: &'static str,
    /// The display name.
    pub title: &'static str,
    pub role: LibraryRole,
    pub ecosystem: Ecosystem,
    /// From 0 to 1.
    pub confidence: f64,
    /// The version that a lock file or manifest pins, else the range that a manifest declares.
    pub version: Option<String>,
    /// The folder of the project in which it was detected.
    pub project: String,
    /// Each kind of evidence once.
    pub evidence: Vec<Evidence>,
    /// Locations where code can be inserted.
    pub anchors: Vec<InsertionAnchor>,
}

/// A location in a file that a pattern matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InsertionAnchor {
    pub path: String,
    /// A regular expression that matches there.
    pub pattern: String,
    pub line: u32,
}

/// A function that acts as an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Agent {
    pub path: String,
    /// The line of its name.
    pub line: u32,
    /// `Class.method` for a method.
    pub name: String,
    /// Without `self`.
    pub parameters: Vec<FunctionParameter>,
    pub is_async: bool,
    /// The model library it calls.
    pub library: &'static str,
    pub evidence: Evidence,
    /// The route or entry point that leads to it.
    pub reached_from: Option<String>,
    /// It yields its answer in chunks.
    pub is_generator: bool,
    /// For a method: whether its class can be instantiated without arguments.
    pub is_default_constructible: bool,
    /// For a method of a class that needs arguments: how the program makes an object of it.
    pub instance: Option<ObjectMaker>,
    /// How the program makes what its parameters are declared to be: the name of each parameter, and the expression.
    pub makers: Vec<(String, ObjectMaker)>,
    /// It is a method of a class that the program neither makes nor extends nor imports elsewhere.
    pub is_unused: bool,
    /// The functions it calls on the way to the model, and its tools.
    pub functions: Vec<AgentFunction>,
    /// What it or a function that it calls needs and has only while a request is handled.
    pub request_context: Option<Evidence>,
}

/// A Python expression that makes an object as the program does, and the names that it uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectMaker {
    /// The file that defines each name.
    pub imports: Vec<(String, String)>,
    pub expression: String,
    /// It awaits something.
    pub is_async: bool,
}

impl ObjectMaker {
    pub(crate) fn named(path: &str, name: &str) -> Self {
        let imports = vec![(path.to_owned(), name.to_owned())];
        Self { imports, expression: name.to_owned(), is_async: false }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FunctionParameter {
    pub name: String,
    pub annotation: Option<String>,
    /// It has a default.
    pub optional: bool,
    pub kind: ParameterKind,
    /// It is supplied by a framework.
    pub injected: bool,
}

/// A function that takes part in an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFunction {
    pub path: String,
    /// The line of its name.
    pub line: u32,
    /// `Class.method` for a method.
    pub name: String,
    pub role: AgentFunctionRole,
    pub is_generator: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AgentFunctionRole {
    /// It calls the model.
    ModelCaller,
    /// The model may call it.
    Tool,
    /// It is on the call path between the agent and the model.
    Step,
}

/// An HTTP route.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Route {
    /// The HTTP method; `ANY` if the route accepts all.
    pub method: String,
    /// The path in the syntax of the framework.
    pub path: String,
    /// The file of the handler.
    pub file: String,
    /// The line of the handler.
    pub line: u32,
    pub handler: String,
    /// The line where the handler ends.
    pub end_line: u32,
    /// The agent that the handler leads to; empty if it leads to none.
    pub agent: String,
    /// The handler calls the agent itself, and hands it a field of the request as it is.
    pub passes_input: bool,
    /// If it leads to none: the nearest call of a model in the file of the handler, or in what that imports.
    pub model_nearby: Option<Evidence>,
    /// Fields that the handler reads from the request.
    pub request: Vec<String>,
    /// Fields of the response.
    pub response: Vec<String>,
    /// The request fields with their types, if a class declares them.
    pub declared: Vec<FunctionParameter>,
    /// Requests that do not fit `declared` are refused: types alone are not checked in JavaScript.
    pub is_validated: bool,
    /// The body of the request is its one field itself, and not an object with it.
    pub is_bare_body: bool,
    /// Request fields that are read from a form.
    pub form: Vec<String>,
    /// Request fields that are read from the query.
    pub query: Vec<String>,
    /// Request fields whose absence the handler tolerates.
    pub optional: Vec<String>,
    /// Decorators, dependencies and middleware that run before the handler.
    pub guards: Vec<String>,
    /// The files of the functions among them.
    pub guard_files: Vec<String>,
    /// Where the repository's own client calls the route.
    pub client: Option<Evidence>,
}

#[derive(Debug, Clone)]
pub struct ProjectProfile {
    /// Empty for the root.
    pub folder: String,
    pub name: Option<String>,
    /// Sorted by lines, descending.
    pub languages: Vec<Language>,
    pub managers: Vec<PackageManager>,
    pub frameworks: Vec<&'static str>,
    pub entry_points: Vec<String>,
    /// Not part of the product: an example, documentation or a test.
    pub is_example_or_test: bool,
}

/// A risk for automated changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Risk {
    MissingEntrypoint,
    MultipleEntrypoints,
    /// Two package managers for the same ecosystem.
    MixedPackageManagers,
    /// More than 100,000 lines.
    LargeRepository,
}

impl Risk {
    /// The name documented in the contract.
    pub fn name(self) -> &'static str {
        match self {
            Self::MissingEntrypoint => "missing_entrypoint",
            Self::MultipleEntrypoints => "multiple_entrypoints",
            Self::MixedPackageManagers => "mixed_package_managers",
            Self::LargeRepository => "large_repository",
        }
    }
}
