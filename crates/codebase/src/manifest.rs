//! Manifests: parsed in their own format, so that comments and prose do not count as evidence.

#![expect(clippy::unnecessary_wraps, reason = "all parsers share one signature, and some cannot fail")]

mod cargo;
pub(crate) mod document;
mod dotnet;
mod elixir;
mod go;
mod jvm;
mod line_syntax;
mod node;
mod php;
mod programs;
mod python;
mod ruby;

pub(crate) use document::{DocumentNode, DocumentSyntaxError, parse_json, parse_toml, parse_xml, parse_yaml};
pub(crate) use line_syntax::{blank_comments, numbered_lines};
pub(crate) use programs::{DeclaredProgram, ProgramOrigin, ProgramTarget};
pub(crate) use python::join_path;

use crate::name_redaction::NameKind;
use crate::package_manager::PackageManager;

/// A package ecosystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ecosystem {
    Node,
    Python,
    Rust,
    Go,
    Jvm,
    Ruby,
    Php,
    Dotnet,
    Elixir,
}

impl Ecosystem {
    pub(crate) const COUNT: usize = Self::Elixir as usize + 1;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DependencyScope {
    /// Required at run time.
    Main,
    /// An optional extra.
    Optional,
    /// For development only.
    Dev,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dependency {
    /// The name, normalized as in its ecosystem.
    pub name: String,
    /// The version requirement, verbatim.
    pub requirement: Option<String>,
    pub scope: DependencyScope,
    pub line: u32,
}

impl Dependency {
    fn new(name: impl Into<String>, requirement: Option<&str>, scope: DependencyScope, line: u32) -> Self {
        let requirement = requirement.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        Self { name: name.into(), requirement, scope, line }
    }
}

/// A hint at a package manager in a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ManagerHint {
    pub(crate) manager: PackageManager,
    pub(crate) line: u32,
    pub(crate) fact: String,
    pub(crate) strength: HintStrength,
}

/// The strength of a hint, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HintStrength {
    /// The default of the ecosystem.
    Default,
    /// `engines`, a build backend.
    Configured,
    /// A file that is specific to this manager.
    OwnFile,
    LockFile,
    /// Declared by the project: `packageManager`.
    Explicit,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Manifest {
    pub(crate) path: String,
    pub(crate) ecosystem: Ecosystem,
    pub(crate) name: Option<String>,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) programs: Vec<DeclaredProgram>,
    pub(crate) hints: Vec<ManagerHint>,
    /// Included files: `-r base.txt`.
    pub(crate) includes: Vec<String>,
    /// The full name and that of the parent project: Maven's `group:artifact`.
    pub(crate) coordinates: Option<String>,
    pub(crate) parent: Option<String>,
    /// A library, not a program.
    pub(crate) is_library: bool,
    /// A workspace without a package.
    pub(crate) is_workspace: bool,
    /// Versions for members that omit them: Cargo and Maven workspaces, pnpm catalogs, central package
    /// management.
    pub(crate) shared_versions: Vec<Dependency>,
}

impl Manifest {
    fn new(path: &str, ecosystem: Ecosystem) -> Self {
        Self {
            path: path.to_owned(),
            ecosystem,
            name: None,
            dependencies: Vec::new(),
            programs: Vec::new(),
            hints: Vec::new(),
            includes: Vec::new(),
            coordinates: None,
            parent: None,
            is_library: false,
            is_workspace: false,
            shared_versions: Vec::new(),
        }
    }

    /// A manifest that could not be parsed.
    pub(crate) fn unparsed(path: &str, ecosystem: Ecosystem) -> Self {
        Self { is_workspace: true, ..Self::new(path, ecosystem) }
    }

    /// The folder of the project that it describes.
    pub(crate) fn folder(&self) -> &str {
        let folder = parent_folder(&self.path);
        // `requirements/prod.txt` and `gradle/libs.versions.toml` describe the parent folder.
        let name = folder.rsplit('/').next().unwrap_or(folder);
        match name {
            "requirements" if self.path.ends_with(".txt") => parent_folder(folder),
            "gradle" if self.path.ends_with(".toml") => parent_folder(folder),
            _ => folder,
        }
    }

    /// The existence of the file is the hint.
    fn add_file_hint(&mut self, manager: PackageManager, weight: HintStrength, line: u32) {
        let name = file_name(&self.path);
        let fact = if NameKind::File.is_safe_name(name) { name } else { "the file itself" }.to_owned();
        self.add_hint(manager, weight, line, fact);
    }

    fn add_hint(
        &mut self,
        manager: PackageManager,
        weight: HintStrength,
        line: u32,
        fact: impl Into<String>,
    ) {
        self.hints.push(ManagerHint { manager, line, fact: fact.into(), strength: weight });
    }
}

/// The parent folder of a path; empty for the root.
pub(crate) fn parent_folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

pub(crate) type ManifestParser = fn(&str, &str) -> Result<Manifest, DocumentSyntaxError>;

/// The parser and ecosystem for a file, if it is a manifest.
pub(crate) fn find_parser(path: &str) -> Option<(Ecosystem, ManifestParser)> {
    use Ecosystem::{Dotnet, Elixir, Go, Jvm, Node, Php, Python, Ruby, Rust};
    let name = file_name(path);
    Some(match name {
        "package.json" => (Node, node::parse_package_json),
        "deno.json" | "deno.jsonc" => (Node, node::parse_deno_json),
        "pnpm-workspace.yaml" => (Node, node::parse_pnpm_workspace),
        "pyproject.toml" => (Python, python::parse_pyproject),
        "setup.cfg" => (Python, python::parse_setup_cfg),
        "setup.py" => (Python, python::parse_setup_py),
        "Pipfile" => (Python, python::parse_pipfile),
        "environment.yml" | "environment.yaml" => (Python, python::parse_conda_environment),
        "Cargo.toml" => (Rust, cargo::parse_cargo_toml),
        "go.mod" => (Go, go::parse_go_mod),
        "pom.xml" => (Jvm, jvm::parse_pom),
        "build.gradle" | "build.gradle.kts" => (Jvm, jvm::parse_gradle),
        "libs.versions.toml" => (Jvm, jvm::parse_version_catalog),
        "Gemfile" | "gems.rb" => (Ruby, ruby::parse_gemfile),
        "composer.json" => (Php, php::parse_composer_json),
        "Directory.Packages.props" => (Dotnet, dotnet::parse_central_packages),
        "mix.exs" => (Elixir, elixir::parse_mix),
        _ if is_requirements_file(path, name) => (Python, python::parse_requirements),
        _ if name.ends_with(".gemspec") => (Ruby, ruby::parse_gemspec),
        _ if name.ends_with(".csproj") || name.ends_with(".fsproj") => (Dotnet, dotnet::parse_project),
        _ => return None,
    })
}

fn is_requirements_file(path: &str, name: &str) -> bool {
    let listed = name.ends_with(".txt") || name.ends_with(".in");
    listed && (name.contains("requirements") || file_name(parent_folder(path)) == "requirements")
}

#[cfg(test)]
mod tests;
