//! Tokens: from the traces, or else from what the SDK observed of the same runs.

use std::collections::BTreeMap;

use serde::Deserialize;
use tree::{Tree, WorkBudget};

use super::experiment::TokenUsage;
use super::file::join_path;
use super::jsonl;
use super::loose_json::LooseValue;
use super::warning::FileWarnings;

/// The two ways to call them: 0.4 says `input_tokens`, everybody else `prompt_tokens`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct RawTokenUsage<'a> {
    #[serde(borrow, rename = "input_tokens")]
    input: LooseValue<'a>,
    #[serde(borrow, rename = "output_tokens")]
    output: LooseValue<'a>,
    #[serde(borrow, rename = "prompt_tokens")]
    prompt: LooseValue<'a>,
    #[serde(borrow, rename = "completion_tokens")]
    completion: LooseValue<'a>,
    #[serde(borrow, rename = "total_tokens")]
    total: LooseValue<'a>,
}

/// What was used by all.
#[derive(Default)]
pub(super) struct TokenTotals {
    uses: u64,
    input: u64,
    output: u64,
    total: u64,
}

impl TokenTotals {
    pub(super) fn add(&mut self, usage: &RawTokenUsage<'_>) {
        let input = usage.input.count().or(usage.prompt.count());
        let output = usage.output.count().or(usage.completion.count());
        let parts = (input.is_some() || output.is_some()).then(|| input.unwrap_or(0) + output.unwrap_or(0));
        let Some(total) = usage.total.count().or(parts) else { return };
        self.uses += 1;
        self.input += input.unwrap_or(0);
        self.output += output.unwrap_or(0);
        self.total += total;
    }

    pub(super) fn to_usage(&self, source: &'static str) -> Option<TokenUsage> {
        let Self { input, output, total, .. } = *self;
        (self.uses > 0).then_some(TokenUsage { source, input, output, total })
    }
}

pub(super) fn read_observed_tokens(
    tree: &Tree,
    id: &str,
    budget: &WorkBudget,
    lines: &mut BTreeMap<String, u64>,
    warnings: &mut FileWarnings,
) -> Option<TokenUsage> {
    let mut sum = TokenTotals::default();
    let read = jsonl::for_each_line(tree, &join_path(id, "observations.jsonl"), budget, warnings, |line| {
        let usage = jsonl::parse_object::<RawTokenUsage<'_>>(line)?;
        if usage.total.is_present() {
            sum.add(&usage);
        }
        Ok(())
    });
    lines.extend(read.map(|read| ("observations.jsonl".to_owned(), read.lines)));
    sum.to_usage("observations")
}
