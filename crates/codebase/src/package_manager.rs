//! Package managers.

use crate::manifest::Ecosystem;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PackageManager {
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

const PACKAGE_MANAGERS: &[(PackageManager, &str, Ecosystem)] = &[
    (PackageManager::Npm, "npm", Ecosystem::Node),
    (PackageManager::Pnpm, "pnpm", Ecosystem::Node),
    (PackageManager::Yarn, "yarn", Ecosystem::Node),
    (PackageManager::Bun, "bun", Ecosystem::Node),
    (PackageManager::Deno, "deno", Ecosystem::Node),
    (PackageManager::Pip, "pip", Ecosystem::Python),
    (PackageManager::Uv, "uv", Ecosystem::Python),
    (PackageManager::Poetry, "poetry", Ecosystem::Python),
    (PackageManager::Pdm, "pdm", Ecosystem::Python),
    (PackageManager::Pipenv, "pipenv", Ecosystem::Python),
    (PackageManager::Conda, "conda", Ecosystem::Python),
    (PackageManager::Cargo, "cargo", Ecosystem::Rust),
    (PackageManager::Go, "go", Ecosystem::Go),
    (PackageManager::Maven, "maven", Ecosystem::Jvm),
    (PackageManager::Gradle, "gradle", Ecosystem::Jvm),
    (PackageManager::Bundler, "bundler", Ecosystem::Ruby),
    (PackageManager::Composer, "composer", Ecosystem::Php),
    (PackageManager::Nuget, "nuget", Ecosystem::Dotnet),
    (PackageManager::Mix, "mix", Ecosystem::Elixir),
];

impl PackageManager {
    /// The command name.
    pub fn name(self) -> &'static str {
        PACKAGE_MANAGERS.iter().find(|(manager, ..)| *manager == self).map_or("", |(_, name, _)| name)
    }

    pub fn ecosystem(self) -> Ecosystem {
        PACKAGE_MANAGERS
            .iter()
            .find(|(manager, ..)| *manager == self)
            .map_or(Ecosystem::Node, |(.., ecosystem)| *ecosystem)
    }

    pub fn from_name(name: &str) -> Option<Self> {
        PACKAGE_MANAGERS.iter().find(|(_, known, _)| *known == name).map(|(manager, ..)| *manager)
    }
}
