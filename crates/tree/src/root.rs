//! Which folders may be opened at all.

#![expect(clippy::disallowed_methods, reason = "this is the door: names become handles here")]

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::Tree;
use crate::nofollow::open_folder_nofollow;
use crate::protection::{self, ProtectionLevel, ProtectionRule};
use crate::protection_check::{AllowedRoot, is_git_dir};

/// The folders that were allowed at start, with every link in their paths resolved.
#[derive(Clone, Debug)]
pub struct Roots(Arc<[PathBuf]>);

/// The longest path that is looked at.
const MAX_PATH_BYTES: usize = 4096;

/// Why a folder is not opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RootError {
    /// Nothing is allowed at all.
    #[error(
        "there is no folder to work in: this server was started in `{started_in}`, which is no project, and none was named; \
         pass `--root DIR` (or set FLUXWAY_ROOT) where it is started or registered"
    )]
    NoRoot {
        /// The working directory.
        started_in: String,
    },
    /// It lies outside the allowed folders.
    #[error("`{path}` is not inside a folder that this server may read; it may read {}", allowed.join(", "))]
    NotAllowed {
        /// What was asked for.
        path: String,
        /// What could have been.
        allowed: Vec<String>,
    },
    /// It is guarded: what is in it is not for tools.
    #[error("`{path}` is guarded and is not opened: {reason}; name another folder")]
    Protected {
        /// What was asked for.
        path: String,
        /// Why.
        reason: String,
    },
    /// There is no such folder.
    #[error("there is no folder `{path}`")]
    Missing {
        /// What was asked for.
        path: String,
    },
    /// It is a file.
    #[error("`{path}` is not a folder")]
    NotAFolder {
        /// What was asked for.
        path: String,
    },
    /// The system refuses.
    #[error("the folder `{path}` cannot be read: {reason}")]
    Unreadable {
        /// What was asked for.
        path: String,
        /// What the system says.
        reason: String,
    },
}

impl Roots {
    /// These folders and everything beneath them. They must be canonical.
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
        // No shell is here to know what `~` is, and no path is that long.
        let is_strange =
            wanted.starts_with(['~', '\\']) || wanted.starts_with("file:") || wanted.contains('\0');
        if wanted.is_empty() || wanted.len() > MAX_PATH_BYTES || is_strange {
            return Err(not_allowed());
        }
        let absolute = first.join(wanted);
        let (root, inside) = self.resolve(&absolute).map_err(|error| match error.kind() {
            // What lies outside is not even said to be missing.
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

    /// The way to a tree from the root that holds it; nothing for a tree from elsewhere.
    pub fn relative_path_to(&self, tree: &Tree) -> Option<String> {
        let way = self.0.iter().find_map(|root| tree.path().strip_prefix(root).ok())?;
        way.to_str().map(str::to_owned)
    }

    /// The root that holds this path once all links are resolved, and the way from there.
    fn resolve(&self, path: &Path) -> io::Result<(Option<&Path>, Option<PathBuf>)> {
        let real = path.canonicalize()?;
        // Of folders in one another, the inner one was allowed by name: it is judged from there.
        let holders = self.0.iter().filter(|root| real.strip_prefix(root).is_ok());
        let holder = holders.max_by_key(|root| root.as_os_str().len());
        let inside = holder.and_then(|root| real.strip_prefix(root).ok()).map(Path::to_path_buf);
        Ok((holder.map(PathBuf::as_path), inside))
    }

    /// Whether a path that does not exist would be inside if it did.
    fn would_contain(&self, path: &Path) -> bool {
        let climbs = path.components().any(|part| part == Component::ParentDir);
        let holder = self.0.iter().find_map(|root| Some((root, path.strip_prefix(root).ok()?)));
        let Some((root, inside)) = holder.filter(|_| !climbs) else { return false };
        // The kernel tells whether a link on the way leads out, before it looks for what is behind it.
        match Dir::open_ambient_dir(root, ambient_authority()).and_then(|dir| dir.open_dir(inside)) {
            Ok(_) => true,
            Err(error) => matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
        }
    }
}

/// Opens a folder in an allowed one. All links were resolved, so there are none; whoever puts one there now is not followed.
fn open_beneath(root: &Path, inside: &Path) -> io::Result<Tree> {
    let base = Dir::open_ambient_dir(root, ambient_authority())?;
    let (mut dir, mut path) = (base.try_clone()?, root.to_path_buf());
    for name in inside {
        let name_text = name.to_str().ok_or_else(|| io::Error::other("its name is not Unicode"))?;
        dir = open_folder_nofollow(&dir, name_text)?;
        path.push(name);
    }
    // A folder that can be opened but not listed is found out here, not in the middle of a walk.
    dir.entries()?;
    let way = inside.to_string_lossy().into_owned();
    Ok(Tree::new(dir, path, AllowedRoot::new(base, root.to_path_buf(), way)))
}

/// Whether a folder may be allowed at start: it must not be guarded itself, nor lie in a folder of a version control system.
/// What lies above it is not judged otherwise: worktrees live in folders of agents.
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
        // Whether it is there, and a folder, is asked elsewhere.
        _ => Ok(()),
    }
}

impl Tree {
    /// Opens a folder that nobody has to allow. For programs that were given it by their own user. Paths are judged from
    /// this folder down.
    pub fn open(path: &Path) -> Result<Self, RootError> {
        let name = path.display().to_string();
        let real = path.canonicalize().map_err(|error| to_root_error(name.clone(), &error))?;
        let opened = Dir::open_ambient_dir(&real, ambient_authority());
        let both = opened.and_then(|dir| Ok((dir.try_clone()?, dir)));
        let (base, dir) = both.map_err(|error| to_root_error(name, &error))?;
        Ok(Self::new(dir, real.clone(), AllowedRoot::new(base, real, String::new())))
    }
}

/// No folder was named, and the working directory was not taken for one.
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
