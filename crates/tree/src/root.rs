//! Decides which folders may be opened.

#![expect(clippy::disallowed_methods, reason = "the entry point: paths are turned into handles here")]

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::Tree;
use crate::nofollow::open_folder_nofollow;
use crate::protection::{self, ProtectionLevel, ProtectionRule};
use crate::protection_check::{AllowedRoot, is_git_dir};

/// The folders that were allowed at startup, with all links in their paths resolved.
#[derive(Clone, Debug)]
pub struct Roots(Arc<[PathBuf]>);

const MAX_PATH_BYTES: usize = 4096;

/// Why a folder cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RootError {
    #[error(
        "no folder to work in: `{started_in}` is too broad to be a repository, and no other folder was given; pass `--root DIR`, or \
         set FLUXWAY_ROOT where the server is registered"
    )]
    NoRoot { started_in: String },
    #[error("`{path}` is outside the allowed folders; allowed: {}", allowed.join(", "))]
    NotAllowed { path: String, allowed: Vec<String> },
    /// It is protected: tools must not access its contents.
    #[error("`{path}` is protected and cannot be opened: {reason}; choose another folder")]
    Protected { path: String, reason: String },
    #[error("folder `{path}` does not exist")]
    Missing { path: String },
    #[error("`{path}` is not a folder")]
    NotAFolder { path: String },
    #[error("the folder `{path}` cannot be read: {reason}")]
    Unreadable { path: String, reason: String },
}

impl Roots {
    /// Allows these folders and everything below them. They must be canonical.
    pub fn new(folders: Arc<[PathBuf]>) -> Self {
        Self(folders)
    }

    /// Opens a folder: absolute, or relative to the first root.
    pub fn open(&self, wanted: &str) -> Result<Tree, RootError> {
        let path = || wanted.chars().take(200).collect::<String>();
        let not_allowed = || RootError::NotAllowed {
            path: path(),
            allowed: self.0.iter().map(|root| root.display().to_string()).collect(),
        };
        let first = self.0.first().ok_or_else(no_root_error)?;
        // There is no shell to expand `~`, and valid paths are shorter than the limit.
        let is_strange =
            wanted.starts_with(['~', '\\']) || wanted.starts_with("file:") || wanted.contains('\0');
        if wanted.is_empty() || wanted.len() > MAX_PATH_BYTES || is_strange {
            return Err(not_allowed());
        }
        let absolute = first.join(wanted);
        let (root, inside) = self.resolve(&absolute).map_err(|error| match error.kind() {
            // Do not reveal whether a path outside the allowed folders exists.
            _ if !self.would_contain(&absolute) => not_allowed(),
            _ => to_root_error(path(), &error),
        })?;
        let Some((root, inside)) = root.zip(inside) else { return Err(not_allowed()) };
        check_root(root)?;
        let tree = open_beneath(root, &inside).map_err(|error| to_root_error(path(), &error))?;
        match tree.own_protection().map_err(|error| to_root_error(path(), &error))? {
            None => Ok(tree),
            Some(guard) => Err(RootError::Protected { path: path(), reason: guard.reason() }),
        }
    }

    /// The path of a tree relative to the root that contains it; `None` for a tree outside the roots.
    pub fn relative_path_to(&self, tree: &Tree) -> Option<String> {
        let way = self.0.iter().find_map(|root| tree.path().strip_prefix(root).ok())?;
        way.to_str().map(str::to_owned)
    }

    /// The root that contains this path after resolving links, and the path relative to it.
    fn resolve(&self, path: &Path) -> io::Result<(Option<&Path>, Option<PathBuf>)> {
        let real = path.canonicalize()?;
        // Of nested roots, use the innermost: it was allowed explicitly, so protection is checked from there.
        let holders = self.0.iter().filter(|root| real.strip_prefix(root).is_ok());
        let holder = holders.max_by_key(|root| root.as_os_str().len());
        let inside = holder.and_then(|root| real.strip_prefix(root).ok()).map(Path::to_path_buf);
        Ok((holder.map(PathBuf::as_path), inside))
    }

    /// Whether a path that does not exist would be inside a root.
    fn would_contain(&self, path: &Path) -> bool {
        let climbs = path.components().any(|part| part == Component::ParentDir);
        let holder = self.0.iter().find_map(|root| Some((root, path.strip_prefix(root).ok()?)));
        let Some((root, inside)) = holder.filter(|_| !climbs) else { return false };
        // The kernel detects a link that leads out before it looks up what is behind it.
        match Dir::open_ambient_dir(root, ambient_authority()).and_then(|dir| dir.open_dir(inside)) {
            Ok(_) => true,
            Err(error) => matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
        }
    }
}

/// Opens a folder inside an allowed one. All links were resolved before, so a link found now was just created
/// and is not followed.
fn open_beneath(root: &Path, inside: &Path) -> io::Result<Tree> {
    let base = Dir::open_ambient_dir(root, ambient_authority())?;
    let (mut dir, mut path) = (base.try_clone()?, root.to_path_buf());
    for name in inside {
        let name_text = name.to_str().ok_or_else(|| io::Error::other("its name is not valid Unicode"))?;
        dir = open_folder_nofollow(&dir, name_text)?;
        path.push(name);
    }
    // Detect a folder that can be opened but not listed here, and not in the middle of a walk.
    dir.entries()?;
    let way = inside.to_string_lossy().into_owned();
    Ok(Tree::new(dir, path, AllowedRoot::new(base, root.to_path_buf(), way)))
}

/// Whether a folder may be allowed at startup: it must not be protected itself, nor be inside a version
/// control folder. Other protected parents are fine, because agents keep worktrees in their own folders.
pub fn check_root(path: &Path) -> Result<(), RootError> {
    let guarded = |row: &ProtectionRule| {
        Err(RootError::Protected { path: path.display().to_string(), reason: row.protection().reason() })
    };
    let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let names: Vec<_> = real.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    let row = |name: &String| protection::find_rule_by_name("", name, false);
    if let Some(row) = names.last().and_then(row) {
        return guarded(row);
    }
    if let Some(row) = names.iter().filter_map(row).find(|row| row.level == ProtectionLevel::VersionControl) {
        return guarded(row);
    }
    match Dir::open_ambient_dir(&real, ambient_authority()) {
        Ok(dir) if is_git_dir(&dir) => guarded(&protection::PROTECTION_RULES[0]),
        // Whether it exists and is a folder is checked elsewhere.
        _ => Ok(()),
    }
}

impl Tree {
    /// Opens a folder without checking the allowed roots, for command-line programs whose user named it.
    /// Protection is checked from this folder down.
    pub fn open(path: &Path) -> Result<Self, RootError> {
        let name = path.display().to_string();
        let real = path.canonicalize().map_err(|error| to_root_error(name.clone(), &error))?;
        let opened = Dir::open_ambient_dir(&real, ambient_authority());
        let both = opened.and_then(|dir| Ok((dir.try_clone()?, dir)));
        let (base, dir) = both.map_err(|error| to_root_error(name, &error))?;
        Ok(Self::new(dir, real.clone(), AllowedRoot::new(base, real, String::new())))
    }
}

fn no_root_error() -> RootError {
    let started_in = std::env::current_dir().unwrap_or_default();
    RootError::NoRoot { started_in: started_in.display().to_string() }
}

fn to_root_error(path: String, error: &io::Error) -> RootError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::InvalidFilename => RootError::Missing { path },
        io::ErrorKind::NotADirectory => RootError::NotAFolder { path },
        _ => RootError::Unreadable { path, reason: error.to_string() },
    }
}
