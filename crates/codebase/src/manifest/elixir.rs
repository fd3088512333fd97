//! Mix.

use super::text::{numbered, quoted, without_comments};
use super::{Broken, Dependency, Ecosystem, Manifest, Program, Scope, Weight};
use crate::manager::Manager;

pub(super) fn mix(path: &str, text: &str) -> Result<Manifest, Broken> {
    let mut manifest = Manifest::new(path, Ecosystem::Elixir);
    manifest.hint(Manager::Mix, Weight::Own, 1, "mix.exs");
    for (line, written) in numbered(&without_comments(text, "#", None)) {
        let written = written.trim();
        if let Some((_, name)) = written.split_once("app: :").filter(|_| manifest.name.is_none()) {
            manifest.name = Some(word(name).to_owned());
        }
        if let Some((_, module)) = written.split_once("mod: {") {
            let module = module.split([',', '}']).next().unwrap_or_default().trim();
            manifest.programs.push(Program::file(&file_of(module), line, "`mod` of the application"));
        }
        // `{:phoenix, "~> 1.7"}`
        if let Some(rest) = written.strip_prefix("{:").or_else(|| written.strip_prefix("[{:")) {
            let dev =
                rest.contains("only: :dev") || rest.contains("only: :test") || rest.contains("only: [:");
            let version =
                quoted(rest).first().copied().filter(|text| text.contains(|c: char| c.is_ascii_digit()));
            let scope = if dev { Scope::Dev } else { Scope::Main };
            manifest.dependencies.push(Dependency::new(word(rest), version, scope, line));
        }
    }
    Ok(manifest)
}

fn word(text: &str) -> &str {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default()
}

/// `LiveBeats.Application` is in `lib/live_beats/application.ex`.
fn file_of(module: &str) -> String {
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
