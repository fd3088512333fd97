//! The FluxLoop project that is there already, and the line of the CLI that it belongs to.

use codebase::{NameKind, RepositoryTexts};
use regex::Regex;
use serde_json::Value;
use tree::Tree;

use crate::Line;
use crate::project::place;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) line: Line,
    /// Why it is this line.
    pub(crate) why: String,
    /// The projects or scenarios that are there: their names, and their folders.
    pub(crate) projects: Vec<(String, String)>,
}

const LARGEST: u64 = 1 << 20;
const LOCKS: [&str; 5] = ["uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pylock.toml"];
const MANIFESTS: [&str; 5] =
    ["pyproject.toml", "requirements.txt", "requirements-dev.txt", "requirements/dev.txt", "Pipfile"];

impl Layout {
    /// Looks at folders and versions; `package` is the folder of the chosen package. `wanted` settles it.
    pub(crate) fn find(tree: &Tree, package: &str, wanted: Option<Line>, texts: &RepositoryTexts) -> Self {
        let places = projects(tree);
        let of_line = |line: Line| {
            let own = places.iter().filter(|(known, ..)| *known == line);
            own.map(|(_, name, folder)| (name.clone(), folder.clone())).collect::<Vec<_>>()
        };
        let (line, why) = if let Some(line) = wanted {
            (line, "it was asked for".to_owned())
        } else if let Some((line, _, folder)) = places.first() {
            (*line, format!("`{}` has the folders of this line", texts.folder(folder)))
        } else if let Some((line, why)) = declared(tree, package, texts) {
            (line, why)
        } else {
            (Line::NEWEST, "nothing in the repository names another, and it is the newest".to_owned())
        };
        Self { line, why, projects: of_line(line) }
    }
}

fn is_there(tree: &Tree, path: &str) -> bool {
    tree.find(path).ok().flatten().is_some()
}

/// Projects and scenarios at the root, each with its line. Those in one file are too old to be integrated into.
fn projects(tree: &Tree) -> Vec<(Line, String, String)> {
    let mut found = Vec::new();
    for place in place::places(tree, "") {
        if is_there(tree, format!("{}/configs/simulation.yaml", place.folder).trim_start_matches('/')) {
            let name = place.folder.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(".");
            found.push((place.line, name.to_owned(), place.folder.clone()));
        }
    }
    found
}

/// The line that a lock file or a manifest names.
fn declared(tree: &Tree, package: &str, texts: &RepositoryTexts) -> Option<(Line, String)> {
    let folders =
        if package.is_empty() { vec![String::new()] } else { vec![format!("{package}/"), String::new()] };
    let read = |path: &str| String::from_utf8(tree.read(path, 16 * LARGEST).ok()?).ok();
    for folder in &folders {
        for file in LOCKS {
            let path = format!("{folder}{file}");
            let Some(text) = read(&path).filter(|text| text.contains("fluxloop-cli")) else { continue };
            if let Some(version) = codebase::locked_version(file, &text, "fluxloop-cli") {
                let line = Line::of_version(&version)?;
                let version = texts.name(NameKind::Version, &version, &path, 0);
                return Some((line, format!("`{}` has fluxloop-cli {version}", texts.file(&path))));
            }
        }
        for file in MANIFESTS {
            let path = format!("{folder}{file}");
            let Some(text) = read(&path) else { continue };
            if let Some((line, wanted)) = required(&text) {
                let wanted = match wanted.as_str() {
                    "" => String::new(),
                    wanted => format!(" {}", texts.name(NameKind::Version, wanted, &path, 0)),
                };
                return Some((line, format!("`{}` asks for fluxloop-cli{wanted}", texts.file(&path))));
            }
        }
    }
    None
}

/// What `fluxloop-cli==0.2.30`, `~=0.3.5`, `<0.4` or `>=0.2` allow at most, and the versions as they are written.
fn required(text: &str) -> Option<(Line, String)> {
    let name = Regex::new(r#"(?m)^[^#\n]*?\bfluxloop[-_.]cli\b(?:\s*=\s*["']|["']?\s*)([^"'#;\n]*)"#).ok()?;
    let found = name.captures(text)?;
    let wanted = found.get(1)?.as_str().trim().trim_end_matches([',', ']']).trim();
    let bound = Regex::new(r"(==|~=|<|\^|~)\s*(\d+(?:\.\d+)*)").ok()?;
    let line = match bound.captures(wanted) {
        None => Line::NEWEST,
        Some(bound) => match (&bound[1], Line::of_version(&bound[2])?) {
            ("<", Line::V04) if bound[2].starts_with("0.4") => Line::V03,
            ("<", Line::V03 | Line::V02) => Line::V02,
            (_, line) => line,
        },
    };
    Some((line, wanted.to_owned()))
}

/// The file with inputs that a project of 0.2 or 0.3 names, from its folder.
pub(crate) fn inputs_file(tree: &Tree, folder: &str) -> Option<String> {
    let pattern = Regex::new(r#"(?m)^inputs_file:\s*["']?([^"'#\n]+?)["']?\s*(?:#.*)?$"#).ok()?;
    let texts = ["simulation.yaml", "input.yaml"].iter().filter_map(|file| {
        String::from_utf8(tree.read(&format!("{folder}/configs/{file}"), LARGEST).ok()?).ok()
    });
    texts.into_iter().find_map(|text| Some(pattern.captures(&text)?.get(1)?.as_str().to_owned()))
}

/// The scripts of a `package.json`, and whether it depends on a package.
pub(crate) fn package_json(tree: &Tree, package: &str) -> Option<Value> {
    let path = if package.is_empty() { "package.json".to_owned() } else { format!("{package}/package.json") };
    serde_json::from_slice(&tree.read(&path, LARGEST).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_name_a_line() {
        let line = |text: &str| required(text).map(|(line, _)| line.name());
        assert_eq!(line("fluxloop-cli==0.2.30\n"), Some("0.2"));
        assert_eq!(line("dependencies = [\n \"fluxloop-cli~=0.3.5\",\n]"), Some("0.3"));
        assert_eq!(line("\"fluxloop_cli>=0.2,<0.3\""), Some("0.2"));
        assert_eq!(line("fluxloop-cli = \"^0.3.4\""), Some("0.3"));
        assert_eq!(line("fluxloop-cli>=0.3,<0.4"), Some("0.3"));
        assert_eq!(line("fluxloop-cli"), Some("0.4"));
        assert_eq!(line("# fluxloop-cli==0.2\nfluxloop>=0.1\n"), None);
    }
}
