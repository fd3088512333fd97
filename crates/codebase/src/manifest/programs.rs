//! Programs that a manifest or a command line declares.

use crate::name_redaction::{NameKind, NameRedactor};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeclaredProgram {
    pub(crate) target: ProgramTarget,
    pub(crate) line: u32,
    pub(crate) origin: ProgramOrigin,
    /// Meant to be imported, not started.
    pub(crate) is_imported: bool,
}

/// Where a program is declared, in words: "script `start`".
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProgramOrigin {
    source: &'static str,
    /// The name, verbatim from the repository.
    name: Option<String>,
}

impl ProgramOrigin {
    pub(crate) fn with_name(source: &'static str, name: &str) -> Self {
        Self { source, name: Some(name.to_owned()) }
    }

    /// A description for a sentence. `path` and `line` are the location of the name.
    pub(crate) fn describe(&self, redactor: &NameRedactor, path: &str, line: u32) -> String {
        match &self.name {
            Some(name) => format!("{} `{}`", self.source, redactor.name(NameKind::Script, name, path, line)),
            None => self.source.to_owned(),
        }
    }
}

impl From<&'static str> for ProgramOrigin {
    fn from(what: &'static str) -> Self {
        Self { source: what, name: None }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProgramTarget {
    /// A file, relative to the folder of the manifest.
    File(String),
    /// A dotted Python module.
    Module(String),
}

impl DeclaredProgram {
    pub(crate) fn for_file(path: &str, line: u32, says: impl Into<ProgramOrigin>) -> Self {
        Self {
            target: ProgramTarget::File(path.trim_start_matches("./").to_owned()),
            line,
            origin: says.into(),
            is_imported: false,
        }
    }

    /// `package.module:function`.
    pub(crate) fn for_module(target: &str, line: u32, says: impl Into<ProgramOrigin>) -> Self {
        let module = target.split([':', '[']).next().unwrap_or(target).trim();
        Self {
            target: ProgramTarget::Module(module.to_owned()),
            line,
            origin: says.into(),
            is_imported: false,
        }
    }

    /// The programs that a command line starts, as far as they can be recognized.
    pub(crate) fn from_command(command: &str, line: u32, says: impl Into<ProgramOrigin>) -> Vec<Self> {
        let says = says.into();
        command
            .split(['&', '|', ';'])
            .filter_map(|part| parse_command_target(&split_words(part)))
            .map(|start| Self { target: start, line, origin: says.clone(), is_imported: false })
            .collect()
    }
}

fn split_words(command: &str) -> Vec<&str> {
    let quotes = ['"', '\'', '[', ']', ','];
    command.split_whitespace().map(|word| word.trim_matches(quotes)).filter(|word| !word.is_empty()).collect()
}

fn parse_command_target(words: &[&str]) -> Option<ProgramTarget> {
    let (first, rest) = words.split_first()?;
    let name = first.rsplit('/').next().unwrap_or(first);
    match name {
        // Prefixes of the actual command.
        "bundle"
        | "exec"
        | "npx"
        | "pnpx"
        | "bunx"
        | "cross-env"
        | "env"
        | "time"
        | "nice"
        | "sudo"
        | "dotenv"
        | "doppler"
        | "concurrently"
        | "ddtrace-run"
        | "opentelemetry-instrument"
        | "newrelic-admin"
        | "run-program"
        | "run"
        | "--"
        | "wait-for-it"
        | "sh"
        | "bash"
        | "-c" => parse_command_target(rest),
        "uv" | "poetry" | "pdm" | "pipenv" | "rye" | "hatch" => parse_command_target(
            rest.iter().position(|word| *word == "run").map_or(&[][..], |at| &rest[at + 1..]),
        ),
        _ if name.contains('=') => parse_command_target(rest),
        "node" | "nodemon" | "tsx" | "ts-node" | "ts-node-dev" | "ts-node-esm" | "babel-node" | "bun"
        | "deno" | "esno" | "swc-node" | "node-dev" | "electron" | "forever" => {
            script_argument(rest).map(file_target)
        }
        "python" | "python3" | "python3.11" | "python3.12" | "python3.13" | "pypy3" => match rest {
            ["-m", module, rest @ ..] => python_module_target(module, rest),
            _ => rest.iter().find(|word| word.ends_with(".py")).map(|word| file_target(word)),
        },
        "ruby" => rest.iter().find(|word| word.ends_with(".rb")).map(|word| file_target(word)),
        "fastapi" | "streamlit" | "chainlit" => {
            rest.iter().find(|word| word.ends_with(".py")).map(|word| file_target(word))
        }
        "flask" => {
            let at = rest.iter().position(|word| matches!(*word, "--app" | "-A"))?;
            python_target(rest.get(at + 1)?)
        }
        "uvicorn" | "gunicorn" | "hypercorn" | "granian" | "daphne" | "waitress-serve" | "litestar"
        | "celery" => rest
            .iter()
            .find(|word| word.contains(':') && !word.starts_with('-') && is_module_target(word))
            .and_then(|w| python_target(w)),
        _ if is_script(first) || first.ends_with(".py") => Some(file_target(first)),
        _ => None,
    }
}

/// The script among the arguments of `node`, skipping option values.
fn script_argument<'a>(words: &[&'a str]) -> Option<&'a str> {
    let preloads =
        |word: &str| matches!(word, "-r" | "--require" | "--import" | "--loader" | "--env-file" | "-P");
    let behind_option = |at: usize| at > 0 && preloads(words[at - 1]);
    words.iter().enumerate().find(|(at, word)| is_script(word) && !behind_option(*at)).map(|(_, word)| *word)
}

fn python_module_target(module: &str, rest: &[&str]) -> Option<ProgramTarget> {
    match module {
        "uvicorn" | "gunicorn" | "hypercorn" | "flask" => {
            let words: Vec<_> = std::iter::once(module).chain(rest.iter().copied()).collect();
            parse_command_target(&words)
        }
        "pytest" | "http.server" | "pip" | "venv" | "celery" => None,
        _ => Some(ProgramTarget::Module(module.to_owned())),
    }
}

/// Accepts `package.module:app`, but not `127.0.0.1:80` or a URL.
fn is_module_target(word: &str) -> bool {
    let module = word.split(':').next().unwrap_or_default();
    !module.is_empty()
        && module.split('.').all(|part| part.starts_with(|c: char| c.is_alphabetic() || c == '_'))
        && !word.contains("//")
}

fn python_target(target: &str) -> Option<ProgramTarget> {
    let module = target.split([':', '(']).next()?;
    Some(if module.ends_with(".py") { file_target(module) } else { ProgramTarget::Module(module.to_owned()) })
}

fn file_target(word: &str) -> ProgramTarget {
    ProgramTarget::File(word.trim_start_matches("./").to_owned())
}

fn is_script(word: &str) -> bool {
    let ending = word.rsplit_once('.').map_or("", |(_, ending)| ending);
    !word.starts_with('-')
        && (matches!(ending, "js" | "ts" | "mjs" | "cjs" | "mts" | "cts" | "tsx" | "jsx")
            || (word.contains('/') && ending.is_empty() && !word.starts_with('/') && !word.contains(':')))
}
