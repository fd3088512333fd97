//! The command line.

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Parser, Subcommand};
use clap_complete::Shell;

use crate::config::{
    DatabaseLayer, DocumentLayer, InteractiveLayer, LogLayer, PromptLayer, RootLayer, ServerLayer,
    ServingLayer, SettingsLayer, ToolsetLayer,
};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default())
    .placeholder(AnsiColor::Cyan.on_default());

/// Integrate FluxLoop into a repository: review the diff, apply it, undo it. MCP server and command line in one.
///
/// MCP clients run `fluxway serve`; everything it does can also be done from this command line. Nothing is sent
/// anywhere.
#[derive(Parser)]
#[command(name = "fluxway", version, styles = STYLES, max_term_width = 100, after_help = "\
Examples:
  fluxway demo                             Watch it work on a sample repository
  fluxway integrate ~/src/app              Add FluxLoop, question by question

`fluxway help COMMAND` explains a command.")]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// File with settings (TOML) [default: fluxway/config.toml in your configuration folder]
    #[arg(long, global = true, value_name = "FILE", env = "FLUXWAY_CONFIG", help_heading = "Global options")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) log: LogLayer,
}

#[expect(clippy::doc_markdown, reason = "help texts are shown as they are")]
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Add FluxLoop to a repository, question by question
    ///
    /// Asks only what the analysis cannot decide. Writes nothing before you have seen the diff and agreed (or passed
    /// --yes), then writes all files or none. `fluxway undo` reverts it.
    #[command(after_help = "\
Examples:
  fluxway integrate                        This folder, question by question
  fluxway integrate app --yes --check      Without questions; run the checks")]
    Integrate(IntegrateArgs),
    /// Show what would change to add FluxLoop, as a diff; write nothing
    #[command(after_help = "\
Examples:
  fluxway plan                             What would change in this folder
  fluxway plan app --out plan.json         Save it for `fluxway apply`")]
    Plan(PlanArgs),
    /// Apply a plan: all of its edits or none
    ///
    /// Paths, hashes and syntax are checked again before anything is written. `fluxway undo` reverts it.
    #[command(after_help = "\
Examples:
  fluxway apply plan.json                  Apply a saved plan to this folder
  fluxway apply plan.json --dry-run        Show what would be written")]
    Apply(ApplyArgs),
    /// Undo an applied plan: restore exactly the files it changed
    ///
    /// If one of the files was edited since, nothing is undone and both changes are shown.
    #[command(after_help = "\
Examples:
  fluxway undo                             Undo the last plan, after asking
  fluxway undo --root app --yes            The same elsewhere, without asking")]
    Undo(UndoArgs),
    /// Answer a question from the FluxLoop documentation or your own documents
    ///
    /// Quotes the pages of FluxLoop and Fluxway, and your own documents with --index. Works offline.
    #[command(after_help = "\
Examples:
  fluxway faq \"how do I run an agent behind FastAPI?\"
  fluxway faq --index docs.index \"how do we deploy?\"")]
    Faq(FaqArgs),
    /// Index your own documents for `faq`
    ///
    /// Reads Markdown, MDX, reStructuredText and plain text; use the index with `fluxway faq --index FILE`. Works offline.
    #[command(after_help = "\
Examples:
  fluxway index docs                       Write fluxway-docs.index
  fluxway index docs --out docs.index      Write docs.index instead")]
    Index(IndexArgs),
    /// Run the MCP server, on stdin and stdout or over HTTP
    ///
    /// On stdin and stdout it speaks every MCP revision from 2024-11-05 to 2026-07-28 and the fluxloop-mcp envelope.
    /// With --http it serves /mcp (MCP), /api/mcp (CODEFLUSS), /ws and /sse to callers with a key (`fluxway keys create`)
    /// or, with --issuer, an access token; /healthz, /readyz and /metrics are for operators. SIGHUP reloads toolsets,
    /// limits, certificates and --jwks; SIGTERM waits for running calls. Every option can also be set by an
    /// environment variable, such as FLUXWAY_TLS_CERT for --tls-cert, or in the file of --config.
    #[command(after_help = "\
Examples:
  fluxway serve --root ~/src/app           For one repository, on stdio
  fluxway serve --http localhost:8080      Over HTTP, at http://localhost:8080/mcp")]
    Serve(Box<ServeArgs>),
    /// List the tools and their arguments
    #[command(after_help = "\
Examples:
  fluxway tools                            Those that are served by default
  fluxway tools --toolsets projects --json Another toolset, as JSON")]
    Tools(ToolsArgs),
    /// Call a tool and print its result
    ///
    /// Arguments are --NAME VALUE (`fluxway tools` lists them); repeat a list argument for each item. Long or nested
    /// arguments are easier as JSON: --args '{...}', --args @FILE or --args - for stdin. An argument that is an object
    /// takes @FILE and - as well. An interactive tool asks on the terminal.
    #[command(after_help = "\
Examples:
  fluxway call analyze_repository --root ~/src/app
  fluxway call tell_fortune --json --args '{\"category\": \"love\"}'")]
    Call(CallArgs),
    /// Create, list, rotate and revoke API keys for the HTTP server
    Keys {
        #[command(subcommand)]
        command: KeysCommand,
        #[command(flatten)]
        database: DatabaseLayer,
    },
    /// List, export, import and back up CODEFLUSS projects
    ///
    /// For the operator of the database: works on it directly, without a key and across all tenants.
    Projects {
        #[command(subcommand)]
        command: ProjectsCommand,
        #[command(flatten)]
        database: DatabaseLayer,
    },
    /// Watch an integration of a sample repository
    #[command(after_help = "\
Examples:
  fluxway demo                             From a repository to a change
  fluxway demo --full                      Also protocols and errors")]
    Demo {
        /// Also show errors, interactive tools and every protocol
        #[arg(long)]
        full: bool,
    },
    /// Print a completion script for a shell
    #[command(after_help = "\
Examples:
  fluxway completions zsh > ~/.zfunc/_fluxway
  fluxway completions bash > ~/.local/share/bash-completion/completions/fluxway")]
    Completions {
        /// Shell to complete in
        shell: Shell,
    },
}

impl Command {
    /// The settings that this command's flags give.
    pub(crate) fn settings(&self) -> SettingsLayer {
        let mut layer = SettingsLayer::default();
        match self {
            Self::Integrate(args) => {
                layer.roots = args.repository.settings();
                layer.prompts = args.prompts.clone();
            }
            Self::Plan(args) => layer.roots = args.repository.settings(),
            Self::Apply(args) => {
                layer.roots = args.roots.clone();
                layer.prompts = args.prompts.clone();
            }
            Self::Undo(args) => {
                layer.roots = args.roots.clone();
                layer.prompts = args.prompts.clone();
            }
            Self::Faq(args) => layer.docs = args.docs.clone(),
            Self::Serve(args) => {
                layer.roots = args.roots.clone();
                layer.toolsets = args.toolsets.clone();
                layer.server = args.server.clone();
                layer.docs = args.docs.clone();
                layer.serve = args.serving.clone();
                layer.flow = args.flow.clone();
            }
            Self::Tools(args) => layer.toolsets = args.toolsets.clone(),
            Self::Call(args) => {
                layer.roots = args.roots.clone();
                layer.toolsets = args.toolsets.clone();
                layer.docs = args.docs.clone();
                layer.serve.database = args.database.clone();
                layer.prompts = args.prompts.clone();
            }
            Self::Keys { database, .. } | Self::Projects { database, .. } => {
                layer.serve.database = database.clone();
            }
            Self::Index(_) | Self::Demo { .. } | Self::Completions { .. } => {}
        }
        layer
    }
}

/// The repository of a command: its one word, or a flag as everywhere else.
#[derive(clap::Args)]
pub(crate) struct RepositoryArgs {
    /// Repository [default: the current folder]
    #[arg(value_name = "DIR")]
    word: Option<PathBuf>,
    /// The same as DIR
    #[arg(long, value_name = "DIR", conflicts_with = "word")]
    root: Option<PathBuf>,
}

impl RepositoryArgs {
    pub(crate) fn folder(&self) -> Option<&PathBuf> {
        self.word.as_ref().or(self.root.as_ref())
    }

    fn settings(&self) -> RootLayer {
        RootLayer { root: self.folder().map(|folder| vec![folder.clone()]) }
    }
}

/// How to integrate. What is left out is found by analysis, or asked.
#[derive(clap::Args)]
#[command(next_help_heading = "Integration options")]
pub(crate) struct IntegrationArgs {
    /// Framework to integrate [default: the detected framework with the highest confidence]
    #[arg(long, value_name = "NAME")]
    pub(crate) framework: Option<String>,
    /// Package of a monorepo, by folder or name
    #[arg(long, value_name = "PACKAGE")]
    pub(crate) package: Option<String>,
    /// Function or route to run as the agent: path/to/file.py:function or "POST /chat"
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Request field that holds the user's message, such as message
    #[arg(long, value_name = "NAME")]
    pub(crate) request_field: Option<String>,
    /// auto, sdk (the program uses the SDK) or bridge (FluxLoop calls the unchanged program) [default: auto]
    #[arg(long, value_name = "VARIANT")]
    pub(crate) variant: Option<String>,
    /// Release line of the FluxLoop CLI: 0.2, 0.3 or 0.4 [default: the one in use, else the newest]
    #[arg(long, value_name = "LINE")]
    pub(crate) cli: Option<String>,
}

#[derive(clap::Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) repository: RepositoryArgs,
    /// Save the plan to a file
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print the plan as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) integration: IntegrationArgs,
}

#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct IntegrateArgs {
    #[command(flatten)]
    pub(crate) repository: RepositoryArgs,
    /// Write without asking; open questions get their defaults
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Run the commands of the plan's `check:` lines afterwards
    #[arg(long)]
    pub(crate) check: bool,
    /// With --yes: install what the `needed:` lines list, by the package manager
    #[arg(long)]
    pub(crate) install: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) prompts: PromptLayer,
    #[command(flatten)]
    pub(crate) integration: IntegrationArgs,
}

#[derive(clap::Args)]
pub(crate) struct FaqArgs {
    /// Question, in plain words
    #[arg(value_name = "QUESTION", required = true)]
    pub(crate) question: Vec<String>,
    /// Pages to consider, 1 to 20 [default: 5]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) top: Option<usize>,
    /// Print the answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) docs: DocumentLayer,
}

#[derive(clap::Args)]
pub(crate) struct IndexArgs {
    /// Folder with the documents
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Index file to write [default: fluxway-docs.index]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print a summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct ApplyArgs {
    /// Plan: a file, the id of a plan that was proposed within the last day, or - for stdin
    pub(crate) plan: PathBuf,
    /// Show what would be written, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Run the commands of the plan's `check:` lines afterwards; asks first
    #[arg(long)]
    pub(crate) check: bool,
    /// Install what the `needed:` lines list, by the package manager; asks first
    #[arg(long)]
    pub(crate) install: bool,
    /// With --check or --install: run the commands without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Protected path that the plan may write; repeatable
    #[arg(long, value_name = "PATH")]
    pub(crate) allow: Vec<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) roots: RootLayer,
    #[command(flatten)]
    pub(crate) prompts: PromptLayer,
}

#[derive(clap::Args)]
pub(crate) struct UndoArgs {
    /// Id of the plan [default: asks whether to undo the plan that was applied last]
    pub(crate) id: Option<String>,
    /// Undo the plan that was applied last, without asking
    #[arg(long, short, conflicts_with_all = ["id", "plan"])]
    pub(crate) yes: bool,
    /// The plan itself, if your editor applied it, not Fluxway; - reads stdin
    #[arg(long, value_name = "FILE", conflicts_with = "id")]
    pub(crate) plan: Option<PathBuf>,
    /// With --plan: protected path that may be written; repeatable
    #[arg(long, value_name = "PATH", requires = "plan")]
    pub(crate) allow: Vec<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) roots: RootLayer,
    #[command(flatten)]
    pub(crate) prompts: PromptLayer,
}

#[derive(clap::Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) roots: RootLayer,
    #[command(flatten)]
    pub(crate) toolsets: ToolsetLayer,
    #[command(flatten)]
    pub(crate) server: ServerLayer,
    #[command(flatten)]
    pub(crate) docs: DocumentLayer,
    #[command(flatten)]
    pub(crate) serving: ServingLayer,
    #[command(flatten)]
    pub(crate) flow: InteractiveLayer,
}

#[derive(clap::Args)]
pub(crate) struct ToolsArgs {
    /// Only these tools [default: all]
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Print the tools/list result
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) toolsets: ToolsetLayer,
}

#[derive(clap::Args)]
pub(crate) struct CallArgs {
    /// Name of the tool
    pub(crate) tool: String,
    /// Arguments of the tool: [--json] [--args JSON|@FILE|-] [--NAME VALUE]...
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub(crate) rest: Vec<String>,
    #[command(flatten)]
    pub(crate) roots: RootLayer,
    #[command(flatten)]
    pub(crate) toolsets: ToolsetLayer,
    #[command(flatten)]
    pub(crate) prompts: PromptLayer,
    #[command(flatten)]
    pub(crate) docs: DocumentLayer,
    #[command(flatten)]
    pub(crate) database: DatabaseLayer,
}

#[expect(clippy::doc_markdown, reason = "help texts are shown as they are")]
#[derive(Subcommand)]
pub(crate) enum KeysCommand {
    /// Create a key; it is printed only this once
    ///
    /// Only the key goes to stdout. The database stores a hash of it.
    #[command(after_help = "\
Examples:
  fluxway keys create --label laptop                      A read-only key
  fluxway keys create --scope write --expires 90d         A key that may write")]
    Create {
        /// Scope: read, write, admin or execute; each includes those before it
        #[arg(long, value_name = "SCOPES", value_delimiter = ',', default_value = "read")]
        scope: Vec<server::Scope>,
        /// Restrict the key to one CODEFLUSS project of the tenant [default: all]
        #[arg(long, value_name = "ID")]
        project: Option<String>,
        /// Time until the key expires: 30m, 12h, 90d, 8w [default: never]
        #[arg(long, value_name = "TIME", value_parser = crate::commands::keys::parse_lifetime)]
        expires: Option<std::time::Duration>,
        /// Label, shown by `keys list`
        #[arg(long, value_name = "TEXT", default_value = "")]
        label: String,
        /// Tenant the key belongs to; tenants cannot see each other's data
        #[arg(long, value_name = "NAME", default_value = "main")]
        tenant: String,
        /// Create a test key, cf_test_sk_…, which only servers with --test-keys accept
        #[arg(long)]
        test: bool,
        /// Print the key and its details as JSON
        #[arg(long)]
        json: bool,
    },
    /// List the keys, without their secrets
    #[command(after_help = "\
Examples:
  fluxway keys list                                       All keys
  fluxway keys list --tenant acme --json                  Of one tenant, as JSON")]
    List {
        /// Only the keys of this tenant
        #[arg(long, value_name = "NAME")]
        tenant: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke a key; all replicas reject it within two seconds
    #[command(after_help = "\
Examples:
  fluxway keys list                                       Shows the ids
  fluxway keys revoke key_0abc                            Revokes one")]
    Revoke {
        /// Id of the key, from `fluxway keys list`
        id: String,
    },
    /// Replace the secret of a key; the new one is printed only this once
    #[command(after_help = "\
Examples:
  fluxway keys rotate key_0abc                 The old secret works for a day
  fluxway keys rotate key_0abc --overlap 0m    The old secret stops working")]
    Rotate {
        /// Id of the key, from `fluxway keys list`
        id: String,
        /// Time for which the old secret keeps working: 0m, 30m, 12h, 7d
        #[arg(long, value_name = "TIME", default_value = "24h", value_parser = crate::commands::keys::parse_duration)]
        overlap: std::time::Duration,
    },
}

#[derive(Subcommand)]
pub(crate) enum ProjectsCommand {
    /// List the projects of all accounts, or of one
    #[command(after_help = "\
Examples:
  fluxway projects list                                   All projects in the database
  fluxway projects list --account acme --json             Of one account, as JSON")]
    List {
        /// Only the projects of this account
        #[arg(long, value_name = "NAME")]
        account: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Export a project with its assets and versions to a new folder
    #[command(after_help = "\
Examples:
  fluxway projects export proj_0abc                  Into a folder of its slug
  fluxway projects export proj_0abc --out website    Into another folder")]
    Export {
        /// Id of the project, from `fluxway projects list`
        id: String,
        /// Account that owns the project [default: found by id]
        #[arg(long, value_name = "NAME")]
        account: Option<String>,
        /// Folder to create; it must not exist [default: the project's slug]
        #[arg(long, short, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Import an exported project, or all projects of a backup
    ///
    /// A project is imported completely or not at all, with its versions, timestamps and revision, into SQLite or
    /// PostgreSQL. If the same project exists, it is left alone, so an interrupted import can be repeated; if it
    /// differs, the import is rejected: use --copy.
    #[command(after_help = "\
Examples:
  fluxway projects import website                         With its old id, for its old account
  fluxway projects import website --account acme --copy   As a new project")]
    Import {
        /// Folder that `export` or `backup` wrote, or one account's folder of a backup
        folder: PathBuf,
        /// Account that will own the projects [default: the account recorded in the export]
        #[arg(long, value_name = "NAME")]
        account: Option<String>,
        /// Import as a new project with its own id and slug
        #[arg(long)]
        copy: bool,
    },
    /// Back up all projects of all accounts to a new folder
    ///
    /// `fluxway projects import` restores them. Only the folder's owner can read it. Keys, limits and sessions are not
    /// included.
    #[command(after_help = "\
Examples:
  fluxway projects backup ../backup                       Into a new folder
  fluxway projects backup ../backup --database postgres://fluxway@db/fluxway")]
    Backup {
        /// Folder to create; it must not exist
        folder: PathBuf,
    },
}
