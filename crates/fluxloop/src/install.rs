//! Install and run commands for each package manager.

use codebase::package_manager::PackageManager;

use crate::release_line::ReleaseLine;

/// The Python package that an integrated program imports.
pub(crate) const SDK_PACKAGE: &str = "fluxloop";

/// The words of a command, if it is one that [`install_command`] makes for a package of FluxLoop. No other is
/// run.
pub fn install_command_words(command: &str) -> Option<Vec<String>> {
    let clis = ReleaseLine::ALL.map(|line| (line.requirement(), true));
    let mut packages = clis.into_iter().chain([(SDK_PACKAGE, false)]);
    let is_ours = packages.any(|(package, for_development)| {
        PYTHON_MANAGERS.iter().any(|manager| install_command(*manager, package, for_development) == command)
    });
    // Only the requirement is quoted.
    is_ours.then(|| command.split(' ').map(|word| word.trim_matches('\'').to_owned()).collect())
}

const PYTHON_MANAGERS: [PackageManager; 5] = [
    PackageManager::Uv,
    PackageManager::Poetry,
    PackageManager::Pdm,
    PackageManager::Pipenv,
    PackageManager::Pip,
];

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_that_install_fluxloop_are_accepted() {
        for (command, expected) in [
            ("pip install fluxloop", true),
            ("pip install 'fluxloop-cli>=0.4,<0.5'", true),
            ("uv add --dev 'fluxloop-cli>=0.4,<0.5'", true),
            ("poetry add fluxloop", true),
            ("pip install fluxloop requests", false),
            ("pip install --index-url http://x fluxloop", false),
            ("pip install other", false),
            ("npm install fluxloop", false),
            ("", false),
        ] {
            assert_eq!(install_command_words(command).is_some(), expected, "{command}");
        }
        let words = install_command_words("uv add --dev 'fluxloop-cli>=0.4,<0.5'").unwrap();
        assert_eq!(words, ["uv", "add", "--dev", "fluxloop-cli>=0.4,<0.5"]);
    }
}
