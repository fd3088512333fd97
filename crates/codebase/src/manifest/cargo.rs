//! `Cargo.toml`.

use super::{
    DeclaredProgram, Dependency, DependencyScope, DocumentNode, DocumentSyntaxError, Ecosystem, HintStrength,
    Manifest, parse_toml,
};
use crate::package_manager::PackageManager;

pub(super) fn parse_cargo_toml(path: &str, text: &str) -> Result<Manifest, DocumentSyntaxError> {
    let document = parse_toml(text)?;
    let mut manifest = Manifest::new(path, Ecosystem::Rust);
    manifest.name = document.get_path(["package", "name"]).as_text().map(str::to_owned);
    manifest.add_hint(PackageManager::Cargo, HintStrength::OwnFile, 1, "Cargo.toml");
    let workspace = document.get("workspace");
    manifest.is_workspace = workspace.exists() && manifest.name.is_none();
    manifest.shared_versions = parse_dependencies(workspace.get("dependencies"), DependencyScope::Main);
    for (table, scope) in [
        ("dependencies", DependencyScope::Main),
        ("build-dependencies", DependencyScope::Dev),
        ("dev-dependencies", DependencyScope::Dev),
    ] {
        manifest.dependencies.extend(parse_dependencies(document.get(table), scope));
        for (_, target) in document.get("target").entries() {
            manifest.dependencies.extend(parse_dependencies(target.get(table), scope));
        }
    }
    for bin in document.get("bin").items() {
        if let Some(file) = bin.get("path").as_text() {
            manifest.programs.push(DeclaredProgram::for_file(file, bin.line, "[[bin]]"));
        }
    }
    Ok(manifest)
}

fn parse_dependencies(table: &DocumentNode, scope: DependencyScope) -> Vec<Dependency> {
    let one = |(name, value): (&str, &DocumentNode)| {
        let version = value.as_text().or_else(|| value.get("version").as_text());
        // `web = { package = "axum" }` is axum.
        let name = value.get("package").as_text().unwrap_or(name);
        Dependency::new(name, version, scope, value.line)
    };
    table.entries().map(one).collect()
}
