//! Trees are written as texts: `=== path` begins a file.

mod apply;
mod placing;
mod settings;
mod traps;
mod verdicts;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use tree::Tree;

use super::*;

/// A folder with these files.
#[expect(clippy::disallowed_methods, reason = "tests make their own trees")]
pub(crate) fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    folder
}

pub(crate) fn open(folder: &TempDir) -> Tree {
    Tree::open(folder.path()).unwrap()
}

/// Every file and folder, with content and mode.
#[expect(clippy::disallowed_methods, reason = "tests look for themselves")]
pub(crate) fn contents(folder: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    use std::os::unix::fs::PermissionsExt;
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            let mode = std::fs::symlink_metadata(&path).unwrap().permissions().mode();
            let content = if path.is_dir() { Vec::new() } else { std::fs::read(&path).unwrap() };
            found.insert(name, (mode, content));
            if path.is_dir() {
                open.push(path);
            }
        }
    }
    found
}

fn nothing(_: &[&str]) -> bool {
    false
}

pub(crate) static UNLIMITED: std::sync::LazyLock<tree::Budget> =
    std::sync::LazyLock::new(tree::Budget::unlimited);

pub(crate) fn rules() -> Rules<'static> {
    Rules {
        consent: &[],
        wrong_imports: &[WrongImport {
            wrong: "from sdk import sdk",
            right: "import sdk",
            why: "there is no such name",
        }],
        commands: nothing,
        budget: &UNLIMITED,
    }
}

pub(crate) fn judged(tree: &Tree, edits: Value) -> Verdict {
    validate(tree, &json!({ "summary": "s", "edits": edits, "rollback": { "instruction": "x" } }), &rules())
        .unwrap()
}

/// `code` of every finding that blocks.
pub(crate) fn blocking(verdict: &Verdict) -> Vec<&'static str> {
    let blocks = verdict.findings.iter().filter(|finding| finding.severity == Severity::Blocks);
    blocks.map(|finding| finding.code).collect()
}
