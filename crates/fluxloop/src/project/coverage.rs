//! Of which experiments the large files are read, and what that leaves out.

use std::collections::BTreeMap;

use serde::Serialize;
use tree::{Tree, WorkBudget};

use super::experiment::{Experiment, ExperimentDetails};
use super::file::join_path;
use super::parallel::map_parallel;
use super::warning::FileWarnings;
use super::{FluxloopProjects, evaluation, limits, runs};

/// Of how many experiments the large files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DetailLimits {
    /// At most this many of each project, the newest.
    pub newest: usize,
    /// At most this many bytes of all. The newest of each project come first.
    pub bytes: u64,
}

impl DetailLimits {
    /// Summaries only.
    pub const NONE: Self = Self { newest: 0, bytes: 0 };
}

/// How much the details are about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ExperimentCoverage {
    /// All experiments.
    pub experiments: u64,
    /// All runs, as far as summaries say.
    pub runs: u64,
    /// Experiments of which runs were read, in traces or errors.
    pub detailed_experiments: u64,
    /// Their runs.
    pub detailed_runs: u64,
    /// What was left out, and why.
    pub left_out: Vec<SkippedExperiments>,
}

/// Experiments of which less was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedExperiments {
    /// Why.
    pub why: String,
    /// How many.
    pub experiments: u64,
    /// The first of them.
    pub first: String,
}

/// The files that cost something.
const LARGE_FILES: [&str; 6] = [
    "trace_summary.jsonl",
    "traces.jsonl",
    "observations.jsonl",
    "turns.jsonl",
    "errors.json",
    "evaluation/per_trace.jsonl",
];

/// Reads the large files of those that may have details.
pub(super) fn read_details(
    tree: &Tree,
    projects: &FluxloopProjects,
    list: &mut [Experiment],
    detail: DetailLimits,
    budget: &WorkBudget,
    coverage: &mut ExperimentCoverage,
    warnings: &mut FileWarnings,
) {
    let chosen = select_for_details(tree, list, detail, coverage);
    let details = map_parallel(&chosen, |at| {
        let mut own = FileWarnings::default();
        let mut experiment = list.get(*at)?.clone();
        let is_over = || budget.is_cancelled() || budget.is_expired();
        if is_over() {
            return None;
        }
        let names = projects.get(&experiment.project).map(|project| &project.persona_names);
        runs::read(tree, &mut experiment, names, budget, &mut own);
        if experiment.evaluation.is_some() {
            experiment.evaluation = evaluation::read(tree, &experiment.id, Some(budget), &mut own);
        }
        // Half of the traces would be told as if they were all.
        (!is_over()).then_some((experiment, own))
    });
    for (at, read) in chosen.into_iter().zip(details) {
        match (read, list.get_mut(at)) {
            (Some((experiment, own)), Some(place)) => {
                warnings.extend(own);
                *place = experiment;
            }
            (None, Some(place)) => coverage.record_skipped("the time was up", &place.id),
            (_, None) => {}
        }
    }
}

/// Which of them may have details: the newest of each project, as long as the bytes last.
fn select_for_details(
    tree: &Tree,
    list: &[Experiment],
    detail: DetailLimits,
    coverage: &mut ExperimentCoverage,
) -> Vec<usize> {
    let mut of_project: BTreeMap<&str, usize> = BTreeMap::new();
    let mut ranked = Vec::new();
    for (at, experiment) in list.iter().enumerate() {
        let rank = of_project.entry(&experiment.project).or_default();
        *rank += 1;
        if *rank <= detail.newest {
            ranked.push((*rank, at));
        } else if detail.newest > 0 {
            coverage.record_skipped(
                &format!("not among the newest {} of its project", detail.newest),
                &experiment.id,
            );
        }
    }
    ranked.sort_unstable();
    let mut left = detail.bytes;
    let mut chosen = Vec::new();
    for (_, at) in ranked {
        let Some(experiment) = list.get(at) else { continue };
        let size = |name: &&str| {
            tree.metadata(&join_path(&experiment.id, name)).ok().flatten().map(|found| found.size)
        };
        // What is too large to be read at all costs nothing.
        let sizes = LARGE_FILES.iter().filter_map(size).filter(|size| *size <= limits::MAX_JSONL_BYTES);
        match left.checked_sub(sizes.sum()) {
            Some(rest) => {
                left = rest;
                chosen.push(at);
            }
            None => {
                coverage.record_skipped(&format!("more than {} bytes in all", detail.bytes), &experiment.id);
            }
        }
    }
    chosen
}

impl ExperimentCoverage {
    pub(super) fn record_skipped(&mut self, why: &str, id: &str) {
        match self.left_out.iter_mut().find(|left_out| left_out.why == why) {
            Some(left_out) => left_out.experiments += 1,
            None => self.left_out.push(SkippedExperiments {
                why: why.to_owned(),
                experiments: 1,
                first: id.to_owned(),
            }),
        }
    }

    pub(super) fn count_experiments(&mut self, list: &[Experiment]) {
        let has_runs = |one: &&Experiment| one.details.as_ref().is_some_and(ExperimentDetails::has_runs);
        let detailed = || list.iter().filter(has_runs);
        self.experiments = list.len() as u64;
        self.runs = list.iter().filter_map(|experiment| experiment.total).sum();
        self.detailed_experiments = detailed().count() as u64;
        self.detailed_runs = detailed().filter_map(|experiment| experiment.total).sum();
    }
}
