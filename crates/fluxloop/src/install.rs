//! Commands that install, by package manager.

use codebase::manager::Manager;

/// The command that makes packages dependencies of a project.
pub(crate) fn add(manager: Manager, packages: &str, for_development: bool) -> String {
    let quoted = if packages.contains(['<', '>']) { format!("'{packages}'") } else { packages.to_owned() };
    match (manager, for_development) {
        (Manager::Uv, true) => format!("uv add --dev {quoted}"),
        (Manager::Uv, false) => format!("uv add {quoted}"),
        (Manager::Poetry, true) => format!("poetry add --group dev {quoted}"),
        (Manager::Poetry, false) => format!("poetry add {quoted}"),
        (Manager::Pdm, true) => format!("pdm add -d {quoted}"),
        (Manager::Pdm, false) => format!("pdm add {quoted}"),
        (Manager::Pipenv, true) => format!("pipenv install --dev {quoted}"),
        (Manager::Pipenv, false) => format!("pipenv install {quoted}"),
        (Manager::Npm, _) => format!("npm install {quoted}"),
        (Manager::Pnpm, _) => format!("pnpm add {quoted}"),
        (Manager::Yarn, _) => format!("yarn add {quoted}"),
        (Manager::Bun, _) => format!("bun add {quoted}"),
        (Manager::Deno, _) => format!("deno add npm:{quoted}"),
        _ => format!("pip install {quoted}"),
    }
}

/// A command, run so that it finds what the project has installed.
pub(crate) fn within(manager: Option<Manager>, command: &str) -> String {
    match manager {
        Some(Manager::Uv) => format!("uv run {command}"),
        Some(Manager::Poetry) => format!("poetry run {command}"),
        Some(Manager::Pdm) => format!("pdm run {command}"),
        Some(Manager::Pipenv) => format!("pipenv run {command}"),
        _ => command.to_owned(),
    }
}
