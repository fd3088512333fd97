//! Sessions whose users are silent: what they cost where they are kept, and whether the others notice them.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::{Client, five, sessions};
use crate::database::{file, size};
use crate::table::{Table, median};
use crate::turn::Five;
use crate::{Outcome, peer};

/// Sessions that are begun at once.
const AT_ONCE: usize = 64;
/// Sessions that are gone on with, to see how long that takes.
const PROBES: usize = 100;

pub(super) fn table(scratch: &Path, quick: bool) -> Outcome<Table> {
    let wanted = if quick { 2_000 } else { 100_000 };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(scratch, wanted))
}

async fn measure(scratch: &Path, wanted: usize) -> Outcome<Table> {
    let location = file(scratch, "waiting.db")?;
    let store = store::open(&location, &store::Options::default()).await?;
    let sessions = Arc::new(sessions(store));
    let few = begin(&sessions, 0..PROBES).await?;
    let alone = respond(&sessions, &few).await?;
    let before = peer::memory(std::process::id())?;
    let start = Instant::now();
    let many = begin(&sessions, PROBES..wanted + PROBES).await?;
    let took = start.elapsed().as_secs_f64();
    let after = peer::memory(std::process::id())?;
    let bytes = size(scratch, "waiting.db")?;
    let among_many = respond(&sessions, &many).await?;
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
    let mut table = Table::plain("Sessions that wait, in an SQLite file", &columns);
    let (count, size) = (wanted as f64, bytes as f64);
    let figures =
        [count, count / took, before, after, size / 1024.0 / 1024.0, size / count, alone, among_many];
    table.row("fluxway", figures.map(Some).to_vec());
    Ok(table)
}

/// Begins these sessions, each of another owner; some of them, from everywhere.
async fn begin(
    sessions: &Arc<flow::session::Sessions>,
    numbers: std::ops::Range<usize>,
) -> Outcome<Vec<(String, String)>> {
    let every = numbers.len() / PROBES;
    let tasks: Vec<_> = (0..AT_ONCE)
        .map(|task| {
            let (sessions, mine) = (Arc::clone(sessions), numbers.clone().skip(task).step_by(AT_ONCE));
            tokio::spawn(async move {
                let mut some = Vec::new();
                for number in mine {
                    let subject = format!("owner-{number}");
                    let client =
                        Client { sessions: &sessions, subject: &subject, conversation: || Box::new(Five) };
                    let standing = client.start().await.map_err(|error| error.to_string())?;
                    if number.is_multiple_of(every) {
                        some.push((subject, standing.id));
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
async fn respond(sessions: &flow::session::Sessions, some: &[(String, String)]) -> Outcome<f64> {
    let answers = five();
    let mut times = Vec::new();
    for (subject, id) in some {
        let client = Client { sessions, subject, conversation: || Box::new(Five) };
        let start = Instant::now();
        client.respond(id, &answers[0]).await?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    median(times).ok_or_else(|| "no sessions".into())
}
