//! The binary `fluxway`: parses the command line, resolves the settings and runs a command.

mod args;
mod commands;
mod config;
mod exit;
mod help;
mod logging;
mod styling;
mod suggest;
mod table;
mod terminal;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser};

use args::{Args, Command};
use config::{Config, ConfigSources};
use exit::CommandError;

/// The server allocates on one thread and frees on another, which costs a fifth of a call with glibc's allocator and more
/// with musl's (docs/decisions/0017-allocator.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let typed: Vec<OsString> = std::env::args_os().collect();
    let words = with_default_command(typed.clone());
    let args = match Args::try_parse_from(&words) {
        Ok(args) => args,
        Err(error) => {
            let hint = if words == typed { None } else { misplaced_command_hint(&typed) };
            return exit::report_usage_error(&error, &words, hint.as_deref());
        }
    };
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => exit::report(&failure),
    }
}

/// `fluxway` and `fluxway --root DIR` mean `fluxway serve`: that is how clients register a server. Typed on a terminal, the
/// bare name gets the help: a server that waits in silence would look broken.
fn with_default_command(mut words: Vec<OsString>) -> Vec<OsString> {
    let mut at = 1;
    while let Some(word) = words.get(at).and_then(|word| word.to_str()) {
        match word {
            "--config" | "--log" => at += 2,
            _ if word.starts_with("--config=") || word.starts_with("--log=") => at += 1,
            _ => break,
        }
    }
    let word = match words.get(at).and_then(|word| word.to_str()) {
        None if std::io::stdin().is_terminal() => "-h",
        None => "serve",
        Some("-h" | "--help" | "-V" | "--version") => return words,
        Some(word) if word.starts_with('-') => "serve",
        Some(_) => return words,
    };
    words.insert(at.min(words.len()), word.into());
    words
}

/// The line as it was meant, if a command stands behind the options: they were taken for those of `serve`.
fn misplaced_command_hint(typed: &[OsString]) -> Option<String> {
    let mut words: Vec<&str> = typed.iter().skip(1).map(|word| word.to_str()).collect::<Option<_>>()?;
    let known = Args::command();
    let at = words.iter().position(|word| known.find_subcommand(word).is_some())?;
    let command = words.remove(at);
    let line = shlex::try_join(["fluxway", command].into_iter().chain(words)).ok()?;
    Some(format!("options go after the command: {line}"))
}

fn run(args: Args) -> Result<(), CommandError> {
    let Some(command) = args.command else { return Ok(()) };
    if let Command::Completions { shell } = command {
        return commands::completions::run(shell);
    }
    let mut layer = command.settings();
    layer.log = args.log;
    let is_server = matches!(command, Command::Serve(_));
    let sources = ConfigSources::gather(layer, args.config, is_server)?;
    let config = Config::resolve(&sources)?;
    logging::init(&config);
    match command {
        Command::Serve(args) => commands::serve::run(config, sources, &args),
        Command::Tools(args) => commands::tools::run(config, &args),
        Command::Call(args) => commands::call::run(config, &args.tool, args.rest),
        Command::Faq(args) => commands::faq::run(config, &args),
        Command::Index(args) => commands::index::run(&args),
        Command::Integrate(args) => commands::integrate::run(config, &args),
        Command::Plan(args) => commands::plan::plan(config, args),
        Command::Apply(args) => commands::plan::apply(config, args),
        Command::Undo(args) => commands::plan::undo(config, args),
        Command::Keys { command, .. } => commands::keys::run(config, command),
        Command::Projects { command, .. } => commands::projects::run(&config, command),
        Command::Demo { full } => commands::demo::run(full),
        Command::Completions { .. } => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_without_a_command_are_those_of_serve() {
        for (line, expected) in [
            ("fluxway --root x", "fluxway serve --root x"),
            ("fluxway --log debug --http localhost:1", "fluxway --log debug serve --http localhost:1"),
            ("fluxway --config=a call b", "fluxway --config=a call b"),
            ("fluxway --version", "fluxway --version"),
            ("fluxway tools --json", "fluxway tools --json"),
        ] {
            let words = line.split(' ').map(Into::into).collect();
            assert_eq!(with_default_command(words).join(" ".as_ref()), expected);
        }
    }

    #[test]
    fn a_command_behind_options_is_named() {
        for (line, expected) in [
            ("fluxway --root . plan", Some("options go after the command: fluxway plan --root .")),
            (
                "fluxway --yes integrate app",
                Some("options go after the command: fluxway integrate --yes app"),
            ),
            ("fluxway --read-onyl", None),
        ] {
            let words: Vec<OsString> = line.split(' ').map(Into::into).collect();
            assert_eq!(misplaced_command_hint(&words).as_deref(), expected, "{line}");
        }
    }
}
