//! Fresh databases, and keys to put into them.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use access::{KeyCredential, KeyEnvironment, KeyRecord, Scope, StoreError};
use jiff::Timestamp;
use projects::ProjectStore;
use store::{Store, StoreLocation, StoreOptions};
use tempfile::TempDir;
use tokio::sync::{RwLock, RwLockReadGuard};
use tokio_postgres::{Client, NoTls};

/// Held by everybody who uses PostgreSQL, and alone by who restarts it.
pub(crate) static SERVER_LOCK: RwLock<()> = RwLock::const_new(());

/// A database of its own for one case. Gone at the end, or with the server.
pub(crate) struct TestDatabase {
    pub(crate) url: String,
    pub(crate) folder: TempDir,
    _server: Option<RwLockReadGuard<'static, ()>>,
}

impl TestDatabase {
    pub(crate) fn location(&self) -> StoreLocation {
        self.url.parse().unwrap()
    }

    pub(crate) async fn open(&self) -> Arc<dyn Store> {
        self.open_with(&patient_options()).await
    }

    pub(crate) async fn open_with(&self, options: &StoreOptions) -> Arc<dyn Store> {
        store::open(&self.location(), options).await.unwrap()
    }

    pub(crate) async fn open_projects(&self) -> ProjectStore {
        self.open().await.projects()
    }

    pub(crate) async fn open_projects_with(&self, options: &StoreOptions) -> ProjectStore {
        self.open_with(options).await.projects()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("store.db")
    }

    /// A connection that knows nothing of our rules.
    pub(crate) async fn connect(&self) -> Client {
        connect(&self.url).await
    }
}

/// Waits as long as a busy machine may need. A limit on time is for tests of that limit.
pub(crate) fn patient_options() -> StoreOptions {
    let patience = Duration::from_mins(5);
    StoreOptions { connect_timeout: patience, statement_timeout: patience, ..StoreOptions::default() }
}

pub(crate) fn sqlite() -> TestDatabase {
    let folder = tempfile::tempdir().unwrap();
    TestDatabase {
        url: format!("sqlite:{}", folder.path().join("store.db").display()),
        folder,
        _server: None,
    }
}

/// `None` where there is no PostgreSQL.
pub(crate) async fn postgres() -> Option<TestDatabase> {
    let url = env_setting("TEST_POSTGRES")?;
    let server = SERVER_LOCK.read().await;
    Some(TestDatabase { _server: Some(server), ..fresh_database(&url).await })
}

/// The same for somebody who holds the lock already.
pub(crate) async fn fresh_database(superuser: &str) -> TestDatabase {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("t{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let admin = connect(superuser).await;
    admin
        .batch_execute(&format!("CREATE ROLE {name} LOGIN PASSWORD 'p%2Fw' NOSUPERUSER NOBYPASSRLS"))
        .await
        .unwrap();
    admin.batch_execute(&format!("CREATE DATABASE {name} OWNER {name}")).await.unwrap();
    let (_, host) = superuser.rsplit_once('@').unwrap();
    let (host, _) = host.split_once('/').unwrap();
    // The password is `p%2Fw` itself.
    let url = format!("postgres://{name}:p%252Fw@{host}/{name}");
    TestDatabase { url, folder: tempfile::tempdir().unwrap(), _server: None }
}

pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// A superuser in the same database: nothing is hidden from them.
pub(crate) async fn connect_as_superuser(place: &TestDatabase) -> Client {
    let url = env_setting("TEST_POSTGRES").unwrap();
    let (server, _) = url.rsplit_once('/').unwrap();
    let (_, database) = place.url.rsplit_once('/').unwrap();
    connect(&format!("{server}/{database}")).await
}

/// Has a database do what no use case does.
pub(crate) async fn execute(database: &TestDatabase, sql: &str) {
    if database.url.starts_with("sqlite:") {
        rusqlite::Connection::open(database.file()).unwrap().execute_batch(sql).unwrap();
    } else {
        connect_as_superuser(database).await.batch_execute(sql).await.unwrap();
    }
}

/// Ends every connection of the store, as a restart or a firewall does. What the server does there by itself may not be ended.
pub(crate) async fn break_connections(database: &TestDatabase) {
    let sql = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'";
    database.connect().await.query_one(sql, &[]).await.unwrap();
}

/// Waits until so many wait for a lock in this database as is right.
pub(crate) async fn wait_for_lock_waiters(client: &Client, is_right: fn(i64) -> bool) {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    wait_until_count(client, sql, is_right).await;
}

/// Waits until a database counts what is right, for as long as a busy machine may need.
pub(crate) async fn wait_until_count(client: &Client, sql: &str, is_right: fn(i64) -> bool) {
    let start = Instant::now();
    loop {
        let count = client.query_one(sql, &[]).await.unwrap().get(0);
        if is_right(count) {
            return;
        }
        assert!(start.elapsed() < Duration::from_mins(1), "that did not happen; it is {count}: {sql}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Does what others may be in the way of for long. SQLite waits for them for 5 seconds, and then says so, and on a busy disk they
/// may take longer. Whoever is sent away sooner was not waited for.
pub(crate) async fn retry_while_locked<T, F>(attempt: impl Fn() -> F) -> T
where
    F: Future<Output = Result<T, StoreError>>,
{
    let began = Instant::now();
    loop {
        let start = Instant::now();
        match attempt().await {
            Err(StoreError::Unreachable(_))
                if start.elapsed() >= Duration::from_secs(5) && began.elapsed() < Duration::from_mins(2) => {}
            done => return done.unwrap(),
        }
    }
}

/// What `tests/database/run` says, and a line about what is not run without it.
pub(crate) fn env_setting(name: &str) -> Option<String> {
    let value = std::env::var(name).ok();
    if value.is_none() {
        println!("not run: {name} is not set; tests/database/run sets it");
    }
    value
}

/// The time, as stores keep it.
pub(crate) fn now_micros() -> Timestamp {
    Timestamp::from_microsecond(Timestamp::now().as_microsecond()).unwrap()
}

pub(crate) fn seconds_ago(seconds: u64) -> Timestamp {
    now_micros() - Duration::from_secs(seconds)
}

pub(crate) fn seconds_from_now(seconds: u64) -> Timestamp {
    now_micros() + Duration::from_secs(seconds)
}

pub(crate) fn key_record(id: &str) -> KeyRecord {
    KeyRecord {
        id: id.to_owned(),
        tenant: "acme".to_owned(),
        label: "a key".to_owned(),
        environment: KeyEnvironment::Live,
        scope: Scope::Write,
        project: None,
        created: seconds_ago(100),
        expires: None,
        revoked: None,
    }
}

pub(crate) fn credential(prefix: &str) -> KeyCredential {
    let mut hash = [7; 32];
    for (to, from) in hash.iter_mut().zip(prefix.bytes()) {
        *to = from;
    }
    KeyCredential { prefix: prefix.to_owned(), hash, valid_until: None }
}
