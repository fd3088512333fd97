//! The large files of an experiment: traces, errors, observations, turns. They are read line by line.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::path::Path;

use tree::{FolderEntryKind, Tree, WorkBudget};

use super::contract::ContractTotals;
use super::errors::{self, ErrorsReport};
use super::experiment::{
    ConversationStats, Experiment, ExperimentDetails, FailedRun, InputRuns, NO_PERSONA, RunTally, rate,
    round_to_four_digits,
};
use super::file::join_path;
use super::jsonl::{self, LineCounts};
use super::limits;
use super::redact::redact_and_truncate;
use super::settings::PersonaNames;
use super::tokens::{self, TokenTotals};
use super::trace::{TraceRow, TraceTurn};
use super::warning::FileWarnings;

/// Reads the large files and puts what they say into the experiment.
pub(super) fn read(
    tree: &Tree,
    experiment: &mut Experiment,
    names: Option<&PersonaNames>,
    budget: &WorkBudget,
    warnings: &mut FileWarnings,
) {
    let id = experiment.id.clone();
    let told = errors::read(tree, &id, warnings);
    let mut runs = RunStats { messages: told.messages(), names, ..RunStats::default() };
    let mut lines = BTreeMap::new();
    let traces = ["trace_summary.jsonl", "traces.jsonl"].into_iter().find_map(|name| {
        let path = join_path(&id, name);
        let read = jsonl::for_each_line(tree, &path, budget, warnings, |line| {
            jsonl::parse_object::<TraceRow<'_>>(line).and_then(|trace| runs.add_trace(&trace))
        });
        lines.extend(read.map(|read| (name.to_owned(), read.lines)));
        read
    });
    if let ErrorsReport::List(failures) = &told {
        for failure in failures {
            runs.add_failure(failure);
        }
    }
    let guardrail_warnings = count_guardrail_warnings(tree, &id, budget, &mut lines, warnings);
    let tokens = match runs.tokens.to_usage("traces") {
        Some(tokens) => Some(tokens),
        None => tokens::read_observed_tokens(tree, &id, budget, &mut lines, warnings),
    };
    count_remaining_files(tree, &id, budget, &mut lines, warnings);
    experiment.disagreements = find_disagreements(experiment, traces, &told);
    std::mem::take(&mut runs.reports).apply_to(experiment.total, &mut experiment.contract);
    if experiment.unfinished && runs.all > 0 {
        experiment.total = Some(runs.all);
        experiment.successful = Some(runs.all - runs.failed);
        experiment.failed = Some(runs.failed);
        experiment.success_rate = rate(runs.all - runs.failed, runs.all);
    }
    experiment.details = Some(ExperimentDetails { tokens, guardrail_warnings, lines, ..runs.into_details() });
}

/// Counts runs, one after the other.
#[derive(Default)]
struct RunStats<'a> {
    /// Names of personas by their ids.
    names: Option<&'a PersonaNames>,
    /// What `errors.json` of 0.4 says of a run.
    messages: HashMap<String, String>,
    all: u64,
    failed: u64,
    traced: u64,
    empty: u64,
    left_out: u64,
    slowest: Option<f64>,
    personas: HashMap<String, RunTally>,
    inputs: HashMap<String, InputRuns>,
    failures: Vec<FailedRun>,
    conversations: ConversationStats,
    tokens: TokenTotals,
    reports: ContractTotals,
}

impl RunStats<'_> {
    fn add_trace(&mut self, trace: &TraceRow<'_>) -> Result<(), String> {
        let Some(success) = trace.success.flag() else {
            return Err("no `success` that is true or false; the line is left out".to_owned());
        };
        self.traced += 1;
        self.empty += u64::from(success && trace.output.text() == Some(""));
        if let Some(usage) = &trace.token_usage.0 {
            self.tokens.add(usage);
        }
        if let Some(reason) = trace.termination_reason.text().filter(|reason| !reason.is_empty()) {
            let answers =
                || trace.conversation.0.iter().filter(|turn| turn.role.text() == Some("assistant")).count();
            self.conversations.count += 1;
            self.conversations.turns.push(trace.turn_count.count().unwrap_or_else(|| answers() as u64));
            *self
                .conversations
                .ended
                .entry(redact_and_truncate(reason, limits::MAX_TEXT_CHARS))
                .or_default() += 1;
        }
        self.reports.add(
            trace.iteration.count(),
            trace.contract_results.0.as_ref(),
            trace.static_results.0.as_ref(),
        );
        let error = (!success).then(|| {
            let said = trace.run_id.text().and_then(|id| self.messages.get(id)).map(String::as_str);
            let own = trace.error.0.as_ref().and_then(|error| error.message.text());
            // The words of 0.4 itself, where an exception has none.
            redact_and_truncate(
                said.or(own).filter(|text| !text.is_empty()).unwrap_or("Unknown error"),
                limits::MAX_TEXT_CHARS,
            )
        });
        let ms = trace.duration_ms.number();
        self.add(
            trace.input.text().unwrap_or_default(),
            trace.persona.text(),
            trace.iteration.count(),
            ms,
            error,
        );
        Ok(())
    }

    /// A run that has no trace, because it failed.
    fn add_failure(&mut self, failure: &FailedRun) {
        let persona = Some(failure.persona.as_str());
        self.add(&failure.input, persona, failure.iteration, None, Some(failure.error.clone()));
    }

    fn add(
        &mut self,
        input: &str,
        persona: Option<&str>,
        iteration: Option<u64>,
        ms: Option<f64>,
        error: Option<String>,
    ) {
        let persona = persona.filter(|persona| !persona.is_empty()).unwrap_or(NO_PERSONA);
        let persona = self.names.and_then(|names| names.get(persona)).map_or(persona, String::as_str);
        self.all += 1;
        self.failed += u64::from(error.is_some());
        self.slowest = [self.slowest, ms].into_iter().flatten().reduce(f64::max);
        update_entry(&mut self.personas, persona, |tally: &mut RunTally| {
            tally.runs += 1;
            tally.failed += u64::from(error.is_some());
        });
        if self.inputs.len() < limits::MAX_DISTINCT_INPUTS || self.inputs.contains_key(input) {
            update_entry(&mut self.inputs, input, |runs: &mut InputRuns| runs.add_run(ms, error.as_deref()));
        } else {
            self.left_out += 1;
        }
        if let Some(error) = error.filter(|_| self.failures.len() < limits::MAX_FAILURES) {
            let (input, persona) = (
                redact_and_truncate(input, limits::MAX_TEXT_CHARS),
                redact_and_truncate(persona, limits::MAX_TEXT_CHARS),
            );
            self.failures.push(FailedRun { input, persona, iteration, error });
        }
    }

    fn into_details(self) -> ExperimentDetails {
        let mut by_input: BTreeMap<String, InputRuns> = BTreeMap::new();
        // Two long inputs may be told with the same words.
        for (input, runs) in &self.inputs {
            by_input.entry(redact_and_truncate(input, limits::MAX_TEXT_CHARS)).or_default().merge(runs);
        }
        by_input.values_mut().for_each(InputRuns::finish);
        ExperimentDetails {
            traced_runs: self.traced,
            slowest_ms: self.slowest.map(round_to_four_digits),
            empty_outputs: self.empty,
            by_persona: self
                .personas
                .into_iter()
                .map(|(name, tally)| (redact_and_truncate(&name, limits::MAX_TEXT_CHARS), tally))
                .collect(),
            by_input,
            failures: self.failures,
            runs_left_out: self.left_out,
            conversations: (self.conversations.count > 0).then_some(self.conversations),
            ..ExperimentDetails::default()
        }
    }
}

/// Changes the entry of a key, which is copied only the first time.
fn update_entry<V: Default>(map: &mut HashMap<String, V>, key: &str, change: impl FnOnce(&mut V)) {
    if let Some(value) = map.get_mut(key) {
        change(value);
    } else {
        change(map.entry(key.to_owned()).or_default());
    }
}

/// What the guardrails of 0.3 warned of.
fn count_guardrail_warnings(
    tree: &Tree,
    id: &str,
    budget: &WorkBudget,
    lines: &mut BTreeMap<String, u64>,
    warnings: &mut FileWarnings,
) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    let read = jsonl::for_each_line(tree, &join_path(id, "turns.jsonl"), budget, warnings, |line| {
        let turn = jsonl::parse_object::<TraceTurn<'_>>(line)?;
        for warning in &turn.warnings.0 {
            *counts.entry(redact_and_truncate(warning.kind.text().unwrap_or("unknown"), 100)).or_default() +=
                1;
        }
        Ok(())
    });
    lines.extend(read.map(|read| ("turns.jsonl".to_owned(), read.lines)));
    counts
}

/// Files that are not interpreted: only checks that every line is complete.
fn count_remaining_files(
    tree: &Tree,
    id: &str,
    budget: &WorkBudget,
    lines: &mut BTreeMap<String, u64>,
    warnings: &mut FileWarnings,
) {
    for entry in tree.entries(id, limits::MAX_FOLDER_ENTRIES).unwrap_or_default() {
        if entry.kind != FolderEntryKind::File
            || Path::new(&entry.name).extension() != Some(OsStr::new("jsonl"))
            || lines.contains_key(&entry.name)
        {
            continue;
        }
        let read = jsonl::for_each_line(tree, &join_path(id, &entry.name), budget, warnings, |line| {
            let line = line.trim();
            if line.starts_with('{') && line.ends_with('}') {
                Ok(())
            } else {
                Err("no whole object".to_owned())
            }
        });
        lines.extend(read.map(|read| (entry.name, read.lines)));
    }
}

/// Where the files contradict each other. Lines that are broken were written too, and count.
fn find_disagreements(
    experiment: &Experiment,
    traces: Option<LineCounts>,
    told: &ErrorsReport,
) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |one: &str, here: Option<u64>, other: &str, there: Option<u64>| {
        if let Some((here, there)) = here.zip(there).filter(|(here, there)| here != there) {
            found.push(format!("{one}: {here}, {other}: {there}"));
        }
    };
    let written = traces.map(|read| read.lines);
    match told {
        ErrorsReport::Mapping { count, .. } => {
            compare("trace_summary.jsonl", written, "summary.json total_runs", experiment.total);
            compare("errors.json failure_count", *count, "summary.json failure_count", experiment.failed);
        }
        ErrorsReport::List(failures) => {
            compare("trace_summary.jsonl", written, "summary.json successful", experiment.successful);
            compare("errors.json", Some(failures.len() as u64), "summary.json failed", experiment.failed);
        }
        // Only the summary of 0.4 names its runner, and only its traces have the runs that failed.
        ErrorsReport::Unavailable if experiment.runner_type.is_some() => {
            compare("trace_summary.jsonl", written, "summary.json total_runs", experiment.total);
        }
        ErrorsReport::Unavailable => {
            compare("trace_summary.jsonl", written, "summary.json successful", experiment.successful);
        }
    }
    found
}
