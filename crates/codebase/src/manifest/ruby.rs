//! Gemfiles and gemspecs.

use super::line_syntax::{blank_comments, numbered_lines, quoted_strings};
use super::{
    DeclaredProgram, Dependency, DependencyScope, DocumentSyntaxError, Ecosystem, HintStrength, Manifest,
};
use crate::package_manager::PackageManager;

pub(super) fn parse_gemfile(path: &str, text: &str) -> Result<Manifest, DocumentSyntaxError> {
    let mut manifest = Manifest::new(path, Ecosystem::Ruby);
    manifest.add_file_hint(PackageManager::Bundler, HintStrength::OwnFile, 1);
    let text = blank_comments(text, "#", Some(("\n=begin", "\n=end")));
    let mut blocks: Vec<bool> = Vec::new();
    for (line, written) in numbered_lines(&text) {
        let written = written.trim();
        let for_development = |text: &str| text.contains(":development") || text.contains(":test");
        if written.ends_with(" do") || written.starts_with("if ") || written.starts_with("unless ") {
            blocks.push(written.starts_with("group") && for_development(written));
        } else if written == "end" {
            blocks.pop();
        } else if let Some(gem) = written.strip_prefix("gem").filter(|rest| rest.starts_with([' ', '('])) {
            let strings = quoted_strings(gem);
            let dev = blocks.contains(&true) || for_development(gem);
            let version = strings.get(1).copied().filter(|text| text.contains(|c: char| c.is_ascii_digit()));
            let scope = if dev { DependencyScope::Dev } else { DependencyScope::Main };
            manifest
                .dependencies
                .extend(strings.first().map(|name| Dependency::new(*name, version, scope, line)));
        }
    }
    Ok(manifest)
}

pub(super) fn parse_gemspec(path: &str, text: &str) -> Result<Manifest, DocumentSyntaxError> {
    let mut manifest = Manifest::new(path, Ecosystem::Ruby);
    manifest.add_file_hint(PackageManager::Bundler, HintStrength::Configured, 1);
    manifest.is_library = true;
    for (line, written) in numbered_lines(&blank_comments(text, "#", None)) {
        if written.contains(".executables") {
            // `%w[gollum]` or `["gollum"]`, in `bin` or `exe`.
            let list = written.split_once('=').map_or("", |(_, list)| list).trim();
            let words =
                list.trim_start_matches("%w").split(|c: char| !(c.is_alphanumeric() || "_-".contains(c)));
            for word in words.filter(|word| !word.is_empty()) {
                for folder in ["bin", "exe"] {
                    let says = "an executable of the gem";
                    manifest.programs.push(DeclaredProgram::for_file(
                        &format!("{folder}/{word}"),
                        line,
                        says,
                    ));
                }
            }
        }
        let scope = if written.contains("add_development_dependency") {
            DependencyScope::Dev
        } else if written.contains("add_dependency") || written.contains("add_runtime_dependency") {
            DependencyScope::Main
        } else {
            continue;
        };
        let strings = quoted_strings(written);
        let version = strings.get(1).copied();
        manifest
            .dependencies
            .extend(strings.first().map(|name| Dependency::new(*name, version, scope, line)));
    }
    Ok(manifest)
}
