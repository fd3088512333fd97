//! Tools beside the same work in plain SQL. What a call costs in itself is taken off first: for what is read, the same call to a
//! store that has the answer ready; for what is written, whose answers are short, `echo`.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;
use server::projects::ProjectStore;
use tokio::runtime::Runtime;
use tokio::sync::Mutex;

use super::caller::{Call, Caller, callers, echo};
use super::case::{Case, PAGE};
use super::made::Site;
use super::marks::Marks;
use super::plain::{Plain, Wish};
use super::ready::Ready;
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

const COLUMNS: [&str; 8] = [
    "one at a time: SQL, µs",
    "the call itself, µs",
    "tools/call, µs",
    "(tools/call - call itself) / SQL (1.5)",
    "16 at once: SQL, µs each",
    "the call itself, µs each",
    "tools/call, µs each",
    "(tools/call - call itself) / SQL, 16 (1.5)",
];

/// How long one takes, in microseconds, round by round.
type Times = Vec<f64>;

/// Who does it: plain SQL, the call alone, the tool.
#[derive(Clone, Copy)]
enum Side {
    Sql,
    Itself,
    Tool,
}

impl Side {
    const ALL: [Self; 3] = [Self::Sql, Self::Itself, Self::Tool];
}

/// Everything about one level: the times of each side, for each case.
type Figures = Vec<[Times; 3]>;

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
    /// The same, over a store that has its answers ready.
    ready: [Arc<[Mutex<Caller>]>; 2],
    plain: Arc<P>,
    sites: Arc<[Arc<Site>]>,
    turn: Arc<AtomicUsize>,
}

impl<P: Plain> Sides<P> {
    async fn new(store: &Arc<dyn store::Store>, plain: P) -> Outcome<Self> {
        let sites: Arc<[Arc<Site>]> = (0..SITES).map(|number| Arc::new(Site::of(number))).collect();
        let ready = levels(Arc::new(Ready::of(store, &sites[0]).await?)).await?;
        let callers = levels(Arc::clone(store) as _).await?;
        for callers in [&callers, &ready] {
            let mut caller = callers[0][0].lock().await;
            let listed = caller.ask(&Case::ListProjects.call(&sites[0])).await?;
            let read = caller.ask(&Case::GetBlocks.call(&sites[0])).await?;
            let found = (listed["projects"].as_array().map_or(0, Vec::len), count(&read["blocks"]));
            if found != (PAGE as usize, PAGE as usize) {
                return Err(format!("not a page of projects and one of blocks: {found:?}").into());
            }
        }
        Ok(Self { callers, ready, plain: Arc::new(plain), sites, turn: Arc::default() })
    }

    fn measure(&self, runtime: &Runtime, name: &str, quick: bool, marks: &mut Marks) -> Outcome<Table> {
        let (rounds, span) = if quick { (1, 40) } else { (21, 150) };
        let span = Duration::from_millis(span);
        let mut levels = [Figures::new(), Figures::new()];
        for (level, figures) in levels.iter_mut().enumerate() {
            figures.resize(Case::ALL.len(), <[Times; 3]>::default());
            for round in 0..=rounds {
                for (case, times) in Case::ALL.into_iter().zip(&mut *figures) {
                    for turn in 0..Side::ALL.len() {
                        let side = (turn + round) % Side::ALL.len();
                        let time = runtime.block_on(self.time(Side::ALL[side], case, span, level))?;
                        // The first round is for whoever has to warm up.
                        times[side].extend((round > 0).then_some(time));
                    }
                }
            }
        }
        Ok(table(name, &levels, marks))
    }

    /// How long one takes.
    async fn time(&self, side: Side, case: Case, span: Duration, level: usize) -> Outcome<f64> {
        let each = match side {
            Side::Sql => self.sql(case, span, level).await?,
            Side::Tool => self.calls(&self.callers, move |site| case.call(site), span, level).await?,
            Side::Itself if case.reads() => {
                self.calls(&self.ready, move |site| case.call(site), span, level).await?
            }
            Side::Itself => self.calls(&self.callers, |_| echo(), span, level).await?,
        };
        Ok(1e6 / each)
    }

    async fn calls(
        &self,
        callers: &[Arc<[Mutex<Caller>]>; 2],
        call: impl Fn(&Site) -> Call + Clone + Send + 'static,
        span: Duration,
        level: usize,
    ) -> Outcome<f64> {
        let (callers, sites) = (Arc::clone(&callers[level]), self.round_about());
        let one = move |task: usize| {
            let (callers, call) = (Arc::clone(&callers), call(&sites(task)));
            async move { callers[task].lock().await.call(&call).await }
        };
        rate(span, LEVELS[level], one).await
    }

    async fn sql(&self, case: Case, span: Duration, level: usize) -> Outcome<f64> {
        let (plain, sites) = (Arc::clone(&self.plain), self.round_about());
        let one = move |task: usize| {
            let (plain, site) = (Arc::clone(&plain), sites(task));
            async move { plain.run(Wish { case, site }).await }
        };
        rate(span, LEVELS[level], one).await
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

/// Callers for each level.
async fn levels(store: Arc<dyn ProjectStore>) -> Outcome<[Arc<[Mutex<Caller>]>; 2]> {
    let [one, many] = LEVELS;
    Ok([callers(Arc::clone(&store), one).await?, callers(store, many).await?])
}

/// Blocks, with all that is inside.
fn count(blocks: &Value) -> usize {
    blocks.as_array().into_iter().flatten().map(|block| 1 + count(&block["children"])).sum()
}

fn table(name: &str, levels: &[Figures; 2], marks: &mut Marks) -> Table {
    let mut table = Table::plain(format!("Tools beside plain SQL, in {name}"), &COLUMNS);
    for (at, case) in Case::ALL.into_iter().enumerate() {
        let mut row = Vec::new();
        for (figures, level) in levels.iter().zip(LEVEL_NAMES) {
            let [sql, itself, tool] = &figures[at];
            // Of each round by itself: a round in which the machine was busy was so for all.
            let rounds = itself.iter().zip(sql).zip(tool);
            let ratio = median(rounds.map(|((itself, sql), tool)| (tool - itself) / sql).collect());
            marks.hold(format!("{}, {name}, {level}", case.name()), ratio, WANTED);
            row.extend([sql, itself, tool].map(|times| median(times.clone())));
            row.push(ratio);
        }
        table.row(case.name(), row);
    }
    table
}
