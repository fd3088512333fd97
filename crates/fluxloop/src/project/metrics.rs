//! Experiments taken together: rates by sums, the trend, and the last against the one before.

use std::collections::BTreeMap;

use serde::Serialize;

use super::experiment::{
    Experiment, ExperimentState, InputRuns, RunTally, is_zero, rate, round_to_four_digits,
};

/// What several experiments say together. Those that are unfinished or unreadable are counted, and nothing else of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ExperimentMetrics {
    /// How many came to their end and can be read.
    pub experiments: u64,
    /// How many have no summary.
    pub unfinished: u64,
    /// How many have one that cannot be read.
    pub unreadable: u64,
    /// Of those that can be read: how many have files that contradict each other, so that one of the numbers is wrong.
    /// Known of those that `covered` counts.
    pub contradictory: u64,
    /// Runs of all.
    pub total: u64,
    /// Those with an answer.
    pub successful: u64,
    /// Those without.
    pub failed: u64,
    /// `successful` by `total`, over all runs and not over experiments.
    pub success_rate: Option<f64>,
    /// Over all runs.
    pub mean_duration_ms: Option<f64>,
    /// Tokens of all, as far as something counted them.
    pub total_tokens: u64,
    /// Each experiment, the oldest first.
    pub trend: Vec<ExperimentTrendPoint>,
    /// Runs of each persona, in the experiments that `covered` counts.
    pub by_persona: BTreeMap<String, RunTally>,
    /// Runs of each input, in the same.
    pub by_input: BTreeMap<String, InputRuns>,
    /// What changed from the last experiment but one to the last. Only within one project.
    pub last_against_previous: Option<ExperimentComparison>,
    /// Judged traces that passed, over evaluations in which everybody judged.
    pub pass_rate: Option<f64>,
    /// Evaluations without a verdict.
    pub not_fully_judged: u64,
    /// Evaluations of which nothing readable tells.
    #[serde(skip_serializing_if = "is_zero")]
    pub judging_unknown: u64,
    /// What `by_persona` and `by_input` are about.
    pub covered: MetricsCoverage,
}

/// How much the details tell of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct MetricsCoverage {
    /// Experiments of which runs were read, in traces or errors.
    pub experiments: u64,
    /// Their runs.
    pub runs: u64,
}

/// An experiment in a trend.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExperimentTrendPoint {
    /// Which.
    pub experiment: String,
    /// When.
    pub time: Option<String>,
    /// How many runs.
    pub total: Option<u64>,
    /// How well.
    pub success_rate: Option<f64>,
    /// How fast.
    pub mean_duration_ms: Option<f64>,
    /// How it was judged, if everybody judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass_rate: Option<f64>,
}

/// The last experiment against the one before: what it has more, and what fails or works now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExperimentComparison {
    /// The last.
    pub last: String,
    /// The one before.
    pub previous: String,
    /// The difference of the rates.
    pub success_rate: Option<f64>,
    /// The difference of the means.
    pub mean_duration_ms: Option<f64>,
    /// Inputs that fail now, and ran before without failing. Known if runs of both were read.
    pub inputs_that_fail_now: Option<Vec<String>>,
    /// Inputs that failed before, and ran now without failing. Known if runs of both were read.
    pub inputs_that_work_now: Option<Vec<String>>,
}

impl ExperimentMetrics {
    /// Takes experiments together, in whatever order they come.
    pub fn from_experiments<'a>(experiments: impl IntoIterator<Item = &'a Experiment>) -> Self {
        let (mut ended, others): (Vec<_>, Vec<_>) =
            experiments.into_iter().partition(|one| one.state == ExperimentState::Finished);
        let count = |state| others.iter().filter(|other| other.state == state).count() as u64;
        ended.sort_by_key(|experiment| experiment.sort_key());
        let mut metrics = Self {
            experiments: ended.len() as u64,
            unfinished: count(ExperimentState::Unfinished),
            unreadable: count(ExperimentState::Unreadable),
            contradictory: ended.iter().filter(|one| !one.disagreements.is_empty()).count() as u64,
            trend: ended.iter().map(|experiment| ExperimentTrendPoint::from_experiment(experiment)).collect(),
            last_against_previous: ExperimentComparison::between_last_two(&ended),
            ..Self::default()
        };
        let mut took = (0.0, 0);
        for experiment in &ended {
            metrics.add_numbers(experiment, &mut took);
            metrics.add_details(experiment);
        }
        metrics.success_rate = rate(metrics.successful, metrics.total);
        metrics.mean_duration_ms = mean(took);
        metrics.by_input.values_mut().for_each(InputRuns::finish);
        metrics.add_evaluations(&ended);
        metrics
    }

    #[expect(clippy::cast_precision_loss, reason = "there are never 2^53 runs")]
    fn add_numbers(&mut self, experiment: &Experiment, took: &mut (f64, u64)) {
        // An experiment that does not say both would make the rate wrong.
        if let Some((total, successful)) = experiment.total.zip(experiment.successful) {
            self.total += total;
            self.successful += successful;
            self.failed += experiment.failed.unwrap_or_else(|| total.saturating_sub(successful));
        }
        // The mean of 0.2 and 0.3 is one of the runs with an answer, that of 0.4 one of all.
        let timed = if experiment.runner_type.is_some() { experiment.total } else { experiment.successful };
        if let Some((mean, count)) = experiment.mean_duration_ms.zip(timed) {
            *took = (took.0 + mean * count as f64, took.1 + count);
        }
        let counted =
            experiment.details.as_ref().and_then(|details| details.tokens).map(|tokens| tokens.total);
        self.total_tokens += counted.or(experiment.tokens_in_summary).unwrap_or(0);
    }

    fn add_details(&mut self, experiment: &Experiment) {
        let Some(details) = experiment.details.as_ref().filter(|details| details.has_runs()) else { return };
        self.covered.experiments += 1;
        for (persona, tally) in &details.by_persona {
            let sum = self.by_persona.entry(persona.clone()).or_default();
            *sum = RunTally { runs: sum.runs + tally.runs, failed: sum.failed + tally.failed };
            self.covered.runs += tally.runs;
        }
        for (input, runs) in &details.by_input {
            self.by_input.entry(input.clone()).or_default().merge(runs);
        }
    }

    fn add_evaluations(&mut self, experiments: &[&Experiment]) {
        let (mut passed, mut traces) = (0, 0);
        for evaluation in experiments.iter().filter_map(|experiment| experiment.evaluation.as_ref()) {
            match (evaluation.fully_judged, evaluation.passed.zip(evaluation.traces)) {
                (Some(false), _) => self.not_fully_judged += 1,
                (None, _) => self.judging_unknown += 1,
                (Some(true), None) => {}
                (Some(true), Some((of_it, all))) => {
                    passed += of_it;
                    traces += all;
                }
            }
        }
        self.pass_rate = rate(passed, traces);
    }
}

#[expect(clippy::cast_precision_loss, reason = "there are never 2^53 runs")]
fn mean((sum, count): (f64, u64)) -> Option<f64> {
    (count > 0).then(|| round_to_four_digits(sum / count as f64))
}

impl ExperimentTrendPoint {
    fn from_experiment(experiment: &Experiment) -> Self {
        let judged =
            experiment.evaluation.as_ref().filter(|evaluation| evaluation.fully_judged == Some(true));
        Self {
            experiment: experiment.id.clone(),
            time: experiment.time.clone(),
            total: experiment.total,
            success_rate: experiment.success_rate,
            mean_duration_ms: experiment.mean_duration_ms,
            pass_rate: judged.and_then(|evaluation| evaluation.pass_rate),
        }
    }
}

impl ExperimentComparison {
    /// Of experiments of one project, the oldest first.
    fn between_last_two(experiments: &[&Experiment]) -> Option<Self> {
        let [.., previous, last] = experiments else { return None };
        if experiments.iter().any(|experiment| experiment.project != last.project) {
            return None;
        }
        let difference =
            |of: fn(&Experiment) -> Option<f64>| Some(round_to_four_digits(of(last)? - of(previous)?));
        let both = runs_by_input(last).zip(runs_by_input(previous));
        // What did not run in both is neither better nor worse.
        let only = |failed: &BTreeMap<String, InputRuns>, worked: &BTreeMap<String, InputRuns>| {
            let has_worked = |input: &String| worked.get(input).is_some_and(|runs| runs.failed == 0);
            let failed = failed.iter().filter(|(input, runs)| runs.failed > 0 && has_worked(input));
            failed.map(|(input, _)| input.clone()).collect()
        };
        Some(Self {
            last: last.id.clone(),
            previous: previous.id.clone(),
            success_rate: difference(|experiment| experiment.success_rate),
            mean_duration_ms: difference(|experiment| experiment.mean_duration_ms),
            inputs_that_fail_now: both.map(|(now, before)| only(now, before)),
            inputs_that_work_now: both.map(|(now, before)| only(before, now)),
        })
    }
}

/// The inputs of an experiment, if any of its runs was read.
fn runs_by_input(experiment: &Experiment) -> Option<&BTreeMap<String, InputRuns>> {
    experiment.details.as_ref().filter(|details| details.has_runs()).map(|details| &details.by_input)
}
