//! How good the search is, and how fast.

use std::time::{Duration, Instant};

use knowledge::{Encoder, Index, Library, Query, Tuning};

use crate::collection::Collection;

pub(crate) fn run(encoder: &Encoder, collection: &Collection) {
    let started = Instant::now();
    let index = Index::build(&collection.pages, encoder).unwrap();
    let size = index.bytes().len();
    println!("{} pages, {} chunks, {size} bytes", collection.pages.len(), index.chunk_count());
    println!("index  {:?}", started.elapsed());
    let bytes = index.bytes().to_vec();
    let started = Instant::now();
    let index = Index::open(bytes).unwrap();
    println!("open   {:?}", started.elapsed());
    let started = Instant::now();
    let library = Library::new(encoder, vec![&index]).unwrap();
    library.answer(&Query { text: &collection.queries[0].1, hints: &[], top: 10 }).unwrap();
    println!("first  {:?}", started.elapsed());

    println!("{:8} {:>8} {:>9} {:>8} {:>10} {:>10}", "", "nDCG@10", "recall@5", "MRR@10", "p50", "p99");
    let hybrid = Tuning::default();
    let alone = |dense| Tuning { dense, expansion: 0.0, ..hybrid };
    for (name, tuning) in [("bm25", alone(0.0)), ("dense", alone(1.0)), ("hybrid", hybrid)] {
        let library = Library::new(encoder, vec![&index]).unwrap().tuned(tuning);
        println!("{name:8} {}", measure(&library, collection));
    }
}

fn measure(library: &Library<'_>, collection: &Collection) -> String {
    let (mut ndcg, mut recall, mut mrr, mut count) = (0.0, 0.0, 0.0, 0.0);
    let mut times = Vec::new();
    for (id, text) in &collection.queries {
        let Some(relevant) = collection.judged.get(id) else { continue };
        let started = Instant::now();
        let found = library.search(&Query { text, hints: &[], top: 10 }).unwrap();
        times.push(started.elapsed());
        let grades: Vec<f64> =
            found.hits.iter().map(|hit| *relevant.get(hit.page.path).unwrap_or(&0.0)).collect();
        let mut ideal: Vec<f64> = relevant.values().copied().collect();
        ideal.sort_by(|a, b| b.total_cmp(a));
        ndcg += gain(&grades) / gain(&ideal[..ideal.len().min(10)]);
        recall += grades.iter().take(5).filter(|g| **g > 0.0).count() as f64 / relevant.len() as f64;
        mrr += grades.iter().position(|g| *g > 0.0).map_or(0.0, |at| 1.0 / (at + 1) as f64);
        count += 1.0;
    }
    times.sort();
    let at = |percent: usize| -> Duration { times[(times.len() - 1) * percent / 100] };
    format!("{:8.4} {:9.4} {:8.4} {:>10?} {:>10?}", ndcg / count, recall / count, mrr / count, at(50), at(99))
}

fn gain(grades: &[f64]) -> f64 {
    grades.iter().enumerate().map(|(at, grade)| grade / ((at + 2) as f64).log2()).sum()
}
