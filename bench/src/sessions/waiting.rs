//! Sessions whose users are silent: what they cost where they are kept, and whether the others notice them.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::{SessionClient, five_answers, new_sessions};
use crate::database::{sqlite_bytes, sqlite_location};
use crate::table::{FigureTable, median};
use crate::turn::FiveQuestions;
use crate::{BenchResult, peer};

/// Sessions that are begun at once.
const CONCURRENT_STARTS: usize = 64;
/// Sessions that are gone on with, to see how long that takes.
const PROBED_SESSIONS: usize = 100;

pub(super) fn build_table(scratch: &Path, quick: bool) -> BenchResult<FigureTable> {
    let wanted = if quick { 2_000 } else { 100_000 };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(scratch, wanted))
}

async fn measure(scratch: &Path, wanted: usize) -> BenchResult<FigureTable> {
    let location = sqlite_location(scratch, "waiting.db")?;
    let store = store::open(&location, &store::StoreOptions::default()).await?;
    let sessions = Arc::new(new_sessions(store));
    let few = start_sessions(&sessions, 0..PROBED_SESSIONS).await?;
    let alone = measure_responses(&sessions, &few).await?;
    let before = peer::memory(std::process::id())?;
    let start = Instant::now();
    let many = start_sessions(&sessions, PROBED_SESSIONS..wanted + PROBED_SESSIONS).await?;
    let took = start.elapsed().as_secs_f64();
    let after = peer::memory(std::process::id())?;
    let bytes = sqlite_bytes(scratch, "waiting.db")?;
    let among_many = measure_responses(&sessions, &many).await?;
    let columns = [
        "waiting",
        "begun in a second",
        "memory before, MB",
        "memory with them, MB",
        "file, MB",
        "bytes of the file for each",
        "an answer before, µs",
        "an answer with them, µs",
    ];
    let mut table = FigureTable::without_ratios("Sessions that wait, in an SQLite file", &columns);
    let (count, size) = (wanted as f64, bytes as f64);
    let figures =
        [count, count / took, before, after, size / 1024.0 / 1024.0, size / count, alone, among_many];
    table.add_row("fluxway", figures.map(Some).to_vec());
    Ok(table)
}

/// Begins these sessions, each of another owner; some of them, from everywhere.
async fn start_sessions(
    sessions: &Arc<flow::session::Sessions>,
    numbers: std::ops::Range<usize>,
) -> BenchResult<Vec<(String, String)>> {
    let every = numbers.len() / PROBED_SESSIONS;
    let tasks: Vec<_> = (0..CONCURRENT_STARTS)
        .map(|task| {
            let (sessions, mine) =
                (Arc::clone(sessions), numbers.clone().skip(task).step_by(CONCURRENT_STARTS));
            tokio::spawn(async move {
                let mut some = Vec::new();
                for number in mine {
                    let subject = format!("owner-{number}");
                    let client = SessionClient {
                        sessions: &sessions,
                        subject: &subject,
                        conversation: || Box::new(FiveQuestions),
                    };
                    let snapshot = client.start().await.map_err(|error| error.to_string())?;
                    if number.is_multiple_of(every) {
                        some.push((subject, snapshot.id));
                    }
                }
                Ok::<_, String>(some)
            })
        })
        .collect();
    let mut all = Vec::new();
    for task in tasks {
        all.extend(task.await??);
    }
    Ok(all)
}

/// Answers the first question of each of these; how many microseconds one takes.
async fn measure_responses(
    sessions: &flow::session::Sessions,
    some: &[(String, String)],
) -> BenchResult<f64> {
    let answers = five_answers();
    let mut times = Vec::new();
    for (subject, id) in some {
        let client = SessionClient { sessions, subject, conversation: || Box::new(FiveQuestions) };
        let start = Instant::now();
        client.respond(id, &answers[0]).await?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    median(times).ok_or_else(|| "no sessions".into())
}
