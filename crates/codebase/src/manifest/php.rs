//! `composer.json`.

use super::{
    DeclaredProgram, Dependency, DependencyScope, DocumentSyntaxError, Ecosystem, HintStrength, Manifest,
    parse_json,
};
use crate::package_manager::PackageManager;

pub(super) fn parse_composer_json(path: &str, text: &str) -> Result<Manifest, DocumentSyntaxError> {
    let document = parse_json(text)?;
    let mut manifest = Manifest::new(path, Ecosystem::Php);
    manifest.add_hint(PackageManager::Composer, HintStrength::OwnFile, 1, "composer.json");
    manifest.name = document.get("name").as_text().map(str::to_owned);
    for (table, scope) in [("require", DependencyScope::Main), ("require-dev", DependencyScope::Dev)] {
        for (name, version) in document.get(table).entries() {
            manifest.dependencies.push(Dependency::new(name, version.as_text(), scope, version.line));
        }
    }
    let bins = document.get("bin").items().iter();
    manifest
        .programs
        .extend(bins.filter_map(|bin| Some(DeclaredProgram::for_file(bin.as_text()?, bin.line, "`bin`"))));
    Ok(manifest)
}
