//! Detects existing FluxLoop projects and the release line of the CLI in use.

use crate::patterns;
use codebase::{NameKind, NameRedactor};
use serde_json::Value;
use tree::Tree;

use crate::ReleaseLine;
use crate::project::location;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FluxloopLayout {
    pub(crate) release_line: ReleaseLine,
    /// Why this release line.
    pub(crate) why: String,
    /// Names and folders of the existing projects or scenarios.
    pub(crate) projects: Vec<(String, String)>,
}

const MAX_MANIFEST_BYTES: u64 = 1 << 20;
const LOCK_FILES: [&str; 5] = ["uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pylock.toml"];
const MANIFEST_FILES: [&str; 5] =
    ["pyproject.toml", "requirements.txt", "requirements-dev.txt", "requirements/dev.txt", "Pipfile"];

impl FluxloopLayout {
    /// Detects the release line from project folders, then from declared versions in `package` and the root.
    /// `wanted` overrides both.
    pub(crate) fn detect(
        tree: &Tree,
        package: &str,
        wanted: Option<ReleaseLine>,
        redactor: &NameRedactor,
    ) -> Self {
        let places = find_projects(tree);
        let of_line = |line: ReleaseLine| {
            let own = places.iter().filter(|(known, ..)| *known == line);
            own.map(|(_, name, folder)| (name.clone(), folder.clone())).collect::<Vec<_>>()
        };
        let (release_line, why) = if let Some(line) = wanted {
            (line, "requested".to_owned())
        } else if let Some((line, _, folder)) = places.first() {
            (*line, format!("`{}` has the layout of this release line", redactor.folder(folder)))
        } else if let Some((line, why)) = declared_release_line(tree, package, redactor) {
            (line, why)
        } else {
            (ReleaseLine::NEWEST, "the newest, as the repository specifies no other".to_owned())
        };
        Self { release_line, why, projects: of_line(release_line) }
    }
}

fn exists(tree: &Tree, path: &str) -> bool {
    tree.metadata(path).ok().flatten().is_some()
}

/// Projects and scenarios at the root, each with its release line. Single-file projects are skipped: they are
/// too old to integrate into.
fn find_projects(tree: &Tree) -> Vec<(ReleaseLine, String, String)> {
    let mut found = Vec::new();
    for place in location::locations_in(tree, "") {
        if exists(tree, format!("{}/configs/simulation.yaml", place.folder).trim_start_matches('/')) {
            let name = place.folder.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(".");
            found.push((place.release_line, name.to_owned(), place.folder.clone()));
        }
    }
    found
}

/// The release line that a lock file or manifest specifies.
fn declared_release_line(
    tree: &Tree,
    package: &str,
    redactor: &NameRedactor,
) -> Option<(ReleaseLine, String)> {
    let folders =
        if package.is_empty() { vec![String::new()] } else { vec![format!("{package}/"), String::new()] };
    let read = |path: &str| String::from_utf8(tree.read(path, 16 * MAX_MANIFEST_BYTES).ok()?).ok();
    for folder in &folders {
        for file in LOCK_FILES {
            let path = format!("{folder}{file}");
            let Some(text) = read(&path).filter(|text| text.contains("fluxloop-cli")) else { continue };
            if let Some(version) = codebase::locked_version(file, &text, "fluxloop-cli") {
                let line = ReleaseLine::from_version(&version)?;
                let version = redactor.name(NameKind::Version, &version, &path, 0);
                return Some((line, format!("`{}` locks fluxloop-cli {version}", redactor.file(&path))));
            }
        }
        for file in MANIFEST_FILES {
            let path = format!("{folder}{file}");
            let Some(text) = read(&path) else { continue };
            if let Some((line, wanted)) = required_release_line(&text) {
                let wanted = match wanted.as_str() {
                    "" => String::new(),
                    wanted => format!(" {}", redactor.name(NameKind::Version, wanted, &path, 0)),
                };
                return Some((line, format!("`{}` requires fluxloop-cli{wanted}", redactor.file(&path))));
            }
        }
    }
    None
}

/// The newest release line that a requirement such as `fluxloop-cli==0.2.30`, `~=0.3.5`, `<0.4` or `>=0.2`
/// allows, and the version specifier as written.
fn required_release_line(text: &str) -> Option<(ReleaseLine, String)> {
    let name =
        patterns::compile(r#"(?m)^[^#\n]*?\bfluxloop[-_.]cli\b(?:\s*=\s*["']|["']?\s*)([^"'#;\n]*)"#).ok()?;
    let found = name.captures(text)?;
    let wanted = found.get(1)?.as_str().trim().trim_end_matches([',', ']']).trim();
    let bound = patterns::compile(r"(==|~=|<|\^|~)\s*(\d+(?:\.\d+)*)").ok()?;
    let line = match bound.captures(wanted) {
        None => ReleaseLine::NEWEST,
        Some(bound) => match (&bound[1], ReleaseLine::from_version(&bound[2])?) {
            ("<", ReleaseLine::V04) if bound[2].starts_with("0.4") => ReleaseLine::V03,
            ("<", ReleaseLine::V03 | ReleaseLine::V02) => ReleaseLine::V02,
            (_, line) => line,
        },
    };
    Some((line, wanted.to_owned()))
}

/// The inputs file of a 0.2 or 0.3 project, relative to its folder.
pub(crate) fn find_inputs_file(tree: &Tree, folder: &str) -> Option<String> {
    let pattern = patterns::compile(r#"(?m)^inputs_file:\s*["']?([^"'#\n]+?)["']?\s*(?:#.*)?$"#).ok()?;
    let texts = ["simulation.yaml", "input.yaml"].iter().filter_map(|file| {
        String::from_utf8(tree.read(&format!("{folder}/configs/{file}"), MAX_MANIFEST_BYTES).ok()?).ok()
    });
    texts.into_iter().find_map(|text| Some(pattern.captures(&text)?.get(1)?.as_str().to_owned()))
}

pub(crate) fn read_package_json(tree: &Tree, package: &str) -> Option<Value> {
    let path = if package.is_empty() { "package.json".to_owned() } else { format!("{package}/package.json") };
    serde_json::from_slice(&tree.read(&path, MAX_MANIFEST_BYTES).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_map_to_release_lines() {
        let line = |text: &str| required_release_line(text).map(|(line, _)| line.name());
        assert_eq!(line("fluxloop-cli==0.2.30\n"), Some("0.2"));
        assert_eq!(line("dependencies = [\n \"fluxloop-cli~=0.3.5\",\n]"), Some("0.3"));
        assert_eq!(line("\"fluxloop_cli>=0.2,<0.3\""), Some("0.2"));
        assert_eq!(line("fluxloop-cli = \"^0.3.4\""), Some("0.3"));
        assert_eq!(line("fluxloop-cli>=0.3,<0.4"), Some("0.3"));
        assert_eq!(line("fluxloop-cli"), Some("0.4"));
        assert_eq!(line("# fluxloop-cli==0.2\nfluxloop>=0.1\n"), None);
    }
}
