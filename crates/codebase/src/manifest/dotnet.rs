//! `MSBuild` projects.

use super::{Broken, Dependency, Ecosystem, Manifest, Node, Program, Scope, Weight, xml};
use crate::manager::Manager;

pub(super) fn project(path: &str, text: &str) -> Result<Manifest, Broken> {
    let document = xml(text)?;
    let project = document.get("Project");
    let mut manifest = Manifest::new(path, Ecosystem::Dotnet);
    manifest.hint_by_file(Manager::Nuget, Weight::Own, 1);
    manifest.name = super::name_of(path).rsplit_once('.').map(|(stem, _)| stem.to_owned());
    // `Sdk="Microsoft.NET.Sdk.Web"` is what makes it a web project.
    let sdk = project.get("@Sdk");
    manifest
        .dependencies
        .extend(sdk.as_text().map(|name| Dependency::new(name, None, Scope::Main, sdk.line)));
    for group in project.all("ItemGroup") {
        for kind in ["PackageReference", "FrameworkReference"] {
            manifest.dependencies.extend(group.all(kind).filter_map(reference));
        }
    }
    let output = project.all("PropertyGroup").find_map(|group| group.get("OutputType").as_text());
    if output == Some("Exe") || sdk.as_text().is_some_and(builds_program) {
        manifest.programs.push(Program::file("Program.cs", sdk.line.max(1), "the project builds a program"));
    }
    Ok(manifest)
}

/// Kinds of projects that always come to a program.
fn builds_program(sdk: &str) -> bool {
    [".Web", ".BlazorWebAssembly", ".Worker"].iter().any(|kind| sdk.ends_with(kind))
}

fn reference(node: &Node) -> Option<Dependency> {
    let version = node.get("@Version").as_text().or_else(|| node.get("Version").as_text());
    Some(Dependency::new(node.get("@Include").as_text()?, version, Scope::Main, node.line))
}

/// `Directory.Packages.props`: versions for all projects beneath.
pub(super) fn central(path: &str, text: &str) -> Result<Manifest, Broken> {
    let document = xml(text)?;
    let mut manifest = Manifest::new(path, Ecosystem::Dotnet);
    manifest.is_workspace = true;
    for group in document.get("Project").all("ItemGroup") {
        manifest.shared.extend(group.all("PackageVersion").filter_map(reference));
    }
    Ok(manifest)
}
