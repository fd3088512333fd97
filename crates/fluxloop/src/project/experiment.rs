//! One experiment: what its files say of it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::contract::SkillContractResult;
use super::evaluation::ExperimentEvaluation;

/// The persona of runs that have none, and the strategy of inputs that have none.
pub const NO_PERSONA: &str = "(none)";

/// What a run of the CLI left behind. Numbers that no file says are missing; none is made up.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Experiment {
    /// Its folder, from the root of the tree.
    pub id: String,
    /// The name that it was given.
    pub name: String,
    /// The folder of its project.
    pub project: String,
    /// When it began: local, from the name of its folder, or else what its summary says.
    pub time: Option<String>,
    /// When its summary was written, as it stands there.
    pub written: Option<String>,
    /// Whether it came to its end, as far as its summary tells.
    pub state: ExperimentState,
    /// The same as [`ExperimentState::Unfinished`].
    pub unfinished: bool,
    /// How many runs there were, by the summary; of one that is unfinished, by its traces.
    pub total: Option<u64>,
    /// How many of them came to an answer.
    pub successful: Option<u64>,
    /// How many did not.
    pub failed: Option<u64>,
    /// `successful` by `total`.
    pub success_rate: Option<f64>,
    /// How long a run took: of those with an answer in 0.2 and 0.3, of all in 0.4. Missing where there are no such runs.
    pub mean_duration_ms: Option<f64>,
    /// All tokens, by the summary of 0.4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_in_summary: Option<u64>,
    /// How the agent was called, by the summary of 0.4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runner_type: Option<String>,
    /// What its traces and errors say. Only of experiments that were asked for, because these files are large.
    #[serde(flatten)]
    pub details: Option<ExperimentDetails>,
    /// What was judged, by 0.2.30.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<ExperimentEvaluation>,
    /// Whether a skill kept to its contract, by 0.4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contract: Option<SkillContractResult>,
    /// Where its files contradict each other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disagreements: Vec<String>,
}

/// Whether an experiment came to its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExperimentState {
    /// It did, and its summary has numbers.
    #[default]
    Finished,
    /// It has no summary: it still runs, or it was stopped.
    Unfinished,
    /// It has a summary without a number that can be read. A warning says what is wrong with it.
    Unreadable,
}

/// What the traces and errors of an experiment say.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ExperimentDetails {
    /// Runs that have a trace.
    pub traced_runs: u64,
    /// The longest run.
    pub slowest_ms: Option<f64>,
    /// Runs that count as a success and have no answer.
    pub empty_outputs: u64,
    /// Runs of each persona; `(none)` for those without.
    pub by_persona: BTreeMap<String, RunTally>,
    /// Runs of each input.
    pub by_input: BTreeMap<String, InputRuns>,
    /// What failed, in the order of the files: at most 200.
    pub failures: Vec<FailedRun>,
    /// What was too much for the lists above.
    #[serde(skip_serializing_if = "is_zero")]
    pub runs_left_out: u64,
    /// Tokens, if something counted them.
    pub tokens: Option<TokenUsage>,
    /// Conversations, if there were any.
    pub conversations: Option<ConversationStats>,
    /// How often which guardrail of 0.3 warned.
    pub guardrail_warnings: BTreeMap<String, u64>,
    /// How many lines each file of JSON Lines has.
    pub lines: BTreeMap<String, u64>,
}

/// How many ran, and how many of them failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct RunTally {
    /// All.
    pub runs: u64,
    /// Those that failed.
    pub failed: u64,
}

/// The runs of one input.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct InputRuns {
    /// All.
    pub runs: u64,
    /// Those that failed.
    pub failed: u64,
    /// The longest of those whose time is known.
    pub slowest_ms: Option<f64>,
    /// Their mean.
    pub mean_ms: Option<f64>,
    /// What went wrong, and how often.
    pub errors: BTreeMap<String, u64>,
    /// The sum and number behind the mean, so that means can be taken together.
    #[serde(skip)]
    pub(super) timed: (f64, u64),
}

/// A run that failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FailedRun {
    /// What was said to the agent.
    pub input: String,
    /// By whom; `(none)` if the run has none.
    pub persona: String,
    /// In which round, from 0 on.
    pub iteration: Option<u64>,
    /// What went wrong, as the CLI says it.
    pub error: String,
}

/// Tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TokenUsage {
    /// Which file says it: `traces`, or `observations` where traces say nothing.
    #[serde(rename = "from")]
    pub source: &'static str,
    /// Read by models.
    pub input: u64,
    /// Written by models.
    pub output: u64,
    /// Both, as the files count them.
    pub total: u64,
}

/// Conversations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ConversationStats {
    /// How many.
    pub count: u64,
    /// How many answers the agent gave in each.
    pub turns: Vec<u64>,
    /// Why they ended.
    pub ended: BTreeMap<String, u64>,
}

impl Experiment {
    /// What it is sorted by: the newest is the greatest.
    pub(super) fn sort_key(&self) -> (&Option<String>, &str) {
        (&self.time, &self.id)
    }
}

impl ExperimentDetails {
    /// Whether any run was read: there may be no traces, or broken ones only.
    pub(super) fn has_runs(&self) -> bool {
        !self.by_persona.is_empty()
    }
}

impl InputRuns {
    pub(super) fn add_run(&mut self, ms: Option<f64>, error: Option<&str>) {
        self.runs += 1;
        if let Some(error) = error {
            self.failed += 1;
            *self.errors.entry(error.to_owned()).or_default() += 1;
        }
        if let Some(ms) = ms {
            self.timed.0 += ms;
            self.timed.1 += 1;
            self.slowest_ms = Some(self.slowest_ms.map_or(ms, |slowest| slowest.max(ms)));
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.runs += other.runs;
        self.failed += other.failed;
        for (error, count) in &other.errors {
            *self.errors.entry(error.clone()).or_default() += count;
        }
        self.timed = (self.timed.0 + other.timed.0, self.timed.1 + other.timed.1);
        self.slowest_ms = [self.slowest_ms, other.slowest_ms].into_iter().flatten().reduce(f64::max);
    }

    /// Means and rounded numbers, once everything is in.
    #[expect(clippy::cast_precision_loss, reason = "there are never 2^53 runs")]
    pub(super) fn finish(&mut self) {
        self.mean_ms = (self.timed.1 > 0).then(|| round_to_four_digits(self.timed.0 / self.timed.1 as f64));
        self.slowest_ms = self.slowest_ms.map(round_to_four_digits);
    }
}

/// Rounded to four digits.
pub(super) fn round_to_four_digits(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}

/// Part by whole, if there is a whole and the part is one of it.
#[expect(clippy::cast_precision_loss, reason = "there are never 2^53 runs")]
pub(super) fn rate(part: u64, whole: u64) -> Option<f64> {
    (whole > 0 && part <= whole).then(|| round_to_four_digits(part as f64 / whole as f64))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
pub(super) fn is_zero(number: &u64) -> bool {
    *number == 0
}
