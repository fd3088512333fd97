//! Tokens: from the traces, or else from what the SDK observed of the same runs.

use std::collections::BTreeMap;

use serde::Deserialize;
use tree::{Budget, Tree};

use super::experiment::Tokens;
use super::file::join;
use super::jsonl;
use super::loose::Loose;
use super::warning::Warnings;

/// The two ways to call them: 0.4 says `input_tokens`, everybody else `prompt_tokens`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Usage<'a> {
    #[serde(borrow)]
    input_tokens: Loose<'a>,
    #[serde(borrow)]
    output_tokens: Loose<'a>,
    #[serde(borrow)]
    prompt_tokens: Loose<'a>,
    #[serde(borrow)]
    completion_tokens: Loose<'a>,
    #[serde(borrow)]
    total_tokens: Loose<'a>,
}

/// What was used by all.
#[derive(Default)]
pub(super) struct TokenSum {
    uses: u64,
    input: u64,
    output: u64,
    total: u64,
}

impl TokenSum {
    pub(super) fn add(&mut self, usage: &Usage<'_>) {
        let input = usage.input_tokens.count().or(usage.prompt_tokens.count());
        let output = usage.output_tokens.count().or(usage.completion_tokens.count());
        let parts = (input.is_some() || output.is_some()).then(|| input.unwrap_or(0) + output.unwrap_or(0));
        let Some(total) = usage.total_tokens.count().or(parts) else { return };
        self.uses += 1;
        self.input += input.unwrap_or(0);
        self.output += output.unwrap_or(0);
        self.total += total;
    }

    pub(super) fn finish(&self, source: &'static str) -> Option<Tokens> {
        let Self { input, output, total, .. } = *self;
        (self.uses > 0).then_some(Tokens { source, input, output, total })
    }
}

pub(super) fn observed(
    tree: &Tree,
    id: &str,
    budget: &Budget,
    lines: &mut BTreeMap<String, u64>,
    warnings: &mut Warnings,
) -> Option<Tokens> {
    let mut sum = TokenSum::default();
    let read = jsonl::each(tree, &join(id, "observations.jsonl"), budget, warnings, |line| {
        let usage = jsonl::object::<Usage<'_>>(line)?;
        if usage.total_tokens.is_there() {
            sum.add(&usage);
        }
        Ok(())
    });
    lines.extend(read.map(|read| ("observations.jsonl".to_owned(), read.lines)));
    sum.finish("observations")
}
