//! Allowlist of the FluxLoop commands that may run as a plan's check.

use codebase::plan::{is_path_argument, is_small_number};

pub fn is_check_command(words: &[&str]) -> bool {
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
            "--iterations" => flags.next().is_some_and(|count| is_small_number(count)),
            "--scenario" | "--project" => flags.next().is_some_and(|name| is_path_argument(name)),
            _ => false,
        };
    }
    fits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReleaseLine;

    #[test]
    fn only_generated_commands_are_accepted() {
        let is = |command: &str| is_check_command(&command.split(' ').collect::<Vec<_>>());
        assert!(ReleaseLine::ALL.into_iter().all(|line| is(&line.run_command("my-bot"))));
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
