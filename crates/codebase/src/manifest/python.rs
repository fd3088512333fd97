//! Python manifests: `pyproject.toml`, requirements files, `setup.py`, `setup.cfg`, Pipfile and conda
//! environments.

use super::line_syntax::numbered_lines;
use super::{
    DeclaredProgram, Dependency, DependencyScope, DocumentNode, DocumentSyntaxError, Ecosystem, HintStrength,
    Manifest, ProgramOrigin, parse_toml, parse_yaml,
};
use crate::language::Language;
use crate::package_manager::PackageManager;
use crate::source::{self, CallArgument};

/// Normalizes a package name as package indexes do.
pub(crate) fn normalize_package_name(name: &str) -> String {
    let mut normal = String::with_capacity(name.len());
    for c in name.chars() {
        let c = if matches!(c, '_' | '.') { '-' } else { c.to_ascii_lowercase() };
        if c != '-' || !normal.ends_with('-') {
            normal.push(c);
        }
    }
    normal
}

/// Parses `name[extra]>=1; marker` into the name and the version requirement.
fn parse_requirement(text: &str, scope: DependencyScope, line: u32) -> Option<Dependency> {
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
    Some(Dependency::new(
        normalize_package_name(name),
        Some(versions.trim_matches(['(', ')', ' '])),
        scope,
        line,
    ))
}

pub(super) fn parse_pyproject(path: &str, text: &str) -> Result<Manifest, DocumentSyntaxError> {
    let document = parse_toml(text)?;
    let mut manifest = Manifest::new(path, Ecosystem::Python);
    let (project, tool) = (document.get("project"), document.get("tool"));
    let poetry = tool.get("poetry");
    let name = project.get("name").as_text().or_else(|| poetry.get("name").as_text());
    manifest.name = name.map(str::to_owned);
    add_requirements(project.get("dependencies"), DependencyScope::Main, &mut manifest);
    for (_, extra) in project.get("optional-dependencies").entries() {
        add_requirements(extra, DependencyScope::Optional, &mut manifest);
    }
    for (_, group) in document.get("dependency-groups").entries() {
        add_requirements(group, DependencyScope::Dev, &mut manifest);
    }
    add_requirements(tool.get_path(["uv", "dev-dependencies"]), DependencyScope::Dev, &mut manifest);
    for (_, group) in tool.get_path(["pdm", "dev-dependencies"]).entries() {
        add_requirements(group, DependencyScope::Dev, &mut manifest);
    }
    add_dependency_table(poetry.get("dependencies"), DependencyScope::Main, &mut manifest);
    add_dependency_table(poetry.get("dev-dependencies"), DependencyScope::Dev, &mut manifest);
    for (_, group) in poetry.get("group").entries() {
        add_dependency_table(group.get("dependencies"), DependencyScope::Dev, &mut manifest);
    }
    for scripts in [project.get("scripts"), project.get("gui-scripts"), poetry.get("scripts")] {
        for (name, target) in scripts.entries() {
            let target_text =
                target.as_text().or_else(|| target.get("callable").as_text()).unwrap_or_default();
            manifest.programs.push(DeclaredProgram::for_module(
                target_text,
                target.line,
                ProgramOrigin::with_name("console script", name),
            ));
        }
    }
    manifest.is_workspace = tool.get_path(["uv", "workspace"]).exists();
    for manager in [PackageManager::Uv, PackageManager::Poetry, PackageManager::Pdm] {
        let own = tool.get(manager.name());
        if own.exists() {
            manifest.add_hint(manager, HintStrength::OwnFile, own.line, format!("[tool.{}]", manager.name()));
        }
    }
    let backend = document.get_path(["build-system", "build-backend"]);
    let builder = match backend.as_text().unwrap_or_default() {
        text if text.starts_with("poetry") => Some(PackageManager::Poetry),
        text if text.starts_with("pdm") => Some(PackageManager::Pdm),
        text if text.starts_with("uv_build") => Some(PackageManager::Uv),
        _ => None,
    };
    if let Some(manager) = builder {
        manifest.add_hint(manager, HintStrength::Configured, backend.line, "the build backend");
    }
    if project.exists() || poetry.exists() || document.get("build-system").exists() {
        manifest.add_hint(
            PackageManager::Pip,
            HintStrength::Default,
            1,
            "pyproject.toml without a manager's own section",
        );
    }
    Ok(manifest)
}

fn add_requirements(list: &DocumentNode, scope: DependencyScope, manifest: &mut Manifest) {
    let found = list.items().iter().filter_map(|item| parse_requirement(item.as_text()?, scope, item.line));
    manifest.dependencies.extend(found);
}

/// A table of names and versions, as used by Poetry and Pipenv.
fn add_dependency_table(table: &DocumentNode, scope: DependencyScope, manifest: &mut Manifest) {
    for (name, value) in table.entries().filter(|(name, _)| *name != "python") {
        let version = value.as_text().or_else(|| value.get("version").as_text());
        let optional = value.get("optional").as_text() == Some("true");
        let scope =
            if optional && scope == DependencyScope::Main { DependencyScope::Optional } else { scope };
        manifest.dependencies.push(Dependency::new(normalize_package_name(name), version, scope, value.line));
    }
}

pub(super) fn parse_pipfile(path: &str, text: &str) -> Result<Manifest, DocumentSyntaxError> {
    let document = parse_toml(text)?;
    let mut manifest = Manifest::new(path, Ecosystem::Python);
    manifest.add_hint(PackageManager::Pipenv, HintStrength::OwnFile, 1, "Pipfile");
    add_dependency_table(document.get("packages"), DependencyScope::Main, &mut manifest);
    add_dependency_table(document.get("dev-packages"), DependencyScope::Dev, &mut manifest);
    for (name, script) in document.get("scripts").entries() {
        let command = script.as_text().unwrap_or_default();
        manifest.programs.extend(DeclaredProgram::from_command(
            command,
            script.line,
            ProgramOrigin::with_name("script", name),
        ));
    }
    Ok(manifest)
}

pub(super) fn parse_conda_environment(path: &str, text: &str) -> Result<Manifest, DocumentSyntaxError> {
    let document = parse_yaml(text)?;
    let mut manifest = Manifest::new(path, Ecosystem::Python);
    let dependencies = document.get("dependencies");
    if !dependencies.exists() {
        return Ok(manifest); // an unrelated file with that name
    }
    manifest.name = document.get("name").as_text().map(str::to_owned);
    manifest.add_file_hint(PackageManager::Conda, HintStrength::OwnFile, dependencies.line);
    for item in dependencies.items() {
        if let Some(text) = item.as_text() {
            let plain = text.rsplit("::").next().unwrap_or(text);
            let mut found =
                parse_requirement(plain, DependencyScope::Main, item.line).filter(|d| d.name != "python");
            // In conda, `=3.1` matches every 3.1.x.
            let fuzzy =
                found.as_mut().and_then(|d| d.requirement.as_mut()).filter(|text| !text.starts_with("=="));
            fuzzy.into_iter().filter(|text| text.starts_with('=')).for_each(|text| text.push_str(".*"));
            manifest.dependencies.extend(found);
        }
        add_requirements(item.get("pip"), DependencyScope::Main, &mut manifest);
    }
    Ok(manifest)
}

pub(super) fn parse_requirements(path: &str, text: &str) -> Result<Manifest, DocumentSyntaxError> {
    let mut manifest = Manifest::new(path, Ecosystem::Python);
    let name = super::file_name(path).to_ascii_lowercase();
    let dev = ["dev", "test", "lint", "doc", "ci", "format"].iter().any(|word| name.contains(word));
    let scope = match dev {
        true => DependencyScope::Dev,
        false if path.contains("extras/") || name.contains("optional") => DependencyScope::Optional,
        false => DependencyScope::Main,
    };
    manifest.add_file_hint(PackageManager::Pip, HintStrength::Default, 1);
    for (line, written) in numbered_lines(text) {
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
            manifest.includes.push(join_path(super::parent_folder(path), file));
        } else if let Some((_, egg)) = written.split_once("#egg=") {
            manifest.dependencies.extend(parse_requirement(egg, scope, line));
        } else if !written.starts_with('-') {
            manifest.dependencies.extend(parse_requirement(written.trim_end_matches('\\'), scope, line));
        }
    }
    Ok(manifest)
}

/// Joins a path to a folder and resolves `.` and `..`. A path that leaves the root keeps its `..` and is
/// rejected when opened.
pub(crate) fn join_path(folder: &str, path: &str) -> String {
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

pub(super) fn parse_setup_cfg(path: &str, text: &str) -> Result<Manifest, DocumentSyntaxError> {
    let mut manifest = Manifest::new(path, Ecosystem::Python);
    let (mut section, mut key) = (String::new(), String::new());
    for (line, written) in numbered_lines(text) {
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
        apply_setup_option(&section, &key, value, line, &mut manifest);
    }
    Ok(manifest)
}

fn apply_setup_option(section: &str, key: &str, value: &str, line: u32, manifest: &mut Manifest) {
    match (section, key) {
        ("metadata", "name") => {
            manifest.name = Some(value.to_owned());
            manifest.add_hint(PackageManager::Pip, HintStrength::Default, line, "setup.cfg");
        }
        ("options", "install_requires") => {
            manifest.dependencies.extend(parse_requirement(value, DependencyScope::Main, line));
        }
        ("options.extras_require", _) => {
            manifest.dependencies.extend(parse_requirement(value, DependencyScope::Optional, line));
        }
        ("options.entry_points", "console_scripts") => {
            if let Some((name, target)) = value.split_once('=') {
                let says = ProgramOrigin::with_name("console script", name.trim());
                manifest.programs.push(DeclaredProgram::for_module(target, line, says));
            }
        }
        _ => {}
    }
}

pub(super) fn parse_setup_py(path: &str, text: &str) -> Result<Manifest, DocumentSyntaxError> {
    let mut manifest = Manifest::new(path, Ecosystem::Python);
    let Ok(source) = source::parse(path, text, Language::Python) else {
        return Err(DocumentSyntaxError { line: 1, reason: "it has a syntax error".to_owned() });
    };
    let Some(setup) = source.calls.iter().find(|call| call.callee.rsplit('.').next() == Some("setup")) else {
        return Ok(manifest);
    };
    manifest.add_hint(PackageManager::Pip, HintStrength::Default, setup.line, "setup.py");
    if let Some(CallArgument::Text(name)) = setup.keyword_argument("name") {
        manifest.name = Some(name.clone());
    }
    let texts = |argument: Option<&CallArgument>| match argument {
        Some(CallArgument::List(items)) => items.clone(),
        _ => Vec::new(),
    };
    for item in texts(setup.keyword_argument("install_requires")) {
        if let CallArgument::Text(text) = item {
            manifest.dependencies.extend(parse_requirement(&text, DependencyScope::Main, setup.line));
        }
    }
    if let Some(CallArgument::Map(entries)) = setup.keyword_argument("entry_points") {
        let scripts = entries.iter().find(|(name, _)| name == "console_scripts").map(|(_, value)| value);
        for item in texts(scripts) {
            if let CallArgument::Text(text) = item
                && let Some((name, target)) = text.split_once('=')
            {
                let says = ProgramOrigin::with_name("console script", name.trim());
                manifest.programs.push(DeclaredProgram::for_module(target, setup.line, says));
            }
        }
    }
    Ok(manifest)
}
