//! Where projects are: in which folders, of which line of the CLI.

use std::collections::{BTreeMap, VecDeque};

use tree::{Entry, Kind, Tree};

use super::file::join;
use super::limits;
use crate::Line;

/// A project or scenario that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: Line,
    /// Its folder; the root of the tree is `""`.
    pub(crate) folder: String,
    /// The one file that has all settings, in old projects.
    pub(crate) single_file: Option<String>,
    /// The folder `.fluxloop` that it belongs to.
    pub(crate) workspace: Option<String>,
}

/// Folders whose contents somebody else wrote, or a program did.
const OF_OTHERS: [&str; 9] = [
    "node_modules",
    "site-packages",
    "__pycache__",
    "target",
    "venv",
    "vendor",
    "third_party",
    "dist",
    "build",
];
/// Folders of a project, in which there is no other.
const OF_PROJECTS: [&str; 4] = ["experiments", "configs", "inputs", "recordings"];

/// All places below the root, and around `inside`, sorted by folder.
pub(super) fn search(tree: &Tree, inside: &str) -> (Vec<Place>, bool) {
    let mut found = BTreeMap::new();
    let mut waiting: VecDeque<(String, usize)> = VecDeque::from([(String::new(), 0)]);
    // What lies deeper than the search goes is looked at because somebody named it.
    let ancestors = inside.match_indices('/').map(|(end, _)| &inside[..end]).chain([inside]);
    waiting.extend(ancestors.filter(|folder| !folder.is_empty()).map(|folder| (folder.to_owned(), 0)));
    let mut seen = std::collections::BTreeSet::new();
    while let Some((folder, depth)) = waiting.pop_front() {
        if !seen.insert(folder.clone()) {
            continue;
        }
        if seen.len() > limits::SEARCH_FOLDERS {
            return (found.into_values().collect(), true);
        }
        let entries = tree.entries(&folder, limits::NAMES).unwrap_or_default();
        let places = places_of(tree, &folder, &entries);
        let is_project = places.iter().any(|place| place.folder == folder);
        for place in places {
            found.entry(place.folder.clone()).or_insert(place);
        }
        if depth < limits::SEARCH_DEPTH {
            let below = entries.iter().filter(|entry| is_searched(entry, is_project));
            waiting.extend(below.map(|entry| (join(&folder, &entry.name), depth + 1)));
        }
    }
    (found.into_values().collect(), false)
}

fn is_searched(entry: &Entry, in_project: bool) -> bool {
    let name = entry.name.as_str();
    let is_left_out =
        name.starts_with('.') || OF_OTHERS.contains(&name) || in_project && OF_PROJECTS.contains(&name);
    entry.kind == Kind::Folder && !is_left_out
}

/// The places of one folder: in `fluxloop/`, the folder itself, and in `.fluxloop/`.
pub(crate) fn places(tree: &Tree, folder: &str) -> Vec<Place> {
    places_of(tree, folder, &tree.entries(folder, limits::NAMES).unwrap_or_default())
}

fn places_of(tree: &Tree, folder: &str, entries: &[Entry]) -> Vec<Place> {
    let has = |name: &str, kind: Kind| entries.iter().any(|entry| entry.name == name && entry.kind == kind);
    let mut found = Vec::new();
    if has("fluxloop", Kind::Folder) {
        let projects = join(folder, "fluxloop");
        for name in folders(tree, &projects) {
            let folder = join(&projects, &name);
            let has = |name: &str| is_there(tree, &join(&folder, &format!("configs/{name}.yaml")));
            if has("simulation") || has("project") {
                found.push(Place { line: Line::V02, folder, single_file: None, workspace: None });
            }
        }
    }
    if has("configs", Kind::Folder) {
        found.extend(with_configs(tree, folder));
    } else {
        let named = ["setting.yaml", "fluxloop.yaml"].into_iter().find(|name| has(name, Kind::File));
        found.extend(named.and_then(|name| with_single_file(tree, folder, name)));
    }
    if has(".fluxloop", Kind::Folder) {
        found.extend(scenarios(tree, &join(folder, ".fluxloop")));
    }
    if has("scenarios", Kind::Folder) && own_name(tree, folder) == ".fluxloop" {
        found.extend(scenarios(tree, folder));
    }
    found
}

/// A folder with `configs`, wherever it is: of a project, or of a scenario that is looked at alone.
fn with_configs(tree: &Tree, folder: &str) -> Option<Place> {
    let has = |name: &str| is_there(tree, &join(folder, &format!("configs/{name}.yaml")));
    if !(has("simulation") || has("project") && has("input")) {
        return None;
    }
    let line = match (has("project"), has("scenario"), has("input")) {
        (true, ..) => Line::V02,
        (_, true, _) if !in_scenarios(tree, folder) || is_there(tree, &join(folder, "experiments")) => {
            Line::V03
        }
        (_, _, _) if in_scenarios(tree, folder) => Line::V04,
        (_, _, true) => Line::V02,
        _ => return None,
    };
    Some(Place { line, folder: folder.to_owned(), single_file: None, workspace: None })
}

fn in_scenarios(tree: &Tree, folder: &str) -> bool {
    let path = if folder.is_empty() { tree.path().to_path_buf() } else { tree.path().join(folder) };
    path.parent().and_then(|parent| parent.file_name()).is_some_and(|name| name == "scenarios")
}

/// `setting.yaml` is a name that others use as well.
fn with_single_file(tree: &Tree, folder: &str, name: &str) -> Option<Place> {
    let bytes = tree.read(&join(folder, name), limits::YAML).ok()?;
    let words = ["runner:", "base_inputs:", "inputs_file:"];
    let is_ours = words.iter().any(|word| bytes.windows(word.len()).any(|window| window == word.as_bytes()));
    let single_file = Some(name.to_owned());
    is_ours.then(|| Place { line: Line::V02, folder: folder.to_owned(), single_file, workspace: None })
}

fn scenarios(tree: &Tree, workspace: &str) -> Vec<Place> {
    let parent = join(workspace, "scenarios");
    let has_results = is_there(tree, &join(workspace, "results"));
    let mut found = Vec::new();
    for name in folders(tree, &parent) {
        let folder = join(&parent, &name);
        let has = |name: &str| is_there(tree, &join(&folder, name));
        let has_scenario = has("configs/scenario.yaml");
        if has("configs/simulation.yaml") || has_scenario {
            let is_old = has_scenario && (!has_results || has("experiments"));
            let line = if is_old { Line::V03 } else { Line::V04 };
            found.push(Place { line, folder, single_file: None, workspace: Some(workspace.to_owned()) });
        }
    }
    found
}

/// The last name of a folder's path; of the root, as it is called on this machine.
pub(super) fn own_name(tree: &Tree, folder: &str) -> String {
    match folder.rsplit('/').next() {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => tree.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
    }
}

fn folders(tree: &Tree, folder: &str) -> Vec<String> {
    let entries = tree.entries(folder, limits::NAMES).unwrap_or_default();
    entries.into_iter().filter(|entry| entry.kind == Kind::Folder).map(|entry| entry.name).collect()
}

pub(super) fn is_there(tree: &Tree, path: &str) -> bool {
    tree.find(path).ok().flatten().is_some()
}
