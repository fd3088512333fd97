//! Tools beside the same work in plain SQL. What a call costs in itself is taken off first: `echo`, through the same connection.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::sync::Mutex;

use super::caller::{Caller, callers, echo};
use super::case::{Case, PAGE};
use super::made::Site;
use super::marks::Marks;
use super::plain::{Plain, Wish};
use super::{Databases, fill, walls};
use crate::Outcome;
use crate::database::postgres::Postgres;
use crate::database::rate;
use crate::database::sqlite::Sqlite;
use crate::table::{Table, median};

/// Callers at the same time, each with websites of its own.
const LEVELS: [usize; 2] = [1, 16];
const LEVEL_NAMES: [&str; 2] = ["one at a time", "16 at once"];
/// Websites: six for each caller, and as many for one alone.
const SITES: usize = 96;
/// How many times longer a tool may take, beyond the call itself.
const WANTED: f64 = 1.5;

const COLUMNS: [&str; 6] = [
    "one at a time: SQL, µs",
    "tools/call, µs",
    "(call - echo) / SQL (1.5)",
    "16 at once: SQL, µs each",
    "tools/call, µs each",
    "(call - echo) / SQL, 16 (1.5)",
];

/// How long one takes, in microseconds, round by round.
type Times = Vec<f64>;

/// Everything about one level: `echo`, and for each case SQL and the tool.
#[derive(Default)]
struct Figures {
    echo: Times,
    cases: Vec<[Times; 2]>,
}

pub(super) fn sqlite(
    runtime: &Runtime,
    scratch: &Path,
    quick: bool,
    marks: &mut Marks,
) -> Outcome<[Table; 2]> {
    let (store, sides) = runtime.block_on(async {
        let store = super::in_file(scratch, "ours.db", (0..SITES).map(Site::of)).await?;
        // The other side has the same tables and rows, and the store is closed.
        drop(super::in_file(scratch, "plain.db", (0..SITES).map(Site::of)).await?);
        let sides = Sides::new(&store, Sqlite::open(&scratch.join("plain.db"))?).await?;
        Outcome::Ok((store, sides))
    })?;
    Ok([
        sides.measure(runtime, "SQLite", quick, marks)?,
        walls::table(runtime, &store, "SQLite", quick, marks)?,
    ])
}

pub(super) fn postgres(runtime: &Runtime, url: &str, quick: bool, marks: &mut Marks) -> Outcome<[Table; 2]> {
    let database = Databases::open(runtime, url)?;
    let (store, sides) = runtime.block_on(async {
        for client in database.superusers().await? {
            fill::postgres(&client, (0..SITES).map(Site::of)).await?;
        }
        let [location, _] = database.locations()?;
        let store = store::open(&location, &store::Options::default()).await?;
        let sides = Sides::<Postgres>::new(&store, (*database).clone()).await?;
        Outcome::Ok((store, sides))
    })?;
    Ok([
        sides.measure(runtime, "PostgreSQL", quick, marks)?,
        walls::table(runtime, &store, "PostgreSQL", quick, marks)?,
    ])
}

struct Sides<P> {
    callers: [Arc<[Mutex<Caller>]>; 2],
    plain: Arc<P>,
    sites: Arc<[Arc<Site>]>,
    turn: Arc<AtomicUsize>,
}

impl<P: Plain> Sides<P> {
    async fn new(store: &Arc<dyn store::Store>, plain: P) -> Outcome<Self> {
        let [one, many] = LEVELS;
        let callers = [callers(store, one).await?, callers(store, many).await?];
        let sites: Arc<[Arc<Site>]> = (0..SITES).map(|number| Arc::new(Site::of(number))).collect();
        let mut caller = callers[0][0].lock().await;
        let listed = caller.ask(&Case::ListProjects.call(&sites[0])).await?;
        let read = caller.ask(&Case::GetBlocks.call(&sites[0])).await?;
        drop(caller);
        let found = (listed["projects"].as_array().map_or(0, Vec::len), count(&read["blocks"]));
        if found != (PAGE as usize, PAGE as usize) {
            return Err(format!("not a page of projects and one of blocks: {found:?}").into());
        }
        Ok(Self { callers, plain: Arc::new(plain), sites, turn: Arc::default() })
    }

    fn measure(&self, runtime: &Runtime, name: &str, quick: bool, marks: &mut Marks) -> Outcome<Table> {
        let (rounds, span) = if quick { (1, 40) } else { (21, 150) };
        let span = Duration::from_millis(span);
        let mut levels = [Figures::default(), Figures::default()];
        for (level, figures) in levels.iter_mut().enumerate() {
            figures.cases.resize(Case::ALL.len(), [Times::new(), Times::new()]);
            for round in 0..=rounds {
                // The first round is for whoever has to warm up.
                let is_counted = round > 0;
                let keep = |times: &mut Times, time: f64| times.extend(is_counted.then_some(time));
                keep(&mut figures.echo, runtime.block_on(self.echo(span, level))?);
                for (case, times) in Case::ALL.into_iter().zip(&mut figures.cases) {
                    for side in (0..2).map(|side| (side + round) % 2) {
                        let time = match side {
                            0 => runtime.block_on(self.sql(case, span, level))?,
                            _ => runtime.block_on(self.tool(case, span, level))?,
                        };
                        keep(&mut times[side], time);
                    }
                }
            }
        }
        Ok(table(name, &levels, marks))
    }

    async fn echo(&self, span: Duration, level: usize) -> Outcome<f64> {
        let callers = Arc::clone(&self.callers[level]);
        let one = move |task: usize| {
            let callers = Arc::clone(&callers);
            async move { callers[task].lock().await.call(&echo()).await }
        };
        Ok(1e6 / rate(span, LEVELS[level], one).await?)
    }

    async fn tool(&self, case: Case, span: Duration, level: usize) -> Outcome<f64> {
        let (callers, sites) = (Arc::clone(&self.callers[level]), self.round_about());
        let one = move |task: usize| {
            let (callers, site) = (Arc::clone(&callers), sites(task));
            async move { callers[task].lock().await.call(&case.call(&site)).await }
        };
        Ok(1e6 / rate(span, LEVELS[level], one).await?)
    }

    async fn sql(&self, case: Case, span: Duration, level: usize) -> Outcome<f64> {
        let (plain, sites) = (Arc::clone(&self.plain), self.round_about());
        let one = move |task: usize| {
            let (plain, site) = (Arc::clone(&plain), sites(task));
            async move { plain.run(Wish { case, site }).await }
        };
        Ok(1e6 / rate(span, LEVELS[level], one).await?)
    }

    /// The next website of a caller. No two callers ever have the same.
    fn round_about(&self) -> impl Fn(usize) -> Arc<Site> + Clone + Send + use<P> {
        let (sites, turn) = (Arc::clone(&self.sites), Arc::clone(&self.turn));
        move |task| {
            let turn = turn.fetch_add(1, Ordering::Relaxed);
            Arc::clone(&sites[(task + LEVELS[1] * turn) % SITES])
        }
    }
}

/// Blocks, with all that is inside.
fn count(blocks: &Value) -> usize {
    blocks.as_array().into_iter().flatten().map(|block| 1 + count(&block["children"])).sum()
}

fn table(name: &str, levels: &[Figures; 2], marks: &mut Marks) -> Table {
    let mut table = Table::plain(format!("Tools beside plain SQL, in {name}"), &COLUMNS);
    let echo = levels.iter().flat_map(|figures| [None, median(figures.echo.clone()), None]);
    table.row("echo", echo.collect());
    for (at, case) in Case::ALL.into_iter().enumerate() {
        let mut row = Vec::new();
        for (figures, level) in levels.iter().zip(LEVEL_NAMES) {
            let [sql, tool] = &figures.cases[at];
            // Of each round by itself: a round in which the machine was busy was so for all.
            let rounds = figures.echo.iter().zip(sql).zip(tool);
            let ratio = median(rounds.map(|((echo, sql), tool)| (tool - echo) / sql).collect());
            marks.hold(format!("{}, {name}, {level}", case.name()), ratio, WANTED);
            row.extend([median(sql.clone()), median(tool.clone()), ratio]);
        }
        table.row(case.name(), row);
    }
    table
}
