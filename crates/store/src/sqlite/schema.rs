//! From a path to a connection whose tables are as this program knows them.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, Result, TransactionBehavior};

use super::{failed, fault};
use crate::OpenError;
use crate::migrations::{SQLITE, missing, newest};

/// Marks a file as ours: `FLXW`.
const APPLICATION: i64 = 0x464C_5857;
/// How long to wait for other processes that use the file.
const PATIENCE: Duration = Duration::from_secs(5);
/// More than there are different statements.
const STATEMENTS: usize = 128;

/// Refuses a file that is not ours, without changing anything in it.
pub(super) fn judge(place: &str, path: &Path) -> std::result::Result<(), OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let looked = Connection::open_with_flags(path, flags).and_then(|mut connection| {
        connection.busy_timeout(PATIENCE)?;
        // In a transaction, since another process may just be making the tables.
        let transaction = connection.transaction()?;
        Found::look(&transaction)
    });
    looked.map_err(|error| fault::opening(place, error))?.judge(place)
}

/// A connection to the file.
pub(super) fn connect(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    to_wal(&connection)?;
    prepare(connection)
}

/// The settings of every connection.
pub(super) fn prepare(connection: Connection) -> Result<Connection> {
    connection.pragma_update(None, "synchronous", "FULL")?;
    // Without it, macOS says that a write is on the disk when it is on its way there.
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// Several processes that open a new file at once get in each other's way here, and SQLite does not wait by itself.
fn to_wal(connection: &Connection) -> Result<()> {
    let start = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if is_busy(&error) && start.elapsed() < PATIENCE => {
                thread::sleep(Duration::from_millis(5));
            }
            result => return result,
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Brings the tables up to date, in one transaction.
pub(super) fn migrate(place: &str, connection: &mut Connection) -> std::result::Result<(), OpenError> {
    let opening = |error| fault::opening(place, error);
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(opening)?;
    // Looked at again: another process may have been faster.
    let found = Found::look(&transaction).map_err(opening)?;
    found.judge(place)?;
    let steps = missing(SQLITE, found.schema).ok_or_else(|| failed(place, "its schema has changed"))?;
    if steps.is_empty() {
        return Ok(());
    }
    for step in steps {
        transaction.execute_batch(step).map_err(opening)?;
    }
    let marks = transaction
        .pragma_update(None, "application_id", APPLICATION)
        .and_then(|()| transaction.pragma_update(None, "user_version", newest(SQLITE)));
    marks.and_then(|()| transaction.commit()).map_err(opening)
}

/// What a database says about itself.
struct Found {
    application: i64,
    schema: i64,
    is_empty: bool,
}

impl Found {
    fn look(connection: &Connection) -> Result<Self> {
        let number = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        Ok(Self {
            application: number("PRAGMA application_id")?,
            schema: number("PRAGMA user_version")?,
            is_empty: number("SELECT count(*) FROM sqlite_schema")? == 0,
        })
    }

    fn judge(&self, place: &str) -> std::result::Result<(), OpenError> {
        let place = place.to_owned();
        let is_new = self.is_empty && self.application == 0 && self.schema == 0;
        if !is_new && self.application != APPLICATION {
            return Err(OpenError::Foreign { place });
        }
        let known = newest(SQLITE);
        if self.schema > known { Err(OpenError::TooNew { place, found: self.schema, known }) } else { Ok(()) }
    }
}
