//! Python's many manifests.

use super::text::numbered;
use super::{Broken, Dependency, Ecosystem, Manifest, Node, Program, Says, Scope, Weight, toml, yaml};
use crate::language::Language;
use crate::manager::Manager;
use crate::source::{self, Argument};

/// A name as package indexes compare it.
pub(crate) fn normal(name: &str) -> String {
    let mut normal = String::with_capacity(name.len());
    for c in name.chars() {
        let c = if matches!(c, '_' | '.') { '-' } else { c.to_ascii_lowercase() };
        if c != '-' || !normal.ends_with('-') {
            normal.push(c);
        }
    }
    normal
}

/// `name[extra]>=1; marker`: the name and the versions.
fn requirement(text: &str, scope: Scope, line: u32) -> Option<Dependency> {
    let text = text.split(';').next().unwrap_or(text).trim();
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "._-".contains(c))).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) || rest.starts_with([':', '/', '+']) {
        return None;
    }
    let rest = rest.trim_start();
    let versions = match rest.strip_prefix('[') {
        Some(extras) => extras.split_once(']').map_or("", |(_, versions)| versions),
        None => rest,
    };
    Some(Dependency::new(normal(name), Some(versions.trim_matches(['(', ')', ' '])), scope, line))
}

pub(super) fn pyproject(path: &str, text: &str) -> Result<Manifest, Broken> {
    let document = toml(text)?;
    let mut manifest = Manifest::new(path, Ecosystem::Python);
    let (project, tool) = (document.get("project"), document.get("tool"));
    let poetry = tool.get("poetry");
    let name = project.get("name").as_text().or_else(|| poetry.get("name").as_text());
    manifest.name = name.map(str::to_owned);
    requirements_of(project.get("dependencies"), Scope::Main, &mut manifest);
    for (_, extra) in project.get("optional-dependencies").entries() {
        requirements_of(extra, Scope::Optional, &mut manifest);
    }
    for (_, group) in document.get("dependency-groups").entries() {
        requirements_of(group, Scope::Dev, &mut manifest);
    }
    requirements_of(tool.at(["uv", "dev-dependencies"]), Scope::Dev, &mut manifest);
    for (_, group) in tool.at(["pdm", "dev-dependencies"]).entries() {
        requirements_of(group, Scope::Dev, &mut manifest);
    }
    table_of(poetry.get("dependencies"), Scope::Main, &mut manifest);
    table_of(poetry.get("dev-dependencies"), Scope::Dev, &mut manifest);
    for (_, group) in poetry.get("group").entries() {
        table_of(group.get("dependencies"), Scope::Dev, &mut manifest);
    }
    for scripts in [project.get("scripts"), project.get("gui-scripts"), poetry.get("scripts")] {
        for (name, target) in scripts.entries() {
            let target_text =
                target.as_text().or_else(|| target.get("callable").as_text()).unwrap_or_default();
            manifest.programs.push(Program::module(
                target_text,
                target.line,
                Says::named("console script", name),
            ));
        }
    }
    manifest.is_workspace = tool.at(["uv", "workspace"]).exists();
    for manager in [Manager::Uv, Manager::Poetry, Manager::Pdm] {
        let own = tool.get(manager.name());
        if own.exists() {
            manifest.hint(manager, Weight::Own, own.line, format!("[tool.{}]", manager.name()));
        }
    }
    let backend = document.at(["build-system", "build-backend"]);
    let builder = match backend.as_text().unwrap_or_default() {
        text if text.starts_with("poetry") => Some(Manager::Poetry),
        text if text.starts_with("pdm") => Some(Manager::Pdm),
        text if text.starts_with("uv_build") => Some(Manager::Uv),
        _ => None,
    };
    if let Some(manager) = builder {
        manifest.hint(manager, Weight::Configured, backend.line, "the build backend");
    }
    if project.exists() || poetry.exists() || document.get("build-system").exists() {
        manifest.hint(Manager::Pip, Weight::Default, 1, "pyproject.toml without a manager's own section");
    }
    Ok(manifest)
}

/// A list of requirement strings.
fn requirements_of(list: &Node, scope: Scope, manifest: &mut Manifest) {
    let found = list.items().iter().filter_map(|item| requirement(item.as_text()?, scope, item.line));
    manifest.dependencies.extend(found);
}

/// A table of names and versions, as Poetry and Pipenv write them.
fn table_of(table: &Node, scope: Scope, manifest: &mut Manifest) {
    for (name, value) in table.entries().filter(|(name, _)| *name != "python") {
        let version = value.as_text().or_else(|| value.get("version").as_text());
        let optional = value.get("optional").as_text() == Some("true");
        let scope = if optional && scope == Scope::Main { Scope::Optional } else { scope };
        manifest.dependencies.push(Dependency::new(normal(name), version, scope, value.line));
    }
}

pub(super) fn pipfile(path: &str, text: &str) -> Result<Manifest, Broken> {
    let document = toml(text)?;
    let mut manifest = Manifest::new(path, Ecosystem::Python);
    manifest.hint(Manager::Pipenv, Weight::Own, 1, "Pipfile");
    table_of(document.get("packages"), Scope::Main, &mut manifest);
    table_of(document.get("dev-packages"), Scope::Dev, &mut manifest);
    for (name, script) in document.get("scripts").entries() {
        let command = script.as_text().unwrap_or_default();
        manifest.programs.extend(Program::of_command(command, script.line, Says::named("script", name)));
    }
    Ok(manifest)
}

pub(super) fn conda(path: &str, text: &str) -> Result<Manifest, Broken> {
    let document = yaml(text)?;
    let mut manifest = Manifest::new(path, Ecosystem::Python);
    let dependencies = document.get("dependencies");
    if !dependencies.exists() {
        return Ok(manifest); // a file of that name for something else
    }
    manifest.name = document.get("name").as_text().map(str::to_owned);
    manifest.hint_by_file(Manager::Conda, Weight::Own, dependencies.line);
    for item in dependencies.items() {
        if let Some(text) = item.as_text() {
            let plain = text.rsplit("::").next().unwrap_or(text);
            let mut found = requirement(plain, Scope::Main, item.line).filter(|d| d.name != "python");
            // To conda, `=3.1` is every 3.1.
            let fuzzy =
                found.as_mut().and_then(|d| d.requirement.as_mut()).filter(|text| !text.starts_with("=="));
            fuzzy.into_iter().filter(|text| text.starts_with('=')).for_each(|text| text.push_str(".*"));
            manifest.dependencies.extend(found);
        }
        requirements_of(item.get("pip"), Scope::Main, &mut manifest);
    }
    Ok(manifest)
}

pub(super) fn requirements(path: &str, text: &str) -> Result<Manifest, Broken> {
    let mut manifest = Manifest::new(path, Ecosystem::Python);
    let name = super::name_of(path).to_ascii_lowercase();
    let dev = ["dev", "test", "lint", "doc", "ci", "format"].iter().any(|word| name.contains(word));
    let scope = match dev {
        true => Scope::Dev,
        false if path.contains("extras/") || name.contains("optional") => Scope::Optional,
        false => Scope::Main,
    };
    manifest.hint_by_file(Manager::Pip, Weight::Default, 1);
    for (line, written) in numbered(text) {
        let written = written.split(" #").next().unwrap_or(written).trim();
        if written.starts_with('#') || written.is_empty() {
            continue;
        }
        let option = |names: [&str; 2]| {
            names
                .iter()
                .find_map(|name| written.strip_prefix(name))
                .map(|rest| rest.trim_start_matches('=').trim())
        };
        if let Some(file) = option(["--requirement", "-r"]) {
            manifest.includes.push(join(super::folder_of(path), file));
        } else if let Some((_, egg)) = written.split_once("#egg=") {
            manifest.dependencies.extend(requirement(egg, scope, line));
        } else if !written.starts_with('-') {
            manifest.dependencies.extend(requirement(written.trim_end_matches('\\'), scope, line));
        }
    }
    Ok(manifest)
}

/// A path seen from a folder, without `.` and `..`; one that climbs out stays so and is refused when it is opened.
pub(crate) fn join(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = if path.starts_with('/') { Vec::new() } else { folder.split('/').collect() };
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| !last.is_empty() && *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts.join("/")
}

pub(super) fn setup_cfg(path: &str, text: &str) -> Result<Manifest, Broken> {
    let mut manifest = Manifest::new(path, Ecosystem::Python);
    let (mut section, mut key) = (String::new(), String::new());
    for (line, written) in numbered(text) {
        let content = written.split(" #").next().unwrap_or(written).trim();
        if content.is_empty() || content.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = content.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            name.clone_into(&mut section);
            key.clear();
            continue;
        }
        let value = if written.starts_with([' ', '\t']) {
            content
        } else {
            let (name, value) = content.split_once('=').unwrap_or((content, ""));
            name.trim().clone_into(&mut key);
            value.trim()
        };
        setup_value(&section, &key, value, line, &mut manifest);
    }
    Ok(manifest)
}

fn setup_value(section: &str, key: &str, value: &str, line: u32, manifest: &mut Manifest) {
    match (section, key) {
        ("metadata", "name") => {
            manifest.name = Some(value.to_owned());
            manifest.hint(Manager::Pip, Weight::Default, line, "setup.cfg");
        }
        ("options", "install_requires") => {
            manifest.dependencies.extend(requirement(value, Scope::Main, line));
        }
        ("options.extras_require", _) => {
            manifest.dependencies.extend(requirement(value, Scope::Optional, line));
        }
        ("options.entry_points", "console_scripts") => {
            if let Some((name, target)) = value.split_once('=') {
                let says = Says::named("console script", name.trim());
                manifest.programs.push(Program::module(target, line, says));
            }
        }
        _ => {}
    }
}

pub(super) fn setup_py(path: &str, text: &str) -> Result<Manifest, Broken> {
    let mut manifest = Manifest::new(path, Ecosystem::Python);
    let Ok(source) = source::parse(path, text, Language::Python) else {
        return Err(Broken { line: 1, reason: "it does not parse".to_owned() });
    };
    let Some(setup) = source.calls.iter().find(|call| call.callee.rsplit('.').next() == Some("setup")) else {
        return Ok(manifest);
    };
    manifest.hint(Manager::Pip, Weight::Default, setup.line, "setup.py");
    if let Some(Argument::Text(name)) = setup.named("name") {
        manifest.name = Some(name.clone());
    }
    let texts = |argument: Option<&Argument>| match argument {
        Some(Argument::List(items)) => items.clone(),
        _ => Vec::new(),
    };
    for item in texts(setup.named("install_requires")) {
        if let Argument::Text(text) = item {
            manifest.dependencies.extend(requirement(&text, Scope::Main, setup.line));
        }
    }
    if let Some(Argument::Map(entries)) = setup.named("entry_points") {
        let scripts = entries.iter().find(|(name, _)| name == "console_scripts").map(|(_, value)| value);
        for item in texts(scripts) {
            if let Argument::Text(text) = item
                && let Some((name, target)) = text.split_once('=')
            {
                let says = Says::named("console script", name.trim());
                manifest.programs.push(Program::module(target, setup.line, says));
            }
        }
    }
    Ok(manifest)
}
