//! Files in which a project says what it is made of, parsed as what they are. Comments and prose prove nothing.

#![expect(clippy::unnecessary_wraps, reason = "all readers share one signature, and some cannot fail")]

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

/// Where packages of a kind come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "they are what they are called")]
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

/// What a dependency is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DependencyScope {
    /// For the program itself.
    Main,
    /// Somebody may want it with the program.
    Optional,
    /// For those who work on the program.
    Dev,
}

/// A dependency that a project declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dependency {
    /// Its name, as its ecosystem compares names.
    pub name: String,
    /// The versions that would do, as written.
    pub requirement: Option<String>,
    /// What it is for.
    pub scope: DependencyScope,
    /// Where it is declared, in the manifest.
    pub line: u32,
}

impl Dependency {
    fn new(name: impl Into<String>, requirement: Option<&str>, scope: DependencyScope, line: u32) -> Self {
        let requirement = requirement.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        Self { name: name.into(), requirement, scope, line }
    }
}

/// A sign of a package manager within a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ManagerHint {
    pub(crate) manager: PackageManager,
    pub(crate) line: u32,
    pub(crate) fact: String,
    pub(crate) strength: HintStrength,
}

/// How much a sign of a package manager counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HintStrength {
    /// It is what one gets by saying nothing.
    Default,
    /// `engines`, a build backend.
    Configured,
    /// A file that only this manager reads.
    OwnFile,
    /// A lock file.
    LockFile,
    /// The project says so: `packageManager`.
    Explicit,
}

/// A manifest.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Manifest {
    pub(crate) path: String,
    pub(crate) ecosystem: Ecosystem,
    pub(crate) name: Option<String>,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) programs: Vec<DeclaredProgram>,
    pub(crate) hints: Vec<ManagerHint>,
    /// Other files that belong to it: `-r base.txt`.
    pub(crate) includes: Vec<String>,
    /// Its own name in full, and that of the project it inherits from: `group:artifact` of Maven.
    pub(crate) coordinates: Option<String>,
    pub(crate) parent: Option<String>,
    /// Something that others build on rather than run.
    pub(crate) is_library: bool,
    /// It only ties others together.
    pub(crate) is_workspace: bool,
    /// Versions for those who leave them out: Cargo's and Maven's workspaces, pnpm's catalogs, central packages.
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

    /// One that could not be parsed.
    pub(crate) fn unparsed(path: &str, ecosystem: Ecosystem) -> Self {
        Self { is_workspace: true, ..Self::new(path, ecosystem) }
    }

    /// The folder of the project that it speaks for.
    pub(crate) fn folder(&self) -> &str {
        let folder = parent_folder(&self.path);
        // `requirements/prod.txt` speaks for the folder above, and so does `gradle/libs.versions.toml`.
        let name = folder.rsplit('/').next().unwrap_or(folder);
        match name {
            "requirements" if self.path.ends_with(".txt") => parent_folder(folder),
            "gradle" if self.path.ends_with(".toml") => parent_folder(folder),
            _ => folder,
        }
    }

    /// That there is a file of this name is the sign.
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

/// The folder that a path lies in; empty for the root.
pub(crate) fn parent_folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The last part of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

pub(crate) type ManifestParser = fn(&str, &str) -> Result<Manifest, DocumentSyntaxError>;

/// How a file of this name is read, if it is a manifest, and where its packages come from.
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
