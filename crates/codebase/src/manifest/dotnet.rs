//! `MSBuild` projects.

use super::{
    DeclaredProgram, Dependency, DependencyScope, DocumentNode, DocumentSyntaxError, Ecosystem, HintStrength,
    Manifest, parse_xml,
};
use crate::package_manager::PackageManager;

pub(super) fn parse_project(path: &str, text: &str) -> Result<Manifest, DocumentSyntaxError> {
    let document = parse_xml(text)?;
    let project = document.get("Project");
    let mut manifest = Manifest::new(path, Ecosystem::Dotnet);
    manifest.add_file_hint(PackageManager::Nuget, HintStrength::OwnFile, 1);
    manifest.name = super::file_name(path).rsplit_once('.').map(|(stem, _)| stem.to_owned());
    // `Sdk="Microsoft.NET.Sdk.Web"` makes it a web project.
    let sdk = project.get("@Sdk");
    manifest
        .dependencies
        .extend(sdk.as_text().map(|name| Dependency::new(name, None, DependencyScope::Main, sdk.line)));
    for group in project.get_all("ItemGroup") {
        for kind in ["PackageReference", "FrameworkReference"] {
            manifest.dependencies.extend(group.get_all(kind).filter_map(parse_reference));
        }
    }
    let output = project.get_all("PropertyGroup").find_map(|group| group.get("OutputType").as_text());
    if output == Some("Exe") || sdk.as_text().is_some_and(builds_program) {
        manifest.programs.push(DeclaredProgram::for_file(
            "Program.cs",
            sdk.line.max(1),
            "the project builds a program",
        ));
    }
    Ok(manifest)
}

/// SDKs whose projects always build a program.
fn builds_program(sdk: &str) -> bool {
    [".Web", ".BlazorWebAssembly", ".Worker"].iter().any(|kind| sdk.ends_with(kind))
}

fn parse_reference(node: &DocumentNode) -> Option<Dependency> {
    let version = node.get("@Version").as_text().or_else(|| node.get("Version").as_text());
    Some(Dependency::new(node.get("@Include").as_text()?, version, DependencyScope::Main, node.line))
}

/// `Directory.Packages.props`: versions for all projects below.
pub(super) fn parse_central_packages(path: &str, text: &str) -> Result<Manifest, DocumentSyntaxError> {
    let document = parse_xml(text)?;
    let mut manifest = Manifest::new(path, Ecosystem::Dotnet);
    manifest.is_workspace = true;
    for group in document.get("Project").get_all("ItemGroup") {
        manifest.shared_versions.extend(group.get_all("PackageVersion").filter_map(parse_reference));
    }
    Ok(manifest)
}
