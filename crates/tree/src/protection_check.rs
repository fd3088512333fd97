//! Checks whether a path is protected, starting at the allowed folder, by names and by the folders on disk.
//!
//! Names are not enough: a protected folder may be mounted under another name, and a repository may store its
//! data or hooks in a folder with any name.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;

use crate::nofollow::{FileId, file_id, open_folder_nofollow};
use crate::protection::{
    self, GIT_HOOK_NAMES, Protection, ProtectionLevel, ProtectionRule, normalized_components,
};
use crate::{Tree, gitconfig, read_only};

/// The allowed folder that contains a tree, and the path from there to the tree.
pub(crate) struct AllowedRoot {
    dir: Dir,
    path: PathBuf,
    subpath: String,
}

/// An existing protected folder.
pub(crate) type ProtectedFolder = (FileId, &'static ProtectionRule);

const HOOKS_PATH_PROTECTION: Protection =
    Protection::RequiresConsent("in the folder set by `core.hooksPath`, from which git runs hooks");
const GIT_DIR_PROTECTION: Protection =
    Protection::NeverWritable("it is inside a git directory that is not named `.git`");

const MAX_VERSION_CONTROL_FOLDERS: usize = 512;
const MAX_CONFIG_BYTES: u64 = 1 << 20;

impl AllowedRoot {
    pub(crate) fn new(dir: Dir, path: PathBuf, subpath: String) -> Self {
        Self { dir, path, subpath }
    }

    /// The folder's name. It is not checked itself, but patterns such as `a/b` need it.
    fn name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Opens the folders along a path, root first, up to the first that is missing or a link.
    fn open_folders_along(&self, path: &str) -> io::Result<Vec<(String, Dir)>> {
        let mut folders = vec![(String::new(), self.dir.try_clone()?)];
        for name in path.split('/').filter(|name| !name.is_empty()) {
            let Some((above, dir)) = folders.last() else { break };
            // A missing folder is not protected, and writes refuse links.
            let Ok(next) = open_folder_nofollow(dir, name) else { break };
            let path = join_path(above, name);
            folders.push((path, next));
        }
        Ok(folders)
    }

    /// The hooks folders, relative to the root, of the repository at `top`.
    fn hook_folders(&self, top: &str, dir: &Dir) -> Vec<String> {
        let configs = match dir.symlink_metadata(".git") {
            Ok(found) if found.is_file() => self.linked_git_configs(top),
            Ok(_) => vec![join_path(top, ".git/config"), join_path(top, ".git/config.worktree")],
            Err(_) => Vec::new(),
        };
        let texts = configs.iter().filter_map(|config| self.read_text(config));
        texts
            .flat_map(|text| gitconfig::hooks_paths(&text))
            .filter_map(|path| self.resolve_inside(top, &path))
            .collect()
    }

    /// The config files of a repository whose `.git` is a file that points to its data: a worktree, a
    /// submodule, or one created with `--separate-git-dir`.
    fn linked_git_configs(&self, top: &str) -> Vec<String> {
        let named = self.read_text(&join_path(top, ".git")).and_then(|text| {
            let named = text.lines().find_map(|line| line.strip_prefix("gitdir:"))?.trim().to_owned();
            self.resolve_inside(top, &named)
        });
        let Some(data) = named else { return Vec::new() };
        let common = self
            .read_text(&join_path(&data, "commondir"))
            .and_then(|text| self.resolve_inside(&data, text.trim()));
        let own = [join_path(&data, "config"), join_path(&data, "config.worktree")];
        own.into_iter().chain(common.map(|common| join_path(&common, "config"))).collect()
    }

    /// Resolves an absolute path, or one relative to `from`, to a path relative to the root; `None` if it is
    /// outside.
    fn resolve_inside(&self, from: &str, path: &str) -> Option<String> {
        let whole = match path.strip_prefix('/') {
            Some(_) => Path::new(path).strip_prefix(&self.path).ok()?.to_str()?.to_owned(),
            None => join_path(from, path),
        };
        let mut names: Vec<&str> = Vec::new();
        for name in whole.split('/') {
            match name {
                "" | "." => {}
                ".." => drop(names.pop()?),
                name => names.push(name),
            }
        }
        Some(names.join("/"))
    }

    fn read_text(&self, path: &str) -> Option<String> {
        let file = self.dir.open_with(path, &read_only()).ok()?;
        let mut text = Vec::new();
        file.metadata().ok().filter(cap_std::fs::Metadata::is_file)?;
        file.take(MAX_CONFIG_BYTES).read_to_end(&mut text).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    }
}

impl Tree {
    /// The protection of a path, if any, checked from the allowed folder down to the path.
    pub fn protection(&self, path: &str) -> io::Result<Option<Protection>> {
        self.faults.check()?;
        let whole = join_path(&self.root.subpath, path);
        let (folder, _) = whole.rsplit_once('/').unwrap_or(("", &whole));
        self.check_protection(&whole, folder, true)
    }

    /// The protection of the tree itself: whether it is, or is inside, a protected folder.
    pub(crate) fn own_protection(&self) -> io::Result<Option<Protection>> {
        self.check_protection(&self.root.subpath, &self.root.subpath, false)
    }

    fn check_protection(&self, whole: &str, folder: &str, is_file: bool) -> io::Result<Option<Protection>> {
        let by_name =
            protection::find_rule_by_name(self.root.name(), whole, is_file).map(ProtectionRule::protection);
        if matches!(by_name, Some(Protection::NeverWritable(_))) {
            return Ok(by_name);
        }
        let on_disk = self.protection_on_disk(whole, folder)?;
        Ok(if matches!(on_disk, Some(Protection::NeverWritable(_))) { on_disk } else { by_name.or(on_disk) })
    }

    /// Checks the identity of the folders along a path, regardless of their names.
    fn protection_on_disk(&self, whole: &str, folder: &str) -> io::Result<Option<Protection>> {
        let folders = self.root.open_folders_along(folder)?;
        let mut found = None;
        let ids = folders.iter().map(|(_, dir)| file_id(dir)).collect::<io::Result<Vec<_>>>()?;
        for (at, (path, dir)) in folders.iter().enumerate() {
            if is_git_dir(dir) {
                return Ok(Some(GIT_DIR_PROTECTION));
            }
            // The root itself was allowed explicitly; only folders below it are checked.
            let known = if at > 0 { self.protected_folders() } else { &[] };
            match known.iter().find(|(known, _)| *known == ids[at]).map(|(_, row)| row.protection()) {
                Some(Protection::NeverWritable(why)) => return Ok(Some(Protection::NeverWritable(why))),
                other => found = found.or(other),
            }
            for hooks in self.root.hook_folders(path, dir) {
                if self.is_in_hook_folder(whole, &hooks, path, &ids) {
                    found = found.or(Some(HOOKS_PATH_PROTECTION));
                }
            }
        }
        Ok(found)
    }

    /// Whether a path is inside a hooks folder, by name or by the identity of a parent folder.
    fn is_in_hook_folder(&self, whole: &str, hooks: &str, top: &str, ids: &[FileId]) -> bool {
        let (whole, hooks_names) = (normalized_components(whole), normalized_components(hooks));
        if normalized_components(top).starts_with(&hooks_names) {
            // The hooks folder contains the whole repository; only files with hook names are protected.
            return whole.len() == hooks_names.len() + 1
                && whole.starts_with(&hooks_names)
                && whole.last().is_some_and(|name| GIT_HOOK_NAMES.contains(&name.as_str()));
        }
        let real = self.root.dir.open_dir(hooks).and_then(|dir| file_id(&dir)).ok();
        whole.starts_with(&hooks_names) || real.is_some_and(|real| ids.iter().skip(1).any(|id| *id == real))
    }

    /// Protected folders in the allowed folder and in the tree, including all subfolders of version control
    /// folders.
    pub(crate) fn protected_folders(&self) -> &[ProtectedFolder] {
        self.protected_folders.get_or_init(|| {
            let mut known = Vec::new();
            let own = Some(&self.dir).filter(|_| !self.root.subpath.is_empty());
            for dir in [&self.root.dir].into_iter().chain(own) {
                for (name, row) in protection::protected_folder_names() {
                    let Ok(found) = open_folder_nofollow(dir, name) else { continue };
                    if row.level == ProtectionLevel::VersionControl {
                        collect_nested_folders(&found, row, &mut known);
                    } else {
                        known.extend(file_id(&found).ok().map(|id| (id, row)));
                    }
                }
            }
            known
        })
    }

    /// Whether a folder belongs to a version control system, regardless of its name.
    pub(crate) fn is_version_control_folder(&self, folder: FileId) -> bool {
        self.protected_folders()
            .iter()
            .any(|(known, row)| *known == folder && row.level == ProtectionLevel::VersionControl)
    }
}

/// Collects a folder and its subfolders, breadth first, so that the limit drops only the deepest ones.
fn collect_nested_folders(top: &Dir, row: &'static ProtectionRule, known: &mut Vec<ProtectedFolder>) {
    let Ok(top) = top.try_clone() else { return };
    let mut open = std::collections::VecDeque::from([top]);
    let mut seen = 0;
    while let Some(dir) = open.pop_front() {
        known.extend(file_id(&dir).ok().map(|id| (id, row)));
        for entry in dir.entries().into_iter().flatten().flatten() {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            // The object store has many folders, and nothing in it is executed.
            if seen < MAX_VERSION_CONTROL_FOLDERS && is_folder && entry.file_name() != "objects" {
                seen += 1;
                open.extend(
                    entry.file_name().to_str().and_then(|name| open_folder_nofollow(&dir, name).ok()),
                );
            }
        }
    }
}

/// Whether a folder is a git directory, regardless of its name: git runs hooks and programs configured in it.
pub(crate) fn is_git_dir(dir: &Dir) -> bool {
    let is_folder = |name: &str| dir.metadata(name).is_ok_and(|found| found.is_dir());
    let is_there = |name: &str| dir.symlink_metadata(name).is_ok();
    is_there("HEAD") && (is_folder("objects") && is_folder("refs") || is_there("commondir"))
}

fn join_path(folder: &str, name: &str) -> String {
    match (folder, name) {
        ("", name) => name.to_owned(),
        (folder, "") => folder.to_owned(),
        _ => format!("{folder}/{name}"),
    }
}
