//! Measures the search on judged collections.
//!
//! `cargo run --release -p fluxway-knowledge --example retrieval -- --table FILE --data DIR` prints how good and how fast it is.
//! A `DIR` has `corpus.jsonl` (`_id`, `title`, `text`, and for passages of a page `doc` and `heading`), `queries.jsonl` (`_id`,
//! `text`) and `qrels.tsv` (query, page, grade). `--repeat N` takes every page N times, to see how time grows; quality then means
//! nothing. With several times `--data` and `--calibrate FILE`, a list of questions that are
//! about none of them, it fits the constants of `search/confidence.rs` instead.

#![expect(clippy::print_stdout, reason = "figures are what it is for")]
#![expect(clippy::unwrap_used, reason = "a broken collection ends the measurement")]
#![expect(clippy::cast_precision_loss, reason = "means of small numbers")]

mod calibrate;
mod collection;
mod quality;

use std::path::Path;

use collection::Collection;
use knowledge::Encoder;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let values = |name: &str| -> Vec<&Path> {
        arguments.chunks_exact(2).filter(|pair| pair[0] == name).map(|pair| Path::new(&pair[1])).collect()
    };
    let encoder = Encoder::new(collection::read(values("--table")[0])).unwrap();
    let mut collections: Vec<_> = values("--data").into_iter().map(Collection::read).collect();
    if let Some(times) = values("--repeat").first() {
        let times = times.to_str().unwrap().parse().unwrap();
        for collection in &mut collections {
            collection.repeat(times);
        }
    }
    match values("--calibrate").first() {
        Some(questions) => {
            calibrate::run(&encoder, &collections, &String::from_utf8(collection::read(questions)).unwrap());
        }
        None => collections.iter().for_each(|collection| quality::run(&encoder, collection)),
    }
}
