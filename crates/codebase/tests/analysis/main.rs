//! Analyses of whole repositories: expected findings, and robustness against malicious input.

#![expect(clippy::unwrap_used, reason = "a test that fails should stop")]
#![expect(clippy::disallowed_methods, reason = "tests prepare the folders that they analyse")]

mod fixtures;
mod robustness;

use tempfile::TempDir;
use tree::Tree;

/// Writes a repository that is given as a text, in which `=== path` begins a file.
fn write_repository(text: &str) -> (TempDir, Tree) {
    let folder = tempfile::tempdir().unwrap();
    for file in format!("\n{text}").split("\n=== ").skip(1) {
        let (name, content) = file.split_once('\n').unwrap_or((file, ""));
        let path = folder.path().join(name.trim());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{content}\n")).unwrap();
    }
    let tree = Tree::open(folder.path()).unwrap();
    (folder, tree)
}
