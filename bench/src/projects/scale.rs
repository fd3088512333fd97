//! Many websites beside a few: whether anything gets slower. One very large website beside a small one. And what many cost.

mod probes;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::sync::Mutex;

use super::caller::{Caller, callers};
use super::made::{MOST, Site};
use super::marks::Marks;
use super::{Databases, fill};
use crate::database::size;
use crate::table::{Table, median};
use crate::{Outcome, peer};
use probes::{AMONG_MANY, IN_LARGE, Known, Probe, WRITE};

/// Websites where there are few.
const FEW: usize = 100;
/// Blocks of a usual website.
const USUAL: usize = 100;
/// How many times longer it may take among a hundred times as many. Caches are smaller than what is kept: not exactly once.
const FLAT: f64 = 1.5;

/// How much there is.
#[derive(Clone, Copy)]
struct Plan {
    /// Websites where there are many.
    many: usize,
    /// Blocks of the largest.
    most: usize,
    rounds: usize,
    /// Calls of each kind in a round.
    calls: usize,
    /// Writes beforehand: the journal of a database in a file grows up to a size, and until then a write takes longer.
    before: usize,
}

impl Plan {
    const fn of(quick: bool) -> Self {
        if quick {
            Self { many: 300, most: 2_000, rounds: 1, calls: 10, before: 20 }
        } else {
            Self { many: 10_000, most: MOST, rounds: 5, calls: 100, before: 1_500 }
        }
    }

    /// Websites where there are few, or many.
    const fn count(self, is_large: bool) -> usize {
        if is_large { self.many } else { FEW }
    }

    /// The first website: a usual number of blocks, or as many as there may be.
    fn first(self, is_large: bool) -> Site {
        Site::flat(0, if is_large { self.most } else { USUAL })
    }

    fn sites(self, is_large: bool) -> impl ExactSizeIterator<Item = Site> {
        let site = move |number| if number == 0 { self.first(is_large) } else { Site::of(number) };
        (0..self.count(is_large)).map(site)
    }

    fn blocks(self) -> usize {
        (self.many - 1) * USUAL + self.most
    }
}

/// The stores, and what is known of the large one.
struct Stores {
    few: Arc<dyn store::Store>,
    many: Arc<dyn store::Store>,
    filled: Duration,
    /// Megabytes of this process before.
    memory: f64,
}

pub(super) fn sqlite(
    runtime: &Runtime,
    scratch: &Path,
    quick: bool,
    marks: &mut Marks,
) -> Outcome<Vec<Table>> {
    let plan = Plan::of(quick);
    let stores = runtime.block_on(async {
        let few = super::in_file(scratch, "few.db", plan.sites(false)).await?;
        let start = Instant::now();
        drop(super::in_file(scratch, "many.db", plan.sites(true)).await?);
        let (filled, memory) = (start.elapsed(), peer::memory(std::process::id())?);
        let many = super::open_file(scratch, "many.db").await?;
        Ok::<_, Box<dyn std::error::Error>>(Stores { few, many, filled, memory })
    })?;
    measure(runtime, &stores, plan, "SQLite", marks, || size(scratch, "many.db"))
}

pub(super) fn postgres(runtime: &Runtime, url: &str, quick: bool, marks: &mut Marks) -> Outcome<Vec<Table>> {
    let plan = Plan::of(quick);
    let database = Databases::open(runtime, url)?;
    let stores = runtime.block_on(async {
        let [few, many] = database.superusers().await?;
        fill::postgres(&few, plan.sites(false)).await?;
        let start = Instant::now();
        fill::postgres(&many, plan.sites(true)).await?;
        let (filled, memory) = (start.elapsed(), peer::memory(std::process::id())?);
        let [few, many] = database.locations()?;
        let options = store::Options::default();
        let (few, many) = (store::open(&few, &options).await?, store::open(&many, &options).await?);
        Ok::<_, Box<dyn std::error::Error>>(Stores { few, many, filled, memory })
    })?;
    measure(runtime, &stores, plan, "PostgreSQL", marks, || {
        runtime.block_on(async {
            let [_, many] = database.superusers().await?;
            let size = many.query_one("SELECT pg_database_size(current_database())", &[]).await?;
            Ok(u64::try_from(size.try_get::<_, i64>(0)?)?)
        })
    })
}

fn measure(
    runtime: &Runtime,
    stores: &Stores,
    plan: Plan,
    name: &str,
    marks: &mut Marks,
    bytes: impl Fn() -> Outcome<u64>,
) -> Outcome<Vec<Table>> {
    let sides = runtime.block_on(async {
        Ok::<_, Box<dyn std::error::Error>>([
            Side::of(&stores.few, plan, false).await?,
            Side::of(&stores.many, plan, true).await?,
        ])
    })?;
    let columns = ["few: p50, µs", "p99, µs", "many: p50, µs", "p99, µs ", "p50, times (1.5)", "p99, times"];
    let title = format!("{} websites beside {FEW}, in {name}", plan.many);
    let mut scale = Table::plain(title, &columns);
    for asked in AMONG_MANY {
        let row = runtime.block_on(probe(&sides, plan, asked))?;
        marks.hold(format!("{}, {name}, {} websites", asked.0, plan.many), row[4], FLAT);
        scale.row(asked.0, row);
    }
    let columns = ["small: p50, µs", "p99, µs", "large: p50, µs", "p99, µs ", "p50, times", "p99, times"];
    let title = format!("A website of {} blocks beside one of {USUAL}, in {name}", plan.most);
    let mut large = Table::plain(title, &columns);
    for asked in IN_LARGE {
        large.row(asked.0, runtime.block_on(probe(&sides, plan, asked))?);
    }
    let columns = [
        "websites",
        "blocks",
        "filled in, s",
        "on the disk, MB",
        "bytes for each block",
        "memory of the process before, MB",
        "memory when all was measured, MB",
    ];
    let mut kept = Table::plain(format!("What many websites cost, in {name}"), &columns);
    let (blocks, bytes) = (plan.blocks() as f64, bytes()? as f64);
    let memory = peer::memory(std::process::id())?;
    let filled = stores.filled.as_secs_f64();
    let row =
        [plan.many as f64, blocks, filled, bytes / 1024.0 / 1024.0, bytes / blocks, stores.memory, memory];
    kept.row(name, row.map(Some).to_vec());
    Ok(vec![scale, large, kept])
}

/// Who asks a store.
struct Side {
    callers: Arc<[Mutex<Caller>]>,
    known: Arc<Known>,
}

impl Side {
    async fn of(store: &Arc<dyn store::Store>, plan: Plan, is_large: bool) -> Outcome<Self> {
        let callers = callers(Arc::clone(store) as _, 1).await?;
        let known = Arc::new(Known::of(&mut *callers[0].lock().await, plan, is_large).await?);
        let side = Self { callers, known };
        side.asked(WRITE, 0, plan.before).await?;
        Ok(side)
    }

    /// How many microseconds each of these calls takes.
    async fn asked(&self, (_, ask): Probe, first: usize, calls: usize) -> Outcome<Vec<f64>> {
        let (callers, known) = (Arc::clone(&self.callers), Arc::clone(&self.known));
        let asking = async move {
            let mut caller = callers[0].lock().await;
            let mut times = Vec::with_capacity(calls);
            for turn in first..first + calls {
                let call = ask(&known, turn);
                let start = Instant::now();
                caller.call(&call).await?;
                times.push(start.elapsed().as_secs_f64() * 1e6);
            }
            Ok::<_, String>(times)
        };
        Ok(tokio::spawn(asking).await??)
    }
}

/// Both stores in turn, a round each, so that whatever else the machine does is shared by both.
async fn probe(sides: &[Side; 2], plan: Plan, probe: Probe) -> Outcome<Vec<Option<f64>>> {
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..=plan.rounds {
        for (side, times) in sides.iter().zip(&mut times) {
            let found = side.asked(probe, round * plan.calls, plan.calls).await?;
            // The first round is for whoever has to warm up.
            times.extend(found.into_iter().filter(|_| round > 0));
        }
    }
    Ok(compared(times))
}

fn compared([few, many]: [Vec<f64>; 2]) -> Vec<Option<f64>> {
    let last = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times.get(times.len() * 99 / 100).copied()
    };
    let [p50, p99] = [[median(few.clone()), median(many.clone())], [last(few), last(many)]];
    let times = |[few, many]: [Option<f64>; 2]| Some(many? / few?);
    vec![p50[0], p99[0], p50[1], p99[1], times(p50), times(p99)]
}
