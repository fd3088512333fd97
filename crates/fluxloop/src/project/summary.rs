//! `summary.json`: the cheap part of an experiment, which is read of all of them.

use serde::Deserialize;
use tree::{ReadError, Tree};

use super::contract::{ContractSummary, SkillContractResult};
use super::experiment::{Experiment, ExperimentState, rate, round_to_four_digits};
use super::file::{join_path, json_error_message};
use super::folder_time;
use super::limits;
use super::loose_json::{LooseMapping, LooseValue, SkippedValue};
use super::redact::redact_and_truncate;
use super::warning::{FileWarnings, read_error_reason};

/// Both shapes at once: 0.2 and 0.3 have `results`, 0.4 has its numbers on top.
#[derive(Deserialize, Default)]
#[serde(default)]
struct SummaryFile<'a> {
    #[serde(borrow)]
    name: LooseValue<'a>,
    #[serde(borrow)]
    date: LooseValue<'a>,
    #[serde(borrow)]
    results: LooseMapping<SummaryResults<'a>>,
    /// Only its nesting is looked at.
    #[serde(rename = "config")]
    _config: SkippedValue,
    #[serde(borrow)]
    experiment_name: LooseValue<'a>,
    #[serde(borrow)]
    runner_type: LooseValue<'a>,
    #[serde(borrow)]
    total_runs: LooseValue<'a>,
    #[serde(borrow)]
    success_count: LooseValue<'a>,
    #[serde(borrow)]
    failure_count: LooseValue<'a>,
    #[serde(borrow)]
    success_rate: LooseValue<'a>,
    #[serde(borrow)]
    total_duration_ms: LooseValue<'a>,
    #[serde(borrow)]
    total_tokens: LooseValue<'a>,
    #[serde(borrow)]
    total_cost_usd: LooseValue<'a>,
    #[serde(borrow)]
    created_at: LooseValue<'a>,
    contract_summary: LooseMapping<ContractSummary>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct SummaryResults<'a> {
    #[serde(borrow)]
    total_runs: LooseValue<'a>,
    #[serde(borrow)]
    successful: LooseValue<'a>,
    #[serde(borrow)]
    failed: LooseValue<'a>,
    #[serde(borrow)]
    success_rate: LooseValue<'a>,
    #[serde(borrow)]
    avg_duration_ms: LooseValue<'a>,
}

/// Reads the summary of one folder. `None` if it is no folder of an experiment.
pub(super) fn read(tree: &Tree, id: &str, warnings: &mut FileWarnings) -> Option<Experiment> {
    let folder_name = id.rsplit('/').next().unwrap_or(id);
    let path = join_path(id, "summary.json");
    let time = folder_time::parse_name_time(folder_name);
    let mut experiment = Experiment {
        id: id.to_owned(),
        name: folder_time::strip_name_time(folder_name).to_owned(),
        time,
        ..Experiment::default()
    };
    let bytes = match tree.read(&path, limits::MAX_JSON_BYTES) {
        Ok(bytes) => bytes,
        Err(ReadError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {
            // A folder that is not an experiment has no time in its name.
            experiment.time.as_ref()?;
            warnings.add(id, None, "no `summary.json`: it still runs, or it was stopped");
            experiment.unfinished = true;
            experiment.state = ExperimentState::Unfinished;
            return Some(experiment);
        }
        Err(error) => {
            warnings.add(&path, None, read_error_reason(tree, &path, &error).unwrap_or_default());
            experiment.state = ExperimentState::Unreadable;
            return Some(experiment);
        }
    };
    if let Some(file) = parse_summary(&bytes, &path, warnings) {
        fill_experiment(&mut experiment, &file, &path, warnings);
    }
    let Experiment { total, successful, failed, success_rate, mean_duration_ms, .. } = &experiment;
    let has_numbers =
        total.or(*successful).or(*failed).is_some() || success_rate.or(*mean_duration_ms).is_some();
    if !has_numbers {
        experiment.state = ExperimentState::Unreadable;
    }
    Some(experiment)
}

fn parse_summary<'a>(bytes: &'a [u8], path: &str, warnings: &mut FileWarnings) -> Option<SummaryFile<'a>> {
    let start = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    match start {
        None => warnings.add(path, None, "the file is empty"),
        Some(b'[') => warnings.add(path, 1, "a list, not a mapping"),
        Some(_) => match serde_json::from_slice(bytes) {
            Ok(file) => return Some(file),
            Err(error) => warnings.add(path, error.line(), json_error_message(&error)),
        },
    }
    None
}

fn fill_experiment(
    experiment: &mut Experiment,
    file: &SummaryFile<'_>,
    path: &str,
    warnings: &mut FileWarnings,
) {
    let mut numbers = SummaryReader { path, warnings };
    let written = match &file.results.0 {
        Some(results) => {
            experiment.total = numbers.count("total_runs", &results.total_runs);
            experiment.successful = numbers.count("successful", &results.successful);
            experiment.failed = numbers.count("failed", &results.failed);
            experiment.success_rate = numbers.rate("success_rate", &results.success_rate);
            // The mean over runs with an answer. Without any the CLI writes 0, which is no duration.
            experiment.mean_duration_ms = numbers
                .number("avg_duration_ms", &results.avg_duration_ms)
                .map(round_to_four_digits)
                .filter(|_| experiment.successful != Some(0));
            numbers.text("date", &file.date)
        }
        None if file.total_runs == LooseValue::Missing => {
            numbers.warnings.add(path, None, "no results in it");
            None
        }
        None => {
            experiment.total = numbers.count("total_runs", &file.total_runs);
            experiment.successful = numbers.count("success_count", &file.success_count);
            experiment.failed = numbers.count("failure_count", &file.failure_count);
            experiment.success_rate = numbers.rate("success_rate", &file.success_rate);
            let took = numbers.number("total_duration_ms", &file.total_duration_ms);
            experiment.mean_duration_ms =
                took.zip(experiment.total).and_then(|(took, total)| mean(took, total));
            experiment.tokens_in_summary = file.total_tokens.count();
            numbers.text("created_at", &file.created_at)
        }
    };
    if let Some((successful, total)) = experiment.successful.zip(experiment.total) {
        experiment.success_rate = rate(successful, total);
    }
    let name = file.experiment_name.text().or(file.name.text());
    if let Some(name) = name {
        experiment.name = redact_and_truncate(name, limits::MAX_TEXT_CHARS);
    }
    experiment.runner_type = file.runner_type.text().map(|kind| redact_and_truncate(kind, 100));
    experiment.time =
        experiment.time.take().or_else(|| written.as_deref().and_then(folder_time::parse_text_time));
    experiment.written = written;
    experiment.contract = file
        .contract_summary
        .0
        .as_ref()
        .map(|said| SkillContractResult::from_summary(said, file.total_cost_usd.number()));
}

#[expect(clippy::cast_precision_loss, reason = "there are never 2^53 runs")]
fn mean(sum: f64, count: u64) -> Option<f64> {
    (count > 0).then(|| round_to_four_digits(sum / count as f64))
}

/// Numbers of a file, each of which may be something else.
struct SummaryReader<'a> {
    path: &'a str,
    warnings: &'a mut FileWarnings,
}

impl SummaryReader<'_> {
    fn count(&mut self, key: &str, value: &LooseValue<'_>) -> Option<u64> {
        value.count().or_else(|| self.warn_wrong_type(key, value, "a count"))
    }

    fn number(&mut self, key: &str, value: &LooseValue<'_>) -> Option<f64> {
        value
            .number()
            .filter(|number| *number >= 0.0)
            .or_else(|| self.warn_wrong_type(key, value, "a duration"))
    }

    fn rate(&mut self, key: &str, value: &LooseValue<'_>) -> Option<f64> {
        let rate = value.number().filter(|rate| (0.0..=1.0).contains(rate)).map(round_to_four_digits);
        rate.or_else(|| self.warn_wrong_type(key, value, "a rate from 0 to 1"))
    }

    fn text(&mut self, key: &str, value: &LooseValue<'_>) -> Option<String> {
        value
            .text()
            .map(|text| redact_and_truncate(text, 100))
            .or_else(|| self.warn_wrong_type(key, value, "a text"))
    }

    fn warn_wrong_type<T>(&mut self, key: &str, value: &LooseValue<'_>, wanted: &str) -> Option<T> {
        if *value != LooseValue::Missing {
            self.warnings.add(self.path, None, format!("`{key}` is {}, not {wanted}", value.kind()));
        }
        None
    }
}
