//! `package.json` and `deno.json`.

use std::collections::BTreeSet;

use super::{
    DeclaredProgram, Dependency, DependencyScope, DocumentSyntaxError, Ecosystem, HintStrength, Manifest,
    ProgramOrigin, parse_json, parse_yaml,
};
use crate::package_manager::PackageManager;

pub(super) fn parse_package_json(path: &str, text: &str) -> Result<Manifest, DocumentSyntaxError> {
    let document = parse_json(text)?;
    let mut manifest = Manifest::new(path, Ecosystem::Node);
    manifest.name = document.get("name").as_text().map(str::to_owned);
    let kinds = [
        ("dependencies", DependencyScope::Main),
        ("peerDependencies", DependencyScope::Main),
        ("optionalDependencies", DependencyScope::Optional),
        ("devDependencies", DependencyScope::Dev),
    ];
    let is_optional =
        |(_, meta): &(&str, &super::DocumentNode)| meta.get("optional").as_text() == Some("true");
    let optional = document.get("peerDependenciesMeta").entries().filter(is_optional);
    let optional: BTreeSet<&str> = optional.map(|(name, _)| name).collect();
    for (kind, scope) in kinds {
        for (name, version) in document.get(kind).entries() {
            let is_optional = kind == "peerDependencies" && optional.contains(name);
            let scope = if is_optional { DependencyScope::Optional } else { scope };
            manifest.dependencies.push(Dependency::new(name, version.as_text(), scope, version.line));
        }
    }
    let named = document.get("packageManager");
    if let Some(manager) = named.as_text().and_then(|text| PackageManager::from_name(text.split('@').next()?))
    {
        manifest.add_hint(manager, HintStrength::Explicit, named.line, "`packageManager` names it");
    }
    for (engine, version) in document.get("engines").entries() {
        if let Some(manager) = PackageManager::from_name(engine) {
            manifest.add_hint(manager, HintStrength::Configured, version.line, "`engines` names it");
        }
    }
    let workspaces = document.get("workspaces");
    manifest.is_workspace = workspaces.exists();
    for (name, version) in workspaces.get("catalog").entries() {
        manifest.shared_versions.push(Dependency::new(
            name,
            version.as_text(),
            DependencyScope::Main,
            version.line,
        ));
    }
    manifest.is_library =
        ["exports", "types", "typings", "publishConfig"].iter().any(|key| document.get(key).exists());
    add_programs(&document, &mut manifest);
    Ok(manifest)
}

fn add_programs(document: &super::DocumentNode, manifest: &mut Manifest) {
    for (name, script) in document.get("scripts").entries() {
        let stem = name.split(':').next().unwrap_or(name);
        if matches!(stem, "start" | "dev" | "serve" | "server" | "develop") {
            let command = script.as_text().unwrap_or_default();
            manifest.programs.extend(DeclaredProgram::from_command(
                command,
                script.line,
                ProgramOrigin::with_name("script", name),
            ));
        }
    }
    let bin = document.get("bin");
    let bins = bin.as_text().map(|file| (file, bin.line)).into_iter();
    let bins = bins.chain(bin.entries().filter_map(|(_, file)| Some((file.as_text()?, file.line))));
    manifest.programs.extend(bins.map(|(file, line)| DeclaredProgram::for_file(file, line, "`bin`")));
    let main = document.get("main");
    // The `main` of a library is imported by others and does not start a program.
    if let Some(file) = main.as_text().filter(|_| !manifest.is_library) {
        manifest.programs.push(DeclaredProgram {
            is_imported: true,
            ..DeclaredProgram::for_file(file, main.line, "`main`")
        });
    }
}

pub(super) fn parse_deno_json(path: &str, text: &str) -> Result<Manifest, DocumentSyntaxError> {
    let document = parse_json(text)?;
    let mut manifest = Manifest::new(path, Ecosystem::Node);
    manifest.name = document.get("name").as_text().map(str::to_owned);
    manifest.add_hint(PackageManager::Deno, HintStrength::OwnFile, 1, "deno.json");
    manifest.is_workspace = document.get("workspace").exists();
    for (alias, target) in document.get("imports").entries() {
        let Some(target_text) = target.as_text() else { continue };
        let (name, version) = parse_deno_import(alias, target_text);
        manifest.dependencies.push(Dependency::new(name, version, DependencyScope::Main, target.line));
    }
    for (name, task) in document.get("tasks").entries() {
        let command = task.as_text().or_else(|| task.get("command").as_text()).unwrap_or_default();
        if matches!(name.split(':').next(), Some("start" | "dev" | "serve" | "preview")) {
            manifest.programs.extend(DeclaredProgram::from_command(
                command,
                task.line,
                ProgramOrigin::with_name("task", name),
            ));
        }
    }
    Ok(manifest)
}

/// `npm:hono@^4`, `jsr:@hono/hono@^4`: the name and the version.
fn parse_deno_import<'a>(alias: &'a str, target: &'a str) -> (&'a str, Option<&'a str>) {
    let Some(package) = target.strip_prefix("npm:").or_else(|| target.strip_prefix("jsr:")) else {
        return (alias.trim_end_matches('/'), None);
    };
    let package = package.trim_start_matches('/').trim_end_matches('/');
    let scope = usize::from(package.starts_with('@'));
    match package[scope..].find('@') {
        Some(at) => (&package[..scope + at], Some(&package[scope + at + 1..])),
        None => (package, None),
    }
}

pub(super) fn parse_pnpm_workspace(path: &str, text: &str) -> Result<Manifest, DocumentSyntaxError> {
    let document = parse_yaml(text)?;
    let mut manifest = Manifest::new(path, Ecosystem::Node);
    manifest.is_workspace = true;
    manifest.add_hint(PackageManager::Pnpm, HintStrength::OwnFile, 1, "pnpm-workspace.yaml");
    let named = document.get("catalogs").entries().map(|(_, catalog)| catalog);
    for catalog in std::iter::once(document.get("catalog")).chain(named) {
        for (name, version) in catalog.entries() {
            manifest.shared_versions.push(Dependency::new(
                name,
                version.as_text(),
                DependencyScope::Main,
                version.line,
            ));
        }
    }
    Ok(manifest)
}
