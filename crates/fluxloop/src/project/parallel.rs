//! The same work on many things, by a few threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// More would only wait for the same disk.
const MAX_THREADS: usize = 4;
/// Fewer things than this are done sooner than threads are started.
const MIN_PARALLEL_ITEMS: usize = 16;

/// The results, in the order of the things.
pub(super) fn map_parallel<T: Sync, R: Send>(things: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    if things.len() < MIN_PARALLEL_ITEMS || threads < 2 {
        return things.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let some = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(thing) = things.get(at) else { return done };
            done.push((at, work(thing)));
        }
    };
    let mut done = thread::scope(|scope| {
        // Where no thread can be had, fewer do the work.
        let others: Vec<_> =
            (1..threads).filter_map(|_| thread::Builder::new().spawn_scoped(scope, some).ok()).collect();
        let mut done = some();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_input_order() {
        let things: Vec<u64> = (0..1000).collect();
        assert_eq!(map_parallel(&things, |n| n * n), things.iter().map(|n| n * n).collect::<Vec<_>>());
        assert_eq!(map_parallel(&things[..3], |n| n + 1), [1, 2, 3]);
    }
}
