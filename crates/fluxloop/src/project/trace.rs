//! Lines of traces and turns, as far as they matter.

use serde::Deserialize;

use super::contract::{TraceContractReport, TraceStaticReport};
use super::loose_json::{LooseList, LooseMapping, LooseValue};
use super::tokens::RawTokenUsage;

/// A line of `trace_summary.jsonl` or `traces.jsonl`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct TraceRow<'a> {
    #[serde(borrow)]
    pub(super) run_id: LooseValue<'a>,
    #[serde(borrow)]
    pub(super) iteration: LooseValue<'a>,
    #[serde(borrow)]
    pub(super) persona: LooseValue<'a>,
    #[serde(borrow)]
    pub(super) input: LooseValue<'a>,
    #[serde(borrow)]
    pub(super) output: LooseValue<'a>,
    #[serde(borrow)]
    pub(super) success: LooseValue<'a>,
    #[serde(borrow)]
    pub(super) duration_ms: LooseValue<'a>,
    #[serde(borrow)]
    pub(super) error: LooseMapping<TraceRowError<'a>>,
    #[serde(borrow)]
    pub(super) token_usage: LooseMapping<RawTokenUsage<'a>>,
    #[serde(borrow)]
    pub(super) turn_count: LooseValue<'a>,
    #[serde(borrow)]
    pub(super) termination_reason: LooseValue<'a>,
    #[serde(borrow)]
    pub(super) conversation: LooseList<TraceTurn<'a>>,
    #[serde(borrow)]
    pub(super) contract_results: LooseMapping<TraceContractReport<'a>>,
    #[serde(borrow)]
    pub(super) static_results: LooseMapping<TraceStaticReport<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct TraceRowError<'a> {
    #[serde(borrow)]
    pub(super) message: LooseValue<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct TraceTurn<'a> {
    #[serde(borrow)]
    pub(super) role: LooseValue<'a>,
    #[serde(borrow)]
    pub(super) warnings: LooseList<GuardrailWarning<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct GuardrailWarning<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: LooseValue<'a>,
}
