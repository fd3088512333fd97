//! Fits the constants of `search/confidence.rs`.
//!
//! `cargo run --release -p fluxway-knowledge --example calibrate -- TABLE QUESTIONS DIR DIR …`: every folder is a collection as
//! for `retrieval`. Its own questions are about it; those of the others, and those in the file `QUESTIONS`, are not. The
//! constants are fitted on every other question and judged on the rest.

#![expect(clippy::print_stdout, reason = "constants are what it is for")]
#![expect(clippy::unwrap_used, reason = "a broken collection ends the fitting")]
#![expect(clippy::cast_precision_loss, reason = "shares of small numbers")]

#[path = "retrieval/collection.rs"]
mod collection;

use std::path::Path;

use collection::Collection;
use knowledge::{Encoder, Index, Library, Query};

/// What a question's best hit says about itself, and whether the question is about the collection.
type Case = ([f64; 4], bool);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [table, questions, folders @ ..] = arguments.as_slice() else { panic!("TABLE QUESTIONS DIR …") };
    let encoder = Encoder::new(collection::read(Path::new(table))).unwrap();
    let everyday = String::from_utf8(collection::read(Path::new(questions))).unwrap();
    let collections: Vec<_> = folders.iter().map(|folder| Collection::read(Path::new(folder))).collect();

    let mut cases = Vec::new();
    for (at, collection) in collections.iter().enumerate() {
        let index = Index::build(&collection.pages, &encoder).unwrap();
        let library = Library::new(&encoder, vec![&index]).unwrap();
        for (other, from) in collections.iter().enumerate() {
            cases.extend(from.queries.iter().filter_map(|(_, text)| case(&library, text, at == other)));
        }
        cases.extend(everyday.lines().filter_map(|text| case(&library, text, false)));
    }
    let (fitted_on, judged_on): (Vec<_>, Vec<_>) = cases.iter().enumerate().partition(|(at, _)| at % 2 == 0);
    let weights = fit(&fitted_on.into_iter().map(|(_, case)| *case).collect::<Vec<_>>());
    println!("weights {weights:.3?} (constant, lexical, coverage, cosine)");
    judge(&weights, &judged_on.into_iter().map(|(_, case)| *case).collect::<Vec<_>>());
}

fn case(library: &Library<'_>, text: &str, is_about_it: bool) -> Option<Case> {
    let found = library.search(&Query { text, hints: &[], top: 1 }).unwrap();
    let evidence = found.hits.first()?.evidence;
    let cosine = f64::from(evidence.cosine?);
    Some(([1.0, evidence.lexical.into(), evidence.coverage.into(), cosine], is_about_it))
}

/// Logistic regression by descent, both kinds of question counting the same.
fn fit(cases: &[Case]) -> [f64; 4] {
    let about = cases.iter().filter(|case| case.1).count() as f64;
    let mut weights = [0.0; 4];
    for _ in 0..20_000 {
        let mut slope = [0.0; 4];
        for (features, is_about_it) in cases {
            let share = if *is_about_it { about } else { cases.len() as f64 - about };
            let error = (f64::from(u8::from(*is_about_it)) - score(&weights, features)) / share;
            slope.iter_mut().zip(features).for_each(|(slope, x)| *slope += error * x);
        }
        weights.iter_mut().zip(slope).for_each(|(weight, slope)| *weight += 2.0 * slope);
    }
    weights
}

fn score(weights: &[f64; 4], features: &[f64; 4]) -> f64 {
    1.0 / (1.0 + (-weights.iter().zip(features).map(|(w, x)| w * x).sum::<f64>()).exp())
}

/// Which threshold keeps 95 of 100 questions that have an answer, and how many of the others it refuses.
fn judge(weights: &[f64; 4], cases: &[Case]) {
    let scores = |wanted: bool| -> Vec<f64> {
        let mut scores: Vec<_> = cases.iter().filter(|case| case.1 == wanted).map(|case| score(weights, &case.0)).collect();
        scores.sort_by(f64::total_cmp);
        scores
    };
    let (inside, outside) = (scores(true), scores(false));
    for kept in [99, 95, 90] {
        let threshold = inside[inside.len() * (100 - kept) / 100];
        let refused = outside.partition_point(|score| *score < threshold) as f64 / outside.len() as f64;
        println!("keeping {kept} %: threshold {threshold:.3}, refused {:.1} % of {}", refused * 100.0, outside.len());
    }
}
