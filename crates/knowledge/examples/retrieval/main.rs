//! Measures the search on a judged collection.
//!
//! `cargo run --release -p fluxway-knowledge --example retrieval -- --data DIR [--table FILE]`, where `DIR` has `corpus.jsonl`
//! (`_id`, `title`, `text`, and for passages of a page `doc` and `heading`), `queries.jsonl` (`_id`, `text`) and `qrels.tsv`
//! (query, document, grade).

#![expect(clippy::print_stdout, reason = "figures are what it is for")]
#![expect(clippy::unwrap_used, reason = "a broken collection ends the measurement")]
#![expect(clippy::cast_precision_loss, reason = "means of small numbers")]

mod collection;

use std::path::Path;
use std::time::{Duration, Instant};

use collection::Collection;
use knowledge::{Encoder, Index, Library, Query, Tuning};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let option = |name: &str| arguments.iter().position(|a| a == name).and_then(|at| arguments.get(at + 1));
    let collection = Collection::read(Path::new(option("--data").expect("--data DIR")));
    let encoder = Encoder::new(collection::read(Path::new(option("--table").expect("--table FILE")))).unwrap();

    let started = Instant::now();
    let index = Index::build(&collection.pages, &encoder).unwrap();
    println!("{} pages, {} chunks, {} bytes", collection.pages.len(), index.chunk_count(), index.bytes().len());
    println!("index  {:?}", started.elapsed());
    let bytes = index.bytes().to_vec();
    let started = Instant::now();
    let index = Index::open(bytes).unwrap();
    println!("open   {:?}", started.elapsed());
    let started = Instant::now();
    let library = Library::new(&encoder, vec![&index]).unwrap();
    library.search(&Query { text: &collection.queries[0].1, hints: &[], top: 10 }).unwrap();
    println!("first  {:?}", started.elapsed());

    println!("{:8} {:>8} {:>9} {:>8} {:>10} {:>10}", "", "nDCG@10", "recall@5", "MRR@10", "p50", "p99");
    for (name, tuning) in variants(option("--set").map(String::as_str)) {
        let library = Library::new(&encoder, vec![&index]).unwrap().tuned(tuning);
        println!("{name:8} {}", measure(&library, &collection));
    }
}

fn variants(set: Option<&str>) -> Vec<(&'static str, Tuning)> {
    let mut base = Tuning::default();
    for pair in set.into_iter().flat_map(|set| set.split(',')) {
        let (name, value) = pair.split_once('=').unwrap();
        let value: f32 = value.parse().unwrap();
        match name {
            "k1" => base.k1 = value,
            "b" => base.b = value,
            "dense" => base.dense = value,
            "page" => base.page_evidence = value,
            _ => panic!("no weight is called {name}"),
        }
    }
    let dense = |dense| Tuning { dense, ..base };
    vec![("bm25", dense(0.0)), ("dense", dense(1.0)), ("hybrid", base)]
}

fn measure(library: &Library<'_>, collection: &Collection) -> String {
    let (mut ndcg, mut recall, mut mrr, mut count) = (0.0, 0.0, 0.0, 0.0);
    let mut times = Vec::new();
    for (id, text) in &collection.queries {
        let Some(relevant) = collection.judged.get(id) else { continue };
        let started = Instant::now();
        let found = library.search(&Query { text, hints: &[], top: 10 }).unwrap();
        times.push(started.elapsed());
        let grades: Vec<f64> = found.hits.iter().map(|hit| *relevant.get(hit.page.path).unwrap_or(&0.0)).collect();
        let mut ideal: Vec<f64> = relevant.values().copied().collect();
        ideal.sort_by(|a, b| b.total_cmp(a));
        ndcg += gain(&grades) / gain(&ideal[..ideal.len().min(10)]);
        recall += grades.iter().take(5).filter(|g| **g > 0.0).count() as f64 / relevant.len() as f64;
        mrr += grades.iter().position(|g| *g > 0.0).map_or(0.0, |at| 1.0 / (at + 1) as f64);
        count += 1.0;
    }
    times.sort();
    let at = |share: f64| -> Duration { times[((times.len() - 1) as f64 * share) as usize] };
    format!("{:8.4} {:9.4} {:8.4} {:>10?} {:>10?}", ndcg / count, recall / count, mrr / count, at(0.5), at(0.99))
}

fn gain(grades: &[f64]) -> f64 {
    grades.iter().enumerate().map(|(at, grade)| grade / ((at + 2) as f64).log2()).sum()
}
