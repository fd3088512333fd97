//! What a program is told: where programs and toolchains are, and no more. No keys, no preloaded libraries.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// A toolchain that users install for themselves: the variable that names its folder, where it is below the home
/// otherwise, and the parts of it that programs need (all of it, if none is named). Folders that hold keys or sources
/// as well are opened in part only.
struct Toolchain(&'static str, Option<&'static str>, &'static [&'static str]);

const TOOLCHAINS: [Toolchain; 21] = [
    Toolchain("ASDF_DATA_DIR", Some(".asdf"), &[]),
    Toolchain("BUN_INSTALL", Some(".bun"), &["bin", "install"]),
    Toolchain("CARGO_HOME", Some(".cargo"), &["bin", "registry", "git", "config", "config.toml"]),
    Toolchain("CONDA_PREFIX", None, &[]),
    Toolchain("FNM_DIR", Some(".local/share/fnm"), &[]),
    Toolchain("GOPATH", Some("go"), &["bin", "pkg"]),
    Toolchain("GOROOT", None, &[]),
    Toolchain("JAVA_HOME", None, &[]),
    Toolchain("MISE_DATA_DIR", Some(".local/share/mise"), &["installs", "shims", "plugins"]),
    Toolchain("NVM_DIR", Some(".nvm"), &[]),
    Toolchain("PIPX_HOME", Some(".local/share/pipx"), &["venvs", "shared"]),
    Toolchain("PNPM_HOME", Some(".local/share/pnpm"), &[]),
    Toolchain("POETRY_VIRTUALENVS_PATH", Some(".cache/pypoetry/virtualenvs"), &[]),
    Toolchain("PYENV_ROOT", Some(".pyenv"), &[]),
    Toolchain("PYTHONUSERBASE", Some(".local"), &["bin", "lib"]),
    Toolchain("RUSTUP_HOME", Some(".rustup"), &[]),
    Toolchain("UV_PYTHON_INSTALL_DIR", Some(".local/share/uv/python"), &[]),
    Toolchain("UV_TOOL_DIR", Some(".local/share/uv/tools"), &[]),
    Toolchain("VIRTUAL_ENV", None, &[]),
    Toolchain("VOLTA_HOME", Some(".volta"), &["bin", "tools"]),
    Toolchain("WORKON_HOME", Some(".local/share/virtualenvs"), &[]),
];

/// What else is handed on as it is.
const INHERITED_VARIABLES: [&str; 6] = ["LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "TZ", "USER"];

/// The environment of a program.
pub(super) struct ProgramEnvironment {
    /// All its variables.
    pub(super) variables: Vec<(OsString, OsString)>,
    /// The folders in which programs are looked for. The repository's own come first.
    pub(super) path: Vec<PathBuf>,
    /// The folders of toolchains that programs need.
    pub(super) toolchains: Vec<PathBuf>,
    /// The user's own home, which the program gets no view of.
    pub(super) user_home: Option<PathBuf>,
}

impl ProgramEnvironment {
    /// Takes what is needed of ours, for a program that runs in `tree` and has `home` as its home.
    #[expect(clippy::disallowed_methods, reason = "toolchains lie in no tree")]
    pub(super) fn collect(tree: &Path, home: &Path) -> Self {
        let ours: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let value = |wanted: &str| {
            ours.iter().find(|(name, value)| name == wanted && !value.is_empty()).map(|(_, value)| value)
        };
        let user_home = value("HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let mut variables: Vec<(OsString, OsString)> = INHERITED_VARIABLES
            .iter()
            .filter_map(|name| Some(((*name).into(), value(name)?.clone())))
            .collect();
        let mut toolchains = Vec::new();
        for Toolchain(name, usual, parts) in TOOLCHAINS {
            let below_home = || Some(user_home.as_ref()?.join(usual?));
            let folder = value(name).map(PathBuf::from).or_else(below_home);
            let Some(folder) = folder.filter(|folder| folder.is_absolute() && folder.is_dir()) else {
                continue;
            };
            if parts.is_empty() {
                toolchains.push(folder.clone());
            }
            toolchains.extend(parts.iter().map(|part| folder.join(part)));
            variables.push((name.into(), folder.into()));
        }
        let path = search_path(tree, value("PATH").map(OsString::as_os_str));
        let mut set = |name: &str, value: OsString| variables.push((name.into(), value));
        if let Ok(joined) = std::env::join_paths(&path) {
            set("PATH", joined);
        }
        for (name, inside) in [
            ("HOME", ""),
            ("TMPDIR", "tmp"),
            ("XDG_CACHE_HOME", ".cache"),
            ("XDG_CONFIG_HOME", ".config"),
            ("XDG_DATA_HOME", ".data"),
            ("XDG_STATE_HOME", ".state"),
        ] {
            // Not `join`: it would leave a slash behind the home.
            let folder = if inside.is_empty() { home.to_owned() } else { home.join(inside) };
            set(name, folder.into());
        }
        set("PYTHONDONTWRITEBYTECODE", "1".into());
        Self { variables, path, toolchains, user_home }
    }
}

/// Relative folders would mean whatever the repository holds.
fn search_path(tree: &Path, ours: Option<&OsStr>) -> Vec<PathBuf> {
    let own = [".venv/bin", "venv/bin", "node_modules/.bin"].map(|folder| tree.join(folder));
    let usual = ours.map(std::env::split_paths).into_iter().flatten().filter(|folder| folder.is_absolute());
    own.into_iter().chain(usual).collect()
}
