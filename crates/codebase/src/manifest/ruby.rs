//! Bundler.

use super::text::{numbered, quoted, without_comments};
use super::{Broken, Dependency, Ecosystem, Manifest, Program, Scope, Weight};
use crate::manager::Manager;

pub(super) fn gemfile(path: &str, text: &str) -> Result<Manifest, Broken> {
    let mut manifest = Manifest::new(path, Ecosystem::Ruby);
    manifest.hint_by_file(Manager::Bundler, Weight::Own, 1);
    let text = without_comments(text, "#", Some(("\n=begin", "\n=end")));
    let mut blocks: Vec<bool> = Vec::new();
    for (line, written) in numbered(&text) {
        let written = written.trim();
        let for_development = |text: &str| text.contains(":development") || text.contains(":test");
        if written.ends_with(" do") || written.starts_with("if ") || written.starts_with("unless ") {
            blocks.push(written.starts_with("group") && for_development(written));
        } else if written == "end" {
            blocks.pop();
        } else if let Some(gem) = written.strip_prefix("gem").filter(|rest| rest.starts_with([' ', '('])) {
            let strings = quoted(gem);
            let dev = blocks.contains(&true) || for_development(gem);
            let version = strings.get(1).copied().filter(|text| text.contains(|c: char| c.is_ascii_digit()));
            let scope = if dev { Scope::Dev } else { Scope::Main };
            manifest
                .dependencies
                .extend(strings.first().map(|name| Dependency::new(*name, version, scope, line)));
        }
    }
    Ok(manifest)
}

pub(super) fn gemspec(path: &str, text: &str) -> Result<Manifest, Broken> {
    let mut manifest = Manifest::new(path, Ecosystem::Ruby);
    manifest.hint_by_file(Manager::Bundler, Weight::Configured, 1);
    manifest.is_library = true;
    for (line, written) in numbered(&without_comments(text, "#", None)) {
        if written.contains(".executables") {
            // `%w[gollum]` or `["gollum"]`, in `bin` or `exe`.
            let list = written.split_once('=').map_or("", |(_, list)| list).trim();
            let words =
                list.trim_start_matches("%w").split(|c: char| !(c.is_alphanumeric() || "_-".contains(c)));
            for word in words.filter(|word| !word.is_empty()) {
                for folder in ["bin", "exe"] {
                    let says = "an executable of the gem";
                    manifest.programs.push(Program::file(&format!("{folder}/{word}"), line, says));
                }
            }
        }
        let scope = if written.contains("add_development_dependency") {
            Scope::Dev
        } else if written.contains("add_dependency") || written.contains("add_runtime_dependency") {
            Scope::Main
        } else {
            continue;
        };
        let strings = quoted(written);
        let version = strings.get(1).copied();
        manifest
            .dependencies
            .extend(strings.first().map(|name| Dependency::new(*name, version, scope, line)));
    }
    Ok(manifest)
}
