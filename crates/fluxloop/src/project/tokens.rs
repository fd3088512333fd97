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
    #[serde(borrow, rename = "input_tokens")]
    input: Loose<'a>,
    #[serde(borrow, rename = "output_tokens")]
    output: Loose<'a>,
    #[serde(borrow, rename = "prompt_tokens")]
    prompt: Loose<'a>,
    #[serde(borrow, rename = "completion_tokens")]
    completion: Loose<'a>,
    #[serde(borrow, rename = "total_tokens")]
    total: Loose<'a>,
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
        let input = usage.input.count().or(usage.prompt.count());
        let output = usage.output.count().or(usage.completion.count());
        let parts = (input.is_some() || output.is_some()).then(|| input.unwrap_or(0) + output.unwrap_or(0));
        let Some(total) = usage.total.count().or(parts) else { return };
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
        if usage.total.is_there() {
            sum.add(&usage);
        }
        Ok(())
    });
    lines.extend(read.map(|read| ("observations.jsonl".to_owned(), read.lines)));
    sum.finish("observations")
}
