//! Commands of FluxLoop that may be run as a check.

use codebase::plan::{is_number, is_path};

/// Whether these words are such a command.
pub fn is_check(words: &[&str]) -> bool {
    let ["fluxloop", words @ ..] = words else { return false };
    let command = words.iter().take_while(|word| !word.starts_with('-')).count();
    let (command, flags) = words.split_at(command);
    let is_known =
        matches!(command, ["run" | "test" | "doctor"] | ["run", "experiment"] | ["config", "validate"]);
    let mut flags = flags.iter();
    let mut fits = is_known;
    while let Some(flag) = flags.next() {
        fits &= match *flag {
            "--yes" | "--smoke" | "--skip-upload" | "--no-stream-turns" | "--no-collector" | "--dry-run"
            | "--quiet" => true,
            "--iterations" => flags.next().is_some_and(|count| is_number(count)),
            "--scenario" | "--project" => flags.next().is_some_and(|name| is_path(name)),
            _ => false,
        };
    }
    fits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Line;

    #[test]
    fn our_own_commands_are_checks_and_others_are_not() {
        let is = |command: &str| is_check(&command.split(' ').collect::<Vec<_>>());
        assert!(Line::ALL.into_iter().all(|line| is(&line.run_once("my-bot"))));
        for command in [
            "fluxloop",
            "fluxloop init",
            "fluxloop run --config /etc/x",
            "fluxloop run --scenario ../x",
            "fluxloop run --iterations 100000",
            "fluxloop auth login",
            "other run",
        ] {
            assert!(!is(command), "{command}");
        }
    }
}
