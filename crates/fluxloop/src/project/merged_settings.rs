//! The files with settings, one over the other as the CLI does it.

use tree::Tree;

use super::config_node::ConfigNode;
use super::fields::ConfigFields;
use super::file::{self, join_path};
use super::location::{self, FluxloopLocation};
use super::warning::FileWarnings;

/// The files in which settings are, the weakest first.
const CONFIG_SECTIONS: [&str; 5] = ["project", "scenario", "input", "simulation", "evaluation"];

/// The merged files, and what is known only of single ones.
pub(super) struct MergedSettings {
    pub(super) node: ConfigNode,
    pub(super) files: Vec<String>,
    /// The name in `project.yaml` or `scenario.yaml`, without those that are merged over it.
    pub(super) project_name: Option<String>,
    /// A file is there and cannot be used, so what is not set may be set in it.
    pub(super) is_partial: bool,
}

impl MergedSettings {
    /// Reads and merges the files of a place.
    pub(super) fn read(tree: &Tree, location: &FluxloopLocation, warnings: &mut FileWarnings) -> Self {
        let mut merged = Self {
            node: ConfigNode::empty(&location.folder),
            files: Vec::new(),
            project_name: None,
            is_partial: false,
        };
        for (path, names_project) in settings_files(location) {
            let Some(node) = file::read_mapping(tree, &path, warnings) else {
                merged.is_partial |= location::exists(tree, &path);
                continue;
            };
            if names_project {
                merged.project_name = ConfigFields(Some(&node))
                    .text("name", &mut FileWarnings::default())
                    .or(merged.project_name);
            }
            merged.files.push(path);
            merged.node.merge(node);
        }
        let simulation = join_path(&location.folder, "configs/simulation.yaml");
        if location.single_file.is_none() && !location::exists(tree, &simulation) {
            warnings.add(&simulation, None, "not there, so nothing says how the agent is called");
        }
        merged
    }
}

/// The files of a place, and whether each names the project.
fn settings_files(location: &FluxloopLocation) -> Vec<(String, bool)> {
    let section = |name: &str| {
        (join_path(&location.folder, &format!("configs/{name}.yaml")), matches!(name, "project" | "scenario"))
    };
    match &location.single_file {
        Some(name) => vec![(join_path(&location.folder, name), true)],
        None => CONFIG_SECTIONS.into_iter().map(section).collect(),
    }
}
