//! `-h` and `--help`.
//!
//! clap renders `--help` with several lines per option, which makes pages of it. Here both are compact, one option after the
//! other: `-h` with the options that most users need, `--help` with all of them and with a longer description.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::{Command, CommandFactory};

use crate::args::Args;

/// The help that a command line asks for.
pub(crate) fn render(words: &[OsString]) -> StyledStr {
    let is_long = words.iter().any(|word| word == "--help" || word == "help");
    let mut root = Args::command();
    root.build();
    let mut command = root;
    // `fluxway help plan` asks for the same as `fluxway plan --help`.
    for word in words.iter().skip(1).filter(|word| *word != "help") {
        if let Some(found) = word.to_str().and_then(|word| command.find_subcommand(word)) {
            command = found.clone();
        }
    }
    prepare(command, is_long).render_help()
}

fn prepare(command: Command, is_long: bool) -> Command {
    let long_about = command.get_long_about().cloned().filter(|_| is_long);
    // Every option has a variable; one sentence says so instead of a hundred brackets.
    let command = command.mut_args(|arg| {
        let is_switch = arg.get_action().takes_values() && arg.is_require_equals_set();
        arg.hide_env(true).hide_possible_values(is_switch)
    });
    let command = if is_long { command.mut_args(|arg| arg.hide_short_help(false)) } else { command };
    match long_about {
        Some(text) => command.about(text),
        None => command,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCREEN_LINES: usize = 50;

    fn commands(command: &Command, path: &[&str], found: &mut Vec<Vec<String>>) {
        found.push(path.iter().map(|name| (*name).to_owned()).collect());
        for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
            commands(sub, &[path, &[sub.get_name()]].concat(), found);
        }
    }

    #[test]
    fn help_command_shows_what_the_flag_shows() {
        let help = |words: &[&str]| render(&words.iter().map(Into::into).collect::<Vec<_>>()).to_string();
        assert_eq!(help(&["fluxway", "help", "plan"]), help(&["fluxway", "plan", "--help"]));
        assert_eq!(help(&["fluxway", "help"]), help(&["fluxway", "--help"]));
    }

    #[test]
    fn help_fits_on_a_screen_and_long_help_on_two() {
        let mut all = Vec::new();
        commands(&Args::command(), &["fluxway"], &mut all);
        assert!(all.len() > 20, "{all:?}");
        for path in all {
            for (flag, max) in [("-h", SCREEN_LINES), ("--help", 2 * SCREEN_LINES)] {
                let words: Vec<OsString> =
                    path.iter().map(String::as_str).chain([flag]).map(Into::into).collect();
                let text = render(&words).to_string();
                assert!(
                    text.lines().count() <= max,
                    "{path:?} {flag}: {} lines\n{text}",
                    text.lines().count()
                );
                let has_subcommands = text.contains("\nCommands:");
                let examples =
                    text.split("Examples:\n").nth(1).map_or(0, |part| part.matches("  fluxway ").count());
                assert!(
                    examples == 2 || (has_subcommands && path.len() > 1),
                    "{path:?}: {examples} examples\n{text}"
                );
            }
        }
    }
}
