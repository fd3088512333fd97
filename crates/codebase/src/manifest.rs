//! Files in which a project says what it is made of, parsed as what they are. Comments and prose prove nothing.

#![expect(clippy::unnecessary_wraps, reason = "all readers share one signature, and some cannot fail")]

mod cargo;
pub(crate) mod document;
mod dotnet;
mod elixir;
mod go;
mod jvm;
mod node;
mod php;
mod programs;
mod python;
mod ruby;
mod text;

pub(crate) use document::{Broken, Node, json, toml, xml, yaml};
pub(crate) use programs::{Program, Says, Start};
pub(crate) use python::join;
pub(crate) use text::{numbered, without_comments};

use crate::manager::Manager;
use crate::repository_text::NameKind;

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
pub(crate) enum Scope {
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
    pub scope: Scope,
    /// Where it is declared, in the manifest.
    pub line: u32,
}

impl Dependency {
    fn new(name: impl Into<String>, requirement: Option<&str>, scope: Scope, line: u32) -> Self {
        let requirement = requirement.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        Self { name: name.into(), requirement, scope, line }
    }
}

/// A sign of a package manager within a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hint {
    pub(crate) manager: Manager,
    pub(crate) line: u32,
    pub(crate) fact: String,
    pub(crate) weight: Weight,
}

/// How much a sign of a package manager counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// It is what one gets by saying nothing.
    Default,
    /// `engines`, a build backend.
    Configured,
    /// A file that only this manager reads.
    Own,
    /// A lock file.
    Locked,
    /// The project says so: `packageManager`.
    Named,
}

/// A manifest.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Manifest {
    pub(crate) path: String,
    pub(crate) ecosystem: Ecosystem,
    pub(crate) name: Option<String>,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) programs: Vec<Program>,
    pub(crate) hints: Vec<Hint>,
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
    pub(crate) shared: Vec<Dependency>,
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
            shared: Vec::new(),
        }
    }

    /// One that could not be parsed.
    pub(crate) fn broken(path: &str, ecosystem: Ecosystem) -> Self {
        Self { is_workspace: true, ..Self::new(path, ecosystem) }
    }

    /// The folder of the project that it speaks for.
    pub(crate) fn folder(&self) -> &str {
        let folder = folder_of(&self.path);
        // `requirements/prod.txt` speaks for the folder above, and so does `gradle/libs.versions.toml`.
        let name = folder.rsplit('/').next().unwrap_or(folder);
        match name {
            "requirements" if self.path.ends_with(".txt") => folder_of(folder),
            "gradle" if self.path.ends_with(".toml") => folder_of(folder),
            _ => folder,
        }
    }

    /// That there is a file of this name is the sign.
    fn hint_by_file(&mut self, manager: Manager, weight: Weight, line: u32) {
        let name = name_of(&self.path);
        let fact = if NameKind::File.is_plain(name) { name } else { "the file itself" }.to_owned();
        self.hint(manager, weight, line, fact);
    }

    fn hint(&mut self, manager: Manager, weight: Weight, line: u32, fact: impl Into<String>) {
        self.hints.push(Hint { manager, line, fact: fact.into(), weight });
    }
}

/// The folder that a path lies in; empty for the root.
pub(crate) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The last part of a path.
pub(crate) fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

pub(crate) type Reader = fn(&str, &str) -> Result<Manifest, Broken>;

/// How a file of this name is read, if it is a manifest, and where its packages come from.
pub(crate) fn reader(path: &str) -> Option<(Ecosystem, Reader)> {
    use Ecosystem::{Dotnet, Elixir, Go, Jvm, Node, Php, Python, Ruby, Rust};
    let name = name_of(path);
    Some(match name {
        "package.json" => (Node, node::package),
        "deno.json" | "deno.jsonc" => (Node, node::deno),
        "pnpm-workspace.yaml" => (Node, node::pnpm_workspace),
        "pyproject.toml" => (Python, python::pyproject),
        "setup.cfg" => (Python, python::setup_cfg),
        "setup.py" => (Python, python::setup_py),
        "Pipfile" => (Python, python::pipfile),
        "environment.yml" | "environment.yaml" => (Python, python::conda),
        "Cargo.toml" => (Rust, cargo::cargo),
        "go.mod" => (Go, go::module),
        "pom.xml" => (Jvm, jvm::pom),
        "build.gradle" | "build.gradle.kts" => (Jvm, jvm::gradle),
        "libs.versions.toml" => (Jvm, jvm::catalog),
        "Gemfile" | "gems.rb" => (Ruby, ruby::gemfile),
        "composer.json" => (Php, php::composer),
        "Directory.Packages.props" => (Dotnet, dotnet::central),
        "mix.exs" => (Elixir, elixir::mix),
        _ if is_requirements(path, name) => (Python, python::requirements),
        _ if name.ends_with(".gemspec") => (Ruby, ruby::gemspec),
        _ if name.ends_with(".csproj") || name.ends_with(".fsproj") => (Dotnet, dotnet::project),
        _ => return None,
    })
}

fn is_requirements(path: &str, name: &str) -> bool {
    let listed = name.ends_with(".txt") || name.ends_with(".in");
    listed && (name.contains("requirements") || name_of(folder_of(path)) == "requirements")
}

#[cfg(test)]
mod tests;
