//! How the program ends: 0 done, 1 refused, 2 used wrongly, 3 our fault, 130 stopped by Ctrl-C or SIGTERM.

use std::io::{self, Write};
use std::process::ExitCode;

use tokio::signal::unix::SignalKind;

use crate::config::ConfigError;
use crate::paint;

/// Why a command did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("{0}")]
    Usage(String),
    /// The tool's own words.
    #[error("{0}")]
    Refused(String),
    /// Ctrl-C or SIGTERM, at a question or in the middle of work, and what that means: the tool's words, or the command's.
    #[error("{0}")]
    Stopped(String),
    #[error(transparent)]
    Store(#[from] store::OpenError),
    #[error("{0}")]
    Kept(#[from] server::access::StoreError),
    #[error(transparent)]
    Project(#[from] server::projects::Error),
    #[error("{what}: {source}")]
    Io { what: String, source: io::Error },
}

impl Failure {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}

pub(crate) fn report(failure: &Failure) -> ExitCode {
    let (code, hint) = match failure {
        Failure::Config(_) => (2, "docs/configuration.md lists every setting"),
        Failure::Usage(_) => (2, "try --help"),
        Failure::Refused(_) | Failure::Project(server::projects::Error::Refused(_)) => (1, ""),
        // As if the signal had ended it: shells and scripts know the number.
        Failure::Stopped(_) => (130, ""),
        Failure::Store(_) => (3, "--database names another one"),
        Failure::Io { .. } | Failure::Kept(_) | Failure::Project(_) => (3, ""),
    };
    let hint = if hint.is_empty() { String::new() } else { format!("\nhint: {hint}") };
    // Who stopped it made no error.
    let kind = if matches!(failure, Failure::Stopped(_)) { "stopped" } else { "error" };
    tell(&format!("{kind}: {failure}{hint}"));
    ExitCode::from(code)
}

/// A file that would grow beyond what the system allows is an error to be told, not a reason to die in the middle of a
/// write: whoever handles the signal gets the error. Call it within a runtime.
pub(crate) fn survive_file_limits() {
    // SIGXFSZ, on Linux as on macOS.
    const FILE_TOO_LARGE: i32 = 25;
    // The handler stays when the stream is gone.
    drop(tokio::signal::unix::signal(SignalKind::from_raw(FILE_TOO_LARGE)));
}

/// Says something to whoever sits at the terminal. Names in it may be anybody's: each line is made harmless.
pub(crate) fn tell(text: &str) {
    let _ = write!(io::stderr(), "{}", paint::message(text, false));
}

/// Prints an answer. A reader that went away has seen enough.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    match writeln!(io::stdout(), "{}", text.trim_end()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::io("cannot print")(error)),
        _ => Ok(()),
    }
}
