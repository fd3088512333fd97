//! `go.mod`.

use super::line_syntax::numbered_lines;
use super::{Dependency, DependencyScope, DocumentSyntaxError, Ecosystem, HintStrength, Manifest};
use crate::package_manager::PackageManager;

pub(super) fn parse_go_mod(path: &str, text: &str) -> Result<Manifest, DocumentSyntaxError> {
    let mut manifest = Manifest::new(path, Ecosystem::Go);
    manifest.add_hint(PackageManager::Go, HintStrength::OwnFile, 1, "go.mod");
    let mut block = String::new();
    for (line, written) in numbered_lines(text) {
        let (content, comment) = written.split_once("//").unwrap_or((written, ""));
        let words: Vec<&str> = content.split_whitespace().collect();
        match words.as_slice() {
            [")"] => block.clear(),
            [name, "("] => (*name).clone_into(&mut block),
            ["module", name] => manifest.name = Some((*name).to_owned()),
            ["require", name, version] => add_requirement(name, version, comment, line, &mut manifest),
            [name, version] if block == "require" => {
                add_requirement(name, version, comment, line, &mut manifest);
            }
            _ => {}
        }
    }
    Ok(manifest)
}

/// Transitive requirements are marked `// indirect` and do not count as declared by this module.
fn add_requirement(name: &str, version: &str, comment: &str, line: u32, manifest: &mut Manifest) {
    if !comment.contains("indirect") {
        manifest.dependencies.push(Dependency::new(name, Some(version), DependencyScope::Main, line));
    }
}
