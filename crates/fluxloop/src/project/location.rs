//! Where projects are: in which folders, of which line of the CLI.

use std::collections::{BTreeMap, VecDeque};

use tree::{FolderEntry, FolderEntryKind, Tree};

use super::file::join_path;
use super::limits;
use crate::ReleaseLine;

/// A project or scenario that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FluxloopLocation {
    pub(crate) release_line: ReleaseLine,
    /// Its folder; the root of the tree is `""`.
    pub(crate) folder: String,
    /// The one file that has all settings, in old projects.
    pub(crate) single_file: Option<String>,
    /// The folder `.fluxloop` that it belongs to.
    pub(crate) workspace: Option<String>,
}

/// Folders of dependencies and generated files.
const SKIPPED_FOLDERS: [&str; 9] = [
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
const PROJECT_SUBFOLDERS: [&str; 4] = ["experiments", "configs", "inputs", "recordings"];

/// All places below the root, and around `inside`, sorted by folder.
pub(super) fn search_tree(tree: &Tree, inside: &str) -> (Vec<FluxloopLocation>, bool) {
    let mut found = BTreeMap::new();
    let mut waiting: VecDeque<(String, usize)> = VecDeque::from([(String::new(), 0)]);
    // A folder below the search depth is read only because the caller named it.
    let ancestors = inside.match_indices('/').map(|(end, _)| &inside[..end]).chain([inside]);
    waiting.extend(ancestors.filter(|folder| !folder.is_empty()).map(|folder| (folder.to_owned(), 0)));
    let mut seen = std::collections::BTreeSet::new();
    while let Some((folder, depth)) = waiting.pop_front() {
        if !seen.insert(folder.clone()) {
            continue;
        }
        if seen.len() > limits::MAX_SEARCH_FOLDERS {
            return (found.into_values().collect(), true);
        }
        let entries = tree.entries(&folder, limits::MAX_FOLDER_ENTRIES).unwrap_or_default();
        let places = locations_among(tree, &folder, &entries);
        let is_project = places.iter().any(|place| place.folder == folder);
        for place in places {
            found.entry(place.folder.clone()).or_insert(place);
        }
        if depth < limits::MAX_SEARCH_DEPTH {
            let below = entries.iter().filter(|entry| should_descend(entry, is_project));
            waiting.extend(below.map(|entry| (join_path(&folder, &entry.name), depth + 1)));
        }
    }
    (found.into_values().collect(), false)
}

fn should_descend(entry: &FolderEntry, in_project: bool) -> bool {
    let name = entry.name.as_str();
    let is_left_out = name.starts_with('.')
        || SKIPPED_FOLDERS.contains(&name)
        || in_project && PROJECT_SUBFOLDERS.contains(&name);
    entry.kind == FolderEntryKind::Folder && !is_left_out
}

/// The places of one folder: in `fluxloop/`, the folder itself, and in `.fluxloop/`.
pub(crate) fn locations_in(tree: &Tree, folder: &str) -> Vec<FluxloopLocation> {
    locations_among(tree, folder, &tree.entries(folder, limits::MAX_FOLDER_ENTRIES).unwrap_or_default())
}

fn locations_among(tree: &Tree, folder: &str, entries: &[FolderEntry]) -> Vec<FluxloopLocation> {
    let has = |name: &str, kind: FolderEntryKind| {
        entries.iter().any(|entry| entry.name == name && entry.kind == kind)
    };
    let mut found = Vec::new();
    if has("fluxloop", FolderEntryKind::Folder) {
        let projects = join_path(folder, "fluxloop");
        for name in subfolders(tree, &projects) {
            let folder = join_path(&projects, &name);
            let has = |name: &str| exists(tree, &join_path(&folder, &format!("configs/{name}.yaml")));
            if has("simulation") || has("project") {
                found.push(FluxloopLocation {
                    release_line: ReleaseLine::V02,
                    folder,
                    single_file: None,
                    workspace: None,
                });
            }
        }
    }
    if has("configs", FolderEntryKind::Folder) {
        found.extend(location_with_configs(tree, folder));
    } else {
        let named =
            ["setting.yaml", "fluxloop.yaml"].into_iter().find(|name| has(name, FolderEntryKind::File));
        found.extend(named.and_then(|name| location_with_single_file(tree, folder, name)));
    }
    if has(".fluxloop", FolderEntryKind::Folder) {
        found.extend(scenario_locations(tree, &join_path(folder, ".fluxloop")));
    }
    if has("scenarios", FolderEntryKind::Folder) && folder_name(tree, folder) == ".fluxloop" {
        found.extend(scenario_locations(tree, folder));
    }
    found
}

/// A folder with `configs`, wherever it is: of a project, or of a scenario that is looked at alone.
fn location_with_configs(tree: &Tree, folder: &str) -> Option<FluxloopLocation> {
    let has = |name: &str| exists(tree, &join_path(folder, &format!("configs/{name}.yaml")));
    if !(has("simulation") || has("project") && has("input")) {
        return None;
    }
    let line = match (has("project"), has("scenario"), has("input")) {
        (true, ..) => ReleaseLine::V02,
        (_, true, _) if !is_in_scenarios(tree, folder) || exists(tree, &join_path(folder, "experiments")) => {
            ReleaseLine::V03
        }
        (_, _, _) if is_in_scenarios(tree, folder) => ReleaseLine::V04,
        (_, _, true) => ReleaseLine::V02,
        _ => return None,
    };
    Some(FluxloopLocation {
        release_line: line,
        folder: folder.to_owned(),
        single_file: None,
        workspace: None,
    })
}

fn is_in_scenarios(tree: &Tree, folder: &str) -> bool {
    let path = if folder.is_empty() { tree.path().to_path_buf() } else { tree.path().join(folder) };
    path.parent().and_then(|parent| parent.file_name()).is_some_and(|name| name == "scenarios")
}

/// `setting.yaml` is a name that others use as well.
fn location_with_single_file(tree: &Tree, folder: &str, name: &str) -> Option<FluxloopLocation> {
    let bytes = tree.read(&join_path(folder, name), limits::MAX_YAML_BYTES).ok()?;
    let words = ["runner:", "base_inputs:", "inputs_file:"];
    let is_ours = words.iter().any(|word| bytes.windows(word.len()).any(|window| window == word.as_bytes()));
    let single_file = Some(name.to_owned());
    is_ours.then(|| FluxloopLocation {
        release_line: ReleaseLine::V02,
        folder: folder.to_owned(),
        single_file,
        workspace: None,
    })
}

fn scenario_locations(tree: &Tree, workspace: &str) -> Vec<FluxloopLocation> {
    let parent = join_path(workspace, "scenarios");
    let has_results = exists(tree, &join_path(workspace, "results"));
    let mut found = Vec::new();
    for name in subfolders(tree, &parent) {
        let folder = join_path(&parent, &name);
        let has = |name: &str| exists(tree, &join_path(&folder, name));
        let has_scenario = has("configs/scenario.yaml");
        if has("configs/simulation.yaml") || has_scenario {
            let is_old = has_scenario && (!has_results || has("experiments"));
            let line = if is_old { ReleaseLine::V03 } else { ReleaseLine::V04 };
            found.push(FluxloopLocation {
                release_line: line,
                folder,
                single_file: None,
                workspace: Some(workspace.to_owned()),
            });
        }
    }
    found
}

/// The last name of a folder's path; of the root, as it is called on this machine.
pub(super) fn folder_name(tree: &Tree, folder: &str) -> String {
    match folder.rsplit('/').next() {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => tree.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
    }
}

fn subfolders(tree: &Tree, folder: &str) -> Vec<String> {
    let entries = tree.entries(folder, limits::MAX_FOLDER_ENTRIES).unwrap_or_default();
    entries
        .into_iter()
        .filter(|entry| entry.kind == FolderEntryKind::Folder)
        .map(|entry| entry.name)
        .collect()
}

pub(super) fn exists(tree: &Tree, path: &str) -> bool {
    tree.metadata(path).ok().flatten().is_some()
}
