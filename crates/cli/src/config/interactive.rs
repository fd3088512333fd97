//! Settings of interactive sessions.

use std::time::Duration;

use clap::Args;
use serde::Deserialize;
use server::FlowMode;
use server::flow::session::Limits;

/// The heading that these settings stand under, in `--help` and on the page of settings.
pub(super) const HEADING: &str = "Interactive sessions";

/// One source of these settings. In the file they stand under `[flow]`.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[command(next_help_heading = HEADING)]
pub(super) struct InteractiveLayer {
    /// Serve no interactive sessions: interactive tools are called with all arguments [default: false]
    #[arg(long = "flow-off", id = "flow_off", global = true, hide_short_help = true, env = "FLUXWAY_FLOW_OFF", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    off: Option<bool>,
    /// Let clients keep their sessions, in tokens, instead of the database [default: false]
    #[arg(long = "flow-stateless", id = "flow_stateless", global = true, hide_short_help = true, env = "FLUXWAY_FLOW_STATELESS", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    stateless: Option<bool>,
    /// Seconds that the user of a session may stay silent, unless the client asks for another time [default: 300]
    #[arg(
        long = "flow-timeout",
        id = "flow_timeout",
        global = true,
        hide_short_help = true,
        value_name = "SECONDS",
        env = "FLUXWAY_FLOW_TIMEOUT"
    )]
    timeout: Option<u64>,
    /// Seconds that a session can be read after its end [default: 60]
    #[arg(
        long = "flow-grace",
        id = "flow_grace",
        global = true,
        hide_short_help = true,
        value_name = "SECONDS",
        env = "FLUXWAY_FLOW_GRACE"
    )]
    grace: Option<u64>,
    /// Sessions that one caller may have open at once [default: 100]
    #[arg(
        long = "flow-sessions",
        id = "flow_sessions",
        global = true,
        hide_short_help = true,
        value_name = "NUMBER",
        env = "FLUXWAY_FLOW_SESSIONS"
    )]
    sessions: Option<u32>,
}

/// Complete and checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InteractiveSettings {
    pub(crate) mode: FlowMode,
    pub(crate) limits: Limits,
}

impl InteractiveSettings {
    /// What was typed goes before the file, the file before the defaults.
    pub(super) fn resolve(typed: &InteractiveLayer, file: &InteractiveLayer) -> Self {
        let usual = Limits::default();
        let seconds =
            |typed: Option<u64>, file: Option<u64>| typed.or(file).map(|n| Duration::from_secs(n.max(1)));
        let is_off = typed.off.or(file.off).unwrap_or(false);
        let is_stateless = typed.stateless.or(file.stateless).unwrap_or(false);
        let limits = Limits {
            max_open_sessions: typed.sessions.or(file.sessions).unwrap_or(usual.max_open_sessions).max(1),
            idle_timeout: seconds(typed.timeout, file.timeout)
                .unwrap_or(usual.idle_timeout)
                .min(usual.max_lifetime),
            grace_period: seconds(typed.grace, file.grace).unwrap_or(usual.grace_period),
            ..usual
        };
        let mode = match (is_off, is_stateless) {
            (true, _) => FlowMode::Off,
            (false, true) => FlowMode::Stateless,
            (false, false) => FlowMode::Stored,
        };
        Self { mode, limits }
    }
}
