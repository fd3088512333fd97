//! Trees are given as strings: `=== path` begins a file.

mod apply;
mod edge_cases;
mod hidden_chars;
mod insertion;
mod protection;
mod redaction;
mod settings;
mod validation;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use tree::Tree;

use super::*;

/// A folder with these files.
#[expect(clippy::disallowed_methods, reason = "tests make their own trees")]
pub(crate) fn temp_folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    folder
}

pub(crate) fn open_tree(folder: &TempDir) -> Tree {
    Tree::open(folder.path()).unwrap()
}

/// Every file and folder, with content and mode.
#[expect(clippy::disallowed_methods, reason = "tests look for themselves")]
pub(crate) fn snapshot_files(folder: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
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

/// A signer for journals: the digest identifies who signed.
pub(crate) struct TestSigner(pub(crate) &'static str);

impl Signer for TestSigner {
    fn sign(&self, purpose: &str, text: &[u8]) -> String {
        digest::sha256_hex(&[self.0.as_bytes(), purpose.as_bytes(), text].concat())
    }

    fn verify(&self, purpose: &str, text: &[u8], signature: &str) -> bool {
        self.sign(purpose, text) == signature
    }
}

pub(crate) const TEST_ACTOR: Actor<'static> =
    Actor { tenant: "ada", subject: "key:1", signer: &TestSigner("ours") };

fn apply(tree: &Tree, plan: &EditPlan, files: &[ResolvedFile]) -> Result<ApplyResult, ApplyError> {
    super::apply(tree, plan, files, &TEST_ACTOR)
}

/// The plan of this id, or the last one.
fn undo(tree: &Tree, id: Option<&str>) -> Result<UndoResult, ApplyError> {
    let last = list_undoable_plans(tree, &TEST_ACTOR)?.0.into_iter().next().map(|last| last.plan);
    super::undo(tree, id.map(str::to_owned).or(last).as_deref().unwrap_or_default(), &TEST_ACTOR)
}

fn undo_by_plan(tree: &Tree, plan: &EditPlan, consent: &[String]) -> Result<UndoResult, ApplyError> {
    super::undo_by_plan(tree, plan, consent, &TEST_ACTOR)
}

fn recover(tree: &Tree) -> Result<Vec<String>, ApplyError> {
    super::recover(tree, TEST_ACTOR.signer)
}

fn no_extra_commands(_: &[&str]) -> bool {
    false
}

pub(crate) static UNLIMITED_BUDGET: std::sync::LazyLock<tree::WorkBudget> =
    std::sync::LazyLock::new(tree::WorkBudget::unlimited);

pub(crate) fn validation_rules() -> ValidationRules<'static> {
    ValidationRules {
        consent: &[],
        wrong_imports: &[WrongImport {
            wrong: "from sdk import sdk",
            right: "import sdk",
            why: "there is no such name",
        }],
        is_extra_command: no_extra_commands,
        budget: &UNLIMITED_BUDGET,
    }
}

pub(crate) fn validate_edits(tree: &Tree, edits: Value) -> PlanValidation {
    validate_plan(
        tree,
        &json!({ "summary": "s", "edits": edits, "rollback": { "instruction": "x" } }),
        &validation_rules(),
    )
    .unwrap()
}

/// `code` of every finding that blocks.
pub(crate) fn blocking_codes(validation: &PlanValidation) -> Vec<&'static str> {
    let blocks = validation.findings.iter().filter(|finding| finding.severity == PlanSeverity::Blocking);
    blocks.map(|finding| finding.code).collect()
}
