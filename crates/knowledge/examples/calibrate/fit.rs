//! Fits the constants of a hit's score.
//!
//! Every collection's own questions are about it; those of the others, and everyday ones, are not. Fitted on every other
//! question and judged on the rest.

use knowledge::{Encoder, Index, Library, Query};

use crate::collection::CalibrationCollection;

/// What a question's best hit says about itself, and whether the question is about the collection.
type CalibrationCase = ([f64; 4], bool);

pub(crate) fn fit_and_report(encoder: &Encoder, collections: &[CalibrationCollection], everyday: &str) {
    let mut cases = Vec::new();
    for (at, collection) in collections.iter().enumerate() {
        let index = Index::build(&collection.documents, encoder).unwrap();
        let library = Library::new(encoder, vec![&index]).unwrap();
        for (other, from) in collections.iter().enumerate() {
            cases
                .extend(from.queries.iter().filter_map(|text| calibration_case(&library, text, at == other)));
        }
        cases.extend(everyday.lines().filter_map(|text| calibration_case(&library, text, false)));
    }
    let every_other = |first| cases.iter().copied().skip(first).step_by(2).collect::<Vec<_>>();
    let weights = fit(&every_other(0));
    println!("weights {weights:.3?} (constant, lexical, coverage, cosine)");
    report_thresholds(&weights, &every_other(1));
}

fn calibration_case(library: &Library<'_>, text: &str, is_about_it: bool) -> Option<CalibrationCase> {
    let found = library.search(&Query { text, hints: &[], top: 1 }).unwrap();
    let evidence = found.hits.first()?.evidence;
    let cosine = f64::from(evidence.cosine?);
    Some(([1.0, evidence.lexical.into(), evidence.coverage.into(), cosine], is_about_it))
}

/// Keeps the weights small: two collections are told apart too easily, and the next one may lie between them.
const RIDGE: f64 = 0.005;

/// Logistic regression by descent, both kinds of question counting the same.
fn fit(cases: &[CalibrationCase]) -> [f64; 4] {
    let about = cases.iter().filter(|case| case.1).count() as f64;
    let mut weights = [0.0; 4];
    for _ in 0..20_000 {
        let mut slope = [0.0; 4];
        for (features, is_about_it) in cases {
            let share = if *is_about_it { about } else { cases.len() as f64 - about };
            let error = (f64::from(u8::from(*is_about_it)) - score(&weights, features)) / share;
            slope.iter_mut().zip(features).for_each(|(slope, x)| *slope += error * x);
        }
        for (at, (weight, slope)) in weights.iter_mut().zip(slope).enumerate() {
            let pull = if at == 0 { 0.0 } else { RIDGE * *weight };
            *weight += slope - pull;
        }
    }
    weights
}

fn score(weights: &[f64; 4], features: &[f64; 4]) -> f64 {
    1.0 / (1.0 + (-weights.iter().zip(features).map(|(w, x)| w * x).sum::<f64>()).exp())
}

/// Which threshold keeps 95 of 100 questions that have an answer, and how many of the others it refuses.
fn report_thresholds(weights: &[f64; 4], cases: &[CalibrationCase]) {
    let scores = |wanted: bool| -> Vec<f64> {
        let mut scores: Vec<_> =
            cases.iter().filter(|case| case.1 == wanted).map(|case| score(weights, &case.0)).collect();
        scores.sort_by(f64::total_cmp);
        scores
    };
    let (inside, outside) = (scores(true), scores(false));
    for kept in [99, 95, 90] {
        let threshold = inside[inside.len() * (100 - kept) / 100];
        let refused = outside.partition_point(|score| *score < threshold) as f64 / outside.len() as f64;
        println!(
            "keeping {kept} %: threshold {threshold:.3}, refused {:.1} % of {}",
            refused * 100.0,
            outside.len()
        );
    }
}
