//! Trees are written as texts: `=== path` begins a file.

mod apply;
mod guards;
mod hidden;
mod placing;
mod settings;
mod traps;
mod verdicts;
mod view;

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

/// A key for journals: the digest says who signed.
pub(crate) struct TestKey(pub(crate) &'static str);

impl Signer for TestKey {
    fn sign(&self, purpose: &str, text: &[u8]) -> String {
        digest::sha256(&[self.0.as_bytes(), purpose.as_bytes(), text].concat())
    }

    fn verify(&self, purpose: &str, text: &[u8], signature: &str) -> bool {
        self.sign(purpose, text) == signature
    }
}

pub(crate) const ADA: Actor<'static> = Actor { tenant: "ada", subject: "key:1", signer: &TestKey("ours") };

fn apply(tree: &Tree, plan: &Plan, files: &[Resolved]) -> Result<Applied, ApplyError> {
    super::apply(tree, plan, files, &ADA)
}

/// The plan of this id, or the last one.
fn undo(tree: &Tree, id: Option<&str>) -> Result<Undone, ApplyError> {
    let last = undoable(tree, &ADA)?.0.into_iter().next().map(|last| last.plan);
    super::undo(tree, id.map(str::to_owned).or(last).as_deref().unwrap_or_default(), &ADA)
}

fn undo_by_plan(tree: &Tree, plan: &Plan, consent: &[String]) -> Result<Undone, ApplyError> {
    super::undo_by_plan(tree, plan, consent, &ADA)
}

fn recover(tree: &Tree) -> Result<Vec<String>, ApplyError> {
    super::recover(tree, ADA.signer)
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
