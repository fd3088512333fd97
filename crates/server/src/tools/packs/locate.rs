//! From the folder that a caller names to the projects that are meant.

use std::path::Path;

use fluxloop::project::Projects;
use tree::{Roots, Tree};

use crate::error::Failure;

/// Folders above the one that was named, at most.
const CLIMB: usize = 16;
const WORKSPACE: &str = ".fluxloop";

/// Projects, and the tree that they lie in.
pub(crate) struct Located {
    pub(crate) tree: Tree,
    pub(crate) projects: Projects,
}

impl Located {
    /// Looks in the folder itself, then above it, as far as that is allowed and belongs to the same repository.
    pub(crate) fn find(roots: &Roots, wanted: &str) -> Result<Self, Failure> {
        let named = roots.open(wanted)?;
        let own = named.path().to_owned();
        // The results of 0.4 lie beside its scenarios: whoever names a folder of a workspace means the workspace.
        let is_workspace = |folder: &&Path| folder.file_name().is_some_and(|name| name == WORKSPACE);
        let workspace = own.ancestors().find(is_workspace).and_then(Path::parent);
        for folder in workspace.into_iter().chain(own.ancestors()).take(CLIMB) {
            let (Some(path), Ok(inside)) = (folder.to_str(), own.strip_prefix(folder)) else { break };
            // Above the allowed roots there is nothing.
            let Ok(tree) = roots.open(path) else { continue };
            let projects = Projects::find(&tree, &inside.display().to_string());
            if !projects.list.is_empty() {
                return Ok(Self { tree, projects });
            }
            if tree.find(".git").ok().flatten().is_some() {
                break;
            }
        }
        let projects = Projects::find(&named, "");
        Ok(Self { tree: named, projects })
    }

    /// Keeps the project of a name or folder.
    pub(crate) fn only(mut self, wanted: Option<&str>) -> Result<Self, Failure> {
        let Some(wanted) = wanted else { return Ok(self) };
        let folder = wanted.trim_end_matches('/');
        let is_meant =
            |project: &fluxloop::project::Project| project.name == wanted || project.folder == folder;
        if !self.projects.list.iter().any(is_meant) {
            let names: Vec<&str> = self.projects.list.iter().map(|project| project.name.as_str()).collect();
            let there = if names.is_empty() { "there is none".to_owned() } else { names.join(", ") };
            let wanted: String = wanted.chars().take(100).collect();
            return Err(Failure::argument(
                "project",
                format!("there is no project `{wanted}`; there are: {there}"),
            ));
        }
        self.projects = self.projects.only(is_meant);
        Ok(self)
    }
}
