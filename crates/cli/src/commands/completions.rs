//! `fluxway completions`.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Args;
use crate::exit::{self, CommandError};

pub(crate) fn run(shell: Shell) -> Result<(), CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "fluxway", &mut script);
    exit::print(&String::from_utf8_lossy(&script))
}
