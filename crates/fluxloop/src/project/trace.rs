//! Lines of traces and turns, as far as they matter.

use serde::Deserialize;

use super::contract::{Report, StaticReport};
use super::loose::{List, Loose, Mapping};
use super::tokens::Usage;

/// A line of `trace_summary.jsonl` or `traces.jsonl`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Trace<'a> {
    #[serde(borrow)]
    pub(super) run_id: Loose<'a>,
    #[serde(borrow)]
    pub(super) iteration: Loose<'a>,
    #[serde(borrow)]
    pub(super) persona: Loose<'a>,
    #[serde(borrow)]
    pub(super) input: Loose<'a>,
    #[serde(borrow)]
    pub(super) output: Loose<'a>,
    #[serde(borrow)]
    pub(super) success: Loose<'a>,
    #[serde(borrow)]
    pub(super) duration_ms: Loose<'a>,
    #[serde(borrow)]
    pub(super) error: Mapping<TraceError<'a>>,
    #[serde(borrow)]
    pub(super) token_usage: Mapping<Usage<'a>>,
    #[serde(borrow)]
    pub(super) turn_count: Loose<'a>,
    #[serde(borrow)]
    pub(super) termination_reason: Loose<'a>,
    #[serde(borrow)]
    pub(super) conversation: List<Turn<'a>>,
    #[serde(borrow)]
    pub(super) contract_results: Mapping<Report<'a>>,
    #[serde(borrow)]
    pub(super) static_results: Mapping<StaticReport<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct TraceError<'a> {
    #[serde(borrow)]
    pub(super) message: Loose<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Turn<'a> {
    #[serde(borrow)]
    pub(super) role: Loose<'a>,
    #[serde(borrow)]
    pub(super) warnings: List<Guardrail<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Guardrail<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Loose<'a>,
}
