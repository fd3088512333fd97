//! Go modules.

use super::text::numbered;
use super::{Broken, Dependency, Ecosystem, Manifest, Scope, Weight};
use crate::manager::Manager;

pub(super) fn module(path: &str, text: &str) -> Result<Manifest, Broken> {
    let mut manifest = Manifest::new(path, Ecosystem::Go);
    manifest.hint(Manager::Go, Weight::Own, 1, "go.mod");
    let mut block = String::new();
    for (line, written) in numbered(text) {
        let (content, comment) = written.split_once("//").unwrap_or((written, ""));
        let words: Vec<&str> = content.split_whitespace().collect();
        match words.as_slice() {
            [")"] => block.clear(),
            [name, "("] => (*name).clone_into(&mut block),
            ["module", name] => manifest.name = Some((*name).to_owned()),
            ["require", name, version] => require(name, version, comment, line, &mut manifest),
            [name, version] if block == "require" => require(name, version, comment, line, &mut manifest),
            _ => {}
        }
    }
    Ok(manifest)
}

/// What only others need is marked `// indirect`, and is not declared by this module.
fn require(name: &str, version: &str, comment: &str, line: u32, manifest: &mut Manifest) {
    if !comment.contains("indirect") {
        manifest.dependencies.push(Dependency::new(name, Some(version), Scope::Main, line));
    }
}
