//! Databases for those who keep no rules: the tables are the store's, and so are durability and the number of connections.

pub(crate) mod postgres;
pub(crate) mod sqlite;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::Outcome;

/// How something in a database ended.
pub(crate) type Done = Result<(), String>;

/// A folder that is gone at the end.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Outcome<Self> {
        let folder = std::env::temp_dir().join(format!("fluxway-bench-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A database in a file.
pub(crate) fn file(scratch: &Path, name: &str) -> Outcome<store::Location> {
    Ok(format!("sqlite:{}", scratch.join(name).display()).parse()?)
}

/// The database server to measure, if there is one. That there is none is told.
pub(crate) fn server() -> Option<String> {
    let url = std::env::var("TEST_POSTGRES").ok();
    if url.is_none() {
        println!("NOT MEASURED: PostgreSQL: TEST_POSTGRES is not set; tests/database/run COMMAND… sets it");
    }
    url
}

/// Bytes on the disk: the file, and what is not in it yet.
pub(crate) fn size(scratch: &Path, name: &str) -> Outcome<u64> {
    let bytes = |name: &str| std::fs::metadata(scratch.join(name)).map_or(0, |file| file.len());
    let all = bytes(name) + bytes(&format!("{name}-wal"));
    if all == 0 { Err(format!("there is no {name}").into()) } else { Ok(all) }
}

/// How often something comes to its end in a second, if so many do it at once, one after the other.
pub(crate) async fn rate<F>(
    span: Duration,
    at_once: usize,
    one: impl Fn(usize) -> F + Clone + Send + 'static,
) -> Outcome<f64>
where
    F: Future<Output = Done> + Send,
{
    let start = Instant::now();
    let tasks: Vec<_> = (0..at_once)
        .map(|task| {
            let one = one.clone();
            tokio::spawn(async move {
                let mut ended = 0;
                while start.elapsed() < span {
                    one(task).await?;
                    ended += 1;
                }
                Ok::<_, String>(ended)
            })
        })
        .collect();
    let mut ended = 0;
    for task in tasks {
        ended += task.await??;
    }
    Ok(f64::from(ended) / start.elapsed().as_secs_f64())
}
