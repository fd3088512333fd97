//! The context of a project with many experiments, beside the old Python server on the same folder.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::json;

use crate::BenchResult;
use crate::envelope::EnvelopeServer;
use crate::provision;
use crate::table::{FigureTable, save};

/// Runs of one experiment, and how long each answer is: a thousand of them make 200 MB of traces.
const RUNS_PER_EXPERIMENT: usize = 50;
const ANSWER_CHARS: usize = 1900;

const TOOLS: [&str; 3] = ["fetch_base_input_context", "fetch_experiment_context", "fetch_insight_context"];

pub(crate) fn run(quick: bool) -> BenchResult<()> {
    let experiments = if quick { 20 } else { 1000 };
    let rounds = if quick { 2 } else { 9 };
    let folder = std::env::temp_dir().join(format!("fluxway-bench-contexts-{}", std::process::id()));
    let megabytes = generate(&folder, experiments)? as f64 / 1e6;
    let root = folder.display().to_string();
    let mut servers = vec![EnvelopeServer::start("fluxway", &provision::repository_server_command(&root)?)?];
    match provision::install_fluxloop() {
        Ok(program) => servers.push(EnvelopeServer::start("fluxloop-mcp 0.1.3 (Python)", &[program])?),
        Err(error) => println!("NOT MEASURED: fluxloop-mcp: {error}"),
    }
    let columns = ["inputs, ms", "experiments, ms", "insight, ms", "first, ms", "peak memory, MB"];
    let title = format!("Context of {experiments} experiments with {megabytes:.0} MB of traces");
    let mut table = FigureTable::new(title, &columns);
    for server in &mut servers {
        let params = json!({ "root": root });
        let first = server.call("fetch_insight_context", &params);
        let first = first.inspect_err(|error| println!("NOT MEASURED: {error}")).ok();
        let mut figures = Vec::new();
        for tool in TOOLS {
            let median =
                if first.is_some() { server.median_call_time(tool, &params, rounds) } else { Ok(None) };
            figures.push(median.inspect_err(|error| println!("NOT MEASURED: {error}")).unwrap_or(None));
        }
        if let Some((answer, _)) = &first {
            // The old one wraps its answers once more.
            let answer = answer.get("data").unwrap_or(answer);
            println!("{}: {} runs in all", server.name, answer["aggregated_metrics"]["total_runs"]);
        }
        figures.extend([first.map(|(_, time)| time), server.peak_memory()]);
        table.add_row(server.name, figures);
    }
    fs::remove_dir_all(&folder)?;
    table.print();
    save("contexts", &[&table])
}

/// A project of 0.2 at the root, where the old server looks too. Gives the bytes of all traces.
fn generate(folder: &Path, experiments: usize) -> BenchResult<usize> {
    let configs = folder.join("configs");
    fs::create_dir_all(&configs)?;
    fs::write(configs.join("project.yaml"), "name: shop\nmetadata:\n  service_context: A shop.\n")?;
    fs::write(
        configs.join("simulation.yaml"),
        "name: shop\niterations: 1\nrunner:\n  target: shop:answer\n",
    )?;
    fs::write(configs.join("input.yaml"), "personas:\n  - name: guest\nbase_inputs:\n  - input: hello\n")?;
    let mut bytes = 0;
    for number in 0..experiments {
        let (day, second) = (number / 60 % 28 + 1, number % 60);
        let month = number / 1680 + 1;
        let name = format!("exp_2026{month:02}{day:02}_1000{second:02}");
        bytes += generate_experiment(&folder.join("experiments").join(name), number)?;
    }
    Ok(bytes)
}

fn generate_experiment(folder: &Path, number: usize) -> BenchResult<usize> {
    fs::create_dir_all(folder)?;
    let failed = number % 5;
    let successful = RUNS_PER_EXPERIMENT - failed;
    let results = json!({
        "total_runs": RUNS_PER_EXPERIMENT, "successful": successful, "failed": failed, "success_rate": successful as f64 / RUNS_PER_EXPERIMENT as f64,
        "avg_duration_ms": 120.5, "duration_seconds": 6.0,
    });
    let summary = json!({ "name": "exp", "date": "2026-01-01T10:00:00", "config": { "name": "shop" }, "results": results });
    fs::write(folder.join("summary.json"), summary.to_string())?;
    let errors: Vec<_> =
        (0..failed).map(|run| json!({ "iteration": run, "persona": "guest", "input": format!("question {run}"), "error": "out of stock" })).collect();
    fs::write(folder.join("errors.json"), json!(errors).to_string())?;
    let (mut traces, mut short) = (String::new(), String::new());
    for run in failed..RUNS_PER_EXPERIMENT {
        let trace = json!({
            "trace_id": format!("{number}-{run}"), "iteration": 0, "persona": "guest", "input": format!("question {run}"),
            "output": "x".repeat(ANSWER_CHARS), "duration_ms": 100.0 + run as f64, "success": true,
        });
        writeln!(traces, "{trace}")?;
        writeln!(short, "{trace}")?;
    }
    fs::write(folder.join("traces.jsonl"), &traces)?;
    fs::write(folder.join("trace_summary.jsonl"), &short)?;
    Ok(traces.len() + short.len())
}
