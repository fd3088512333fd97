//! How the program ends: 0 done, 1 refused, 2 used wrongly, 3 our fault, 130 stopped by Ctrl-C or SIGTERM.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::process::ExitCode;

use tokio::signal::unix::SignalKind;

use crate::config::ConfigError;
use crate::styling;

/// Why a command did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
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
    AccessStore(#[from] server::access::StoreError),
    #[error(transparent)]
    Project(#[from] server::projects::Error),
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
        CommandError::Config(_) => (2, "docs/configuration.md lists every setting"),
        CommandError::Usage(_) => (2, "try --help"),
        CommandError::Refused(_) | CommandError::Project(server::projects::Error::Rejected(_)) => (1, ""),
        // As if the signal had ended it: shells and scripts know the number.
        CommandError::Stopped(_) => (130, ""),
        CommandError::Store(_) => (3, "--database names another one"),
        CommandError::Io { .. } | CommandError::AccessStore(_) | CommandError::Project(_) => (3, ""),
    };
    let hint = if hint.is_empty() { String::new() } else { format!("\nhint: {hint}") };
    // Who stopped it made no error.
    let kind = if matches!(failure, CommandError::Stopped(_)) { "stopped" } else { "error" };
    print_notice(&format!("{kind}: {failure}{hint}"));
    ExitCode::from(code)
}

/// A file that would grow beyond what the system allows is an error to be told, not a reason to die in the middle of a
/// write: whoever handles the signal gets the error. Call it within a runtime.
pub(crate) fn ignore_file_size_signal() {
    // SIGXFSZ, on Linux as on macOS.
    const SIGXFSZ: i32 = 25;
    // The handler stays when the stream is gone.
    drop(tokio::signal::unix::signal(SignalKind::from_raw(SIGXFSZ)));
}

/// Says something to whoever sits at the terminal. Names in it may be anybody's: each line is made harmless.
pub(crate) fn print_notice(text: &str) {
    let _ = write!(io::stderr(), "{}", styling::render_message(text, false, usize::MAX));
}

/// Tells what is wrong with what was typed, which may be the names of anybody's files; or the help that was asked for.
pub(crate) fn report_usage_error(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        error.exit();
    }
    print_notice(&error.render().to_string());
    ExitCode::from(2)
}

/// Prints an answer. A reader that went away has seen enough.
pub(crate) fn print(text: &str) -> Result<(), CommandError> {
    match writeln!(io::stdout(), "{}", sanitize_if_terminal(text.trim_end(), io::stdout().is_terminal())) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(CommandError::io("cannot print")(error))
        }
        _ => Ok(()),
    }
}

/// Programs get a text as it is, terminals what does them no harm.
fn sanitize_if_terminal(text: &str, is_terminal: bool) -> Cow<'_, str> {
    if is_terminal { Cow::Owned(styling::sanitize_for_terminal(text)) } else { Cow::Borrowed(text) }
}

/// stdout for what is shown once and never again. Here a reader that went away is an error, as is a place from which nothing
/// can be read.
pub(crate) struct SecretOutput(File);

impl SecretOutput {
    pub(crate) fn open() -> io::Result<Self> {
        // Not the handle of the standard library: it takes a stdout that cannot be written to for one that nobody wants.
        let out = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        if is_null_device(&out)? {
            return Err(io::Error::other("stdout is closed, or is /dev/null"));
        }
        Ok(Self(out))
    }

    /// Writes the text and no line end: whoever reads lines does not have it before [`SecretOutput::finish`].
    pub(crate) fn write(&mut self, text: &str) -> io::Result<()> {
        let is_terminal = self.0.is_terminal();
        self.0.write_all(sanitize_if_terminal(text, is_terminal).as_bytes())?;
        // A file may turn out to have no room only when it gets to the disk.
        if self.0.metadata()?.is_file() { self.0.sync_all() } else { Ok(()) }
    }

    /// Ends the line. The text is out, whatever comes of this.
    pub(crate) fn finish(mut self) {
        let _ = self.0.write_all(b"\n");
    }
}

/// Whether it is the null device. A stdout that is closed has become that before the program began.
#[expect(clippy::disallowed_methods, reason = "the null device lies in no repository")]
fn is_null_device(out: &File) -> io::Result<bool> {
    let found = out.metadata()?;
    let null = std::fs::metadata("/dev/null")?;
    Ok(found.file_type().is_char_device() && found.rdev() == null.rdev())
}
