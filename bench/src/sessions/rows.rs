//! Sessions in a database beside plain rows of the same sizes in the same tables, written as often. A session is loaded
//! before it is gone on with: six writes and five reads. Plain rows are written without, and with, those reads.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use flow::Entropy;
use flow::session::{Row, Sessions, State};
use server::OsEntropy;
use tokio::runtime::Runtime;

use super::plain::Plain;
use super::{Client, five, owner, sessions};
use crate::Outcome;
use crate::database::postgres::Postgres;
use crate::database::sqlite::Sqlite;
use crate::database::{file, rate, server};
use crate::table::{Table, median};
use crate::turn::Five;

/// Conversations that go on at the same time.
const LEVELS: [usize; 3] = [1, 16, 64];

/// Ratios say how many times longer a session takes. In brackets, what is wanted; nothing fails that misses it.
const COLUMNS: [&str; 5] = [
    "sessions/s",
    "plain rows, per second",
    "plain rows with reads, per second",
    "a session / plain rows (1.5)",
    "a session / plain rows with reads",
];

/// What is measured of one level: ours, plain rows, plain rows with reads.
type Figures = [Vec<f64>; 3];

pub(super) fn tables(scratch: &Path, quick: bool) -> Outcome<Vec<Table>> {
    let (rounds, span) = if quick { (1, Duration::from_millis(100)) } else { (7, Duration::from_secs(1)) };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let in_file = runtime.block_on(async {
        let store = store::open(&file(scratch, "ours.db")?, &store::Options::default()).await?;
        // Makes the tables, and is closed.
        drop(store::open(&file(scratch, "plain.db")?, &store::Options::default()).await?);
        Ok::<_, Box<dyn std::error::Error>>(Sides::new(store, Sqlite::open(&scratch.join("plain.db"))?))
    })?;
    let mut tables = vec![measure(&runtime, in_file, "Sessions in an SQLite file", rounds, span)?];
    if let Some(url) = server() {
        let database = runtime.block_on(Postgres::open(&url))?;
        let [location, _] = database.locations()?;
        let store = runtime.block_on(store::open(&location, &store::Options::default()))?;
        let sides = Sides::new(store, database.clone());
        let measured = measure(&runtime, sides, "Sessions in PostgreSQL", rounds, span);
        runtime.block_on(database.remove())?;
        tables.push(measured?);
    }
    Ok(tables)
}

struct Sides<P> {
    sessions: Arc<Sessions>,
    plain: Arc<P>,
}

impl<P: Plain> Sides<P> {
    fn new(store: Arc<dyn store::Store>, plain: P) -> Self {
        Self { sessions: Arc::new(sessions(store)), plain: Arc::new(plain) }
    }
}

fn measure<P: Plain>(
    runtime: &Runtime,
    sides: Sides<P>,
    title: &'static str,
    rounds: usize,
    span: Duration,
) -> Outcome<Table> {
    let mut table = Table::plain(title, &COLUMNS);
    let rows: Arc<[Row]> = runtime.block_on(versions(&sides.sessions))?.into();
    let bytes: Vec<usize> = rows.iter().filter_map(|row| Some(row.body.as_ref()?.len())).collect();
    println!("{title}: bodies of {bytes:?} bytes");
    for at_once in LEVELS {
        let mut figures = Figures::default();
        for round in 0..rounds {
            for side in (0..3).map(|n| (n + round) % 3) {
                let (sessions, plain) = (Arc::clone(&sides.sessions), Arc::clone(&sides.plain));
                let rows = Arc::clone(&rows);
                let rate = runtime.block_on(async move {
                    if side == 0 {
                        return rate(span, at_once, move |task| converse(Arc::clone(&sessions), task)).await;
                    }
                    let one = move |task| write(Arc::clone(&plain), Arc::clone(&rows), side == 2, task);
                    rate(span, at_once, one).await
                });
                figures[side].push(rate?);
            }
        }
        let ratio = |plain: &[f64]| median(figures[0].iter().zip(plain).map(|(a, b)| b / a).collect());
        let ratios = [ratio(&figures[1]), ratio(&figures[2])];
        let name = format!("{at_once} at once");
        table.row(&name, figures.into_iter().map(median).chain(ratios).collect());
    }
    Ok(table)
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

/// The same as rows.
async fn write<P: Plain>(plain: Arc<P>, rows: Arc<[Row]>, reads: bool, task: usize) -> Result<(), String> {
    let subject = format!("bench-{task}");
    let id = unlike_any_other();
    for (version, row) in (1..).zip(rows.iter()) {
        if reads && version > 1 {
            plain.read(&id).await?;
        }
        plain.write(&subject, &id, version, row.clone()).await?;
    }
    Ok(())
}

/// As long as the id of a session.
fn unlike_any_other() -> String {
    let mut random = [0; 16];
    OsEntropy.fill(&mut random);
    format!("session_{:032x}", u128::from_le_bytes(random))
}

/// What is written in a conversation, from its start to its end.
async fn versions(sessions: &Sessions) -> Outcome<Vec<Row>> {
    let client = Client { sessions, subject: "sizes", conversation: || Box::new(Five) };
    let id = client.start().await?.id;
    let mut rows = Vec::new();
    for answer in five().into_iter().map(Some).chain([None]) {
        let (version, row) = sessions.store().load(owner("sizes"), &id).await?.ok_or("no session")?;
        rows.push(row);
        if usize::try_from(version)? != rows.len() {
            return Err(format!("version {version} after {} turns", rows.len()).into());
        }
        if let Some(answer) = answer {
            client.respond(&id, &answer).await?;
        }
    }
    Ok(rows)
}
