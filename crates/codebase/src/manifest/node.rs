//! npm and its relatives.

use std::collections::BTreeSet;

use super::{Broken, Dependency, Ecosystem, Manifest, Program, Says, Scope, Weight, json, yaml};
use crate::manager::Manager;

pub(super) fn package(path: &str, text: &str) -> Result<Manifest, Broken> {
    let document = json(text)?;
    let mut manifest = Manifest::new(path, Ecosystem::Node);
    manifest.name = document.get("name").as_text().map(str::to_owned);
    let kinds = [
        ("dependencies", Scope::Main),
        ("peerDependencies", Scope::Main),
        ("optionalDependencies", Scope::Optional),
        ("devDependencies", Scope::Dev),
    ];
    let is_optional = |(_, meta): &(&str, &super::Node)| meta.get("optional").as_text() == Some("true");
    let optional = document.get("peerDependenciesMeta").entries().filter(is_optional);
    let optional: BTreeSet<&str> = optional.map(|(name, _)| name).collect();
    for (kind, scope) in kinds {
        for (name, version) in document.get(kind).entries() {
            let is_optional = kind == "peerDependencies" && optional.contains(name);
            let scope = if is_optional { Scope::Optional } else { scope };
            manifest.dependencies.push(Dependency::new(name, version.as_text(), scope, version.line));
        }
    }
    let named = document.get("packageManager");
    if let Some(manager) = named.as_text().and_then(|text| Manager::named(text.split('@').next()?)) {
        manifest.hint(manager, Weight::Named, named.line, "`packageManager` names it");
    }
    for (engine, version) in document.get("engines").entries() {
        if let Some(manager) = Manager::named(engine) {
            manifest.hint(manager, Weight::Configured, version.line, "`engines` names it");
        }
    }
    let workspaces = document.get("workspaces");
    manifest.is_workspace = workspaces.exists();
    for (name, version) in workspaces.get("catalog").entries() {
        manifest.shared.push(Dependency::new(name, version.as_text(), Scope::Main, version.line));
    }
    manifest.is_library =
        ["exports", "types", "typings", "publishConfig"].iter().any(|key| document.get(key).exists());
    programs(&document, &mut manifest);
    Ok(manifest)
}

fn programs(document: &super::Node, manifest: &mut Manifest) {
    for (name, script) in document.get("scripts").entries() {
        let stem = name.split(':').next().unwrap_or(name);
        if matches!(stem, "start" | "dev" | "serve" | "server" | "develop") {
            let command = script.as_text().unwrap_or_default();
            manifest.programs.extend(Program::of_command(command, script.line, Says::named("script", name)));
        }
    }
    let bin = document.get("bin");
    let bins = bin.as_text().map(|file| (file, bin.line)).into_iter();
    let bins = bins.chain(bin.entries().filter_map(|(_, file)| Some((file.as_text()?, file.line))));
    manifest.programs.extend(bins.map(|(file, line)| Program::file(file, line, "`bin`")));
    let main = document.get("main");
    // What others import is not where a program starts.
    if let Some(file) = main.as_text().filter(|_| !manifest.is_library) {
        manifest.programs.push(Program { is_imported: true, ..Program::file(file, main.line, "`main`") });
    }
}

pub(super) fn deno(path: &str, text: &str) -> Result<Manifest, Broken> {
    let document = json(text)?;
    let mut manifest = Manifest::new(path, Ecosystem::Node);
    manifest.name = document.get("name").as_text().map(str::to_owned);
    manifest.hint(Manager::Deno, Weight::Own, 1, "deno.json");
    manifest.is_workspace = document.get("workspace").exists();
    for (alias, target) in document.get("imports").entries() {
        let Some(target_text) = target.as_text() else { continue };
        let (name, version) = deno_name(alias, target_text);
        manifest.dependencies.push(Dependency::new(name, version, Scope::Main, target.line));
    }
    for (name, task) in document.get("tasks").entries() {
        let command = task.as_text().or_else(|| task.get("command").as_text()).unwrap_or_default();
        if matches!(name.split(':').next(), Some("start" | "dev" | "serve" | "preview")) {
            manifest.programs.extend(Program::of_command(command, task.line, Says::named("task", name)));
        }
    }
    Ok(manifest)
}

/// `npm:hono@^4`, `jsr:@hono/hono@^4`: the name and the version.
fn deno_name<'a>(alias: &'a str, target: &'a str) -> (&'a str, Option<&'a str>) {
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

pub(super) fn pnpm_workspace(path: &str, text: &str) -> Result<Manifest, Broken> {
    let document = yaml(text)?;
    let mut manifest = Manifest::new(path, Ecosystem::Node);
    manifest.is_workspace = true;
    manifest.hint(Manager::Pnpm, Weight::Own, 1, "pnpm-workspace.yaml");
    let named = document.get("catalogs").entries().map(|(_, catalog)| catalog);
    for catalog in std::iter::once(document.get("catalog")).chain(named) {
        for (name, version) in catalog.entries() {
            manifest.shared.push(Dependency::new(name, version.as_text(), Scope::Main, version.line));
        }
    }
    Ok(manifest)
}
