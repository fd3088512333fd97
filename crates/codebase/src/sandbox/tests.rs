//! Runs real programs in the sandbox. Tests of unsupported features are skipped with a message.

#![expect(clippy::disallowed_methods, reason = "tests make their own trees, and look at what is beside them")]

mod attacks;
mod commands;
mod file_access;
mod termination;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use tree::WorkBudget;

use super::process::{Isolation, Namespaces};
use super::{RunOutcome, detect_confinement, run_isolated};

/// A repository, and next to it an unrelated folder.
struct SandboxFixture {
    _place: TempDir,
    tree: PathBuf,
    outside: PathBuf,
}

impl SandboxFixture {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().canonicalize().unwrap();
        let (tree, outside) = (path.join("tree"), path.join("outside"));
        fs::create_dir(&tree).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret"), "the seal key").unwrap();
        Self { _place: place, tree, outside }
    }

    fn secret_path(&self) -> PathBuf {
        self.outside.join("secret")
    }

    /// Writes a file of the repository.
    fn write_file(&self, path: &str, text: &str) -> &Self {
        write(&self.tree.join(path), text, 0o644);
        self
    }

    fn write_script(&self, path: &str, text: &str) -> &Self {
        write(&self.tree.join(path), text, 0o755);
        self
    }

    fn run(&self, command: &str) -> RunOutcome {
        self.run_with_isolation(command, detect_confinement().isolation)
    }

    fn run_with_isolation(&self, command: &str, isolation: Isolation) -> RunOutcome {
        let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        run_isolated(&self.tree, &words, &one_minute_budget(), isolation).unwrap()
    }
}

fn write(path: &Path, text: &str, mode: u32) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn one_minute_budget() -> WorkBudget {
    WorkBudget::unlimited().with_timeout(Duration::from_mins(1))
}

/// The isolation modes that work here: the best one, and the one for machines without namespaces.
fn available_isolations() -> Vec<Isolation> {
    let best = detect_confinement().isolation;
    let shared = Isolation { namespaces: Namespaces::Shared, ..best };
    if best == shared { vec![best] } else { vec![best, shared] }
}

/// The home of the user who runs the tests.
fn user_home() -> String {
    std::env::var("HOME").unwrap_or("/root".to_owned())
}

/// Whether a program is installed where a sandbox finds it.
fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !has {
        println!("not tested: there is no {program} here");
    }
    has
}

/// Whether the kernel confines files.
fn has_landlock() -> bool {
    let is_sandbox = detect_confinement().confines_files();
    if !is_sandbox {
        println!("not tested: this kernel has no Landlock");
    }
    is_sandbox
}
