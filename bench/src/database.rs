//! Databases that are there for as long as a bench runs.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flow::Entropy;
use server::OsEntropy;
use tokio_postgres::NoTls;

use crate::BenchResult;

/// How something in a database ended.
pub(crate) type OperationResult = Result<(), String>;

/// A folder that is gone at the end.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> BenchResult<Self> {
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
pub(crate) fn sqlite_location(scratch: &Path, name: &str) -> BenchResult<store::StoreLocation> {
    Ok(format!("sqlite:{}", scratch.join(name).display()).parse()?)
}

/// The database server to measure, if there is one. That there is none is told.
pub(crate) fn postgres_url() -> Option<String> {
    let url = std::env::var("TEST_POSTGRES").ok();
    if url.is_none() {
        println!("NOT MEASURED: PostgreSQL: TEST_POSTGRES is not set; tests/database/run COMMAND… sets it");
    }
    url
}

/// A database on a server, of an ordinary role for whom policies hold.
pub(crate) struct BenchPostgres {
    pub(crate) location: store::StoreLocation,
    admin: String,
    name: String,
}

impl BenchPostgres {
    pub(crate) async fn open(admin: &str) -> BenchResult<Self> {
        let mut random = [0; 16];
        OsEntropy.fill(&mut random);
        let password = format!("{:032x}", u128::from_le_bytes(random));
        let name = format!("bench_{}", std::process::id());
        let (server, _) = admin.rsplit_once('/').ok_or("TEST_POSTGRES names no database")?;
        let (_, host) = server.rsplit_once('@').ok_or("TEST_POSTGRES names no user")?;
        let location = format!("postgres://{name}:{password}@{host}/{name}").parse()?;
        let database = Self { location, admin: admin.to_owned(), name };
        let Self { name, .. } = &database;
        database
            .execute(&format!("CREATE ROLE {name} LOGIN PASSWORD '{password}' NOSUPERUSER NOBYPASSRLS"))
            .await?;
        database.execute(&format!("CREATE DATABASE {name} OWNER {name}")).await?;
        Ok(database)
    }

    /// Removes the database and the role.
    pub(crate) async fn remove(&self) -> BenchResult<()> {
        self.execute(&format!("DROP DATABASE {} WITH (FORCE)", self.name)).await?;
        self.execute(&format!("DROP ROLE {}", self.name)).await
    }

    async fn execute(&self, sql: &str) -> BenchResult<()> {
        let (client, connection) = tokio_postgres::connect(&self.admin, NoTls).await?;
        tokio::spawn(connection);
        Ok(client.batch_execute(sql).await?)
    }
}

/// Bytes on the disk: the file, and what is not in it yet.
pub(crate) fn sqlite_bytes(scratch: &Path, name: &str) -> BenchResult<u64> {
    let bytes = |name: &str| std::fs::metadata(scratch.join(name)).map_or(0, |file| file.len());
    let all = bytes(name) + bytes(&format!("{name}-wal"));
    if all == 0 { Err(format!("there is no {name}").into()) } else { Ok(all) }
}

/// How often something comes to its end in a second, if so many do it at once, one after the other.
pub(crate) async fn measure_rate<F>(
    span: Duration,
    at_once: usize,
    one: impl Fn(usize) -> F + Clone + Send + 'static,
) -> BenchResult<f64>
where
    F: Future<Output = OperationResult> + Send,
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
