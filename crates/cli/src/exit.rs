//! Exit codes: 0 success, 1 refused, 2 usage error, 3 environment error, 130 interrupted. And everything that is printed.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::process::ExitCode;

use clap::error::ErrorKind;
use tokio::signal::unix::SignalKind;

use crate::config::ConfigError;
use crate::styling;

#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("{0}")]
    Usage(String),
    /// The message of a tool.
    #[error("{0}")]
    Refused(String),
    /// Ctrl-C or SIGTERM, and what became of the work.
    #[error("{0}")]
    Stopped(String),
    #[error(transparent)]
    Store(#[from] store::OpenError),
    #[error("{0}")]
    AccessStore(#[from] server::access::StoreError),
    #[error(transparent)]
    Project(#[from] server::projects::Error),
    /// Something outside of the program, in a sentence that says what to do.
    #[error("{0}")]
    Environment(String),
    #[error("{what}: {source}")]
    Io { what: String, source: io::Error },
}

impl CommandError {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}

pub(crate) fn report(failure: &CommandError) -> ExitCode {
    let (code, hint) = match failure {
        CommandError::Config(_) | CommandError::Usage(_) => (2, ""),
        CommandError::Refused(_) | CommandError::Project(server::projects::Error::Rejected(_)) => (1, ""),
        // What shells report for a program that SIGINT ended.
        CommandError::Stopped(_) => (130, ""),
        CommandError::Store(store::OpenError::Failed { .. }) => (
            3,
            "is the database server running, or is another process using the file? Name another one with --database URL",
        ),
        CommandError::Store(_) => (3, "name another one with --database URL"),
        CommandError::Io { .. }
        | CommandError::Environment(_)
        | CommandError::AccessStore(_)
        | CommandError::Project(_) => (3, ""),
    };
    let hint = if hint.is_empty() { String::new() } else { format!("\nhint: {hint}") };
    let kind = if matches!(failure, CommandError::Stopped(_)) { "stopped" } else { "error" };
    print_notice(&format!("{kind}: {failure}{hint}"));
    ExitCode::from(code)
}

/// Makes a write beyond the file size limit fail with an error instead of killing the process in the middle of it. Call it
/// within a runtime.
pub(crate) fn ignore_file_size_signal() {
    // SIGXFSZ, on Linux as on macOS.
    const SIGXFSZ: i32 = 25;
    // The handler outlives the stream.
    drop(tokio::signal::unix::signal(SignalKind::from_raw(SIGXFSZ)));
}

/// Prints a message to stderr. It may contain names of files, which may contain anything: each line is made harmless.
pub(crate) fn print_notice(text: &str) {
    let _ = write!(io::stderr(), "{}", styling::render_notice(text));
}

/// Prints a page for people to stdout: wrapped, with diffs and labels in colour.
pub(crate) fn print_page(text: &str) -> Result<(), CommandError> {
    print(&styling::render_page(text))
}

/// Reports a usage error, with what is likely to mend it, or prints the help or version that was asked for.
pub(crate) fn report_usage_error(error: &clap::Error, words: &[OsString], hint: Option<&str>) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let text = crate::help::render(words);
            let text =
                if styling::use_colour_on_stdout() { text.ansi().to_string() } else { text.to_string() };
            // Not `print`: clap's own sequences are harmless, and more than ours.
            let is_asked = error.kind() == ErrorKind::DisplayHelp;
            let _ =
                if is_asked { writeln!(io::stdout(), "{text}") } else { writeln!(io::stderr(), "{text}") };
            return ExitCode::from(if is_asked { 0 } else { 2 });
        }
        _ if !error.use_stderr() => error.exit(),
        _ => {}
    }
    // What was typed may contain names of files, which may contain anything.
    print_notice(&error.render().to_string());
    if let Some(hint) = hint {
        print_notice(&format!("hint: {hint}"));
    }
    ExitCode::from(2)
}

/// Prints to stdout. A reader that closed the pipe has seen enough.
pub(crate) fn print(text: &str) -> Result<(), CommandError> {
    match writeln!(io::stdout(), "{}", sanitize_if_terminal(text.trim_end(), io::stdout().is_terminal())) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(CommandError::io("cannot print")(error))
        }
        _ => Ok(()),
    }
}

/// A terminal obeys control sequences; a program gets the text unchanged.
fn sanitize_if_terminal(text: &str, is_terminal: bool) -> Cow<'_, str> {
    if is_terminal { Cow::Owned(styling::sanitize_for_terminal(text)) } else { Cow::Borrowed(text) }
}

/// stdout for a secret that is shown only once: here a closed pipe and the null device are errors.
pub(crate) struct SecretOutput(File);

impl SecretOutput {
    pub(crate) fn open() -> io::Result<Self> {
        // Not the handle of the standard library, which hides that a closed stdout cannot be written to.
        let out = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        if is_null_device(&out)? {
            return Err(io::Error::other("stdout is closed, or is /dev/null"));
        }
        Ok(Self(out))
    }

    /// Writes the text without the line end, so that a reader of lines has nothing before [`SecretOutput::finish`].
    pub(crate) fn write(&mut self, text: &str) -> io::Result<()> {
        let is_terminal = self.0.is_terminal();
        self.0.write_all(sanitize_if_terminal(text, is_terminal).as_bytes())?;
        // A full disk may show only when the file is synced.
        if self.0.metadata()?.is_file() { self.0.sync_all() } else { Ok(()) }
    }

    /// Ends the line. The secret is out by then, so an error changes nothing.
    pub(crate) fn finish(mut self) {
        let _ = self.0.write_all(b"\n");
    }
}

/// Whether it is the null device, which Rust opens in place of a closed stdout.
#[expect(clippy::disallowed_methods, reason = "the null device is in no repository")]
fn is_null_device(out: &File) -> io::Result<bool> {
    let found = out.metadata()?;
    let null = std::fs::metadata("/dev/null")?;
    Ok(found.file_type().is_char_device() && found.rdev() == null.rdev())
}
