//! What can be typed.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

use crate::config::Layer;

/// One MCP server that speaks every dialect, knows a repository, and can ask while it works.
///
/// On a pipe, `fluxway` alone is the server: register it with your editor or agent as the command `fluxway`.
/// It speaks MCP of every revision (2024-11-05 to 2026-07-28) and the fluxloop-mcp envelope, mixed as the client likes.
#[derive(Parser)]
#[command(name = "fluxway", version, max_term_width = 110, after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) settings: Layer,
    /// A TOML file with settings [default: fluxway/config.toml in the user's configuration folder, if it is there]
    #[arg(long, global = true, value_name = "FILE", env = "FLUXWAY_CONFIG")]
    pub(crate) config: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  fluxway demo                                      see the server at work, in a minute
  fluxway tools                                     what it can do
  fluxway call tell_fortune --category career       use a tool by hand
  fluxway call analyze_repository --root ~/src/app  what is in a repository
  fluxway call booking                              a tool that asks
  fluxway serve --root ~/src/app --read-only        the server, for one folder, without writing
  fluxway serve --http 127.0.0.1:8080               POST http://127.0.0.1:8080/api/mcp

Settings come from flags, then FLUXWAY_… variables, then a TOML file; docs/configuration.md lists all of them.";

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Serve on stdin and stdout, or over HTTP with --http. SIGHUP reads the toolsets again.
    Serve,
    /// List the tools that would be served.
    Tools {
        /// Print the `tools/list` result.
        #[arg(long)]
        json: bool,
    },
    /// Call one tool and print its answer.
    ///
    /// Arguments are given as --name value (fluxway tools says which), or all at once as --args '{"name": "value"}'.
    /// --json prints the structured result alone. A tool that needs more asks on the terminal, if there is one.
    /// --root DIR chooses the folder for tools that work on one.
    #[command(after_help = "Examples:\n  fluxway call tell_fortune --category love --mood optimistic\n  \
        fluxway call tell_fortune --json --args '{\"category\": \"love\"}'")]
    Call {
        /// The tool's name.
        tool: String,
        /// [--json] [--args JSON] [--NAME VALUE]…
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
        rest: Vec<String>,
    },
    /// Show a scripted conversation with the real server.
    Demo,
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
}
