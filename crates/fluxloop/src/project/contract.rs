//! Whether skills keep to their contracts, by 0.4.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::experiment::{rate, round_to_four_digits};
use super::limits;
use super::loose_json::{LooseList, LooseValue};
use super::redact::redact_and_truncate;

/// What the contract of a skill says of an experiment. Runs that failed are judged by no contract.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SkillContractResult {
    /// The rate of judged runs that kept to it.
    pub pass_rate: Option<f64>,
    /// Runs that were judged. Known with details only, like what follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judged: Option<u64>,
    /// Runs that were not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_judged: Option<u64>,
    /// Judged runs that kept to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<u64>,
    /// Each kind of assertion.
    pub assertions: BTreeMap<String, AssertionStats>,
    /// Assertions that did not hold: at most 200.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<FailedAssertion>,
    /// Warnings of the rules for the text of the skill, over all runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub static_warnings: Option<u64>,
    /// What all runs cost.
    pub cost_usd: Option<f64>,
}

/// How often assertions of one kind held.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct AssertionStats {
    /// As a rate.
    pub pass_rate: Option<f64>,
    /// As a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<u64>,
    /// Of how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
}

/// An assertion that did not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailedAssertion {
    /// In which round, from 0 on.
    pub iteration: Option<u64>,
    /// Its kind.
    pub assertion: String,
    /// `error` or `warning`.
    pub severity: String,
    /// What it demands.
    pub message: String,
    /// What was there instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<String>,
}

/// `contract_summary` of a summary.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct ContractSummary {
    overall_pass_rate: Option<f64>,
    assertion_pass_rates: BTreeMap<String, Option<f64>>,
}

/// `contract_results` of a line of the trace.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct TraceContractReport<'a> {
    #[serde(borrow)]
    overall_pass: LooseValue<'a>,
    #[serde(borrow)]
    results: LooseList<AssertionReport<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct AssertionReport<'a> {
    #[serde(borrow)]
    assertion_type: LooseValue<'a>,
    #[serde(borrow)]
    passed: LooseValue<'a>,
    #[serde(borrow)]
    severity: LooseValue<'a>,
    #[serde(borrow)]
    message: LooseValue<'a>,
    #[serde(borrow)]
    actual: LooseValue<'a>,
}

/// `static_results` of a line of the trace.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct TraceStaticReport<'a> {
    #[serde(borrow)]
    warning_count: LooseValue<'a>,
}

impl SkillContractResult {
    /// As far as the summary tells.
    pub(super) fn from_summary(said: &ContractSummary, cost_usd: Option<f64>) -> Self {
        let assertion = |(kind, rate): (&String, &Option<f64>)| {
            (
                redact_and_truncate(kind, 100),
                AssertionStats { pass_rate: rate.map(round_to_four_digits), ..AssertionStats::default() },
            )
        };
        Self {
            pass_rate: said.overall_pass_rate.map(round_to_four_digits),
            assertions: said.assertion_pass_rates.iter().map(assertion).collect(),
            cost_usd,
            ..Self::default()
        }
    }
}

/// Counts the reports of an experiment's runs.
#[derive(Default)]
pub(super) struct ContractTotals {
    judged: u64,
    passed: u64,
    static_warnings: u64,
    assertions: BTreeMap<String, (u64, u64)>,
    broken: Vec<FailedAssertion>,
}

impl ContractTotals {
    pub(super) fn add(
        &mut self,
        iteration: Option<u64>,
        report: Option<&TraceContractReport<'_>>,
        on_text: Option<&TraceStaticReport<'_>>,
    ) {
        self.static_warnings += on_text.and_then(|on_text| on_text.warning_count.count()).unwrap_or(0);
        let Some(report) = report else { return };
        self.judged += 1;
        self.passed += u64::from(report.overall_pass.flag() == Some(true));
        for line in &report.results.0 {
            let kind = redact_and_truncate(line.assertion_type.text().unwrap_or("unknown"), 100);
            let passed = line.passed.flag() == Some(true);
            let count = self.assertions.entry(kind.clone()).or_default();
            *count = (count.0 + u64::from(passed), count.1 + 1);
            if !passed && self.broken.len() < limits::MAX_FAILURES {
                let text = |value: &LooseValue<'_>| {
                    value.text().map(|text| redact_and_truncate(text, limits::MAX_TEXT_CHARS))
                };
                self.broken.push(FailedAssertion {
                    iteration,
                    assertion: kind,
                    severity: text(&line.severity).unwrap_or_default(),
                    message: text(&line.message).unwrap_or_default(),
                    actual: text(&line.actual),
                });
            }
        }
    }

    /// Puts what was counted into what the summary said.
    pub(super) fn apply_to(self, total: Option<u64>, contract: &mut Option<SkillContractResult>) {
        if self.judged == 0 && contract.is_none() {
            return;
        }
        let contract = contract.get_or_insert_default();
        contract.pass_rate = contract.pass_rate.or(rate(self.passed, self.judged));
        contract.judged = Some(self.judged);
        contract.not_judged = total.and_then(|total| total.checked_sub(self.judged));
        contract.passed = Some(self.passed);
        contract.static_warnings = Some(self.static_warnings);
        contract.broken = self.broken;
        for (kind, (passed, total)) in self.assertions {
            let assertion = contract.assertions.entry(kind).or_default();
            *assertion =
                AssertionStats { pass_rate: rate(passed, total), passed: Some(passed), total: Some(total) };
        }
    }
}
