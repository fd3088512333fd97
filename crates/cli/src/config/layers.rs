//! The groups of settings. A command takes the groups that it uses; the environment and the file can set all of them.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Deserializer};

/// Implements `or` for a group: each setting that is not given is taken from the weaker source.
macro_rules! layer {
    ($layer:ty { $($setting:ident),+ $(,)? }) => {
        impl $layer {
            pub(crate) fn or(self, weaker: Self) -> Self {
                Self { $($setting: self.$setting.or(weaker.$setting)),+ }
            }
        }
    };
}
pub(crate) use layer;

/// Folders that tools may open.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct RootLayer {
    /// Repository, or other folder that tools may open; repeatable [default: the current folder, unless it is /, your home or a system folder]
    #[arg(long, value_name = "DIR", env = "FLUXWAY_ROOT")]
    pub(crate) root: Option<Vec<PathBuf>>,
}
layer!(RootLayer { root });

/// Which tools there are.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct ToolsetLayer {
    /// Toolsets to enable: integrate, docs, context, reference, projects, diagnostics [default: the first four; over HTTP also projects]
    #[arg(long, value_name = "NAMES", env = "FLUXWAY_TOOLSETS", value_delimiter = ',')]
    pub(crate) toolsets: Option<Vec<String>>,
    /// Disable tools that write
    #[arg(long, env = "FLUXWAY_READ_ONLY", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub(crate) read_only: Option<bool>,
}
layer!(ToolsetLayer { toolsets, read_only });

/// How questions are asked on a terminal.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct PromptLayer {
    /// Ask line by line, for screen readers and simple terminals
    #[arg(long, env = "FLUXWAY_PLAIN_PROMPTS", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub(crate) plain_prompts: Option<bool>,
}
layer!(PromptLayer { plain_prompts });

/// What every command has.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[command(next_help_heading = "Global options")]
pub(crate) struct LogLayer {
    /// How much to log on stderr [default: warn]
    #[arg(long, global = true, value_name = "LEVEL", env = "FLUXWAY_LOG")]
    pub(crate) log: Option<LogVerbosity>,
}
layer!(LogLayer { log });

/// How the server presents itself.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct ServerLayer {
    /// Serve HTTP on this address instead of stdin and stdout, such as localhost:8080
    #[arg(long, value_name = "ADDRESS", env = "FLUXWAY_HTTP", value_parser = parse_listen_address)]
    #[serde(default, deserialize_with = "deserialize_listen_address")]
    pub(crate) http: Option<SocketAddr>,
    /// Name of the server in the `initialize` result [default: fluxway]
    #[arg(long, hide_short_help = true, value_name = "NAME", env = "FLUXWAY_SERVER_NAME")]
    pub(crate) server_name: Option<String>,
    /// Format of the logs [default: text]
    #[arg(long, hide_short_help = true, value_name = "FORMAT", env = "FLUXWAY_LOG_FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
    /// Language of texts on /api/mcp if the client asks for none [default: en]
    #[arg(long, hide_short_help = true, value_name = "LANGUAGE", env = "FLUXWAY_LANG")]
    pub(crate) lang: Option<Lang>,
    /// Document that defines the envelope's error code for unknown tools [default: protocol]
    #[arg(long, hide_short_help = true, value_name = "DOCUMENT", env = "FLUXWAY_ENVELOPE_ERRORS")]
    pub(crate) envelope_errors: Option<EnvelopeDocument>,
    /// Format of `citations` in the envelope: paths, or objects with path and section [default: strings]
    #[arg(long, hide_short_help = true, value_name = "FORMAT", env = "FLUXWAY_ENVELOPE_CITATIONS")]
    pub(crate) envelope_citations: Option<Citations>,
}
layer!(ServerLayer { http, server_name, log_format, lang, envelope_errors, envelope_citations });

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EnvelopeDocument {
    /// `tool_not_found`, as in the protocol document.
    Protocol,
    /// `unknown_tool`, as in the tool reference.
    ToolsReference,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Citations {
    /// Paths, as in the tool reference.
    Strings,
    /// Objects with `path` and `section`, as in the protocol document.
    Objects,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LogVerbosity {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For programs: one object per line.
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Lang {
    /// English.
    En,
    /// German.
    De,
}

/// `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080` or a port on loopback. Other names are not looked up: which of a
/// host's addresses to open is a decision that the operator should spell out.
pub(super) fn parse_listen_address(text: &str) -> Result<SocketAddr, String> {
    let local = |port: &str| port.parse().ok().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let address = text.parse().ok().or_else(|| local(text.strip_prefix("localhost:").unwrap_or(text)));
    address.ok_or_else(|| "expected IP:PORT or localhost:PORT, such as 127.0.0.1:8080".to_owned())
}

fn deserialize_listen_address<'de, D: Deserializer<'de>>(source: D) -> Result<Option<SocketAddr>, D::Error> {
    let text = Option::<String>::deserialize(source)?;
    text.map(|text| parse_listen_address(&text)).transpose().map_err(serde::de::Error::custom)
}
