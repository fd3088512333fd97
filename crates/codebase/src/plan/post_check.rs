//! Commands that verify an applied plan. They come from untrusted plans, so only a few known forms are run,
//! and without a shell.

use std::io;

use ruff_python_stdlib::sys::is_known_standard_library;
use tree::{Tree, WorkBudget};

use super::path_check;
use crate::sandbox::{self, RunOutcome};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckResult {
    pub command: Vec<String>,
    /// Exit code; 128 plus the signal number if it was killed by a signal.
    pub code: Option<i32>,
    /// Whether it was stopped because of the time limit.
    pub timed_out: bool,
    /// Its output, truncated.
    pub output: String,
}

impl CheckResult {
    pub fn passed(&self) -> bool {
        self.code == Some(0)
    }
}

const MAX_COMMAND_BYTES: usize = 500;

/// Splits a command into words if it is allowed, and returns the reason otherwise. `also` allows further
/// commands.
pub fn parse_check_command(command: &str, also: fn(&[&str]) -> bool) -> Result<Vec<String>, String> {
    if command.len() > MAX_COMMAND_BYTES {
        return Err("it is too long".to_owned());
    }
    let strange = |c: char| c.is_control() || ";|&`$()<>{}[]*?!#~\"'\\".contains(c);
    if let Some(c) = command.chars().find(|c| strange(*c)) {
        return Err(format!("it contains {c:?}, and commands run without a shell"));
    }
    let words = shlex::split(command).filter(|words| !words.is_empty()).ok_or("it is empty")?;
    let plain: Vec<&str> = words.iter().map(String::as_str).collect();
    if is_allowed(&plain, also) { Ok(words) } else { Err("it is not one of the allowed commands".to_owned()) }
}

/// A relative path without `..`, or a plain name.
pub fn is_path_argument(word: &str) -> bool {
    !word.starts_with(['-', '@'])
        && !word.contains('=')
        && path_check::find_path_problem(word.trim_end_matches('/')).is_none()
}

fn is_name_argument(word: &str) -> bool {
    !word.is_empty()
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "._:-".contains(c))
        && !word.starts_with(['-', '.'])
}

pub fn is_small_number(word: &str) -> bool {
    !word.is_empty() && word.len() < 5 && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_allowed(words: &[&str], also: fn(&[&str]) -> bool) -> bool {
    match words {
        ["pytest", rest @ ..] => is_allowed_pytest(rest),
        ["python" | "python3", "-m", module, rest @ ..] => is_allowed_python_module(module, rest),
        ["python" | "python3", file] => file.ends_with(".py") && is_path_argument(file),
        ["npm" | "pnpm" | "yarn" | "bun", "test"]
        | ["python" | "python3", "manage.py", "check" | "test"]
        | ["npx", "--no-install", "tsc", "--noEmit"]
        | ["tsc", "--noEmit"]
        | ["cargo", "check" | "test" | "build"]
        | ["go", "build" | "test" | "vet", "./..."] => true,
        ["npm" | "pnpm" | "yarn" | "bun", "run", script] => is_name_argument(script),
        ["node", "--check", file] => is_path_argument(file),
        ["uv" | "poetry" | "pdm" | "pipenv" | "hatch" | "rye", "run", rest @ ..] => {
            !matches!(rest.first(), Some(&("uv" | "poetry" | "pdm" | "pipenv" | "hatch" | "rye")))
                && is_allowed(rest, also)
        }
        other => also(other),
    }
}

fn is_allowed_pytest(words: &[&str]) -> bool {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let fits = match *word {
            "-q" | "-x" | "-v" | "-vv" | "--lf" | "--ff" | "-rA" => true,
            "--maxfail" => words.next().is_some_and(|count| is_small_number(count)),
            other => is_path_argument(other.split("::").next().unwrap_or(other)),
        };
        if !fits {
            return false;
        }
    }
    true
}

fn is_allowed_python_module(module: &str, rest: &[&str]) -> bool {
    const PYTHON_MINOR_VERSION: u8 = 13;
    let is_dotted = module.split('.').all(|part| {
        !part.is_empty()
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
            && !part.starts_with(char::is_numeric)
    });
    match module {
        "pytest" => is_allowed_pytest(rest),
        "py_compile" | "compileall" => {
            !rest.is_empty() && rest.iter().all(|word| *word == "-q" || is_path_argument(word))
        }
        "unittest" => {
            rest.iter().all(|word| matches!(*word, "discover" | "-v" | "-q") || is_name_argument(word))
        }
        _ => {
            let top = module.split('.').next().unwrap_or(module);
            let lower = top.to_lowercase();
            // Tools that are installed next to the interpreter, and modules of older standard libraries.
            let is_tool = is_known_standard_library(PYTHON_MINOR_VERSION, &lower)
                || is_known_standard_library(8, &lower)
                || [
                    "pip",
                    "uv",
                    "ipython",
                    "virtualenv",
                    "setuptools",
                    "wheel",
                    "build",
                    "twine",
                    "poetry",
                    "hatch",
                    "pdm",
                ]
                .iter()
                .any(|tool| lower.starts_with(tool));
            is_dotted && !is_tool && rest.is_empty()
        }
    }
}

/// Runs a parsed check command in the folder of a tree within the budget. It is confined as far as
/// [`crate::sandbox::detect_confinement`] reports.
pub fn run_check(tree: &Tree, words: &[String], budget: &WorkBudget) -> io::Result<CheckResult> {
    let RunOutcome { code, timed_out, output } = sandbox::run(tree, words, budget)?;
    Ok(CheckResult { command: words.to_vec(), code, timed_out, output })
}
