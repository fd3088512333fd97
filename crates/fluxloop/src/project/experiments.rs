//! All experiments of the projects: every summary, and the large files of the newest within limits.

use std::collections::BTreeSet;

use codebase::NameKind;
use serde::Serialize;
use tree::{FolderEntryKind, Tree, WorkBudget};

use super::coverage::{DetailLimits, ExperimentCoverage, read_details};
use super::experiment::Experiment;
use super::file::join_path;
use super::parallel::map_parallel;
use super::warning::{FileWarning, FileWarnings};
use super::{FluxloopProject, FluxloopProjects, evaluation, folder_time, limits, summary};

/// Experiments, and how much of them was read.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Experiments {
    /// The newest first.
    pub list: Vec<Experiment>,
    /// How much the details are about.
    pub coverage: ExperimentCoverage,
    /// What is wrong with their files.
    pub warnings: Vec<FileWarning>,
}

/// The store of the SDK, which is no experiment.
const ARTIFACTS_FOLDER: &str = "artifacts";
/// A folder that may be one of an experiment.
struct ExperimentCandidate<'a> {
    id: String,
    /// Whose it is. In `results` of 0.4 that only shows in the summary.
    project: Option<&'a FluxloopProject>,
}

impl FluxloopProjects {
    /// Reads all experiments: the summary of each, and the large files of those that `detail` allows.
    pub fn experiments(&self, tree: &Tree, detail: DetailLimits, budget: &WorkBudget) -> Experiments {
        let mut warnings = FileWarnings::default();
        let candidates = self.candidates(tree, &mut warnings);
        let read = map_parallel(&candidates, |candidate| {
            let mut own = FileWarnings::default();
            let is_over = budget.is_cancelled() || budget.is_expired();
            let found = if is_over { None } else { self.read_summary(tree, candidate, &mut own) };
            (found, own, is_over)
        });
        let mut coverage = ExperimentCoverage::default();
        let mut list = Vec::with_capacity(read.len());
        for ((found, own, is_over), candidate) in read.into_iter().zip(&candidates) {
            if is_over {
                coverage.record_skipped("the time was up", &candidate.id);
            }
            if let Some(found) = found {
                warnings.extend(own);
                list.push(found);
            }
        }
        list.sort_unstable_by(|one: &Experiment, other| other.sort_key().cmp(&one.sort_key()));
        read_details(tree, self, &mut list, detail, budget, &mut coverage, &mut warnings);
        coverage.count_experiments(&list);
        Experiments { list, coverage, warnings: warnings.into_list() }
    }

    /// Reads one experiment with all its details. `None` if it is none of these projects.
    pub fn experiment(&self, tree: &Tree, id: &str, budget: &WorkBudget) -> Option<Experiments> {
        let mut warnings = FileWarnings::default();
        let candidates = self.candidates(tree, &mut FileWarnings::default());
        let candidate = candidates.iter().find(|candidate| candidate.id == id)?;
        let mut list = vec![self.read_summary(tree, candidate, &mut warnings)?];
        let mut coverage = ExperimentCoverage::default();
        let all = DetailLimits { newest: 1, bytes: u64::MAX };
        read_details(tree, self, &mut list, all, budget, &mut coverage, &mut warnings);
        coverage.count_experiments(&list);
        Some(Experiments { list, coverage, warnings: warnings.into_list() })
    }

    fn candidates<'a>(&'a self, tree: &Tree, warnings: &mut FileWarnings) -> Vec<ExperimentCandidate<'a>> {
        let mut found = Vec::new();
        for project in &self.list {
            let folders = experiment_folders(tree, &project.output_folder, warnings);
            found.extend(folders.into_iter().map(|id| ExperimentCandidate { id, project: Some(project) }));
        }
        for results in self.results_folders() {
            let folders = experiment_folders(tree, &results, warnings);
            found.extend(folders.into_iter().map(|id| ExperimentCandidate { id, project: None }));
        }
        found
    }

    /// The folders with results of 0.4.
    fn results_folders(&self) -> BTreeSet<String> {
        let workspaces = self.list.iter().filter_map(|project| project.location.workspace.as_ref());
        workspaces.map(|workspace| join_path(workspace, "results")).collect()
    }

    /// Whether a path is one of an experiment's folder, as far as the path tells.
    pub(super) fn is_experiment_path(&self, id: &str) -> bool {
        let Some((parent, name)) = id.rsplit_once('/') else { return false };
        let is_name = !matches!(name, "" | "." | ".." | ARTIFACTS_FOLDER);
        is_name
            && (self.list.iter().any(|project| project.output_folder == parent)
                || self.results_folders().contains(parent))
    }

    fn read_summary(
        &self,
        tree: &Tree,
        candidate: &ExperimentCandidate<'_>,
        warnings: &mut FileWarnings,
    ) -> Option<Experiment> {
        let mut experiment = summary::read(tree, &candidate.id, warnings)?;
        match candidate.project {
            Some(project) => {
                experiment.project.clone_from(&project.folder);
                experiment.evaluation = evaluation::read(tree, &candidate.id, None, warnings);
            }
            None => experiment.project = self.owning_project(&experiment, warnings)?,
        }
        Some(experiment)
    }

    /// Whose result of 0.4 it is. Only the name in the summary tells; of one that is unfinished, the folder's.
    fn owning_project(&self, experiment: &Experiment, warnings: &mut FileWarnings) -> Option<String> {
        let results = experiment.id.rsplit_once('/').map_or("", |(results, _)| results);
        let workspace = results.rsplit_once('/').map_or("", |(workspace, _)| workspace);
        let of_here =
            self.list.iter().filter(|project| project.location.workspace.as_deref() == Some(workspace));
        let mut owners = of_here.filter(|project| {
            let name = project.settings.experiment_name.as_ref().unwrap_or(&project.name);
            *name == experiment.name
                || has_only_folder_name(experiment) && folder_slug(name) == folder_slug(&experiment.name)
        });
        let Some(owner) = owners.next() else {
            // The caller asked for one scenario, so results of others do not belong here.
            if self.is_narrowed {
                return None;
            }
            let name = warnings.display_name(NameKind::Setting, &experiment.name, &experiment.id, None);
            let what = format!("no scenario has the name `{name}`");
            warnings.add(&experiment.id, None, what);
            return Some(results.to_owned());
        };
        if let Some(other) = owners.next() {
            let (owner, other) =
                (warnings.display_folder(&owner.folder), warnings.display_folder(&other.folder));
            let what = format!("`{owner}` and `{other}` have the same name; it may be of either");
            warnings.add(&experiment.id, None, what);
        }
        Some(owner.folder.clone())
    }
}

/// Whether the name is only that of the folder.
fn has_only_folder_name(experiment: &Experiment) -> bool {
    experiment.written.is_none()
}

/// As 0.4 makes names of folders: "Checkout flow, v2" is `Checkout-flow-v2`.
fn folder_slug(name: &str) -> String {
    let words = name.split(|decoded: char| !decoded.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

/// The folders in a folder of experiments.
fn experiment_folders(tree: &Tree, parent: &str, warnings: &mut FileWarnings) -> Vec<String> {
    let entries = match tree.entries(parent, limits::MAX_FOLDER_ENTRIES) {
        Ok(entries) => entries,
        Err(error) => {
            warnings.add(parent, None, format!("cannot be listed: {error}"));
            return Vec::new();
        }
    };
    if entries.len() >= limits::MAX_FOLDER_ENTRIES {
        warnings.add(parent, None, format!("only {} names of it are looked at", limits::MAX_FOLDER_ENTRIES));
    }
    let mut found = Vec::new();
    for entry in entries {
        let path = join_path(parent, &entry.name);
        match entry.kind {
            FolderEntryKind::Symlink if folder_time::parse_name_time(&entry.name).is_some() => {
                warnings.add(&path, None, "a symbolic link; it is not followed");
            }
            FolderEntryKind::Folder if entry.name != ARTIFACTS_FOLDER && !entry.name.starts_with('.') => {
                found.push(path);
            }
            _ => {}
        }
    }
    found
}
