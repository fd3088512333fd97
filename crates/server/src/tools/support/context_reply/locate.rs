//! From the folder that a caller names to the projects that are meant.

use std::path::Path;

use codebase::RepositoryTexts;
use fluxloop::project::{Project, Projects};
use tree::{Roots, Tree};

use super::shown_name;
use crate::error::Failure;

/// Folders above the one that was named, at most.
const CLIMB: usize = 16;
const WORKSPACE: &str = ".fluxloop";
/// The folders that a repository keeps its projects in.
const HOMES: [&str; 2] = ["fluxloop/", ".fluxloop/"];

/// Projects, and the tree that they lie in.
pub(crate) struct Located {
    pub(crate) tree: Tree,
    pub(crate) projects: Projects,
    /// The folder that was named, from the tree.
    pub(crate) inside: String,
    /// The tree, from the allowed root that holds it; empty or with a slash at the end.
    prefix: String,
    /// Puts names of the repository into sentences.
    pub(crate) texts: RepositoryTexts,
}

impl Located {
    /// Looks in the folder itself, then above it, as far as that is allowed and belongs to the same repository.
    pub(crate) fn find(roots: &Roots, wanted: &str) -> Result<Self, Failure> {
        let named = roots.open(wanted)?;
        let own = named.path().to_owned();
        // The results of 0.4 lie beside its scenarios: whoever names a folder of a workspace means the workspace.
        let is_workspace = |folder: &&Path| folder.file_name().is_some_and(|name| name == WORKSPACE);
        let workspace = own.ancestors().find(is_workspace).and_then(Path::parent);
        let of_workspace = workspace.and_then(|folder| Self::above(roots, folder, &own));
        if let Some(found) = of_workspace.filter(Self::has_projects) {
            return Ok(found);
        }
        let projects = Projects::find(&named, "");
        let here = Self {
            prefix: prefix(roots, &named),
            tree: named,
            projects,
            inside: String::new(),
            texts: RepositoryTexts::default(),
        };
        if here.has_projects() || here.is_repository() {
            return Ok(here);
        }
        for folder in own.ancestors().take(CLIMB).skip(1) {
            // Above the allowed roots there is nothing.
            let Some(found) = Self::above(roots, folder, &own) else { continue };
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
    fn above(roots: &Roots, folder: &Path, own: &Path) -> Option<Self> {
        let tree = roots.open(folder.to_str()?).ok()?;
        let inside = own.strip_prefix(folder).ok()?.display().to_string();
        let projects = Projects::find(&tree, &inside).only(|project| is_near(project, &inside));
        let texts = RepositoryTexts::default();
        Some(Self { prefix: prefix(roots, &tree), tree, projects, inside, texts })
    }

    fn has_projects(&self) -> bool {
        !self.projects.list.is_empty()
    }

    fn is_repository(&self) -> bool {
        self.tree.find(".git").ok().flatten().is_some()
    }

    /// Keeps the project of a name or folder.
    pub(crate) fn only(mut self, wanted: Option<&str>) -> Result<Self, Failure> {
        let Some(wanted) = wanted else { return Ok(self) };
        let folder = wanted.trim_end_matches('/');
        let is_meant = |project: &Project| project.name == wanted || project.folder == folder;
        if !self.projects.list.iter().any(is_meant) {
            let names: Vec<String> =
                self.projects.list.iter().map(|project| shown_name(&self, project)).collect();
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

    /// A path in the tree as one from the allowed root, where resources are read from.
    pub(crate) fn path_from_root(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
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
fn is_near(project: &Project, inside: &str) -> bool {
    let folder = project.folder.as_str();
    let holds = inside.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    folder == "." || holds || HOMES.iter().any(|home| folder.starts_with(home))
}

fn prefix(roots: &Roots, tree: &Tree) -> String {
    match roots.way_to(tree) {
        Some(way) if !way.is_empty() => format!("{way}/"),
        _ => String::new(),
    }
}
