//! Runs a program of a repository so that it can do little harm: see `docs/decisions/0018-sandbox.md`.
//!
//! What a program may touch is said by [`places`], what it is told by [`environment`], how it is started and ended by
//! [`process`]. Whether it may be run at all is decided elsewhere. Where the kernel offers less, less is confined, and
//! [`confinement`] says so.

mod confinement;
mod environment;
mod home;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;
mod output;
mod places;
mod process;
mod program;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

use tree::{Budget, Tree};

pub use confinement::{Confinement, confinement};
use environment::Environment;
use home::Home;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use other as system;
use process::{Isolation, Order, Running};

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code, if it ended by itself; 128 and the number of the signal, if it was killed.
    pub code: Option<i32>,
    /// It was ended because its time was up, or because the call was cancelled.
    pub timed_out: bool,
    /// The end of what it said, on both streams.
    pub output: String,
}

/// Runs a program in the folder of a tree until it ends or the budget is over. The error is of the kind `NotFound` if
/// there is no such program.
pub fn run(tree: &Tree, words: &[String], budget: &Budget) -> io::Result<Ended> {
    run_in(tree.path(), words, budget, confinement().isolation)
}

fn run_in(folder: &Path, words: &[String], budget: &Budget, isolation: Isolation) -> io::Result<Ended> {
    let (name, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let home = Home::create(Some(folder))?;
    let environment = Environment::gather(folder, home.path());
    let program = program::find(name, folder, &environment.path)?;
    let places = places::allowed(folder, &home, &program, &environment);
    let order = Order {
        program: &program,
        arguments,
        folder,
        environment: &environment.variables,
        places: &places,
        isolation,
    };
    Running::start(&order)?.finish(budget)
}
