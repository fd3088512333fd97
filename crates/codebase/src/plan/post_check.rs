//! Commands that show whether a plan worked. They come from plans, so only a few forms of them are run, without a shell.

use std::io;

use ruff_python_stdlib::sys::is_known_standard_library;
use tree::{Tree, WorkBudget};

use super::path_check;
use crate::sandbox::{self, RunOutcome};

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckResult {
    /// Its words.
    pub command: Vec<String>,
    /// Its exit code, if it ended by itself; 128 and the number of the signal, if it was killed.
    pub code: Option<i32>,
    /// It was ended because its time was up.
    pub timed_out: bool,
    /// What it said, cut.
    pub output: String,
}

impl CheckResult {
    /// Whether it says that all is well.
    pub fn passed(&self) -> bool {
        self.code == Some(0)
    }
}

const MAX_COMMAND_BYTES: usize = 500;

/// Splits a command into words, if it is one that may be run; says why, if it is not. `also` allows more of them.
pub fn parse_check_command(command: &str, also: fn(&[&str]) -> bool) -> Result<Vec<String>, String> {
    if command.len() > MAX_COMMAND_BYTES {
        return Err("it is too long".to_owned());
    }
    let strange = |c: char| c.is_control() || ";|&`$()<>{}[]*?!#~\"'\\".contains(c);
    if let Some(c) = command.chars().find(|c| strange(*c)) {
        return Err(format!("it has {c:?} in it, and no shell is used here"));
    }
    let words = shlex::split(command).filter(|words| !words.is_empty()).ok_or("it is empty")?;
    let plain: Vec<&str> = words.iter().map(String::as_str).collect();
    if is_allowed(&plain, also) {
        Ok(words)
    } else {
        Err("it is not one of the commands that are run here".to_owned())
    }
}

/// A path beneath the root, or a plain name.
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

/// A small whole number.
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
            // Tools that are installed beside the program, and modules that older versions brought along.
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

/// Runs a command that has been judged, in the folder of a tree, until the budget is over. It is confined as far as
/// [`crate::sandbox::detect_confinement`] says.
pub fn run_check(tree: &Tree, words: &[String], budget: &WorkBudget) -> io::Result<CheckResult> {
    let RunOutcome { code, timed_out, output } = sandbox::run(tree, words, budget)?;
    Ok(CheckResult { command: words.to_vec(), code, timed_out, output })
}
