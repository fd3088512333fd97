//! From the folder that a caller names to the projects that are meant.

use std::path::Path;

use codebase::NameRedactor;
use fluxloop::project::{FluxloopProject, FluxloopProjects};
use tree::{Roots, Tree};

use super::display_name;
use crate::error::RequestError;

/// Folders above the one that was named, at most.
const MAX_PARENT_FOLDERS: usize = 16;
const WORKSPACE_FOLDER: &str = ".fluxloop";
/// The folders that a repository keeps its projects in.
const PROJECT_FOLDERS: [&str; 2] = ["fluxloop/", ".fluxloop/"];

/// Projects, and the tree that they lie in.
pub(crate) struct LocatedProjects {
    pub(crate) tree: Tree,
    pub(crate) projects: FluxloopProjects,
    /// The folder that was named, from the tree.
    pub(crate) subfolder: String,
    /// The tree, from the allowed root that holds it; empty or with a slash at the end.
    root_prefix: String,
    /// Puts names of the repository into sentences.
    pub(crate) redactor: NameRedactor,
}

impl LocatedProjects {
    /// Looks in the folder itself, then above it, as far as that is allowed and belongs to the same repository.
    pub(crate) fn find(roots: &Roots, wanted: &str) -> Result<Self, RequestError> {
        let named = roots.open(wanted)?;
        let own = named.path().to_owned();
        // The results of 0.4 lie beside its scenarios: whoever names a folder of a workspace means the workspace.
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
            // Above the allowed roots there is nothing.
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

    /// What a folder further up has for the one that was named.
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

    /// Keeps the project of a name or folder.
    pub(crate) fn select_project(mut self, wanted: Option<&str>) -> Result<Self, RequestError> {
        let Some(wanted) = wanted else { return Ok(self) };
        let folder = wanted.trim_end_matches('/');
        let is_meant = |project: &FluxloopProject| project.name == wanted || project.folder == folder;
        if !self.projects.list.iter().any(is_meant) {
            let names: Vec<String> =
                self.projects.list.iter().map(|project| display_name(&self, project)).collect();
            let there = if names.is_empty() { "there is none".to_owned() } else { names.join(", ") };
            let wanted: String = wanted.chars().take(100).collect();
            return Err(RequestError::invalid_argument(
                "project",
                format!("there is no project `{wanted}`; there are: {there}"),
            ));
        }
        self.projects = self.projects.filter(is_meant);
        Ok(self)
    }

    /// A path in the tree as one from the allowed root, where resources are read from.
    pub(crate) fn path_from_root(&self, path: &str) -> String {
        format!("{}{path}", self.root_prefix)
    }

    /// What a project is called: its name, or its folder where names do not tell projects apart.
    pub(crate) fn label(&self, folder: &str) -> String {
        let Some(project) = self.projects.get(folder) else { return folder.to_owned() };
        let alike = self.projects.list.iter().filter(|other| other.name == project.name).count();
        if alike > 1 { folder.to_owned() } else { project.name.clone() }
    }
}

/// Whether a project that was found further up is that of the folder: it holds it, or is one of the same repository. Those of
/// other folders beside it are none of its business.
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
