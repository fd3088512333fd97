//! Whether a path is guarded, judged from the folder that was allowed down, by its names and by what stands on the disk.
//!
//! Names do not say everything: a guarded folder may be mounted under another name, a repository may keep its data or its
//! hooks in a folder of any name.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;

use crate::guard::{self, Guard, HOOKS, Level, Row, folded};
use crate::step::{Id, id, step};
use crate::{Tree, gitconfig, read_only};

/// The allowed folder that a tree lies in, and the way from there.
pub(crate) struct Base {
    dir: Dir,
    path: PathBuf,
    way: String,
}

/// A guarded folder that exists.
pub(crate) type Known = (Id, &'static Row);

const HOOK: Guard = Guard::Consent("in the folder that `core.hooksPath` names, from which git runs hooks");
const REPOSITORY: Guard = Guard::Never("it belongs to a git repository that has another name than `.git`");

/// How many folders of a version control system are looked at.
const MOST_FOLDERS: usize = 512;
const LARGEST_CONFIG: u64 = 1 << 20;

impl Base {
    pub(crate) fn new(dir: Dir, path: PathBuf, way: String) -> Self {
        Self { dir, path, way }
    }

    /// Its own name is not judged, but what stands in it may be guarded because of it.
    fn name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// The folders on a path, the base first, as far as they are there and no links.
    fn folders(&self, path: &str) -> io::Result<Vec<(String, Dir)>> {
        let mut folders = vec![(String::new(), self.dir.try_clone()?)];
        for name in path.split('/').filter(|name| !name.is_empty()) {
            let Some((above, dir)) = folders.last() else { break };
            // What is not there is not guarded, and a link is refused by whoever writes.
            let Ok(next) = step(dir, name) else { break };
            let path = join(above, name);
            folders.push((path, next));
        }
        Ok(folders)
    }

    /// The folders, from the base, in which the repository at a folder has hooks.
    fn hooks(&self, top: &str, dir: &Dir) -> Vec<String> {
        let configs = match dir.symlink_metadata(".git") {
            Ok(found) if found.is_file() => self.configs_elsewhere(top),
            Ok(_) => vec![join(top, ".git/config"), join(top, ".git/config.worktree")],
            Err(_) => Vec::new(),
        };
        let texts = configs.iter().filter_map(|config| self.text(config));
        texts
            .flat_map(|text| gitconfig::hooks_paths(&text))
            .filter_map(|path| self.inside(top, &path))
            .collect()
    }

    /// The configurations of a repository whose `.git` is a file that says where its data is: of a worktree, a submodule,
    /// or one that was made so.
    fn configs_elsewhere(&self, top: &str) -> Vec<String> {
        let named = self.text(&join(top, ".git")).and_then(|text| {
            let named = text.lines().find_map(|line| line.strip_prefix("gitdir:"))?.trim().to_owned();
            self.inside(top, &named)
        });
        let Some(data) = named else { return Vec::new() };
        let common = self.text(&join(&data, "commondir")).and_then(|text| self.inside(&data, text.trim()));
        let own = [join(&data, "config"), join(&data, "config.worktree")];
        own.into_iter().chain(common.map(|common| join(&common, "config"))).collect()
    }

    /// A path that is written from a folder of ours, or from the root of the disk, as a path from the base.
    fn inside(&self, from: &str, path: &str) -> Option<String> {
        let whole = match path.strip_prefix('/') {
            Some(_) => Path::new(path).strip_prefix(&self.path).ok()?.to_str()?.to_owned(),
            None => join(from, path),
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

    fn text(&self, path: &str) -> Option<String> {
        let file = self.dir.open_with(path, &read_only()).ok()?;
        let mut text = Vec::new();
        file.metadata().ok().filter(cap_std::fs::Metadata::is_file)?;
        file.take(LARGEST_CONFIG).read_to_end(&mut text).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    }
}

impl Tree {
    /// Whether writing to a path needs more than a plan. Judged from the allowed folder that holds this tree down.
    pub fn guard(&self, path: &str) -> io::Result<Option<Guard>> {
        self.faults.pass()?;
        let whole = join(&self.base.way, path);
        let (folder, _) = whole.rsplit_once('/').unwrap_or(("", &whole));
        self.judge(&whole, folder, true)
    }

    /// Whether this tree is, or lies in, what is guarded.
    pub(crate) fn guard_of_itself(&self) -> io::Result<Option<Guard>> {
        self.judge(&self.base.way, &self.base.way, false)
    }

    fn judge(&self, whole: &str, folder: &str, is_file: bool) -> io::Result<Option<Guard>> {
        let by_name = guard::by_name(self.base.name(), whole, is_file).map(Row::guard);
        if matches!(by_name, Some(Guard::Never(_))) {
            return Ok(by_name);
        }
        let on_disk = self.on_disk(whole, folder)?;
        Ok(if matches!(on_disk, Some(Guard::Never(_))) { on_disk } else { by_name.or(on_disk) })
    }

    /// What the folders on a path are, whatever they are called.
    fn on_disk(&self, whole: &str, folder: &str) -> io::Result<Option<Guard>> {
        let folders = self.base.folders(folder)?;
        let mut found = None;
        let ids = folders.iter().map(|(_, dir)| id(dir)).collect::<io::Result<Vec<_>>>()?;
        for (at, (path, dir)) in folders.iter().enumerate() {
            if is_repository(dir) {
                return Ok(Some(REPOSITORY));
            }
            // The base was allowed; what is in it is judged.
            let known = if at > 0 { self.known() } else { &[] };
            match known.iter().find(|(known, _)| *known == ids[at]).map(|(_, row)| row.guard()) {
                Some(Guard::Never(why)) => return Ok(Some(Guard::Never(why))),
                other => found = found.or(other),
            }
            for hooks in self.base.hooks(path, dir) {
                if self.is_hook(whole, &hooks, path, &ids) {
                    found = found.or(Some(HOOK));
                }
            }
        }
        Ok(found)
    }

    /// Whether a path lies in a folder for hooks: by its names, or by a folder on its way.
    fn is_hook(&self, whole: &str, hooks: &str, top: &str, ids: &[Id]) -> bool {
        let (whole, hooks_names) = (folded(whole), folded(hooks));
        if folded(top).starts_with(&hooks_names) {
            // The whole repository lies there; only what git runs is meant.
            return whole.len() == hooks_names.len() + 1
                && whole.starts_with(&hooks_names)
                && whole.last().is_some_and(|name| HOOKS.contains(&name.as_str()));
        }
        let real = self.base.dir.open_dir(hooks).and_then(|dir| id(&dir)).ok();
        whole.starts_with(&hooks_names) || real.is_some_and(|real| ids.iter().skip(1).any(|id| *id == real))
    }

    /// Guarded folders that stand in the allowed folder or in this one, and those of the version control system in them.
    pub(crate) fn known(&self) -> &[Known] {
        self.known.get_or_init(|| {
            let mut known = Vec::new();
            let own = Some(&self.dir).filter(|_| !self.base.way.is_empty());
            for dir in [&self.base.dir].into_iter().chain(own) {
                for (name, row) in guard::folders() {
                    let Ok(found) = step(dir, name) else { continue };
                    if row.level == Level::VersionControl {
                        descend(&found, row, &mut known);
                    } else {
                        known.extend(id(&found).ok().map(|id| (id, row)));
                    }
                }
            }
            known
        })
    }

    /// Whether a folder is one of the version control system, whatever it is called.
    pub(crate) fn holds_versions(&self, folder: Id) -> bool {
        self.known().iter().any(|(known, row)| *known == folder && row.level == Level::VersionControl)
    }
}

/// Notes a folder and those in it, breadth first, so that what is near the top is never left out.
fn descend(top: &Dir, row: &'static Row, known: &mut Vec<Known>) {
    let Ok(top) = top.try_clone() else { return };
    let mut open = std::collections::VecDeque::from([top]);
    let mut seen = 0;
    while let Some(dir) = open.pop_front() {
        known.extend(id(&dir).ok().map(|id| (id, row)));
        for entry in dir.entries().into_iter().flatten().flatten() {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            // Objects are many, and nothing runs them.
            if seen < MOST_FOLDERS && is_folder && entry.file_name() != "objects" {
                seen += 1;
                open.extend(entry.file_name().to_str().and_then(|name| step(&dir, name).ok()));
            }
        }
    }
}

/// Whether a folder holds the data of a git repository, under whatever name: git runs hooks and programs from it.
pub(crate) fn is_repository(dir: &Dir) -> bool {
    let is_folder = |name: &str| dir.metadata(name).is_ok_and(|found| found.is_dir());
    let is_there = |name: &str| dir.symlink_metadata(name).is_ok();
    is_there("HEAD") && (is_folder("objects") && is_folder("refs") || is_there("commondir"))
}

fn join(folder: &str, name: &str) -> String {
    match (folder, name) {
        ("", name) => name.to_owned(),
        (folder, "") => folder.to_owned(),
        _ => format!("{folder}/{name}"),
    }
}
