//! What 0.2.30 judged: `evaluation/`. A judge that could not judge is told apart from a bad mark.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use tree::{Tree, WorkBudget};

use super::experiment::{is_zero, round_to_four_digits};
use super::file::{self, join_path};
use super::limits;
use super::redact::{redact, redact_and_truncate};
use super::trace_scores::{self, TraceScoreTotals};
use super::warning::FileWarnings;

/// What was judged.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ExperimentEvaluation {
    /// How many traces.
    pub traces: Option<u64>,
    /// How many passed.
    pub passed: Option<u64>,
    /// As a rate. While not everything is judged, it says nothing.
    pub pass_rate: Option<f64>,
    /// Of all traces.
    pub average_score: Option<f64>,
    /// The score from which a trace passes.
    pub threshold: Option<f64>,
    /// Whether every evaluator judged every trace. `None` if nothing readable tells.
    pub fully_judged: Option<bool>,
    /// What to think of the numbers if not, or if that is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caution: Option<&'static str>,
    /// Each evaluator.
    pub evaluators: BTreeMap<String, EvaluatorResult>,
    /// Each persona; `(none)` for traces without one.
    pub by_persona: BTreeMap<String, PersonaScore>,
    /// What evaluators said most often, of traces that passed as well.
    pub top_reasons: Vec<EvaluationReason>,
    /// What a good answer is.
    pub goal: Option<String>,
    /// Whether it was a success in all, as the file says. It says `false` of what was not judged too, so `false` is told
    /// only if everything was.
    pub overall_success: Option<bool>,
    /// Each criterion.
    pub criteria: Vec<EvaluationCriterion>,
    /// What the CLI recommends.
    pub recommendations: Vec<EvaluationRecommendation>,
    /// Traces with their scores: at most 200, and only with details.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub per_trace: Vec<EvaluatedTrace>,
    /// Traces that were too many for the list.
    #[serde(skip_serializing_if = "is_zero")]
    pub traces_left_out: u64,
}

/// An evaluator.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct EvaluatorResult {
    /// As the CLI has it, with 0.0 for what was not judged.
    pub average: Option<f64>,
    /// Traces that it judged. Known with details only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judged: Option<u64>,
    /// Traces that it could not judge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_judged: Option<u64>,
}

/// How a persona did.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PersonaScore {
    /// Traces.
    pub count: u64,
    /// Those that passed. Known with details only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<u64>,
    /// As a rate.
    pub pass_rate: Option<f64>,
    /// Of its traces.
    pub average_score: Option<f64>,
}

/// What was said, and how often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EvaluationReason {
    /// The words.
    pub reason: String,
    /// How often.
    pub count: u64,
}

/// A criterion of success.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvaluationCriterion {
    /// `performance.avg_response_time`.
    pub name: String,
    /// Whether it was met.
    pub met: CriterionOutcome,
    /// The numbers behind it, without what the file calls `met`.
    pub details: Value,
}

/// Whether a criterion was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CriterionOutcome {
    /// It was.
    Met,
    /// It was not.
    NotMet,
    /// Unknown, whatever the file says.
    NotJudged,
}

/// What the CLI recommends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EvaluationRecommendation {
    /// In a few words.
    pub title: String,
    /// How urgent.
    pub priority: Option<String>,
    /// In a sentence.
    pub summary: Option<String>,
    /// It rests on scores of evaluators that did not judge, or may not have.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub based_on_unjudged: bool,
}

/// A trace and its scores.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct EvaluatedTrace {
    /// What was said to the agent.
    pub input: Option<String>,
    /// By whom.
    pub persona: String,
    /// In all.
    pub score: Option<f64>,
    /// Whether that was enough.
    pub pass: bool,
    /// By each evaluator that judged.
    pub scores: BTreeMap<String, f64>,
    /// Evaluators that did not judge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_judged: Vec<String>,
    /// What they said.
    pub reasons: Vec<String>,
}

const UNJUDGED_CAUTION: &str = "some evaluators did not judge and scored 0.0 instead, so pass rate, average, criteria and \
    recommendations say less than they seem to";
const UNKNOWN_JUDGING_CAUTION: &str = "whether all evaluators judged cannot be read; one that did not has scored 0.0, so pass rate, \
    average, criteria and recommendations may say less than they seem to";

/// Reads `evaluation/summary.json`; with a budget also the traces that it sums up.
pub(super) fn read(
    tree: &Tree,
    id: &str,
    details: Option<&WorkBudget>,
    warnings: &mut FileWarnings,
) -> Option<ExperimentEvaluation> {
    let path = join_path(id, "evaluation/summary.json");
    let said = EvaluationFile { value: file::read_json::<Value>(tree, &path, warnings)?, path: &path };
    let mut evaluation = ExperimentEvaluation {
        traces: said.count("total_traces", warnings),
        passed: said.count("passed_traces", warnings),
        pass_rate: said.number("pass_rate", warnings).map(round_to_four_digits),
        average_score: said.number("average_score", warnings).map(round_to_four_digits),
        threshold: said.number("threshold", warnings),
        evaluators: said.evaluators(warnings),
        by_persona: said.personas(warnings),
        top_reasons: said.reasons(warnings),
        goal: said
            .value
            .get("evaluation_goal")
            .and_then(Value::as_str)
            .map(|goal| redact_and_truncate(goal, limits::MAX_TEXT_CHARS)),
        overall_success: said.value.get("overall_success").and_then(Value::as_bool),
        ..ExperimentEvaluation::default()
    };
    evaluation.fully_judged = said.is_fully_judged(&evaluation.top_reasons);
    if let Some(counted) = details.and_then(|budget| TraceScoreTotals::read(tree, id, budget, warnings)) {
        counted.apply_to(&mut evaluation);
    }
    evaluation.criteria = said.criteria(&evaluation);
    evaluation.recommendations = said.recommendations(&evaluation);
    evaluation.overall_success =
        evaluation.overall_success.filter(|success| *success || evaluation.fully_judged == Some(true));
    evaluation.caution = match evaluation.fully_judged {
        Some(true) => None,
        Some(false) => Some(UNJUDGED_CAUTION),
        None => Some(UNKNOWN_JUDGING_CAUTION),
    };
    Some(evaluation)
}

/// The file, in which everything may be of another kind.
struct EvaluationFile<'a> {
    value: Value,
    path: &'a str,
}

impl EvaluationFile<'_> {
    fn warn_wrong_type<T>(&self, key: &str, wanted: &str, warnings: &mut FileWarnings) -> Option<T> {
        warnings.add(self.path, None, format!("`{key}` is not {wanted}"));
        None
    }

    fn count(&self, key: &str, warnings: &mut FileWarnings) -> Option<u64> {
        self.value.get(key)?.as_u64().or_else(|| self.warn_wrong_type(key, "a count", warnings))
    }

    fn number(&self, key: &str, warnings: &mut FileWarnings) -> Option<f64> {
        self.value.get(key)?.as_f64().or_else(|| self.warn_wrong_type(key, "a number", warnings))
    }

    fn evaluators(&self, warnings: &mut FileWarnings) -> BTreeMap<String, EvaluatorResult> {
        let mut found = BTreeMap::new();
        match self.value.get("evaluators") {
            Some(Value::Array(names)) => {
                let names = names.iter().filter_map(Value::as_str);
                found.extend(names.map(|name| {
                    (redact_and_truncate(name, limits::MAX_TEXT_CHARS), EvaluatorResult::default())
                }));
            }
            Some(_) => drop(self.warn_wrong_type::<()>("evaluators", "a list", warnings)),
            None => {}
        }
        for (name, stats) in
            self.value.get("evaluator_stats").and_then(Value::as_object).into_iter().flatten()
        {
            let average = stats.get("average").and_then(Value::as_f64).map(round_to_four_digits);
            found.entry(redact_and_truncate(name, limits::MAX_TEXT_CHARS)).or_default().average = average;
        }
        found
    }

    fn personas(&self, warnings: &mut FileWarnings) -> BTreeMap<String, PersonaScore> {
        let entries = match self.value.get("persona_breakdown") {
            Some(Value::Object(entries)) => entries,
            Some(_) => {
                return self.warn_wrong_type("persona_breakdown", "a mapping", warnings).unwrap_or_default();
            }
            None => return BTreeMap::new(),
        };
        let score = |(name, stats): (&String, &Value)| {
            let number = |key: &str| stats.get(key).and_then(Value::as_f64).map(round_to_four_digits);
            let count = stats.get("count").and_then(Value::as_u64).unwrap_or(0);
            let score = PersonaScore {
                count,
                passed: None,
                pass_rate: number("pass_rate"),
                average_score: number("average_score"),
            };
            // This is what the CLI calls traces without a persona.
            (
                if name == "default" {
                    super::NO_PERSONA.to_owned()
                } else {
                    redact_and_truncate(name, limits::MAX_TEXT_CHARS)
                },
                score,
            )
        };
        entries.iter().map(score).collect()
    }

    fn reasons(&self, warnings: &mut FileWarnings) -> Vec<EvaluationReason> {
        let rows = match self.value.get("top_reasons") {
            Some(Value::Array(rows)) => rows.as_slice(),
            Some(_) => self.warn_wrong_type("top_reasons", "a list", warnings).unwrap_or_default(),
            None => &[],
        };
        let reason = |row: &Value| {
            let pair =
                row.as_array().and_then(|pair| Some((pair.first()?.as_str()?, pair.get(1)?.as_u64()?)));
            pair.map(|(reason, count)| EvaluationReason {
                reason: redact_and_truncate(reason, limits::MAX_TEXT_CHARS),
                count,
            })
        };
        let found: Vec<_> = rows.iter().filter_map(reason).collect();
        if found.len() < rows.len() {
            self.warn_wrong_type::<()>("top_reasons", "a list of texts with their counts", warnings);
        }
        found
    }

    /// Whether no reason is an excuse. Unknown if some of them cannot be read, or none is there.
    fn is_fully_judged(&self, readable: &[EvaluationReason]) -> Option<bool> {
        if readable.iter().any(|top| trace_scores::is_not_judged_reason(&top.reason)) {
            return Some(false);
        }
        let all = self.value.get("top_reasons")?.as_array()?;
        (all.len() == readable.len()).then_some(true)
    }

    /// All that the CLI recommends rests on scores, except what rests on an evaluator that did judge.
    fn recommendations(&self, evaluation: &ExperimentEvaluation) -> Vec<EvaluationRecommendation> {
        let rows = self.value.get("analysis").and_then(|analysis| analysis.get("recommendations"));
        let rows = rows.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let recommendation = |row: &Value| {
            let text = |key: &str| {
                row.get(key)
                    .and_then(Value::as_str)
                    .map(|text| redact_and_truncate(text, limits::MAX_TEXT_CHARS))
            };
            let evaluator = row.get("metrics").and_then(|metrics| metrics.get("evaluator")?.as_str());
            let evaluator = evaluator.and_then(|name| evaluation.evaluators.get(name));
            let is_judged = evaluator.is_some_and(|evaluator| evaluator.not_judged == Some(0));
            Some(EvaluationRecommendation {
                title: text("title")?,
                priority: text("priority"),
                summary: text("summary"),
                based_on_unjudged: evaluation.fully_judged != Some(true) && !is_judged,
            })
        };
        rows.iter().filter_map(recommendation).collect()
    }

    /// Sections of criteria; beside them stands `overall_success`, which is none.
    fn criteria(&self, evaluation: &ExperimentEvaluation) -> Vec<EvaluationCriterion> {
        let sections = self.value.get("success_criteria_results").and_then(Value::as_object);
        let mut found = Vec::new();
        for (section, criteria) in sections.into_iter().flatten() {
            for (name, result) in criteria.as_object().into_iter().flatten() {
                // A criterion that is called like an evaluator is as good as what that evaluator did.
                let evaluator = evaluation.evaluators.get(name);
                let is_unjudged = match evaluator.and_then(|evaluator| evaluator.not_judged) {
                    Some(not_judged) => not_judged > 0,
                    None => {
                        evaluator.is_some_and(|evaluator| evaluator.average == Some(0.0))
                            && evaluation.fully_judged != Some(true)
                    }
                };
                let met = match result.get("met").and_then(Value::as_bool) {
                    _ if is_unjudged => CriterionOutcome::NotJudged,
                    Some(true) => CriterionOutcome::Met,
                    Some(false) => CriterionOutcome::NotMet,
                    None => CriterionOutcome::NotJudged,
                };
                let mut details = redact(result.clone());
                // Reported above, and better: the file says `false` for what was not judged.
                details.as_object_mut().and_then(|details| details.remove("met"));
                found.push(EvaluationCriterion { name: format!("{section}.{name}"), met, details });
            }
        }
        found
    }
}
