//! Fluxway beside what a user would pick instead, measured in one run.
//!
//! `cargo run --release -p bench -- stdio` (or `flow`). Prints tables of ratios and writes JSON beside the target
//! folder's binaries. Timings are facts about a machine: nothing here fails because of one.

#![expect(clippy::print_stdout, reason = "a program for people")]
#![expect(clippy::disallowed_methods, reason = "it starts programs, reads the environment and the clock")]
#![expect(clippy::cast_precision_loss, reason = "counts of a bench fit a double")]

mod contexts;
mod database;
mod envelope;
mod flow;
mod http;
mod idle;
mod peer;
mod plans;
mod pressure;
mod projects;
mod provision;
mod retrieval;
mod robust;
mod sessions;
mod stdio;
mod table;
mod tree;
mod turn;

/// The same as in the binary that is measured.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type BenchResult<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> BenchResult<()> {
    let mut args = std::env::args().skip(1);
    let what = args.next().unwrap_or_default();
    let (flags, given): (Vec<String>, Vec<String>) = args.partition(|arg| arg.starts_with("--"));
    // `--quick` shows that the harness works; its figures are not for quoting.
    let quick = flags.iter().any(|flag| flag == "--quick");
    match what.as_str() {
        "stdio" => stdio::run(quick),
        "flow" => flow::run(quick),
        "turn" => turn::run(quick),
        "sessions" => sessions::run(quick),
        "projects" => projects::run(quick, &given),
        "robust" => robust::run(quick),
        "http" => http::run(quick),
        "idle" => idle::run(quick),
        "retrieval" => retrieval::run(quick, &given),
        "plans" => plans::run(quick),
        "pressure" => pressure::run(quick),
        "contexts" => contexts::run(quick),
        "tree" => tree::run(quick, given.first().map(std::path::PathBuf::from)),
        _ => {
            println!(
                "usage: cargo run --release -p bench -- stdio|flow|turn|sessions|projects [tokens] [calls]|http|idle|robust|pressure|plans|contexts|retrieval [--data FOLDER]…|tree [FOLDER] [--quick]"
            );
            Ok(())
        }
    }
}
