//! Logs, on stderr. stdout belongs to the protocol.

use std::io::IsTerminal;

use tracing::level_filters::LevelFilter;

pub(crate) fn start(level: LevelFilter) {
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .init();
    // A panic is caught where it happens and answered; the log says where, and not what: messages can hold data.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "something panicked");
    }));
}
