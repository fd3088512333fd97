//! Finds the projects for the folder that a caller names.

use std::path::Path;

use codebase::NameRedactor;
use fluxloop::project::{FluxloopProject, FluxloopProjects};
use tree::{Roots, Tree};

use super::display_name;
use crate::error::RequestError;

/// How many parent folders are searched.
const MAX_PARENT_FOLDERS: usize = 16;
const WORKSPACE_FOLDER: &str = ".fluxloop";
/// The folders in which a repository stores its projects.
const PROJECT_FOLDERS: [&str; 2] = ["fluxloop/", ".fluxloop/"];

/// Projects and the tree that contains them.
pub(crate) struct LocatedProjects {
    pub(crate) tree: Tree,
    pub(crate) projects: FluxloopProjects,
    /// The named folder, relative to the tree.
    pub(crate) subfolder: String,
    /// The tree, relative to the allowed root that contains it; empty or with a trailing slash.
    root_prefix: String,
    /// Makes names from the repository safe for sentences.
    pub(crate) redactor: NameRedactor,
}

impl LocatedProjects {
    /// Searches the folder itself, then its parents, within the allowed roots and the same repository.
    pub(crate) fn find(roots: &Roots, wanted: &str) -> Result<Self, RequestError> {
        let named = roots.open(wanted)?;
        let own = named.path().to_owned();
        // In 0.4, results are stored next to scenarios: a folder inside a workspace stands for the workspace.
        let is_workspace = |folder: &&Path| folder.file_name().is_some_and(|name| name == WORKSPACE_FOLDER);
        let workspace = own.ancestors().find(is_workspace).and_then(Path::parent);
        let of_workspace = workspace.and_then(|folder| Self::find_in_parent(roots, folder, &own));
        if let Some(found) = of_workspace.filter(Self::has_projects) {
            return Ok(found);
        }
        let projects = FluxloopProjects::find(&named, "");
        let here = Self {
            root_prefix: root_prefix(roots, &named),
            tree: named,
            projects,
            subfolder: String::new(),
            redactor: NameRedactor::default(),
        };
        if here.has_projects() || here.is_repository() {
            return Ok(here);
        }
        for folder in own.ancestors().take(MAX_PARENT_FOLDERS).skip(1) {
            // Folders above the allowed roots cannot be opened.
            let Some(found) = Self::find_in_parent(roots, folder, &own) else { continue };
            if found.has_projects() {
                return Ok(found);
            }
            if found.is_repository() {
                break;
            }
        }
        Ok(here)
    }

    /// The projects in a parent folder that are relevant for the named one.
    fn find_in_parent(roots: &Roots, folder: &Path, own: &Path) -> Option<Self> {
        let tree = roots.open(folder.to_str()?).ok()?;
        let inside = own.strip_prefix(folder).ok()?.display().to_string();
        let projects =
            FluxloopProjects::find(&tree, &inside).filter(|project| is_relevant_for(project, &inside));
        let texts = NameRedactor::default();
        Some(Self {
            root_prefix: root_prefix(roots, &tree),
            tree,
            projects,
            subfolder: inside,
            redactor: texts,
        })
    }

    fn has_projects(&self) -> bool {
        !self.projects.list.is_empty()
    }

    fn is_repository(&self) -> bool {
        self.tree.metadata(".git").ok().flatten().is_some()
    }

    /// Keeps only the project with this name or folder.
    pub(crate) fn select_project(mut self, wanted: Option<&str>) -> Result<Self, RequestError> {
        let Some(wanted) = wanted else { return Ok(self) };
        let folder = wanted.trim_end_matches('/');
        let is_meant = |project: &FluxloopProject| project.name == wanted || project.folder == folder;
        if !self.projects.list.iter().any(is_meant) {
            let names: Vec<String> =
                self.projects.list.iter().map(|project| display_name(&self, project)).collect();
            let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let wanted: String = wanted.chars().take(100).collect();
            return Err(RequestError::invalid_argument(
                "project",
                format!("there is no project `{wanted}`; available: {there}"),
            ));
        }
        self.projects = self.projects.filter(is_meant);
        Ok(self)
    }

    /// Converts a path in the tree to one relative to the allowed root, as resources use it.
    pub(crate) fn path_from_root(&self, path: &str) -> String {
        format!("{}{path}", self.root_prefix)
    }

    /// A project's name, or its folder if the name is not unique.
    pub(crate) fn label(&self, folder: &str) -> String {
        let Some(project) = self.projects.get(folder) else { return folder.to_owned() };
        let alike = self.projects.list.iter().filter(|other| other.name == project.name).count();
        if alike > 1 { folder.to_owned() } else { project.name.clone() }
    }
}

/// Whether a project found in a parent is relevant for the folder: it contains the folder, or belongs to the
/// whole repository. Projects of sibling folders do not count.
fn is_relevant_for(project: &FluxloopProject, inside: &str) -> bool {
    let folder = project.folder.as_str();
    let holds = inside.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    folder == "." || holds || PROJECT_FOLDERS.iter().any(|home| folder.starts_with(home))
}

fn root_prefix(roots: &Roots, tree: &Tree) -> String {
    match roots.relative_path_to(tree) {
        Some(way) if !way.is_empty() => format!("{way}/"),
        _ => String::new(),
    }
}
