//! How good the search of documents is, and how fast, on judged collections and on made-up ones that grow.
//!
//! A collection is a folder with `corpus.jsonl` (`_id`, `title`, `text`, and for passages of a page `doc` and `heading`),
//! `queries.jsonl` (`_id`, `text`) and `qrels.tsv` (query, document, grade). None comes with the project.

mod collection;
mod python_peer;
mod quality;
mod scale;
mod tantivy_peer;

use std::path::Path;
use std::time::{Duration, Instant};

use server::knowledge::{Encoder, Index, Library, MIN_GOOD_SCORE, Query, Tuning, shipped};

use crate::BenchResult;
use crate::table::FigureTable;
use collection::JudgedCollection;
use quality::{RankedPages, RankingQuality};

/// Questions that no documentation answers.
const FOREIGN_QUESTIONS: &str = include_str!("retrieval/foreign.txt");

const COLUMNS: [&str; 10] = [
    "nDCG@10",
    "recall@5",
    "MRR@10",
    "foreign refused, %",
    "own kept, %",
    "index, ms",
    "open, ms",
    "first answer, ms",
    "p50, ms",
    "p99, ms",
];

pub(crate) fn run(quick: bool, folders: &[String]) -> BenchResult<()> {
    let encoder = shipped::encoder();
    let mut tables = Vec::new();
    for folder in folders {
        tables.push(measure_collection(encoder, Path::new(folder), quick)?);
    }
    tables.push(scale::build_table(encoder, quick)?);
    tables.iter().for_each(FigureTable::print);
    crate::table::save("retrieval", &tables.iter().collect::<Vec<_>>())
}

fn measure_collection(encoder: &Encoder, folder: &Path, quick: bool) -> BenchResult<FigureTable> {
    let collection = &JudgedCollection::read(folder)?;
    let name = folder.file_name().unwrap_or_default().display();
    let mut table = FigureTable::new(format!("Search in {name}"), &COLUMNS);
    let (index, indexing) = timed(|| Index::build(&collection.pages, encoder));
    let bytes = index?.bytes().to_vec();
    let (index, opening) = timed(|| Index::open(bytes));
    let index = index?;
    let first = first_answer(encoder, &index, collection)?;
    let hybrid = Tuning::default();
    let alone = |dense| Tuning { dense, expansion: 0.0, ..hybrid };
    for (name, tuning) in [("fluxway", hybrid), ("BM25 alone", alone(0.0)), ("vectors alone", alone(1.0))] {
        let library = Library::new(encoder, vec![&index])?.with_tuning(tuning);
        let mut best = Vec::new();
        let quality = RankingQuality::measure(collection, |text| {
            let found = library.search(&Query { text, hints: &[], top: 10 }).map(|found| found.hits);
            let hits = found.unwrap_or_default();
            best.push(hits.first().map_or(0.0, |hit| hit.score));
            hits.iter().map(|hit| hit.document.path.to_owned()).collect()
        });
        let is_hybrid = name == "fluxway";
        let kept = is_hybrid.then(|| percentage(best.iter().copied(), |score| score >= MIN_GOOD_SCORE));
        let refused = is_hybrid.then(|| percentage(foreign_scores(&library), |score| score < MIN_GOOD_SCORE));
        let once = |time: Duration| is_hybrid.then_some(time.as_secs_f64() * 1e3);
        let mut row = quality.figures();
        row.extend([
            refused,
            kept,
            once(indexing),
            once(opening),
            once(first),
            Some(quality.p50()),
            Some(quality.p99()),
        ]);
        table.add_row(name, row);
    }
    table.add_row("tantivy, BM25", tantivy_peer::measure_figures(collection)?);
    if !quick {
        match python_peer::measure_figures(folder, collection) {
            Ok(figures) => table.add_row("fluxloop-mcp 0.1.3 (Python)", figures),
            Err(error) => println!("NOT MEASURED: fluxloop-mcp: {error}"),
        }
    }
    Ok(table)
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let done = work();
    (done, start.elapsed())
}

fn first_answer(encoder: &Encoder, index: &Index, collection: &JudgedCollection) -> BenchResult<Duration> {
    let text = collection.queries.first().map_or("", |(_, text)| text);
    let (answer, time) = timed(|| -> BenchResult<_> {
        Ok(Library::new(encoder, vec![index])?.answer(&Query { text, hints: &[], top: 5 })?)
    });
    answer.map(|_| time)
}

fn foreign_scores(library: &Library<'_>) -> impl Iterator<Item = f32> {
    FOREIGN_QUESTIONS.lines().map(|text| {
        let found = library.search(&Query { text, hints: &[], top: 1 });
        found.ok().and_then(|found| found.hits.first().map(|hit| hit.score)).unwrap_or(0.0)
    })
}

/// How many of a hundred.
fn percentage(scores: impl Iterator<Item = f32>, is_counted: impl Fn(f32) -> bool) -> f64 {
    let scores: Vec<f32> = scores.collect();
    let counted = scores.iter().filter(|score| is_counted(**score)).count();
    100.0 * counted as f64 / scores.len().max(1) as f64
}
