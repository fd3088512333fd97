//! What keeps FluxLoop from being integrated, one thing at a time.

use std::fmt;

/// Something that is missing, where that was seen, and what lifts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocker {
    /// A clause without a period. It states only what was established.
    pub what: String,
    /// File and line, redacted for messages; no line if it is about the file.
    pub location: Option<(String, u32)>,
    /// The argument that lifts it, as tools name it: `agent`, `request_field`.
    pub argument: Option<&'static str>,
    /// A value of the argument that exists here, redacted for messages.
    pub example: Option<String>,
}

impl Blocker {
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), location: None, argument: None, example: None }
    }

    /// Whether it is about a JavaScript program, of which only routes can be named.
    fn is_in_script(&self) -> bool {
        self.location.as_ref().is_some_and(|(path, _)| is_script(path))
    }

    pub(crate) fn at(mut self, path: impl Into<String>, line: u32) -> Self {
        self.location = Some((path.into(), line));
        self
    }

    pub(crate) fn lifted_by(mut self, argument: &'static str) -> Self {
        self.argument = Some(argument);
        self
    }

    pub(crate) fn such_as(mut self, example: Option<String>) -> Self {
        self.example = example;
        self
    }
}

/// Whether a file is of JavaScript or TypeScript, by its name.
fn is_script(path: &str) -> bool {
    matches!(
        path.rsplit('.').next(),
        Some("js" | "mjs" | "cjs" | "ts" | "mts" | "cts" | "jsx" | "tsx" | "svelte")
    )
}

impl From<String> for Blocker {
    fn from(what: String) -> Self {
        Self::new(what)
    }
}

impl fmt::Display for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.location {
            Some((path, 0)) => write!(f, " ({path})")?,
            Some((path, line)) => write!(f, " ({path}:{line})")?,
            None => {}
        }
        match self.argument {
            Some("agent") if let Some(example) = &self.example => {
                write!(f, "; name the function or route to run as `agent`, such as \"{example}\"")
            }
            Some("agent") if self.is_in_script() => {
                f.write_str("; name another route as `agent` (\"METHOD /path\")")
            }
            Some("agent") => {
                f.write_str("; name the function or route to run as `agent` (\"path/to/file.py:function\", \"POST /chat\")")
            }
            Some("package") => f.write_str("; pass one of them as `package`"),
            Some("request_field") => f.write_str("; pass the field that carries the text as `request_field`"),
            Some(argument) => write!(f, "; pass another `{argument}`"),
            None => Ok(()),
        }
    }
}

/// All of them in one sentence.
pub(crate) fn join_blockers(blockers: &[Blocker]) -> String {
    let mut seen: Vec<String> = Vec::new();
    for (at, blocker) in blockers.iter().enumerate() {
        // The advice once, after the last that gives it.
        let is_repeated = blockers[at + 1..].iter().any(|later| later.argument == blocker.argument);
        let text = if is_repeated {
            Blocker { argument: None, ..blocker.clone() }.to_string()
        } else {
            blocker.to_string()
        };
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
    seen.join("; ")
}
