//! Interactive turns in a second, where sessions are kept in a database.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use flow::session::{Sessions, State};

use super::{Client, five, sessions};
use crate::Outcome;
use crate::database::{Postgres, file, rate, server};
use crate::table::{Table, median};
use crate::turn::Five;

/// Conversations that go on at the same time.
const LEVELS: [usize; 3] = [1, 16, 64];

pub(super) fn table(scratch: &Path, quick: bool) -> Outcome<Table> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut table = Table::plain("Turns in a second", &["1 at once", "16 at once", "64 at once"]);
    table.row("SQLite", runtime.block_on(measure(&file(scratch, "turns.db")?, quick))?);
    if let Some(url) = server() {
        let database = runtime.block_on(Postgres::open(&url))?;
        let measured = runtime.block_on(measure(&database.location, quick));
        runtime.block_on(database.remove())?;
        table.row("PostgreSQL", measured?);
    }
    Ok(table)
}

async fn measure(location: &store::Location, quick: bool) -> Outcome<Vec<Option<f64>>> {
    let (rounds, span) = if quick { (1, Duration::from_millis(100)) } else { (7, Duration::from_secs(1)) };
    let store = store::open(location, &store::Options::default()).await?;
    let sessions = Arc::new(sessions(store));
    let turns = (1 + five().len()) as f64;
    let mut row = Vec::new();
    for at_once in LEVELS {
        let mut found = Vec::new();
        for _ in 0..rounds {
            let sessions = Arc::clone(&sessions);
            found.push(turns * rate(span, at_once, move |task| converse(Arc::clone(&sessions), task)).await?);
        }
        row.push(median(found));
    }
    Ok(row)
}

/// A conversation of five questions, from its start to its end.
async fn converse(sessions: Arc<Sessions>, task: usize) -> Result<(), String> {
    let subject = format!("bench-{task}");
    let client = Client { sessions: &sessions, subject: &subject, conversation: || Box::new(Five) };
    let id = client.start().await.map_err(|error| error.to_string())?.id;
    let mut state = State::Idle;
    for answer in five() {
        state = client.respond(&id, &answer).await.map_err(|error| error.to_string())?;
    }
    if state == State::Completed { Ok(()) } else { Err(format!("not completed: {state:?}")) }
}
