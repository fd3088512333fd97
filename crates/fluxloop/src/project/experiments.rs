//! All experiments of the projects: every summary, and the large files of the newest within limits.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tree::{Budget, Kind, Tree};

use super::experiment::Experiment;
use super::file::join;
use super::parallel::in_parallel;
use super::warning::{Warning, Warnings};
use super::{Project, Projects, evaluation, limits, runs, summary, time};

/// Of how many experiments the large files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detail {
    /// At most this many of each project, the newest.
    pub newest: usize,
    /// At most this many bytes of all. The newest of each project come first.
    pub bytes: u64,
}

impl Detail {
    /// Summaries only.
    pub const NONE: Self = Self { newest: 0, bytes: 0 };
}

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

/// How much the details are about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// All experiments.
    pub experiments: u64,
    /// All runs, as far as summaries say.
    pub runs: u64,
    /// Experiments with details.
    pub detailed_experiments: u64,
    /// Their runs.
    pub detailed_runs: u64,
    /// What was left out, and why.
    pub left_out: Vec<LeftOut>,
}

/// Experiments of which less was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Why.
    pub why: String,
    /// How many.
    pub experiments: u64,
    /// The first of them.
    pub first: String,
}

/// The store of the SDK, which is no experiment.
const ARTIFACTS: &str = "artifacts";
/// The files that cost something.
const LARGE: [&str; 6] = [
    "trace_summary.jsonl",
    "traces.jsonl",
    "observations.jsonl",
    "turns.jsonl",
    "errors.json",
    "evaluation/per_trace.jsonl",
];

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
        read_details(tree, &mut list, detail, budget, &mut coverage, &mut warnings);
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
        read_details(tree, &mut list, all, budget, &mut coverage, &mut warnings);
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
            let what = format!("no scenario has the name `{}`", experiment.name);
            warnings.add(&experiment.id, None, what);
            return Some(results.to_owned());
        };
        if let Some(other) = owners.next() {
            let what =
                format!("`{}` and `{}` have the same name; it may be of either", owner.folder, other.folder);
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

/// Reads the large files of those that may have details.
fn read_details(
    tree: &Tree,
    list: &mut [Experiment],
    detail: Detail,
    budget: &Budget,
    coverage: &mut Coverage,
    warnings: &mut Warnings,
) {
    let chosen = chosen(tree, list, detail, coverage);
    let details = in_parallel(&chosen, |at| {
        let mut own = Warnings::default();
        let mut experiment = list.get(*at)?.clone();
        if budget.is_stopped() || budget.is_over() {
            return None;
        }
        runs::read(tree, &mut experiment, budget, &mut own);
        if experiment.evaluation.is_some() {
            experiment.evaluation = evaluation::read(tree, &experiment.id, Some(budget), &mut own);
        }
        Some((experiment, own))
    });
    for (at, read) in chosen.into_iter().zip(details) {
        match (read, list.get_mut(at)) {
            (Some((experiment, own)), Some(place)) => {
                warnings.extend(own);
                *place = experiment;
            }
            (None, Some(place)) => coverage.leave_out("the time was up", &place.id),
            (_, None) => {}
        }
    }
}

/// Which of them may have details: the newest of each project, as long as the bytes last.
fn chosen(tree: &Tree, list: &[Experiment], detail: Detail, coverage: &mut Coverage) -> Vec<usize> {
    let mut of_project: BTreeMap<&str, usize> = BTreeMap::new();
    let mut ranked = Vec::new();
    for (at, experiment) in list.iter().enumerate() {
        let rank = of_project.entry(&experiment.project).or_default();
        *rank += 1;
        if *rank <= detail.newest {
            ranked.push((*rank, at));
        } else if detail.newest > 0 {
            coverage
                .leave_out(&format!("not among the newest {} of its project", detail.newest), &experiment.id);
        }
    }
    ranked.sort_unstable();
    let mut left = detail.bytes;
    let mut chosen = Vec::new();
    for (_, at) in ranked {
        let Some(experiment) = list.get(at) else { continue };
        let size =
            |name: &&str| tree.find(&join(&experiment.id, name)).ok().flatten().map(|found| found.size);
        // What is too large to be read at all costs nothing.
        let sizes = LARGE.iter().filter_map(size).filter(|size| *size <= limits::LINES);
        match left.checked_sub(sizes.sum()) {
            Some(rest) => {
                left = rest;
                chosen.push(at);
            }
            None => {
                coverage.leave_out(&format!("more than {} bytes in all", detail.bytes), &experiment.id);
            }
        }
    }
    chosen
}

impl Coverage {
    fn leave_out(&mut self, why: &str, id: &str) {
        match self.left_out.iter_mut().find(|left_out| left_out.why == why) {
            Some(left_out) => left_out.experiments += 1,
            None => self.left_out.push(LeftOut { why: why.to_owned(), experiments: 1, first: id.to_owned() }),
        }
    }

    fn count(&mut self, list: &[Experiment]) {
        let detailed = || list.iter().filter(|experiment| experiment.details.is_some());
        self.experiments = list.len() as u64;
        self.runs = list.iter().filter_map(|experiment| experiment.total).sum();
        self.detailed_experiments = detailed().count() as u64;
        self.detailed_runs = detailed().filter_map(|experiment| experiment.total).sum();
    }
}
