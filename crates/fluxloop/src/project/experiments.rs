//! All experiments of the projects: every summary, and the large files of the newest within limits.

use std::collections::BTreeSet;

use codebase::NameKind;
use serde::Serialize;
use tree::{Budget, Kind, Tree};

use super::coverage::{Coverage, Detail, read_details};
use super::experiment::Experiment;
use super::file::join;
use super::parallel::in_parallel;
use super::warning::{Warning, Warnings};
use super::{Project, Projects, evaluation, limits, summary, time};

/// Experiments, and how much of them was read.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Experiments {
    /// The newest first.
    pub list: Vec<Experiment>,
    /// How much the details are about.
    pub coverage: Coverage,
    /// What is wrong with their files.
    pub warnings: Vec<Warning>,
}

/// The store of the SDK, which is no experiment.
const ARTIFACTS: &str = "artifacts";
/// A folder that may be one of an experiment.
struct Candidate<'a> {
    id: String,
    /// Whose it is. In `results` of 0.4 that only shows in the summary.
    project: Option<&'a Project>,
}

impl Projects {
    /// Reads all experiments: the summary of each, and the large files of those that `detail` allows.
    pub fn experiments(&self, tree: &Tree, detail: Detail, budget: &Budget) -> Experiments {
        let mut warnings = Warnings::default();
        let candidates = self.candidates(tree, &mut warnings);
        let read = in_parallel(&candidates, |candidate| {
            let mut own = Warnings::default();
            let is_over = budget.is_stopped() || budget.is_over();
            let found = if is_over { None } else { self.summarised(tree, candidate, &mut own) };
            (found, own, is_over)
        });
        let mut coverage = Coverage::default();
        let mut list = Vec::with_capacity(read.len());
        for ((found, own, is_over), candidate) in read.into_iter().zip(&candidates) {
            if is_over {
                coverage.leave_out("the time was up", &candidate.id);
            }
            if let Some(found) = found {
                warnings.extend(own);
                list.push(found);
            }
        }
        list.sort_unstable_by(|one: &Experiment, other| other.age().cmp(&one.age()));
        read_details(tree, self, &mut list, detail, budget, &mut coverage, &mut warnings);
        coverage.count(&list);
        Experiments { list, coverage, warnings: warnings.into_list() }
    }

    /// Reads one experiment with all its details. `None` if it is none of these projects.
    pub fn experiment(&self, tree: &Tree, id: &str, budget: &Budget) -> Option<Experiments> {
        let mut warnings = Warnings::default();
        let candidates = self.candidates(tree, &mut Warnings::default());
        let candidate = candidates.iter().find(|candidate| candidate.id == id)?;
        let mut list = vec![self.summarised(tree, candidate, &mut warnings)?];
        let mut coverage = Coverage::default();
        let all = Detail { newest: 1, bytes: u64::MAX };
        read_details(tree, self, &mut list, all, budget, &mut coverage, &mut warnings);
        coverage.count(&list);
        Some(Experiments { list, coverage, warnings: warnings.into_list() })
    }

    fn candidates<'a>(&'a self, tree: &Tree, warnings: &mut Warnings) -> Vec<Candidate<'a>> {
        let mut found = Vec::new();
        for project in &self.list {
            let folders = folders(tree, &project.output, warnings);
            found.extend(folders.into_iter().map(|id| Candidate { id, project: Some(project) }));
        }
        for results in self.results() {
            let folders = folders(tree, &results, warnings);
            found.extend(folders.into_iter().map(|id| Candidate { id, project: None }));
        }
        found
    }

    /// The folders with results of 0.4.
    fn results(&self) -> BTreeSet<String> {
        let workspaces = self.list.iter().filter_map(|project| project.place.workspace.as_ref());
        workspaces.map(|workspace| join(workspace, "results")).collect()
    }

    /// Whether a path is one of an experiment's folder, as far as the path tells.
    pub(super) fn owns(&self, id: &str) -> bool {
        let Some((parent, name)) = id.rsplit_once('/') else { return false };
        let is_name = !matches!(name, "" | "." | ".." | ARTIFACTS);
        is_name
            && (self.list.iter().any(|project| project.output == parent) || self.results().contains(parent))
    }

    fn summarised(
        &self,
        tree: &Tree,
        candidate: &Candidate<'_>,
        warnings: &mut Warnings,
    ) -> Option<Experiment> {
        let mut experiment = summary::read(tree, &candidate.id, warnings)?;
        match candidate.project {
            Some(project) => {
                experiment.project.clone_from(&project.folder);
                experiment.evaluation = evaluation::read(tree, &candidate.id, None, warnings);
            }
            None => experiment.project = self.project_of(&experiment, warnings)?,
        }
        Some(experiment)
    }

    /// Whose result of 0.4 it is. Only the name in the summary tells; of one that is unfinished, the folder's.
    fn project_of(&self, experiment: &Experiment, warnings: &mut Warnings) -> Option<String> {
        let results = experiment.id.rsplit_once('/').map_or("", |(results, _)| results);
        let workspace = results.rsplit_once('/').map_or("", |(workspace, _)| workspace);
        let of_here =
            self.list.iter().filter(|project| project.place.workspace.as_deref() == Some(workspace));
        let mut owners = of_here.filter(|project| {
            let name = project.settings.experiment_name.as_ref().unwrap_or(&project.name);
            *name == experiment.name || is_unknown(experiment) && safe(name) == safe(&experiment.name)
        });
        let Some(owner) = owners.next() else {
            // Somebody asked for one scenario: the others' results are none of its.
            if self.is_narrowed {
                return None;
            }
            let name = warnings.name(NameKind::Setting, &experiment.name, &experiment.id, None);
            let what = format!("no scenario has the name `{name}`");
            warnings.add(&experiment.id, None, what);
            return Some(results.to_owned());
        };
        if let Some(other) = owners.next() {
            let (owner, other) = (warnings.folder(&owner.folder), warnings.folder(&other.folder));
            let what = format!("`{owner}` and `{other}` have the same name; it may be of either");
            warnings.add(&experiment.id, None, what);
        }
        Some(owner.folder.clone())
    }
}

/// Whether the name is only that of the folder.
fn is_unknown(experiment: &Experiment) -> bool {
    experiment.written.is_none()
}

/// As 0.4 makes names of folders: "Checkout flow, v2" is `Checkout-flow-v2`.
fn safe(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

/// The folders in a folder of experiments.
fn folders(tree: &Tree, parent: &str, warnings: &mut Warnings) -> Vec<String> {
    let entries = match tree.entries(parent, limits::NAMES) {
        Ok(entries) => entries,
        Err(error) => {
            warnings.add(parent, None, format!("cannot be listed: {error}"));
            return Vec::new();
        }
    };
    if entries.len() >= limits::NAMES {
        warnings.add(parent, None, format!("only {} names of it are looked at", limits::NAMES));
    }
    let mut found = Vec::new();
    for entry in entries {
        let path = join(parent, &entry.name);
        match entry.kind {
            Kind::Link if time::in_name(&entry.name).is_some() => {
                warnings.add(&path, None, "a symbolic link; it is not followed");
            }
            Kind::Folder if entry.name != ARTIFACTS && !entry.name.starts_with('.') => found.push(path),
            _ => {}
        }
    }
    found
}
