//! temp
use codebase::{Reading, Request, analyze};
use std::path::Path;
use std::time::Instant;
use tree::{Budget, Globs, Limits, Tree};
fn main() {
    let folder = std::env::args().nth(1).unwrap();
    let tree = Tree::open(Path::new(&folder)).unwrap();
    for reading in [Reading::Names, Reading::Contents] {
        let start = Instant::now();
        let budget =
            Budget::unlimited().telling(move |n, what| eprintln!("{:?} {n} {what}", start.elapsed()));
        let request = Request { tree: &tree, globs: Globs::default(), reading, limits: Limits::default() };
        let p = analyze(&request, &budget).unwrap();
        eprintln!("{:?} end {} projects {}", start.elapsed(), p.stats.files, p.projects.len());
    }
}
