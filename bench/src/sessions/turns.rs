//! Interactive turns in a second, where sessions are kept in a database.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use flow::session::{SessionState, Sessions};

use super::{SessionClient, five_answers, new_sessions};
use crate::BenchResult;
use crate::database::{BenchPostgres, measure_rate, postgres_url, sqlite_location};
use crate::table::{FigureTable, median};
use crate::turn::FiveQuestions;

/// Conversations that go on at the same time.
const CONCURRENCY_LEVELS: [usize; 3] = [1, 16, 64];

pub(super) fn build_table(scratch: &Path, quick: bool) -> BenchResult<FigureTable> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut table =
        FigureTable::without_ratios("Turns in a second", &["1 at once", "16 at once", "64 at once"]);
    table.add_row("SQLite", runtime.block_on(measure(&sqlite_location(scratch, "turns.db")?, quick))?);
    if let Some(url) = postgres_url() {
        let database = runtime.block_on(BenchPostgres::open(&url))?;
        let measured = runtime.block_on(measure(&database.location, quick));
        runtime.block_on(database.remove())?;
        table.add_row("PostgreSQL", measured?);
    }
    Ok(table)
}

async fn measure(location: &store::StoreLocation, quick: bool) -> BenchResult<Vec<Option<f64>>> {
    let (rounds, span) = if quick { (1, Duration::from_millis(100)) } else { (7, Duration::from_secs(1)) };
    let store = store::open(location, &store::StoreOptions::default()).await?;
    let sessions = Arc::new(new_sessions(store));
    let turns = (1 + five_answers().len()) as f64;
    let mut row = Vec::new();
    for at_once in CONCURRENCY_LEVELS {
        let mut found = Vec::new();
        for _ in 0..rounds {
            let sessions = Arc::clone(&sessions);
            found.push(
                turns
                    * measure_rate(span, at_once, move |task| run_conversation(Arc::clone(&sessions), task))
                        .await?,
            );
        }
        row.push(median(found));
    }
    Ok(row)
}

/// A conversation of five questions, from its start to its end.
async fn run_conversation(sessions: Arc<Sessions>, task: usize) -> Result<(), String> {
    let subject = format!("bench-{task}");
    let client =
        SessionClient { sessions: &sessions, subject: &subject, conversation: || Box::new(FiveQuestions) };
    let id = client.start().await.map_err(|error| error.to_string())?.id;
    let mut state = SessionState::Idle;
    for answer in five_answers() {
        state = client.respond(&id, &answer).await.map_err(|error| error.to_string())?;
    }
    if state == SessionState::Completed { Ok(()) } else { Err(format!("not completed: {state:?}")) }
}
