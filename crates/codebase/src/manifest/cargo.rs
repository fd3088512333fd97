//! Cargo.

use super::{Broken, Dependency, Ecosystem, Manifest, Node, Program, Scope, Weight, toml};
use crate::manager::Manager;

pub(super) fn cargo(path: &str, text: &str) -> Result<Manifest, Broken> {
    let document = toml(text)?;
    let mut manifest = Manifest::new(path, Ecosystem::Rust);
    manifest.name = document.at(["package", "name"]).as_text().map(str::to_owned);
    manifest.hint(Manager::Cargo, Weight::Own, 1, "Cargo.toml");
    let workspace = document.get("workspace");
    manifest.is_workspace = workspace.exists() && manifest.name.is_none();
    manifest.shared = dependencies(workspace.get("dependencies"), Scope::Main);
    for (table, scope) in
        [("dependencies", Scope::Main), ("build-dependencies", Scope::Dev), ("dev-dependencies", Scope::Dev)]
    {
        manifest.dependencies.extend(dependencies(document.get(table), scope));
        for (_, target) in document.get("target").entries() {
            manifest.dependencies.extend(dependencies(target.get(table), scope));
        }
    }
    for bin in document.get("bin").items() {
        if let Some(file) = bin.get("path").as_text() {
            manifest.programs.push(Program::file(file, bin.line, "[[bin]]"));
        }
    }
    Ok(manifest)
}

fn dependencies(table: &Node, scope: Scope) -> Vec<Dependency> {
    let one = |(name, value): (&str, &Node)| {
        let version = value.as_text().or_else(|| value.get("version").as_text());
        // `web = { package = "axum" }` is axum.
        let name = value.get("package").as_text().unwrap_or(name);
        Dependency::new(name, version, scope, value.line)
    };
    table.entries().map(one).collect()
}
