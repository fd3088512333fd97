//! Fits the constants of a hit's score, which stand in `search/confidence.rs`.
//!
//! `cargo run --release -p fluxway-knowledge --example calibrate -- DIR DIR…` with collections of which none is about another. A `DIR`
//! has `corpus.jsonl` (`_id`, `title`, `text`, and for passages of a page `doc` and `heading`) and `queries.jsonl` (`_id`, `text`).
//! How good the search is, `bench retrieval` tells.

#![expect(clippy::print_stdout, reason = "figures are what it is for")]
#![expect(clippy::unwrap_used, reason = "a broken collection ends the measurement")]
#![expect(clippy::cast_precision_loss, reason = "means of small numbers")]

mod collection;
mod fit;

use std::path::Path;

use collection::CalibrationCollection;
use knowledge::shipped;

/// Questions that are about no collection.
const EVERYDAY_QUESTIONS: &str = include_str!("everyday.txt");

fn main() {
    let collections: Vec<_> =
        std::env::args().skip(1).map(|folder| CalibrationCollection::read(Path::new(&folder))).collect();
    fit::fit_and_report(shipped::encoder(), &collections, EVERYDAY_QUESTIONS);
}
