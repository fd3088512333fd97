//! `mix.exs`.

use super::line_syntax::{blank_comments, numbered_lines, quoted_strings};
use super::{
    DeclaredProgram, Dependency, DependencyScope, DocumentSyntaxError, Ecosystem, HintStrength, Manifest,
};
use crate::package_manager::PackageManager;

pub(super) fn parse_mix(path: &str, text: &str) -> Result<Manifest, DocumentSyntaxError> {
    let mut manifest = Manifest::new(path, Ecosystem::Elixir);
    manifest.add_hint(PackageManager::Mix, HintStrength::OwnFile, 1, "mix.exs");
    for (line, written) in numbered_lines(&blank_comments(text, "#", None)) {
        let written = written.trim();
        if let Some((_, name)) = written.split_once("app: :").filter(|_| manifest.name.is_none()) {
            manifest.name = Some(leading_identifier(name).to_owned());
        }
        if let Some((_, module)) = written.split_once("mod: {") {
            let module = module.split([',', '}']).next().unwrap_or_default().trim();
            manifest.programs.push(DeclaredProgram::for_file(
                &module_file(module),
                line,
                "`mod` of the application",
            ));
        }
        // `{:phoenix, "~> 1.7"}`
        if let Some(rest) = written.strip_prefix("{:").or_else(|| written.strip_prefix("[{:")) {
            let dev =
                rest.contains("only: :dev") || rest.contains("only: :test") || rest.contains("only: [:");
            let version = quoted_strings(rest)
                .first()
                .copied()
                .filter(|text| text.contains(|c: char| c.is_ascii_digit()));
            let scope = if dev { DependencyScope::Dev } else { DependencyScope::Main };
            manifest.dependencies.push(Dependency::new(leading_identifier(rest), version, scope, line));
        }
    }
    Ok(manifest)
}

fn leading_identifier(text: &str) -> &str {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default()
}

/// `LiveBeats.Application` is in `lib/live_beats/application.ex`.
fn module_file(module: &str) -> String {
    let part = |name: &str| {
        let mut snake = String::new();
        for c in name.chars() {
            if c.is_uppercase() && !snake.is_empty() {
                snake.push('_');
            }
            snake.extend(c.to_lowercase());
        }
        snake
    };
    format!("lib/{}.ex", module.split('.').map(part).collect::<Vec<_>>().join("/"))
}
