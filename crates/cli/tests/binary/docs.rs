//! The commands in README and docs work.
//!
//! A line that begins with `fluxway` in a code block without a language is a command. Those of one page run one after the
//! other in a sample repository, as a reader would type them. A command with a placeholder (`DIR`, `…`, `~/src/app`) is only
//! parsed.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::captures::sample_repository_below;
use crate::process::{fluxway, run_command};

/// The commands of a page, without their comments.
fn commands(page: &str) -> Vec<String> {
    let mut in_block = false;
    let mut is_plain = false;
    let mut found = Vec::new();
    for line in page.lines() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            is_plain = !in_block && language.is_empty();
            in_block = !in_block;
        } else if is_plain {
            let line = line.trim().trim_start_matches("$ ");
            let command = line.split("  #").next().unwrap_or(line).trim_end_matches(" &").trim();
            if command.starts_with("fluxway ") && !command.ends_with('\\') {
                found.push(command.to_owned());
            }
        }
    }
    found
}

/// Whether a reader has to replace something first.
fn has_placeholder(command: &str) -> bool {
    let is_placeholder = |word: &str| {
        let is_name = word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
        is_name
            || [
                "…",
                "~",
                "/path/",
                "postgres:",
                "proj_",
                "key_",
                "$",
                "/srv",
                "/etc",
                "/var",
                "=0.0.0.0",
                "0.0.0.0",
            ]
            .iter()
            .any(|part| word.contains(part))
    };
    shlex::split(command).is_none_or(|words| words.iter().any(|word| is_placeholder(word)))
}

struct Reader {
    /// Holds the repository, so that `../plan.json` is in a folder of this reader.
    folder: tempfile::TempDir,
    home: tempfile::TempDir,
}

impl Reader {
    fn new() -> Self {
        let reader = Self { folder: sample_repository_below("app"), home: tempfile::tempdir().unwrap() };
        let docs = reader.repository().join("docs");
        std::fs::create_dir_all(&docs).unwrap();
        std::fs::create_dir_all(reader.repository().join("shop")).unwrap();
        std::fs::write(docs.join("deploy.md"), "# Deploying\n\nPush to the branch `staging`.\n").unwrap();
        reader
    }

    fn repository(&self) -> std::path::PathBuf {
        self.folder.path().join("app")
    }

    fn command(&self, args: &[String]) -> Command {
        let mut command = fluxway(&args.iter().map(String::as_str).collect::<Vec<_>>());
        command.current_dir(self.repository());
        command.env("HOME", self.home.path()).env("XDG_DATA_HOME", self.home.path());
        command
    }

    /// Runs a command. Returns what went wrong.
    fn run(&self, line: &str) -> Option<String> {
        let mut words = shlex::split(line).unwrap_or_default();
        words.remove(0);
        if has_placeholder(line) {
            words.push("--help".to_owned());
            let is_call = words.first().is_some_and(|word| word == "call");
            // The arguments of a tool are the tool's business.
            if is_call {
                words = vec!["call".to_owned(), "--help".to_owned()];
            }
        }
        if words.iter().any(|word| word == "--http") {
            return self.serve(&words);
        }
        let (code, out, err) = run_command(&mut self.command(&words));
        // A refusal can be what the page shows; a usage error cannot.
        (code > 1).then(|| format!("exit code {code}\n{out}{err}"))
    }

    /// Starts a server, on a free port, until it listens.
    fn serve(&self, words: &[String]) -> Option<String> {
        let mut words = words.to_vec();
        if let Some(at) = words.iter().position(|word| word == "--http") {
            "localhost:0".clone_into(&mut words[at + 1]);
        }
        let mut child = self
            .command(&words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let mut seen = Vec::new();
        let listens = lines.by_ref().any(|line| {
            seen.push(line.clone());
            line.contains("listens on")
        });
        let _ = child.kill();
        let _ = child.wait();
        (!listens).then(|| seen.join("\n"))
    }
}

#[test]
fn commands_in_the_docs_work() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<_> = docs.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    pages.push(root.join("README.md"));
    pages.sort();
    let (mut count, mut problems) = (0, Vec::new());
    for page in pages {
        let reader = Reader::new();
        for line in commands(&std::fs::read_to_string(&page).unwrap()) {
            count += 1;
            if let Some(problem) = reader.run(&line) {
                problems.push(format!("{}: {line}\n{problem}", page.file_name().unwrap().display()));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
    assert!(count > 40, "only {count} commands were found: are code blocks still recognised?");
}
