//! Runs a program of a repository in a sandbox; see `docs/decisions/0018-sandbox.md`.
//!
//! [`file_access`] decides which files a program may access, [`environment`] which variables it gets, and
//! [`process`] starts and stops it. Whether it may run at all is decided elsewhere. [`confinement`] reports
//! what the kernel supports; on older kernels less is confined.

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
use process::{Isolation, LaunchSpec, Namespaces, RunningProgram};
use temp_home::TempHome;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOutcome {
    /// Exit code; 128 plus the signal number if it was killed by a signal.
    pub code: Option<i32>,
    /// Whether it was stopped because of the time limit or because the call was cancelled.
    pub timed_out: bool,
    /// The end of its output, stdout and stderr combined.
    pub output: String,
}

/// Runs a program in the folder of a tree until it exits or the budget is used up. Fails with `NotFound` if
/// the program does not exist.
pub fn run(tree: &Tree, words: &[String], budget: &WorkBudget) -> io::Result<RunOutcome> {
    run_isolated(tree.path(), words, budget, detect_confinement().isolation)
}

/// Runs a program that acts for the user, such as a package manager: with the network, and with the files and
/// the environment of this account. Only for commands that the repository cannot choose.
pub fn run_as_user(tree: &Tree, words: &[String], budget: &WorkBudget) -> io::Result<RunOutcome> {
    let (name, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let environment = ProgramEnvironment::inherit();
    let program = program::find_program(name, tree.path(), &environment.path)?;
    let order = LaunchSpec {
        program: &program,
        arguments,
        folder: tree.path(),
        environment: &environment.variables,
        file_access: &[],
        isolation: Isolation { landlock: false, namespaces: Namespaces::Shared },
    };
    RunningProgram::start(&order)?.finish(budget)
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
