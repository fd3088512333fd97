//! The same call against every server: how soon, how fast, how many, how much memory.

use std::time::{Duration, Instant};

use crate::peer::BenchPeer;
use crate::table::{FigureTable, median, save};
use crate::{BenchResult, provision};

struct StdioBenchPlan {
    rounds: usize,
    sequential: usize,
    pipelined: usize,
    growth_calls: usize,
    /// A server that would need longer for the million is given up on.
    growth_timeout: Duration,
}

#[derive(Default)]
struct StdioFigures {
    first_answer: Vec<f64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
    rate: Vec<f64>,
    cpu: Vec<f64>,
    memory: Vec<f64>,
}

pub(crate) fn run(quick: bool) -> BenchResult<()> {
    let plan = if quick {
        StdioBenchPlan {
            rounds: 1,
            sequential: 200,
            pipelined: 2_000,
            growth_calls: 10_000,
            growth_timeout: Duration::from_secs(5),
        }
    } else {
        StdioBenchPlan {
            rounds: 7,
            sequential: 3_000,
            pipelined: 50_000,
            growth_calls: 1_000_000,
            growth_timeout: Duration::from_mins(1),
        }
    };
    let peers = provision::all_peers()?;
    let mut figures: Vec<StdioFigures> = peers.iter().map(|_| StdioFigures::default()).collect();
    // Rounds are interleaved, and each begins with another server, so that whatever else the machine does (and whatever
    // the one before left in its caches) is shared by all.
    for round in 0..plan.rounds {
        for n in (0..peers.len()).map(|n| (n + round) % peers.len()) {
            measure(&peers[n], &plan, &mut figures[n])?;
        }
    }
    let columns = [
        "spawn to first answer, ms",
        "p50, µs",
        "p99, µs",
        "pipelined, calls/s",
        "CPU per call, µs",
        "memory at rest, MB",
    ];
    let mut speed = FigureTable::new("One call, over stdio", &columns);
    for (peer, figures) in peers.iter().zip(figures) {
        let all = [figures.first_answer, figures.p50, figures.p99, figures.rate, figures.cpu, figures.memory];
        speed.add_row(&peer.name, all.into_iter().map(median).collect());
    }
    speed.print();

    let mut growth = FigureTable::new("Memory after many calls, MB", &["before", "after", "calls"]);
    for peer in &peers {
        growth.add_row(&peer.name, measure_growth(peer, &plan)?);
    }
    growth.print();
    save("stdio", &[&speed, &growth])
}

fn measure(peer: &BenchPeer, plan: &StdioBenchPlan, figures: &mut StdioFigures) -> BenchResult<()> {
    let mut running = peer.start()?;
    figures.first_answer.push(running.first_answer.as_secs_f64() * 1e3);
    // One start is luck; those that start fast start often.
    while running.first_answer < Duration::from_millis(50) && !figures.first_answer.len().is_multiple_of(8) {
        running = peer.start()?;
        figures.first_answer.push(running.first_answer.as_secs_f64() * 1e3);
    }
    figures.memory.push(running.memory()?);
    running.call_sequentially(plan.sequential / 10)?; // warm up
    let mut times = running.call_sequentially(plan.sequential)?;
    times.sort_unstable();
    figures.p50.push(times[times.len() / 2].as_secs_f64() * 1e6);
    figures.p99.push(times[times.len() * 99 / 100].as_secs_f64() * 1e6);
    // Slow servers get fewer calls: the rate is the same and nobody waits.
    let slow = times[times.len() / 2] > Duration::from_micros(200);
    let calls = if slow { plan.pipelined / 10 } else { plan.pipelined };
    let cost = running.call_pipelined(calls)?;
    figures.rate.push(calls as f64 / cost.wall.as_secs_f64());
    figures.cpu.push(cost.cpu.as_secs_f64() * 1e6 / calls as f64);
    Ok(())
}

fn measure_growth(peer: &BenchPeer, plan: &StdioBenchPlan) -> BenchResult<Vec<Option<f64>>> {
    let mut running = peer.start()?;
    running.call_pipelined(1_000)?;
    let before = running.memory()?;
    let start = Instant::now();
    let mut calls = 0;
    while calls < plan.growth_calls && start.elapsed() < plan.growth_timeout {
        running.call_pipelined(plan.growth_calls / 100)?;
        calls += plan.growth_calls / 100;
    }
    Ok(vec![Some(before), Some(running.memory()?), Some(calls as f64)])
}
