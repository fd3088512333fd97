//! The binary `fluxway`: parse, resolve, wire together, exit. It takes no decisions of its own.

mod args;
mod commands;
mod config;
mod exit;
mod logging;
mod styling;
mod table;
mod terminal;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use args::{Args, Command};
use config::Config;
use exit::CommandError;

/// A server makes many small things on one thread and drops them on another. glibc's allocator takes a fifth of the time of
/// a call for that, and musl's more (docs/decisions/0017-allocator.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return exit::report_usage_error(&error),
    };
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => exit::report(&failure),
    }
}

fn run(args: Args) -> Result<(), CommandError> {
    let command = match args.command {
        Some(command) => command,
        None if std::io::stdin().is_terminal() => {
            // Somebody typed the bare name: a server that waits in silence would be no answer.
            return exit::print(&Args::command().render_help().to_string());
        }
        None => Command::Serve,
    };
    if let Command::Completions { shell } = command {
        return commands::completions::run(shell);
    }
    let sources = config::ConfigSources::gather(args.settings, args.config)?;
    let config = Config::resolve(&sources)?;
    logging::init(&config);
    match command {
        Command::Serve => commands::serve::run(config, sources),
        Command::Tools { json } => commands::tools::run(config, json),
        Command::Call { tool, rest } => commands::call::run(config, &tool, rest),
        Command::Faq(args) => commands::faq::run(config, &args),
        Command::Index(args) => commands::index::run(&args),
        Command::Integrate(args) => commands::integrate::run(config, &args),
        Command::Plan(args) => commands::plan::plan(config, args),
        Command::Apply(args) => commands::plan::apply(config, args),
        Command::Undo(args) => commands::plan::undo(config, args),
        Command::Keys(command) => commands::keys::run(config, command),
        Command::Projects(command) => commands::projects::run(&config, command),
        Command::Demo => commands::demo::run(),
        Command::Completions { .. } => Ok(()),
    }
}
