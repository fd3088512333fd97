//! Runs a program of a repository so that it can do little harm: see `docs/decisions/0018-sandbox.md`.
//!
//! What a program may touch is said by [`file_access`], what it is told by [`environment`], how it is started and ended by
//! [`process`]. Whether it may be run at all is decided elsewhere. Where the kernel offers less, less is confined, and
//! [`confinement`] says so.

mod confinement;
mod environment;
mod file_access;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;
mod output;
mod process;
mod program;
mod temp_home;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

use tree::{Tree, WorkBudget};

pub use confinement::{Confinement, detect_confinement};
use environment::ProgramEnvironment;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use other as system;
use process::{Isolation, LaunchSpec, RunningProgram};
use temp_home::TempHome;

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOutcome {
    /// Its exit code, if it ended by itself; 128 and the number of the signal, if it was killed.
    pub code: Option<i32>,
    /// It was ended because its time was up, or because the call was cancelled.
    pub timed_out: bool,
    /// The end of what it said, on both streams.
    pub output: String,
}

/// Runs a program in the folder of a tree until it ends or the budget is over. The error is of the kind `NotFound` if
/// there is no such program.
pub fn run(tree: &Tree, words: &[String], budget: &WorkBudget) -> io::Result<RunOutcome> {
    run_isolated(tree.path(), words, budget, detect_confinement().isolation)
}

fn run_isolated(
    folder: &Path,
    words: &[String],
    budget: &WorkBudget,
    isolation: Isolation,
) -> io::Result<RunOutcome> {
    let (name, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let home = TempHome::create(Some(folder))?;
    let environment = ProgramEnvironment::collect(folder, home.path());
    let program = program::find_program(name, folder, &environment.path)?;
    let places = file_access::allowed_access(folder, &home, &program, &environment);
    let order = LaunchSpec {
        program: &program,
        arguments,
        folder,
        environment: &environment.variables,
        file_access: &places,
        isolation,
    };
    RunningProgram::start(&order)?.finish(budget)
}
