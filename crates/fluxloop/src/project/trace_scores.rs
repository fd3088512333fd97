//! `evaluation/per_trace.jsonl`: who judged which trace, and who only gave an excuse.

use std::collections::BTreeMap;

use serde::Deserialize;
use tree::{Tree, WorkBudget};

use super::NO_PERSONA;
use super::evaluation::{EvaluatedTrace, ExperimentEvaluation, PersonaScore};
use super::experiment::{rate, round_to_four_digits};
use super::file::join_path;
use super::jsonl;
use super::limits;
use super::loose_json::LooseValue;
use super::redact::redact_and_truncate;
use super::warning::FileWarnings;

/// What a judge gives as its reason if it has not judged. It then scores 0.0, which is no mark.
const NOT_JUDGED_REASONS: [&str; 7] = [
    "LLM API key not provided",
    "openai package not installed",
    "Skipped due to LLM sampling",
    "LLM evaluation budget exhausted",
    "LLM call failed",
    "No numeric score found",
    "Score ",
];

/// Whether these are the words of a judge that did not judge.
pub(super) fn is_not_judged_reason(reason: &str) -> bool {
    NOT_JUDGED_REASONS.iter().any(|excuse| reason.starts_with(excuse))
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PerTraceRow<'a> {
    #[serde(borrow)]
    persona: LooseValue<'a>,
    scores: BTreeMap<String, Option<f64>>,
    #[serde(borrow)]
    final_score: LooseValue<'a>,
    #[serde(borrow)]
    pass: LooseValue<'a>,
    reasons: BTreeMap<String, ReasonText>,
    #[serde(borrow)]
    meta: PerTraceMeta<'a>,
}

/// One reason, or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum ReasonText {
    One(String),
    Several(Vec<String>),
    Other(serde::de::IgnoredAny),
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PerTraceMeta<'a> {
    #[serde(borrow)]
    input: LooseValue<'a>,
}

impl ReasonText {
    fn texts(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Several(several) => several,
            Self::Other(_) => &[],
        }
    }
}

/// What the traces of an evaluation say when they are counted again.
#[derive(Default)]
pub(super) struct TraceScoreTotals {
    traces: u64,
    passed: u64,
    score: f64,
    personas: BTreeMap<String, (PersonaScore, f64)>,
    /// Judged, not judged, and the sum of the scores.
    evaluators: BTreeMap<String, (u64, u64, f64)>,
    list: Vec<EvaluatedTrace>,
    /// A line or a reason could not be read, and may have been an excuse.
    is_partial: bool,
}

impl TraceScoreTotals {
    /// `None` if there is no such file, or nothing in it.
    pub(super) fn read(
        tree: &Tree,
        id: &str,
        budget: &WorkBudget,
        warnings: &mut FileWarnings,
    ) -> Option<Self> {
        let mut counted = Self::default();
        let read = jsonl::for_each_line(
            tree,
            &join_path(id, "evaluation/per_trace.jsonl"),
            budget,
            warnings,
            |line| jsonl::parse_object::<PerTraceRow<'_>>(line).map(|line| counted.add(&line)),
        )?;
        counted.is_partial |= read.broken > 0;
        (counted.traces > 0).then_some(counted)
    }

    fn add(&mut self, line: &PerTraceRow<'_>) {
        let excused = |name: &str| {
            line.reasons
                .get(name)
                .is_some_and(|words| words.texts().iter().any(|word| is_not_judged_reason(word)))
        };
        self.is_partial |= line.reasons.values().any(|words| matches!(words, ReasonText::Other(_)));
        let pass = line.pass.flag() == Some(true);
        let score = line.final_score.number();
        let persona = line.persona.text().filter(|persona| !persona.is_empty()).unwrap_or(NO_PERSONA);
        self.traces += 1;
        self.passed += u64::from(pass);
        self.score += score.unwrap_or(0.0);
        let (of_persona, sum) =
            self.personas.entry(redact_and_truncate(persona, limits::MAX_TEXT_CHARS)).or_default();
        of_persona.count += 1;
        of_persona.passed = Some(of_persona.passed.unwrap_or(0) + u64::from(pass));
        *sum += score.unwrap_or(0.0);
        for (name, score) in &line.scores {
            let evaluator =
                self.evaluators.entry(redact_and_truncate(name, limits::MAX_TEXT_CHARS)).or_default();
            evaluator.0 += u64::from(!excused(name));
            evaluator.1 += u64::from(excused(name));
            evaluator.2 += score.unwrap_or(0.0);
        }
        if self.list.len() < limits::MAX_EVALUATED_TRACES {
            let words = line.reasons.values().flat_map(ReasonText::texts);
            let scored = line.scores.iter().filter(|(name, _)| !excused(name));
            self.list.push(EvaluatedTrace {
                input: line.meta.input.text().map(|input| redact_and_truncate(input, limits::MAX_TEXT_CHARS)),
                persona: redact_and_truncate(persona, limits::MAX_TEXT_CHARS),
                score: score.map(round_to_four_digits),
                pass,
                scores: scored
                    .filter_map(|(name, score)| {
                        Some((
                            redact_and_truncate(name, limits::MAX_TEXT_CHARS),
                            round_to_four_digits((*score)?),
                        ))
                    })
                    .collect(),
                not_judged: line
                    .scores
                    .keys()
                    .filter(|name| excused(name))
                    .map(|name| redact_and_truncate(name, limits::MAX_TEXT_CHARS))
                    .collect(),
                reasons: words.map(|word| redact_and_truncate(word, limits::MAX_TEXT_CHARS)).collect(),
            });
        }
    }

    /// Counted numbers are better than told ones.
    #[expect(clippy::cast_precision_loss, reason = "there are never 2^53 traces")]
    pub(super) fn apply_to(self, evaluation: &mut ExperimentEvaluation) {
        if self.evaluators.values().any(|(_, not_judged, _)| *not_judged > 0) {
            evaluation.fully_judged = Some(false);
        } else if !self.is_partial && !self.evaluators.is_empty() {
            evaluation.fully_judged = Some(true);
        }
        evaluation.traces = Some(self.traces);
        evaluation.passed = Some(self.passed);
        evaluation.pass_rate = rate(self.passed, self.traces);
        evaluation.average_score = Some(round_to_four_digits(self.score / self.traces as f64));
        evaluation.by_persona = BTreeMap::new();
        for (name, (mut score, sum)) in self.personas {
            score.pass_rate = score.passed.and_then(|passed| rate(passed, score.count));
            score.average_score = Some(round_to_four_digits(sum / score.count as f64));
            evaluation.by_persona.insert(name, score);
        }
        for (name, (judged, not_judged, sum)) in self.evaluators {
            let evaluator = evaluation.evaluators.entry(name).or_default();
            evaluator.average = Some(round_to_four_digits(sum / (judged + not_judged) as f64));
            evaluator.judged = Some(judged);
            evaluator.not_judged = Some(not_judged);
        }
        evaluation.traces_left_out = self.traces - self.list.len() as u64;
        evaluation.per_trace = self.list;
    }
}
