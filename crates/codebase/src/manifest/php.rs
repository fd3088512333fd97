//! Composer.

use super::{Broken, Dependency, Ecosystem, Manifest, Program, Scope, Weight, json};
use crate::manager::Manager;

pub(super) fn composer(path: &str, text: &str) -> Result<Manifest, Broken> {
    let document = json(text)?;
    let mut manifest = Manifest::new(path, Ecosystem::Php);
    manifest.hint(Manager::Composer, Weight::Own, 1, "composer.json");
    manifest.name = document.get("name").as_text().map(str::to_owned);
    for (table, scope) in [("require", Scope::Main), ("require-dev", Scope::Dev)] {
        for (name, version) in document.get(table).entries() {
            manifest.dependencies.push(Dependency::new(name, version.as_text(), scope, version.line));
        }
    }
    let bins = document.get("bin").items().iter();
    manifest.programs.extend(bins.filter_map(|bin| Some(Program::file(bin.as_text()?, bin.line, "`bin`"))));
    Ok(manifest)
}
