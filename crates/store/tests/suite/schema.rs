//! What is found when a store is opened, and what is left there.

use std::os::unix::fs::PermissionsExt;

use access::BucketParams;
use rusqlite::Connection;
use store::{OpenError, StoreOptions};

use crate::harness::{
    self, TestDatabase, credential, key_record, now_micros, retry_while_locked, seconds_from_now,
};
use crate::sessions::{ANN, InsertUpTo as _, session_row};

test_on_both_databases!(
    data_survives_reopening,
    stores_on_one_database_share_data,
    concurrent_opens_migrate_once,
    data_survives_the_project_migration,
);

async fn data_survives_reopening(database: &TestDatabase) {
    let store = database.open().await;
    let terms = BucketParams { refill_per_second: 1e-6, capacity: 5, max_lease: 2 };
    store.add_key(key_record("one"), credential("p-1")).await.unwrap();
    store.rotate_key("one", credential("p-2"), seconds_from_now(60)).await.unwrap();
    store.lease_tokens("key:one", terms, now_micros().into()).await.unwrap();
    store.get_or_insert_secret("pepper", b"hot").await.unwrap();
    let before = store.list_keys(None).await.unwrap();
    drop(store);
    let store = database.open().await;
    assert_eq!(store.list_keys(None).await.unwrap(), before);
    assert_eq!(before[0].prefixes, ["p-2", "p-1"]);
    assert_eq!(store.lease_tokens("key:one", terms, now_micros().into()).await.unwrap().remaining, 1);
    assert_eq!(store.get_or_insert_secret("pepper", b"cold").await.unwrap(), b"hot");
}

async fn stores_on_one_database_share_data(database: &TestDatabase) {
    let (server, command) = (database.open().await, database.open().await);
    let writers: Vec<_> = [("s", &server), ("c", &command)]
        .into_iter()
        .map(|(name, store)| {
            let store = store.clone();
            tokio::spawn(async move {
                for number in 0..30 {
                    let id = format!("{name}-{number}");
                    retry_while_locked(|| store.add_key(key_record(&id), credential(&id))).await;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(server.list_keys(None).await.unwrap().len(), 60);
    command.revoke_key("s-7", now_micros()).await.unwrap().unwrap();
    assert!(server.key_by_prefix("s-7").await.unwrap().unwrap().0.revoked.is_some());
}

async fn concurrent_opens_migrate_once(database: &TestDatabase) {
    let opens: Vec<_> = (0..10)
        .map(|number| {
            let location = database.location();
            tokio::spawn(async move {
                let open = || async {
                    match store::open(&location, &harness::patient_options()).await {
                        Err(OpenError::Failed { cause, .. }) => Err(cause),
                        opened => Ok(opened.unwrap()),
                    }
                };
                let store = retry_while_locked(open).await;
                let id = format!("k-{number}");
                retry_while_locked(|| store.add_key(key_record(&id), credential(&id))).await;
            })
        })
        .collect();
    for open in opens {
        open.await.unwrap();
    }
    assert_eq!(database.open().await.list_keys(None).await.unwrap().len(), 10);
}

async fn open_rejection(database: &TestDatabase) -> OpenError {
    store::open(&database.location(), &harness::patient_options()).await.err().unwrap()
}

/// Opens in vain, and sees that the file is as it was.
async fn open_rejection_without_changes(database: &TestDatabase) -> OpenError {
    let before = std::fs::read(database.file()).unwrap();
    let error = open_rejection(database).await;
    assert!(before == std::fs::read(database.file()).unwrap(), "the file was changed");
    error
}

#[tokio::test]
async fn newer_sqlite_file_is_rejected() {
    let place = harness::sqlite();
    place.open().await.add_key(key_record("one"), credential("p")).await.unwrap();
    let file = Connection::open(place.file()).unwrap();
    file.pragma_update(None, "journal_mode", "DELETE").ok();
    file.pragma_update(None, "user_version", 7).unwrap();
    drop(file);
    let error = open_rejection(&place).await.to_string();
    assert!(
        error.ends_with(
            "was made by a newer fluxway (schema 7, this one supports 4); use that version or another database"
        ),
        "{error}"
    );
    let file = Connection::open(place.file()).unwrap();
    let keys: i64 = file.query_row("SELECT count(*) FROM api_keys", [], |row| row.get(0)).unwrap();
    assert_eq!(keys, 1);
}

/// Databases that were made before there were sessions, before there were projects, and before those were counted that have
/// ended.
#[tokio::test]
async fn older_store_is_migrated() {
    let steps = [
        include_str!("../../migrations/sqlite/0001_access.sql"),
        include_str!("../../migrations/sqlite/0002_sessions.sql"),
        include_str!("../../migrations/sqlite/0003_projects.sql"),
    ];
    for schema in [1_u32, 2, 3] {
        let place = harness::sqlite();
        let file = Connection::open(place.file()).unwrap();
        file.execute_batch(&steps[..schema as usize].concat()).unwrap();
        file.pragma_update(None, "application_id", 0x464C_5857).unwrap();
        file.pragma_update(None, "user_version", schema).unwrap();
        drop(file);
        keys_and_sessions_survive_reopening(&place).await;
    }
    let steps = [
        include_str!("../../migrations/postgres/0001_access.sql"),
        include_str!("../../migrations/postgres/0002_sessions.sql"),
        include_str!("../../migrations/postgres/0003_projects.sql"),
    ];
    for schema in [1, 2, 3] {
        let Some(place) = harness::postgres().await else { return };
        let client = place.connect().await;
        client.batch_execute(&steps[..schema].concat()).await.unwrap();
        let mark = format!(
            "CREATE TABLE fluxway_schema (version bigint NOT NULL); INSERT INTO fluxway_schema VALUES ({schema})"
        );
        client.batch_execute(&mark).await.unwrap();
        keys_and_sessions_survive_reopening(&place).await;
    }
}

/// A store of schema 2 is in use: what is in it stays, and projects can be added.
async fn data_survives_the_project_migration(database: &TestDatabase) {
    let store = database.open().await;
    store.add_key(key_record("one"), credential("p")).await.unwrap();
    assert!(store.insert_up_to(ANN, "one", session_row("first"), 2, now_micros()).await.unwrap());
    let (keys, session) = (store.list_keys(None).await.unwrap(), store.load(ANN, "one").await.unwrap());
    drop(store);
    // As it was before: without the tables of projects, and what came after them.
    if database.url.starts_with("sqlite:") {
        let file = Connection::open(database.file()).unwrap();
        let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'project%'";
        let mut statement = file.prepare(tables).unwrap();
        let names =
            statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<Vec<String>, _>>().unwrap();
        drop(statement);
        assert!(names.len() > 5, "{names:?}");
        for name in names {
            file.execute_batch(&format!("PRAGMA foreign_keys = OFF; DROP TABLE {name}")).unwrap();
        }
        file.execute_batch("DROP INDEX flow_sessions_ended").unwrap();
        file.execute_batch("ALTER TABLE rate_buckets DROP COLUMN uptime").unwrap();
        file.pragma_update(None, "user_version", 2).unwrap();
    } else {
        let drop_all = "DO $$ DECLARE name text; BEGIN
                FOR name IN SELECT tablename FROM pg_tables WHERE tablename LIKE 'project%' LOOP
                    EXECUTE 'DROP TABLE ' || quote_ident(name) || ' CASCADE';
                END LOOP; END $$;
            DROP INDEX flow_sessions_ended; DROP FUNCTION flow_admit;
            UPDATE fluxway_schema SET version = 2";
        harness::execute(database, drop_all).await;
    }
    let store = database.open().await;
    assert_eq!(store.list_keys(None).await.unwrap(), keys);
    assert_eq!(store.load(ANN, "one").await.unwrap(), session);
    crate::projects::project_survives_reopening(database).await;
}

async fn keys_and_sessions_survive_reopening(database: &TestDatabase) {
    for id in ["one", "two"] {
        let store = database.open().await;
        store.add_key(key_record(id), credential(id)).await.unwrap();
        assert!(store.insert_up_to(ANN, id, session_row("first"), 2, now_micros()).await.unwrap());
    }
    let store = database.open().await;
    assert_eq!(store.list_keys(None).await.unwrap().len(), 2);
    assert!(!store.insert_up_to(ANN, "three", session_row("first"), 2, now_micros()).await.unwrap());
}

#[tokio::test]
async fn sqlite_file_of_another_program_is_rejected_unchanged() {
    for journal in ["DELETE", "WAL"] {
        let place = harness::sqlite();
        let file = Connection::open(place.file()).unwrap();
        file.pragma_update(None, "journal_mode", journal).unwrap();
        file.execute_batch("CREATE TABLE songs (title TEXT); INSERT INTO songs VALUES ('So What')").unwrap();
        drop(file);
        let error = open_rejection_without_changes(&place).await;
        assert!(matches!(error, OpenError::Foreign { .. }), "{journal} {error}");
    }
}

#[tokio::test]
async fn file_that_is_not_a_database_is_rejected_unchanged() {
    let almost = [b"SQLite format 3\0".as_slice(), &[0; 4096]].concat();
    for bytes in [b"Dear diary".as_slice(), &[0; 5000], &almost, "x".repeat(9000).as_bytes()] {
        let place = harness::sqlite();
        std::fs::write(place.file(), bytes).unwrap();
        let error = open_rejection_without_changes(&place).await;
        assert!(matches!(error, OpenError::NotADatabase { .. } | OpenError::Foreign { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn empty_file_becomes_a_store() {
    let place = harness::sqlite();
    std::fs::write(place.file(), b"").unwrap();
    place.open().await.check_ready().await.unwrap();
}

#[tokio::test]
async fn new_file_and_folders_are_private_to_the_user() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/er/file:store.db");
    let location = format!("sqlite:{}", path.display()).parse().unwrap();
    let store = store::open(&location, &StoreOptions::default()).await.unwrap();
    store.get_or_insert_secret("pepper", b"hot").await.unwrap();
    let mode = |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!([mode("deep"), mode("deep/er")], [0o700, 0o700]);
    for name in ["file:store.db", "file:store.db-wal", "file:store.db-shm"] {
        assert_eq!(mode(&format!("deep/er/{name}")), 0o600, "{name}");
    }
}

#[tokio::test]
async fn impossible_path_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().to_path_buf(), "/proc/nowhere/store.db".into()] {
        let location = format!("sqlite:{}", path.display()).parse().unwrap();
        let error = store::open(&location, &StoreOptions::default()).await.err().unwrap();
        assert!(matches!(error, OpenError::File { .. } | OpenError::Failed { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn old_buckets_except_those_of_keys_are_swept() {
    let place = harness::sqlite();
    let terms = BucketParams { refill_per_second: 10.0, capacity: 5, max_lease: 1 };
    let slow = BucketParams { refill_per_second: 1e-6, ..terms };
    let store = place.open().await;
    for (name, terms) in [("ip:1", terms), ("key:one", terms), ("ip:slow", slow)] {
        store.lease_tokens(name, terms, now_micros().into()).await.unwrap();
    }
    // The first lease of a store sweeps.
    place.open().await.lease_tokens("ip:2", terms, seconds_from_now(2 * 86400).into()).await.unwrap();
    let file = Connection::open(place.file()).unwrap();
    let mut statement = file.prepare("SELECT name FROM rate_buckets ORDER BY name").unwrap();
    let names =
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<Vec<String>, _>>().unwrap();
    assert_eq!(names, ["ip:2", "ip:slow", "key:one"]);
}

#[tokio::test]
async fn newer_postgres_database_is_rejected() {
    let Some(place) = harness::postgres().await else { return };
    drop(place.open().await);
    place.connect().await.batch_execute("UPDATE fluxway_schema SET version = 7").await.unwrap();
    let error = open_rejection(&place).await;
    assert!(matches!(error, OpenError::TooNew { found: 7, known: 4, .. }), "{error}");
}

#[tokio::test]
async fn postgres_database_of_another_program_is_rejected() {
    let Some(place) = harness::postgres().await else { return };
    place.connect().await.batch_execute("CREATE TABLE songs (title text)").await.unwrap();
    let error = open_rejection(&place).await;
    assert!(matches!(error, OpenError::Foreign { .. }), "{error}");
    let count = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    let row = place.connect().await.query_one(count, &[]).await.unwrap();
    assert_eq!(row.get::<_, i64>(0), 1);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn dropped_store_closes_its_file() {
    let place = harness::sqlite();
    let is_open = || {
        let files = std::fs::read_dir("/proc/self/fd").unwrap();
        files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok()).any(|path| path == place.file())
    };
    let store = place.open().await;
    assert!(is_open());
    drop(store);
    for _ in 0..500 {
        if !is_open() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("its threads did not end");
}
