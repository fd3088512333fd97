//! Rows of sessions written by somebody who keeps no rules: no versions are compared, nobody is counted, nothing is sealed.
//! As durable as the store's, over as many connections.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod};
use flow::Entropy;
use flow::session::Row;
use rusqlite::{Connection, params};
use server::{OsEntropy, Timestamp};
use tokio::sync::oneshot;
use tokio_postgres::NoTls;

use crate::Outcome;

/// Connections, and threads that read: as many as the store has.
const CONNECTIONS: usize = 8;
const READERS: usize = 2;
/// Writes that share a transaction where one thread writes, as in the store.
const SHARING: usize = 64;

pub(super) type Done = Result<(), String>;

pub(super) trait Plain: Send + Sync + 'static {
    /// Adds a row, or replaces what is in it.
    fn write(&self, subject: &str, id: &str, version: i64, row: Row) -> impl Future<Output = Done> + Send;
    /// Reads a row.
    fn read(&self, id: &str) -> impl Future<Output = Done> + Send;
}

type Work = Box<dyn Fn(&Connection) -> rusqlite::Result<()> + Send>;
type Job = (Work, oneshot::Sender<Done>);

/// One thread writes, and commits together what waits; two read.
pub(super) struct Sqlite {
    writes: SyncSender<Job>,
    reads: SyncSender<Job>,
}

impl Sqlite {
    /// A file in which the store has made its tables.
    pub(super) fn open(path: &Path) -> Outcome<Self> {
        let connect = || -> rusqlite::Result<Connection> {
            let connection = Connection::open(path)?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.pragma_update(None, "fullfsync", true)?;
            connection.pragma_update(None, "foreign_keys", true)?;
            Ok(connection)
        };
        let ((writes, to_write), (reads, to_read)) = (sync_channel(1024), sync_channel(1024));
        let to_read = Arc::new(Mutex::new(to_read));
        let mut writing = connect()?;
        thread::spawn(move || write_all(&mut writing, &to_write));
        for _ in 0..READERS {
            let (reading, to_read) = (connect()?, Arc::clone(&to_read));
            thread::spawn(move || read_all(&reading, &to_read));
        }
        Ok(Self { writes, reads })
    }
}

async fn done(to: &SyncSender<Job>, work: Work) -> Done {
    let (reply, answer) = oneshot::channel();
    to.try_send((work, reply)).map_err(|error| error.to_string())?;
    answer.await.map_err(|error| error.to_string())?
}

fn write_all(connection: &mut Connection, jobs: &Receiver<Job>) {
    while let Ok(first) = jobs.recv() {
        let jobs: Vec<Job> = std::iter::once(first).chain(jobs.try_iter().take(SHARING - 1)).collect();
        let done = together(connection, &jobs).map_err(|error| error.to_string());
        for (_, reply) in jobs {
            let _ = reply.send(done.clone());
        }
    }
}

fn together(connection: &mut Connection, jobs: &[Job]) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    jobs.iter().try_for_each(|(work, _)| work(&transaction))?;
    transaction.commit()
}

fn read_all(connection: &Connection, jobs: &Mutex<Receiver<Job>>) {
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((work, reply)) = job else { return };
        let _ = reply.send(work(connection).map_err(|error| error.to_string()));
    }
}

impl Plain for Sqlite {
    async fn write(&self, subject: &str, id: &str, version: i64, row: Row) -> Done {
        let (subject, id) = (subject.to_owned(), id.to_owned());
        let work = move |connection: &Connection| {
            let (ends, forgotten) = (row.ends.as_microsecond(), row.forgotten.as_microsecond());
            let leased_until = row.leased_until.map(Timestamp::as_microsecond);
            let values = params![id, subject, version, row.is_open, ends, forgotten, leased_until, row.body];
            let sql = if version == 1 {
                "INSERT INTO flow_sessions (id, tenant, subject, version, is_open, ends, forgotten, leased_until, body)
                 VALUES (?1, 'bench', ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
            } else {
                "UPDATE flow_sessions SET version = ?3, is_open = ?4, ends = ?5, forgotten = ?6,
                 leased_until = ?7, body = ?8 WHERE id = ?1 AND subject = ?2"
            };
            connection.prepare_cached(sql)?.execute(values).map(drop)
        };
        done(&self.writes, Box::new(work)).await
    }

    async fn read(&self, id: &str) -> Done {
        let id = id.to_owned();
        let work = move |connection: &Connection| {
            let sql = "SELECT version, is_open, ends, forgotten, leased_until, body FROM flow_sessions WHERE id = ?1";
            connection.prepare_cached(sql)?.query_row([&id], |row| row.get::<_, Vec<u8>>(5)).map(drop)
        };
        done(&self.reads, Box::new(work)).await
    }
}

/// Two databases of the same tables: one for the store, as an ordinary role, and one for plain rows, as a superuser, for
/// whom no policies are asked.
#[derive(Clone)]
pub(super) struct Postgres {
    pool: Pool,
    admin: String,
    name: String,
    password: String,
}

impl Postgres {
    pub(super) async fn open(admin: &str) -> Outcome<Self> {
        let mut random = [0; 16];
        OsEntropy.fill(&mut random);
        let password = format!("{:032x}", u128::from_le_bytes(random));
        let name = format!("bench_{}", std::process::id());
        let (server, _) = admin.rsplit_once('/').ok_or("TEST_POSTGRES names no database")?;
        let config = format!("{server}/{name}_plain").parse()?;
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let pool =
            Pool::builder(Manager::from_config(config, NoTls, recycling)).max_size(CONNECTIONS).build()?;
        let all = Self { pool, admin: admin.to_owned(), name: name.clone(), password: password.clone() };
        all.tell(&format!("CREATE ROLE {name} LOGIN PASSWORD '{password}' NOSUPERUSER NOBYPASSRLS")).await?;
        for database in all.databases() {
            all.tell(&format!("CREATE DATABASE {database} OWNER {name}")).await?;
        }
        // Makes the tables.
        drop(store::open(&all.url(&format!("{name}_plain"))?, &store::Options::default()).await?);
        Ok(all)
    }

    fn databases(&self) -> [String; 2] {
        [self.name.clone(), format!("{}_plain", self.name)]
    }

    /// Where the store is.
    pub(super) fn location(&self) -> Outcome<store::Location> {
        self.url(&self.name)
    }

    fn url(&self, database: &str) -> Outcome<store::Location> {
        let (_, host) = self.admin.rsplit_once('@').ok_or("TEST_POSTGRES names no user")?;
        let (host, _) = host.split_once('/').ok_or("TEST_POSTGRES names no database")?;
        Ok(format!("postgres://{}:{}@{host}/{database}", self.name, self.password).parse()?)
    }

    async fn tell(&self, sql: &str) -> Outcome<()> {
        let (client, connection) = tokio_postgres::connect(&self.admin, NoTls).await?;
        tokio::spawn(connection);
        Ok(client.batch_execute(sql).await?)
    }

    /// Removes the databases and the role.
    pub(super) async fn remove(&self) -> Outcome<()> {
        for database in self.databases() {
            self.tell(&format!("DROP DATABASE {database} WITH (FORCE)")).await?;
        }
        self.tell(&format!("DROP ROLE {}", self.name)).await
    }
}

impl Plain for Postgres {
    async fn write(&self, subject: &str, id: &str, version: i64, row: Row) -> Done {
        let sql = if version == 1 {
            "INSERT INTO flow_sessions (id, tenant, subject, version, is_open, ends, forgotten, leased_until, body)
             VALUES ($1, 'bench', $2, $3, $4, $5, $6, $7, $8)"
        } else {
            "UPDATE flow_sessions SET version = $3, is_open = $4, ends = $5, forgotten = $6,
             leased_until = $7, body = $8 WHERE id = $1 AND subject = $2"
        };
        let Row { is_open, ends, forgotten, leased_until, body } = row;
        let client = self.pool.get().await.map_err(|error| error.to_string())?;
        let written = async {
            let sql = client.prepare_cached(sql).await?;
            client
                .execute(&sql, &[&id, &subject, &version, &is_open, &ends, &forgotten, &leased_until, &body])
                .await
        };
        written.await.map(drop).map_err(|error| error.to_string())
    }

    async fn read(&self, id: &str) -> Done {
        let sql =
            "SELECT version, is_open, ends, forgotten, leased_until, body FROM flow_sessions WHERE id = $1";
        let client = self.pool.get().await.map_err(|error| error.to_string())?;
        let read = async {
            let sql = client.prepare_cached(sql).await?;
            client.query_one(&sql, &[&id]).await?.try_get::<_, Vec<u8>>(5)
        };
        read.await.map(drop).map_err(|error| error.to_string())
    }
}
