//! The environment variables of a sandboxed program: only what locates programs and toolchains, so no keys
//! and no preloaded libraries.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// A per-user toolchain: the variable that names its folder, the default location below the home directory,
/// and the subfolders that programs need (all if empty). Folders that also contain keys or sources are opened
/// only in part.
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

/// Variables that are passed on unchanged.
const INHERITED_VARIABLES: [&str; 6] = ["LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "TZ", "USER"];

pub(super) struct ProgramEnvironment {
    pub(super) variables: Vec<(OsString, OsString)>,
    /// The search path for programs. Folders of the repository come first.
    pub(super) path: Vec<PathBuf>,
    /// Toolchain folders that programs need.
    pub(super) toolchains: Vec<PathBuf>,
    /// The user's real home directory, which the program cannot access.
    pub(super) user_home: Option<PathBuf>,
}

impl ProgramEnvironment {
    /// Derives the environment from ours, for a program that runs in `tree` with `home` as its home
    /// directory.
    #[expect(clippy::disallowed_methods, reason = "toolchains are not part of a tree")]
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
            // `home.join("")` would append a slash.
            let folder = if inside.is_empty() { home.to_owned() } else { home.join(inside) };
            set(name, folder.into());
        }
        set("PYTHONDONTWRITEBYTECODE", "1".into());
        Self { variables, path, toolchains, user_home }
    }
}

impl ProgramEnvironment {
    /// Our own environment, for a program that acts for the user: a package manager needs its caches, its
    /// configuration and the proxy. Folders of the repository are searched only if the user's path names them.
    pub(super) fn inherit() -> Self {
        let variables: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
        Self { variables, path, toolchains: Vec::new(), user_home: None }
    }
}

/// Drops relative folders, which would resolve inside the repository.
fn search_path(tree: &Path, ours: Option<&OsStr>) -> Vec<PathBuf> {
    let own = [".venv/bin", "venv/bin", "node_modules/.bin"].map(|folder| tree.join(folder));
    let usual = ours.map(std::env::split_paths).into_iter().flatten().filter(|folder| folder.is_absolute());
    own.into_iter().chain(usual).collect()
}
