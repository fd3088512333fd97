//! Real programs in the sandbox. What this machine does not offer is not tested, and a line says so.

#![expect(clippy::disallowed_methods, reason = "tests make their own trees, and look at what is beside them")]

mod attacks;
mod ends;
mod flows;
mod places;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use tree::Budget;

use super::process::{Isolation, Namespaces};
use super::{Ended, confinement, run_in};

/// A repository, and beside it a folder that is none of its business.
struct Site {
    _place: TempDir,
    tree: PathBuf,
    outside: PathBuf,
}

impl Site {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().canonicalize().unwrap();
        let (tree, outside) = (path.join("tree"), path.join("outside"));
        fs::create_dir(&tree).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret"), "the seal key").unwrap();
        Self { _place: place, tree, outside }
    }

    fn secret(&self) -> PathBuf {
        self.outside.join("secret")
    }

    /// Writes a file of the repository.
    fn file(&self, path: &str, text: &str) -> &Self {
        write(&self.tree.join(path), text, 0o644);
        self
    }

    fn script(&self, path: &str, text: &str) -> &Self {
        write(&self.tree.join(path), text, 0o755);
        self
    }

    fn run(&self, command: &str) -> Ended {
        self.run_as(command, confinement().isolation)
    }

    fn run_as(&self, command: &str, isolation: Isolation) -> Ended {
        let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        run_in(&self.tree, &words, &minute(), isolation).unwrap()
    }
}

fn write(path: &Path, text: &str, mode: u32) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn minute() -> Budget {
    Budget::unlimited().within(Duration::from_mins(1))
}

/// The ways of keeping a program apart that work here: the best, and the one for machines that have no namespaces.
fn isolations() -> Vec<Isolation> {
    let best = confinement().isolation;
    let shared = Isolation { namespaces: Namespaces::Shared, ..best };
    if best == shared { vec![best] } else { vec![best, shared] }
}

/// The home of the user who runs the tests.
fn real_home() -> String {
    std::env::var("HOME").unwrap_or("/root".to_owned())
}

/// Whether a program is installed where a sandbox finds it.
fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !has {
        println!("not tested: there is no {program} here");
    }
    has
}

/// Whether the kernel confines files.
fn is_sandbox() -> bool {
    let is_sandbox = confinement().is_sandbox();
    if !is_sandbox {
        println!("not tested: this kernel has no Landlock");
    }
    is_sandbox
}
