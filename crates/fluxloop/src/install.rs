//! Install and run commands for each package manager.

use codebase::package_manager::PackageManager;

/// The command that adds packages to a project's dependencies.
pub(crate) fn install_command(manager: PackageManager, packages: &str, for_development: bool) -> String {
    let quoted = if packages.contains(['<', '>']) { format!("'{packages}'") } else { packages.to_owned() };
    match (manager, for_development) {
        (PackageManager::Uv, true) => format!("uv add --dev {quoted}"),
        (PackageManager::Uv, false) => format!("uv add {quoted}"),
        (PackageManager::Poetry, true) => format!("poetry add --group dev {quoted}"),
        (PackageManager::Poetry, false) => format!("poetry add {quoted}"),
        (PackageManager::Pdm, true) => format!("pdm add -d {quoted}"),
        (PackageManager::Pdm, false) => format!("pdm add {quoted}"),
        (PackageManager::Pipenv, true) => format!("pipenv install --dev {quoted}"),
        (PackageManager::Pipenv, false) => format!("pipenv install {quoted}"),
        (PackageManager::Npm, _) => format!("npm install {quoted}"),
        (PackageManager::Pnpm, _) => format!("pnpm add {quoted}"),
        (PackageManager::Yarn, _) => format!("yarn add {quoted}"),
        (PackageManager::Bun, _) => format!("bun add {quoted}"),
        (PackageManager::Deno, _) => format!("deno add npm:{quoted}"),
        _ => format!("pip install {quoted}"),
    }
}

/// Wraps a command so that it runs in the project's environment.
pub(crate) fn run_command(manager: Option<PackageManager>, command: &str) -> String {
    match manager {
        Some(PackageManager::Uv) => format!("uv run {command}"),
        Some(PackageManager::Poetry) => format!("poetry run {command}"),
        Some(PackageManager::Pdm) => format!("pdm run {command}"),
        Some(PackageManager::Pipenv) => format!("pipenv run {command}"),
        _ => command.to_owned(),
    }
}
