//! What `fetch_insight_context` gives, for people: figures, a small picture of the trend, and tables.

#![expect(clippy::cast_precision_loss, reason = "pictures of counts")]

use std::fmt::Write;

use serde::Deserialize;
use unicode_width::UnicodeWidthStr;

use crate::styling::{dim, escape_controls};

/// The tool whose answer this is.
pub(crate) const TOOL_NAME: &str = "fetch_insight_context";

/// As much of the answer as is shown.
#[derive(Deserialize)]
struct InsightReply {
    projects: Vec<InsightProject>,
    aggregated_metrics: InsightMetrics,
    evaluation_reports: Vec<InsightReport>,
    warnings: Vec<String>,
    left_out: Vec<String>,
}

#[derive(Deserialize)]
struct InsightProject {
    name: String,
    cli: String,
}

#[derive(Deserialize)]
struct InsightMetrics {
    experiments: u64,
    total: u64,
    failed: u64,
    success_rate: Option<f64>,
    mean_duration_ms: Option<f64>,
    trend: Vec<InsightTrendPoint>,
    by_persona: std::collections::BTreeMap<String, InsightTally>,
    failing_inputs: Vec<InsightFailingInput>,
    slowest_inputs: Vec<InsightSlowInput>,
    last_against_previous: Option<InsightComparison>,
}

#[derive(Deserialize)]
struct InsightTrendPoint {
    experiment: String,
    time: Option<String>,
    total: Option<u64>,
    success_rate: Option<f64>,
    mean_duration_ms: Option<f64>,
    pass_rate: Option<f64>,
}

#[derive(Deserialize)]
struct InsightTally {
    runs: u64,
    failed: u64,
}

#[derive(Deserialize)]
struct InsightFailingInput {
    input: String,
    failed: u64,
    runs: u64,
    errors: std::collections::BTreeMap<String, u64>,
}

#[derive(Deserialize)]
struct InsightSlowInput {
    input: String,
    slowest_ms: f64,
    mean_ms: Option<f64>,
}

#[derive(Deserialize)]
struct InsightComparison {
    success_rate: Option<f64>,
    mean_duration_ms: Option<f64>,
    inputs_that_fail_now: Option<Vec<String>>,
    inputs_that_work_now: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct InsightReport {
    name: String,
    time: Option<String>,
    evaluation: Option<InsightEvaluation>,
    contract: Option<InsightContract>,
}

#[derive(Deserialize)]
struct InsightEvaluation {
    pass_rate: Option<f64>,
    average_score: Option<f64>,
    fully_judged: Option<bool>,
    criteria: Vec<InsightCriterion>,
}

#[derive(Deserialize)]
struct InsightCriterion {
    met: String,
}

#[derive(Deserialize)]
struct InsightContract {
    pass_rate: Option<f64>,
}

/// The page, or nothing if the answer has another form.
pub(crate) fn render_page(answer: &str, coloured: bool) -> Option<String> {
    let insight: InsightReply = serde_json::from_str(answer).ok()?;
    let InsightReply { projects, aggregated_metrics: metrics, evaluation_reports, warnings, left_out } =
        insight;
    let names: Vec<_> =
        projects.iter().map(|project| format!("{} ({})", project.name, project.cli)).collect();
    let sections = [
        Some(format!("{}\n{}\n", escape_controls(&names.join(", ")), totals(&metrics))),
        trend(&metrics.trend, coloured),
        metrics.last_against_previous.as_ref().map(comparison),
        personas(&metrics),
        failing_inputs(&metrics.failing_inputs),
        slowest_inputs(&metrics.slowest_inputs),
        evaluations(&evaluation_reports),
        notes("warning", &warnings, coloured),
        notes("left out", &left_out, coloured),
    ];
    Some(sections.into_iter().flatten().collect::<Vec<_>>().join("\n"))
}

fn totals(metrics: &InsightMetrics) -> String {
    let InsightMetrics { experiments, total, failed, success_rate, mean_duration_ms, .. } = metrics;
    let mean =
        mean_duration_ms.map(|mean| format!(", {} on average", milliseconds(mean))).unwrap_or_default();
    let rate = percent(*success_rate);
    format!("{experiments} experiments, {total} runs, {failed} failed, {rate} succeeded{mean}")
}

const SPARK_CHARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const BAR_WIDTH: usize = 10;

/// One character for a rate; a dot where nothing is known.
fn spark_char(rate: Option<f64>) -> char {
    let step = |rate: f64| {
        SPARK_CHARS.iter().enumerate().take_while(|(at, _)| *at as f64 <= rate * 7.0 + 0.5).last()
    };
    rate.and_then(step).map_or('·', |(_, bar)| *bar)
}

fn bar(rate: Option<f64>) -> String {
    let Some(rate) = rate else { return "not known".to_owned() };
    let filled = (1..=BAR_WIDTH).filter(|tenth| *tenth as f64 <= rate * BAR_WIDTH as f64 + 0.5).count();
    format!("{}{} {}", "█".repeat(filled), "░".repeat(BAR_WIDTH - filled), percent(Some(rate)))
}

fn trend(points: &[InsightTrendPoint], coloured: bool) -> Option<String> {
    let picture: String = points.iter().map(|point| spark_char(point.success_rate)).collect();
    let rows = points.iter().map(|point| {
        let name = point.experiment.rsplit('/').next().unwrap_or(&point.experiment);
        [
            format_time(point.time.as_deref()),
            name.to_owned(),
            point.total.map(|total| total.to_string()).unwrap_or_default(),
            bar(point.success_rate),
            point.mean_duration_ms.map(milliseconds).unwrap_or_default(),
            point.pass_rate.map(|rate| percent(Some(rate))).unwrap_or_default(),
        ]
    });
    let table = table_section(["time", "experiment", "runs", "succeeded", "mean", "passed"], rows)?;
    Some(format!("Trend {picture} {}\n{table}", dim("oldest first", coloured)))
}

fn comparison(comparison: &InsightComparison) -> String {
    let InsightComparison { success_rate, mean_duration_ms, inputs_that_fail_now, inputs_that_work_now } =
        comparison;
    let points = success_rate.map(|rate| format!("{:+.0} points", rate * 100.0));
    let time = mean_duration_ms.map(|change| format!("{change:+.1} ms"));
    let changed: Vec<String> = [points, time].into_iter().flatten().collect();
    let mut text = format!("Last run against the one before: {}\n", changed.join(", "));
    for (what, inputs) in [("fails now", inputs_that_fail_now), ("works now", inputs_that_work_now)] {
        for input in inputs.iter().flatten() {
            let _ = writeln!(text, "  {what}: {}", escape_controls(input));
        }
    }
    text
}

fn personas(metrics: &InsightMetrics) -> Option<String> {
    let rows = metrics.by_persona.iter().map(|(name, InsightTally { runs, failed })| {
        let rate = (*runs > 0).then(|| (runs.saturating_sub(*failed)) as f64 / *runs as f64);
        [name.clone(), runs.to_string(), failed.to_string(), bar(rate)]
    });
    table_section(["persona", "runs", "failed", "succeeded"], rows)
}

fn failing_inputs(inputs: &[InsightFailingInput]) -> Option<String> {
    let rows = inputs.iter().map(|InsightFailingInput { input, failed, runs, errors }| {
        let errors: Vec<_> = errors.iter().map(|(error, count)| format!("{error} ({count})")).collect();
        [input.clone(), format!("{failed} of {runs}"), errors.join(", ")]
    });
    table_section(["failing input", "failed", "errors"], rows)
}

fn slowest_inputs(inputs: &[InsightSlowInput]) -> Option<String> {
    let rows = inputs.iter().map(|InsightSlowInput { input, slowest_ms, mean_ms }| {
        [input.clone(), milliseconds(*slowest_ms), mean_ms.map(milliseconds).unwrap_or_default()]
    });
    table_section(["slowest input", "slowest", "mean"], rows)
}

fn evaluations(reports: &[InsightReport]) -> Option<String> {
    let rows = reports.iter().map(|report| {
        let (passed, score, criteria) = match (&report.evaluation, &report.contract) {
            (Some(judged), _) => {
                let score = judged.average_score.map(|score| format!("{score:.2}")).unwrap_or_default();
                (percent(judged.pass_rate), score, judged.criteria())
            }
            (None, Some(contract)) => (percent(contract.pass_rate), String::new(), "contract".to_owned()),
            (None, None) => Default::default(),
        };
        [format_time(report.time.as_deref()), report.name.clone(), passed, score, criteria]
    });
    table_section(["evaluated", "experiment", "passed", "score", "criteria"], rows)
}

impl InsightEvaluation {
    fn criteria(&self) -> String {
        let count = |met: &str| self.criteria.iter().filter(|criterion| criterion.met == met).count();
        let counted = [("met", "met"), ("not met", "not_met"), ("not judged", "not_judged")]
            .map(|(name, met)| (count(met) > 0).then(|| format!("{} {name}", count(met))));
        let mut text = counted.into_iter().flatten().collect::<Vec<_>>().join(", ");
        if self.fully_judged == Some(false) {
            text.push_str(if text.is_empty() { "not fully judged" } else { "; not fully judged" });
        }
        text
    }
}

fn notes(what: &str, notes: &[String], coloured: bool) -> Option<String> {
    let line = |note: &String| dim(&escape_controls(&format!("{what}: {note}")), coloured) + "\n";
    (!notes.is_empty()).then(|| notes.iter().map(line).collect())
}

fn percent(rate: Option<f64>) -> String {
    rate.map_or_else(|| "?".to_owned(), |rate| format!("{:.0} %", rate * 100.0))
}

fn milliseconds(time: f64) -> String {
    if time < 10_000.0 { format!("{time:.1} ms") } else { format!("{:.1} s", time / 1000.0) }
}

/// `2026-03-02T09:30:00` without its seconds.
fn format_time(time: Option<&str>) -> String {
    time.map(|time| time.chars().take(16).collect::<String>().replace('T', " ")).unwrap_or_default()
}

/// Cells are not shown beyond this: what is longer is in `--json`.
const MAX_CELL_WIDTH: usize = 60;

/// A table; nothing if it had no rows.
fn table_section<const N: usize>(head: [&str; N], rows: impl Iterator<Item = [String; N]>) -> Option<String> {
    let rows = rows.map(|row| row.map(|cell| truncate_cell(&escape_controls(&cell))));
    let lines: Vec<[String; N]> = std::iter::once(head.map(str::to_owned)).chain(rows).collect();
    (lines.len() > 1).then(|| crate::table::render_table(&lines, ""))
}

fn truncate_cell(text: &str) -> String {
    let mut shown = String::new();
    for character in text.chars() {
        if shown.width() >= MAX_CELL_WIDTH {
            return shown + "…";
        }
        shown.push(character);
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_become_a_page() {
        let point = |name: &str, rate: f64| json!({ "experiment": format!("fluxloop/desk/experiments/{name}"), "time": "2026-03-02T09:30:00", "total": 5, "success_rate": rate, "mean_duration_ms": 47.5 });
        let answer = json!({
            "projects": [{ "name": "desk", "cli": "0.2" }],
            "aggregated_metrics": {
                "experiments": 3, "total": 15, "failed": 6, "success_rate": 0.6, "mean_duration_ms": 47.5,
                "trend": [point("a", 0.0), point("b", 0.8), point("c", 1.0)],
                "by_persona": { "collector": { "runs": 4, "failed": 1 } },
                "failing_inputs": [{ "input": "Grüß Gott 📚", "failed": 2, "runs": 4, "errors": { "off\u{1b}[31mline": 2 } }],
                "slowest_inputs": [{ "input": "Why?", "slowest_ms": 12345.6, "mean_ms": 20 }],
                "last_against_previous": { "success_rate": 0.2, "mean_duration_ms": -1.5, "inputs_that_fail_now": [], "inputs_that_work_now": ["Why?"] },
            },
            "evaluation_reports": [{ "name": "a", "time": null, "evaluation": {
                "pass_rate": 0.75, "average_score": 0.8, "fully_judged": false, "criteria": [{ "met": "met" }, { "met": "not_judged" }],
            } }],
            "warnings": ["configs/input.yaml:3 is broken"],
            "left_out": [],
        });
        insta::assert_snapshot!(render_page(&answer.to_string(), false).unwrap());
    }

    #[test]
    fn unexpected_answer_renders_no_page() {
        assert_eq!(render_page("{}", false), None);
        assert_eq!(render_page("no JSON", false), None);
    }

    #[test]
    fn rates_render_as_bars() {
        let sparks: String = [Some(0.0), Some(0.5), Some(1.0), None].into_iter().map(spark_char).collect();
        assert_eq!(sparks, "▁▅█·");
        assert_eq!(bar(Some(0.8)), "████████░░ 80 %");
        assert_eq!(bar(Some(0.0)), "░░░░░░░░░░ 0 %");
        assert_eq!(bar(None), "not known");
    }
}
