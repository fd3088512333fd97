//! Opens connections and migrates the schema.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, Result, TransactionBehavior};

use super::{error, open_failed};
use crate::OpenError;
use crate::migrations::{SQLITE_MIGRATIONS, latest_version, pending_migrations};

/// Identifies our files: `FLXW`.
const APPLICATION_ID: i64 = 0x464C_5857;
/// How long to wait for other processes that use the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Larger than the number of different statements.
const MAX_CACHED_STATEMENTS: usize = 128;

/// Rejects a file of another program without changing it.
pub(super) fn check_file(place: &str, path: &Path) -> std::result::Result<(), OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let looked = Connection::open_with_flags(path, flags).and_then(|mut connection| {
        connection.busy_timeout(BUSY_TIMEOUT)?;
        // In a transaction, because another process may be creating the tables.
        let transaction = connection.transaction()?;
        DatabaseHeader::read(&transaction)
    });
    looked.map_err(|error| error::open_error(place, error))?.check(place)
}

pub(super) fn connect(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    enable_wal(&connection)?;
    configure(connection)
}

pub(super) fn configure(connection: Connection) -> Result<Connection> {
    connection.pragma_update(None, "synchronous", "FULL")?;
    // Without it, macOS reports a write as synced before it is on the disk.
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.set_prepared_statement_cache_capacity(MAX_CACHED_STATEMENTS);
    Ok(connection)
}

/// Processes that open a new file at the same time conflict here, and SQLite does not wait by itself.
fn enable_wal(connection: &Connection) -> Result<()> {
    let start = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if is_busy(&error) && start.elapsed() < BUSY_TIMEOUT => {
                thread::sleep(Duration::from_millis(5));
            }
            result => return result,
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Migrates the tables in one transaction.
pub(super) fn migrate(place: &str, connection: &mut Connection) -> std::result::Result<(), OpenError> {
    let opening = |error| error::open_error(place, error);
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(opening)?;
    // Check again: another process may have migrated first.
    let found = DatabaseHeader::read(&transaction).map_err(opening)?;
    found.check(place)?;
    let steps = pending_migrations(SQLITE_MIGRATIONS, found.schema)
        .ok_or_else(|| open_failed(place, "its schema has changed"))?;
    if steps.is_empty() {
        return Ok(());
    }
    for step in steps {
        transaction.execute_batch(step).map_err(opening)?;
    }
    let marks = transaction
        .pragma_update(None, "application_id", APPLICATION_ID)
        .and_then(|()| transaction.pragma_update(None, "user_version", latest_version(SQLITE_MIGRATIONS)));
    marks.and_then(|()| transaction.commit()).map_err(opening)
}

/// The identification of a database.
struct DatabaseHeader {
    application: i64,
    schema: i64,
    is_empty: bool,
}

impl DatabaseHeader {
    fn read(connection: &Connection) -> Result<Self> {
        let number = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        Ok(Self {
            application: number("PRAGMA application_id")?,
            schema: number("PRAGMA user_version")?,
            is_empty: number("SELECT count(*) FROM sqlite_schema")? == 0,
        })
    }

    fn check(&self, place: &str) -> std::result::Result<(), OpenError> {
        let place = place.to_owned();
        let is_new = self.is_empty && self.application == 0 && self.schema == 0;
        if !is_new && self.application != APPLICATION_ID {
            return Err(OpenError::Foreign { place });
        }
        let known = latest_version(SQLITE_MIGRATIONS);
        if self.schema > known { Err(OpenError::TooNew { place, found: self.schema, known }) } else { Ok(()) }
    }
}
