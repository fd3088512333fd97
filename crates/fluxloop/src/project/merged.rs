//! The files with settings, one over the other as the CLI does it.

use tree::Tree;

use super::fields::Fields;
use super::file::{self, join};
use super::node::Node;
use super::place::{self, Place};
use super::warning::Warnings;

/// The files in which settings are, the weakest first.
const SECTIONS: [&str; 5] = ["project", "scenario", "input", "simulation", "evaluation"];

/// The merged files, and what is known only of single ones.
pub(super) struct Merged {
    pub(super) node: Node,
    pub(super) files: Vec<String>,
    /// The name in `project.yaml` or `scenario.yaml`, without those that are merged over it.
    pub(super) own_name: Option<String>,
    /// A file is there and cannot be used, so what is not set may be set in it.
    pub(super) is_partial: bool,
}

impl Merged {
    /// Reads and merges the files of a place.
    pub(super) fn read(tree: &Tree, place: &Place, warnings: &mut Warnings) -> Self {
        let mut merged =
            Self { node: Node::empty(&place.folder), files: Vec::new(), own_name: None, is_partial: false };
        for (path, names_project) in files(place) {
            let Some(node) = file::mapping(tree, &path, warnings) else {
                merged.is_partial |= place::is_there(tree, &path);
                continue;
            };
            if names_project {
                merged.own_name =
                    Fields(Some(&node)).text("name", &mut Warnings::default()).or(merged.own_name);
            }
            merged.files.push(path);
            merged.node.merge(node);
        }
        let simulation = join(&place.folder, "configs/simulation.yaml");
        if place.single_file.is_none() && !place::is_there(tree, &simulation) {
            warnings.add(&simulation, None, "not there, so nothing says how the agent is called");
        }
        merged
    }
}

/// The files of a place, and whether each names the project.
fn files(place: &Place) -> Vec<(String, bool)> {
    let section = |name: &str| {
        (join(&place.folder, &format!("configs/{name}.yaml")), matches!(name, "project" | "scenario"))
    };
    match &place.single_file {
        Some(name) => vec![(join(&place.folder, name), true)],
        None => SECTIONS.into_iter().map(section).collect(),
    }
}
