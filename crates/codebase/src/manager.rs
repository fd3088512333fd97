//! Package managers.

use crate::manifest::Ecosystem;

/// A package manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "they are what they are called")]
pub enum Manager {
    Npm,
    Pnpm,
    Yarn,
    Bun,
    Deno,
    Pip,
    Uv,
    Poetry,
    Pdm,
    Pipenv,
    Conda,
    Cargo,
    Go,
    Maven,
    Gradle,
    Bundler,
    Composer,
    Nuget,
    Mix,
}

/// All of them, their names, and where their packages come from.
const TABLE: &[(Manager, &str, Ecosystem)] = &[
    (Manager::Npm, "npm", Ecosystem::Node),
    (Manager::Pnpm, "pnpm", Ecosystem::Node),
    (Manager::Yarn, "yarn", Ecosystem::Node),
    (Manager::Bun, "bun", Ecosystem::Node),
    (Manager::Deno, "deno", Ecosystem::Node),
    (Manager::Pip, "pip", Ecosystem::Python),
    (Manager::Uv, "uv", Ecosystem::Python),
    (Manager::Poetry, "poetry", Ecosystem::Python),
    (Manager::Pdm, "pdm", Ecosystem::Python),
    (Manager::Pipenv, "pipenv", Ecosystem::Python),
    (Manager::Conda, "conda", Ecosystem::Python),
    (Manager::Cargo, "cargo", Ecosystem::Rust),
    (Manager::Go, "go", Ecosystem::Go),
    (Manager::Maven, "maven", Ecosystem::Jvm),
    (Manager::Gradle, "gradle", Ecosystem::Jvm),
    (Manager::Bundler, "bundler", Ecosystem::Ruby),
    (Manager::Composer, "composer", Ecosystem::Php),
    (Manager::Nuget, "nuget", Ecosystem::Dotnet),
    (Manager::Mix, "mix", Ecosystem::Elixir),
];

impl Manager {
    /// The name, as its users type it.
    pub fn name(self) -> &'static str {
        TABLE.iter().find(|(manager, ..)| *manager == self).map_or("", |(_, name, _)| name)
    }

    /// Where its packages come from.
    pub fn ecosystem(self) -> Ecosystem {
        TABLE
            .iter()
            .find(|(manager, ..)| *manager == self)
            .map_or(Ecosystem::Node, |(.., ecosystem)| *ecosystem)
    }

    /// The manager of this name.
    pub fn named(name: &str) -> Option<Self> {
        TABLE.iter().find(|(_, known, _)| *known == name).map(|(manager, ..)| *manager)
    }
}
