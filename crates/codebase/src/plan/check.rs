//! Commands that show whether a plan worked. They come from plans, so only a few forms of them are run, without a shell.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use ruff_python_stdlib::sys::is_known_standard_library;
use rustix::process::{Pid, Signal, kill_process_group};
use tree::{Budget, Tree};

use super::path;

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// Its words.
    pub command: Vec<String>,
    /// Its exit code, if it ended by itself.
    pub code: Option<i32>,
    /// It was ended because its time was up.
    pub timed_out: bool,
    /// What it said, cut.
    pub output: String,
}

impl Checked {
    /// Whether it says that all is well.
    pub fn passed(&self) -> bool {
        self.code == Some(0)
    }
}

const MOST_OUTPUT: usize = 16 * 1024;
const LONGEST: usize = 500;

/// Splits a command into words, if it is one that may be run; says why, if it is not. `also` allows more of them.
pub fn judge(command: &str, also: fn(&[&str]) -> bool) -> Result<Vec<String>, String> {
    if command.len() > LONGEST {
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
pub fn is_path(word: &str) -> bool {
    !word.starts_with(['-', '@'])
        && !word.contains('=')
        && path::problem(word.trim_end_matches('/')).is_none()
}

fn is_name(word: &str) -> bool {
    !word.is_empty()
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "._:-".contains(c))
        && !word.starts_with(['-', '.'])
}

/// A small whole number.
pub fn is_number(word: &str) -> bool {
    !word.is_empty() && word.len() < 5 && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_allowed(words: &[&str], also: fn(&[&str]) -> bool) -> bool {
    match words {
        ["pytest", rest @ ..] => pytest(rest),
        ["python" | "python3", "-m", module, rest @ ..] => python_module(module, rest),
        ["python" | "python3", file] => file.ends_with(".py") && is_path(file),
        ["npm" | "pnpm" | "yarn" | "bun", "test"]
        | ["python" | "python3", "manage.py", "check" | "test"]
        | ["npx", "--no-install", "tsc", "--noEmit"]
        | ["tsc", "--noEmit"]
        | ["cargo", "check" | "test" | "build"]
        | ["go", "build" | "test" | "vet", "./..."] => true,
        ["npm" | "pnpm" | "yarn" | "bun", "run", script] => is_name(script),
        ["node", "--check", file] => is_path(file),
        ["uv" | "poetry" | "pdm" | "pipenv" | "hatch" | "rye", "run", rest @ ..] => {
            !matches!(rest.first(), Some(&("uv" | "poetry" | "pdm" | "pipenv" | "hatch" | "rye")))
                && is_allowed(rest, also)
        }
        other => also(other),
    }
}

fn pytest(words: &[&str]) -> bool {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let fits = match *word {
            "-q" | "-x" | "-v" | "-vv" | "--lf" | "--ff" | "-rA" => true,
            "--maxfail" => words.next().is_some_and(|count| is_number(count)),
            other => is_path(other.split("::").next().unwrap_or(other)),
        };
        if !fits {
            return false;
        }
    }
    true
}

fn python_module(module: &str, rest: &[&str]) -> bool {
    const MINOR: u8 = 13;
    let is_dotted = module.split('.').all(|part| {
        !part.is_empty()
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
            && !part.starts_with(char::is_numeric)
    });
    match module {
        "pytest" => pytest(rest),
        "py_compile" | "compileall" => {
            !rest.is_empty() && rest.iter().all(|word| *word == "-q" || is_path(word))
        }
        "unittest" => rest.iter().all(|word| matches!(*word, "discover" | "-v" | "-q") || is_name(word)),
        _ => {
            let top = module.split('.').next().unwrap_or(module);
            let lower = top.to_lowercase();
            // Tools that are installed beside the program, and modules that older versions brought along.
            let is_tool = is_known_standard_library(MINOR, &lower)
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

/// Runs a command that has been judged, in the folder of a tree, until the budget is over.
#[expect(clippy::disallowed_methods, reason = "the user asked for this check, and it is of an allowed form")]
pub fn run(tree: &Tree, words: &[String], budget: &Budget) -> io::Result<Checked> {
    let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(tree.path())
        .env_clear()
        .envs(environment(tree))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let said = Arc::new(Mutex::new(Vec::new()));
    let readers: Vec<_> = [
        child.stdout.take().map(|from| gather(from, said.clone())),
        child.stderr.take().map(|from| gather(from, said.clone())),
    ]
    .into_iter()
    .flatten()
    .collect();
    let (status, timed_out) = loop {
        if let Some(status) = child.try_wait()? {
            break (Some(status), false);
        }
        if budget.is_over() || budget.is_stopped() {
            break (None, true);
        }
        thread::sleep(Duration::from_millis(20));
    };
    // What it started must not outlive it: whoever holds its pipes would keep us waiting.
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL); // it is gone already, mostly
    }
    child.wait()?;
    // Somebody that it started may have gone its own way and keeps the pipes open: it is not waited for.
    for _ in 0..50 {
        if readers.iter().all(thread::JoinHandle::is_finished) {
            break;
        }
        thread::sleep(Duration::from_millis(20));
    }
    let said = said.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(Checked {
        command: words.to_vec(),
        code: status.and_then(|status: ExitStatus| status.code()),
        timed_out,
        output: String::from_utf8_lossy(&said).into_owned(),
    })
}

/// Reads all of it and keeps the end.
fn gather(mut from: impl Read + Send + 'static, into: Arc<Mutex<Vec<u8>>>) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut piece = [0; 4096];
        while let Ok(count @ 1..) = from.read(&mut piece) {
            let mut kept = into.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend_from_slice(&piece[..count]);
            let excess = kept.len().saturating_sub(MOST_OUTPUT);
            kept.drain(..excess);
        }
    })
}

/// What a test command needs of the environment, and no more: no keys, no preloaded libraries. Programs of the project's
/// own environment come first.
fn environment(tree: &Tree) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    const KEPT: &[&str] = &[
        "HOME",
        "USER",
        "LANG",
        "LC_ALL",
        "TMPDIR",
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
        "JAVA_HOME",
        "GOPATH",
        "CARGO_HOME",
        "RUSTUP_HOME",
    ];
    let mut kept: Vec<_> =
        std::env::vars_os().filter(|(name, _)| KEPT.iter().any(|kept| name.as_os_str() == *kept)).collect();
    let own = [".venv/bin", "venv/bin", "node_modules/.bin"].map(|folder| tree.path().join(folder));
    let path = std::env::vars_os()
        .find(|(name, _)| name.as_os_str() == "PATH")
        .map(|(_, path)| path)
        .unwrap_or_default();
    let usual = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect::<Vec<_>>();
    if let Ok(path) = std::env::join_paths(own.into_iter().chain(usual)) {
        kept.push(("PATH".into(), path));
    }
    kept
}
