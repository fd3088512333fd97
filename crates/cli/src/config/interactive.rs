//! Settings of interactive sessions.

use std::time::Duration;

use clap::Args;
use serde::Deserialize;
use server::FlowMode;
use server::flow::session::Limits;

use super::layers::layer;

/// Heading in `--help`. Settings beneath it are in the section `[flow]` of the file.
pub(super) const HEADING: &str = "Interactive sessions (MCP Flow)";

/// The section `[flow]`.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[command(next_help_heading = HEADING)]
pub(crate) struct InteractiveLayer {
    /// Serve no interactive sessions; interactive tools need all arguments at once
    #[arg(long = "flow-off", id = "flow_off", hide_short_help = true, env = "FLUXWAY_FLOW_OFF", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    off: Option<bool>,
    /// Keep sessions in tokens that clients hold, not in the database
    #[arg(long = "flow-stateless", id = "flow_stateless", hide_short_help = true, env = "FLUXWAY_FLOW_STATELESS", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    stateless: Option<bool>,
    /// Idle time after which a session expires, unless the client asks for another [default: 300]
    #[arg(
        long = "flow-timeout",
        id = "flow_timeout",
        hide_short_help = true,
        value_name = "SECONDS",
        env = "FLUXWAY_FLOW_TIMEOUT"
    )]
    timeout: Option<u64>,
    /// Time for which a finished session stays readable [default: 60]
    #[arg(
        long = "flow-grace",
        id = "flow_grace",
        hide_short_help = true,
        value_name = "SECONDS",
        env = "FLUXWAY_FLOW_GRACE"
    )]
    grace: Option<u64>,
    /// Maximum open sessions per caller [default: 100]
    #[arg(
        long = "flow-sessions",
        id = "flow_sessions",
        hide_short_help = true,
        value_name = "N",
        env = "FLUXWAY_FLOW_SESSIONS"
    )]
    sessions: Option<u32>,
}
layer!(InteractiveLayer { off, stateless, timeout, grace, sessions });

#[derive(Clone, Copy, Debug)]
pub(crate) struct InteractiveSettings {
    pub(crate) mode: FlowMode,
    pub(crate) limits: Limits,
}

impl InteractiveSettings {
    pub(super) fn resolve(layer: &InteractiveLayer) -> Self {
        let usual = Limits::default();
        let seconds = |given: Option<u64>| given.map(|seconds| Duration::from_secs(seconds.max(1)));
        let limits = Limits {
            max_open_sessions: layer.sessions.unwrap_or(usual.max_open_sessions).max(1),
            idle_timeout: seconds(layer.timeout).unwrap_or(usual.idle_timeout).min(usual.max_lifetime),
            grace_period: seconds(layer.grace).unwrap_or(usual.grace_period),
            ..usual
        };
        let mode = match (layer.off, layer.stateless) {
            (Some(true), _) => FlowMode::Off,
            (_, Some(true)) => FlowMode::Stateless,
            _ => FlowMode::Stored,
        };
        Self { mode, limits }
    }
}
