//! The same call over HTTP against every server: how many in a second, how long the slowest of a hundred take, and what
//! they cost the server.

pub(crate) mod contestant;
pub(crate) mod http1;
mod load;
pub(crate) mod server;

use std::path::Path;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::table::{FigureTable, median, save};
use crate::{BenchResult, provision};
use contestant::{BARE, Contestant};
use load::{RoundTiming, run_load};

/// Connections that are open at once, and the table of each.
const CONNECTION_LEVELS: [(usize, &str); 3] =
    [(1, "HTTP, one connection"), (16, "HTTP, 16 connections"), (256, "HTTP, 256 connections")];

/// Ratios are of calls in a second; in brackets, what is wanted of fluxway. Nothing fails that misses it.
const COLUMNS: [&str; 6] = [
    "calls/s",
    "p99, µs",
    "CPU per call, µs",
    "of the bare handler (0.60)",
    "of rmcp (1.80)",
    "of the same without a key (0.85)",
];

#[derive(Clone, Default)]
struct HttpFigures {
    rate: Vec<f64>,
    p99: Vec<f64>,
    cpu: Vec<f64>,
}

pub(crate) fn run(quick: bool) -> BenchResult<()> {
    let folder = provision::build()?;
    let scratch = std::env::temp_dir().join(format!("fluxway-bench-http-{}", std::process::id()));
    std::fs::create_dir_all(&scratch)?;
    let outcome = measure_all(&folder, &scratch, quick);
    std::fs::remove_dir_all(&scratch)?;
    let tables = outcome?;
    tables.iter().for_each(FigureTable::print);
    save("http", &tables.iter().collect::<Vec<_>>())
}

fn measure_all(folder: &Path, scratch: &Path, quick: bool) -> BenchResult<Vec<FigureTable>> {
    let (rounds, warm_up, measured) = if quick { (1, 50, 200) } else { (7, 100, 450) };
    let span =
        RoundTiming { warm_up: Duration::from_millis(warm_up), measured: Duration::from_millis(measured) };
    // One thread, so that every server has the same left of the machine.
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let all = contestant::start_all(folder, scratch)?;
    let mut figures = vec![vec![HttpFigures::default(); all.len()]; CONNECTION_LEVELS.len()];
    // Each round begins with another server, so that whatever else the machine does is shared by all.
    for round in 0..rounds {
        for (figures, (connections, _)) in figures.iter_mut().zip(CONNECTION_LEVELS) {
            for n in (0..all.len()).map(|n| (n + round) % all.len()) {
                measure(&runtime, &all[n], connections, span, &mut figures[n])?;
            }
        }
    }
    let levels = figures.into_iter().zip(CONNECTION_LEVELS);
    Ok(levels.map(|(figures, (_, title))| build_table(title, &all, &figures)).collect())
}

fn measure(
    runtime: &Runtime,
    one: &Contestant,
    connections: usize,
    span: RoundTiming,
    figures: &mut HttpFigures,
) -> BenchResult<()> {
    let cpu = one.server.cpu()?;
    let load = runtime.block_on(run_load(one.server.address, one.requests(connections), span));
    let mut load = load.map_err(|error| format!("{}: {error}", one.name))?;
    let cpu = one.server.cpu()?.saturating_sub(cpu);
    figures.rate.push(load.times.len() as f64 / span.measured.as_secs_f64());
    figures.p99.push(load.p99());
    figures.cpu.push(cpu.as_secs_f64() * 1e6 / load.calls as f64);
    Ok(())
}

fn build_table(title: &'static str, all: &[Contestant], figures: &[HttpFigures]) -> FigureTable {
    let rates_of = |name| all.iter().zip(figures).find(|(one, _)| one.name == name).map(|(_, f)| &f.rate);
    // Of each round by itself: a round in which the machine was busy was so for all.
    let ratio = |ours: &[f64], name: Option<&'static str>| {
        median(ours.iter().zip(rates_of(name?)?).map(|(ours, theirs)| ours / theirs).collect())
    };
    let mut table = FigureTable::without_ratios(title, &COLUMNS);
    for (one, figures) in all.iter().zip(figures) {
        let [rate, p99, cpu] = [&figures.rate, &figures.p99, &figures.cpu].map(|all| median(all.clone()));
        let ratios = [one.rival.map(|_| BARE), one.rival, one.keyless].map(|name| ratio(&figures.rate, name));
        table.add_row(one.name, [rate, p99, cpu].into_iter().chain(ratios).collect());
    }
    table
}
