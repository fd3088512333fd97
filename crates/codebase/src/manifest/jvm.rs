//! Maven and Gradle build files.

use std::collections::BTreeMap;

use super::line_syntax::{blank_comments, numbered_lines, quoted_strings};
use super::{
    Dependency, DependencyScope, DocumentNode, DocumentSyntaxError, Ecosystem, HintStrength, Manifest,
    parse_toml, parse_xml,
};
use crate::package_manager::PackageManager;

pub(super) fn parse_pom(path: &str, text: &str) -> Result<Manifest, DocumentSyntaxError> {
    let document = parse_xml(text)?;
    let project = document.get("project");
    let mut manifest = Manifest::new(path, Ecosystem::Jvm);
    manifest.add_hint(PackageManager::Maven, HintStrength::OwnFile, 1, "pom.xml");
    manifest.name = project.get("artifactId").as_text().map(str::to_owned);
    manifest.is_workspace = project.get("packaging").as_text() == Some("pom");
    let properties: BTreeMap<&str, &DocumentNode> = project.get("properties").entries().collect();
    let version = |node: &DocumentNode| {
        let text = node.get("version").as_text()?;
        // `${spring.version}` refers to a property.
        match text.strip_prefix("${").and_then(|name| name.strip_suffix('}')) {
            Some(property) => properties.get(property)?.as_text().map(str::to_owned),
            None => Some(text.to_owned()),
        }
    };
    let one = |node: &DocumentNode| {
        let name = maven_coordinates(node)?;
        let scope = if node.get("scope").as_text() == Some("test") {
            DependencyScope::Dev
        } else {
            DependencyScope::Main
        };
        Some(Dependency::new(name, version(node).as_deref(), scope, node.line))
    };
    let parent = project.get("parent");
    manifest.parent = maven_coordinates(parent);
    let group =
        project.get("groupId").as_text().or_else(|| parent.get("groupId").as_text()).unwrap_or_default();
    manifest.coordinates = manifest.name.as_ref().map(|artifact| format!("{group}:{artifact}"));
    manifest.dependencies.extend(one(parent));
    manifest.dependencies.extend(project.get("dependencies").get_all("dependency").filter_map(one));
    manifest.dependencies.extend(project.get_path(["build", "plugins"]).get_all("plugin").filter_map(one));
    let managed = project.get_path(["dependencyManagement", "dependencies"]);
    manifest.shared_versions.extend(managed.get_all("dependency").filter_map(one));
    Ok(manifest)
}

fn maven_coordinates(node: &DocumentNode) -> Option<String> {
    Some(format!("{}:{}", node.get("groupId").as_text()?, node.get("artifactId").as_text()?))
}

pub(super) fn parse_gradle(path: &str, text: &str) -> Result<Manifest, DocumentSyntaxError> {
    let mut manifest = Manifest::new(path, Ecosystem::Jvm);
    manifest.add_file_hint(PackageManager::Gradle, HintStrength::OwnFile, 1);
    let text = blank_comments(text, "//", Some(("/*", "*/")));
    for (line, written) in numbered_lines(&text) {
        let written = written.trim();
        let word = written.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        let strings = quoted_strings(written);
        let dependency = match word {
            "id" => parse_plugin(written, &strings, line),
            "apply" => strings.first().map(|name| Dependency::new(*name, None, DependencyScope::Main, line)),
            "alias" => parse_catalog_reference(written, DependencyScope::Main, line),
            _ if word.ends_with("mplementation") || is_dependency_configuration(word) => {
                let scope =
                    if word.starts_with("test") { DependencyScope::Dev } else { DependencyScope::Main };
                parse_artifact(&strings, scope, line)
                    .or_else(|| parse_catalog_reference(written, scope, line))
            }
            _ => None,
        };
        manifest.dependencies.extend(dependency);
    }
    Ok(manifest)
}

fn is_dependency_configuration(word: &str) -> bool {
    matches!(
        word,
        "api" | "compile" | "compileOnly" | "runtimeOnly" | "developmentOnly" | "classpath" | "kapt"
    ) || word.starts_with("test")
}

/// `id 'org.springframework.boot' version '3.3.0'`.
fn parse_plugin(written: &str, strings: &[&str], line: u32) -> Option<Dependency> {
    let version = written.contains("version").then(|| strings.get(1).copied()).flatten();
    strings.first().map(|name| Dependency::new(*name, version, DependencyScope::Main, line))
}

/// `"group:name:version"`, or the three parts as separate strings.
fn parse_artifact(strings: &[&str], scope: DependencyScope, line: u32) -> Option<Dependency> {
    match strings {
        [group, name, rest @ ..] if !group.contains(':') && group.contains('.') => {
            Some(Dependency::new(format!("{group}:{name}"), rest.first().copied(), scope, line))
        }
        [coordinates, ..] => {
            let mut parts = coordinates.splitn(3, ':');
            let name = format!("{}:{}", parts.next()?, parts.next()?);
            Some(Dependency::new(name, parts.next(), scope, line))
        }
        [] => None,
    }
}

/// `libs.plugins.spring.boot`: resolved later through the version catalog, where the key is `spring-boot`.
fn parse_catalog_reference(written: &str, scope: DependencyScope, line: u32) -> Option<Dependency> {
    let (_, reference) = written.split_once("libs.")?;
    let end =
        reference.find(|c: char| !(c.is_alphanumeric() || c == '.' || c == '_')).unwrap_or(reference.len());
    let alias = reference[..end].trim_start_matches("plugins.").replace('.', "-");
    Some(Dependency::new(format!("libs:{alias}"), None, scope, line))
}

/// `gradle/libs.versions.toml`.
pub(super) fn parse_version_catalog(path: &str, text: &str) -> Result<Manifest, DocumentSyntaxError> {
    let document = parse_toml(text)?;
    let mut manifest = Manifest::new(path, Ecosystem::Jvm);
    manifest.is_workspace = true;
    manifest.add_hint(PackageManager::Gradle, HintStrength::OwnFile, 1, "libs.versions.toml");
    let versions: BTreeMap<&str, &DocumentNode> = document.get("versions").entries().collect();
    let version = |node: &DocumentNode| {
        let version = node.get("version");
        let by_name = || versions.get(version.get("ref").as_text()?)?.as_text();
        version.as_text().or_else(by_name).map(str::to_owned)
    };
    let plugins = document.get("plugins").entries().filter_map(|(alias, node)| {
        let id = node.get("id").as_text().or_else(|| node.as_text()?.split(':').next())?;
        Some((alias, id.to_owned(), node))
    });
    let libraries = document.get("libraries").entries().filter_map(|(alias, node)| {
        let apart = || Some(format!("{}:{}", node.get("group").as_text()?, node.get("name").as_text()?));
        let whole = node.get("module").as_text().or_else(|| node.as_text()).map(str::to_owned);
        Some((alias, whole.or_else(apart)?, node))
    });
    for (alias, name, node) in plugins.chain(libraries) {
        let name = format!("libs:{}={name}", alias.replace(['_', '.'], "-"));
        manifest.shared_versions.push(Dependency::new(
            name,
            version(node).as_deref(),
            DependencyScope::Main,
            node.line,
        ));
    }
    Ok(manifest)
}
