//! Logs, on stderr. stdout belongs to the protocol.

use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

use crate::config::{Config, LogFormat};
use crate::styling;

/// Begins to log. Who was denied and what was changed over HTTP is told at any level but `off`.
pub(crate) fn init(config: &Config) {
    let mut wanted = Targets::new().with_default(config.log);
    if config.http.is_some() && config.log != tracing::level_filters::LevelFilter::OFF {
        wanted = wanted.with_target("audit", tracing::Level::INFO);
    }
    let lines = fmt::layer().with_writer(styling::LogWriter::open);
    let lines = match config.log_format {
        LogFormat::Text => lines.with_ansi(styling::use_colour_on_stderr()).boxed(),
        LogFormat::Json => {
            lines.json().flatten_event(true).with_current_span(true).with_span_list(false).boxed()
        }
    };
    tracing_subscriber::registry().with(lines.with_filter(wanted)).init();
    std::panic::set_hook(Box::new(|panic| {
        if let Err(site) = server::record_panic(panic) {
            tracing::error!(error = site.to_string(), "a thread panicked");
        }
    }));
}
