//! What can be typed.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

use crate::config::SettingsLayer;

/// One MCP server that speaks every dialect, knows a repository, and can ask while it works.
///
/// On a pipe, `fluxway` alone is the server: register it with your editor or agent as the command `fluxway`.
/// It speaks MCP of every revision (2024-11-05 to 2026-07-28) and the fluxloop-mcp envelope, mixed as the client likes.
#[derive(Parser)]
#[command(name = "fluxway", version, max_term_width = 110, after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// A TOML file with settings [default: fluxway/config.toml in the user's configuration folder, if it is there]
    #[arg(long, global = true, value_name = "FILE", env = "FLUXWAY_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: SettingsLayer,
}

const EXAMPLES: &str = "\
Examples:
  fluxway demo                                      see the server at work, in a minute
  fluxway tools                                     what it can do
  fluxway call tell_fortune --category career       use a tool by hand
  fluxway call analyze_repository --root ~/src/app  what is in a repository
  fluxway faq \"where do results go?\"                ask the documentation
  fluxway integrate ~/src/app                       bring FluxLoop into it, question by question
  fluxway plan ~/src/app --out plan.json            what FluxLoop would need there
  fluxway apply plan.json --root ~/src/app          do it; fluxway undo takes it back
  fluxway call booking                              a tool that asks
  fluxway serve --root ~/src/app --read-only        the server, for one folder, without writing
  fluxway keys create --scope read,write            a key for the server over HTTP
  fluxway projects list                             the projects in the database
  fluxway serve --http 127.0.0.1:8080               MCP on http://127.0.0.1:8080/mcp

Settings come from flags, then FLUXWAY_… variables, then a TOML file; docs/configuration.md lists all of them.";

/// How an integration should be. What is left out is found by analysis, or asked.
#[derive(clap::Args)]
pub(crate) struct IntegrationArgs {
    /// The framework [default: the surest that has a recipe]
    #[arg(long, value_name = "NAME")]
    pub(crate) framework: Option<String>,
    /// The package in a monorepo: its folder or name
    #[arg(long, value_name = "PACKAGE")]
    pub(crate) package: Option<String>,
    /// sdk: decorators or middleware; bridge: no application code touched [default: auto]
    #[arg(long, value_name = "auto|sdk|bridge")]
    pub(crate) variant: Option<String>,
    /// The line of the FluxLoop CLI [default: the one that the repository uses, else the newest]
    #[arg(long, value_name = "0.2|0.3|0.4")]
    pub(crate) cli: Option<String>,
    /// What to run: path/to/file.py:function, or "POST /chat"
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// The field of the request that carries the text
    #[arg(long, value_name = "NAME")]
    pub(crate) request_field: Option<String>,
}

/// What `plan` takes.
#[derive(clap::Args)]
pub(crate) struct PlanArgs {
    /// The repository [default: the first root]
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) integration: IntegrationArgs,
    /// Write the plan to this file
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print the plan as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `integrate` takes.
#[derive(clap::Args)]
pub(crate) struct IntegrateArgs {
    /// The repository [default: the first root]
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) integration: IntegrationArgs,
    /// Write without asking; what is left open takes its default
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Run the plan's post-checks afterwards
    #[arg(long)]
    pub(crate) check: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `faq` takes.
#[derive(clap::Args)]
pub(crate) struct FaqArgs {
    /// The question, in plain words
    #[arg(value_name = "QUESTION", required = true)]
    pub(crate) question: Vec<String>,
    /// How many pages to consider, 1 to 20 [default: 5]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) top: Option<usize>,
    /// Print the answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `index` takes.
#[derive(clap::Args)]
pub(crate) struct IndexArgs {
    /// The folder with the documents: Markdown, MDX, reStructuredText, plain text
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Where to write the index [default: fluxway-docs.index here]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print what was done as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `apply` takes.
#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that can be typed")]
pub(crate) struct ApplyArgs {
    /// The plan: a file, the id of a plan that was proposed within the last day, or `-` for stdin
    pub(crate) plan: PathBuf,
    /// Show what would be written, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Run the plan's post-checks afterwards; you are shown the commands and asked first
    #[arg(long)]
    pub(crate) check: bool,
    /// With --check: agree to the commands without being asked
    #[arg(long, short, requires = "check")]
    pub(crate) yes: bool,
    /// A protected path that may be written all the same; may be given several times
    #[arg(long, value_name = "PATH")]
    pub(crate) allow: Vec<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `undo` takes.
#[derive(clap::Args)]
pub(crate) struct UndoArgs {
    /// The plan's id; without it you are shown the plan that was applied last, and asked
    pub(crate) id: Option<String>,
    /// Undo the plan that was applied last without being asked
    #[arg(long, short, conflicts_with_all = ["id", "plan"])]
    pub(crate) yes: bool,
    /// The plan itself, if an editor applied it; `-` reads it from stdin
    #[arg(long, value_name = "FILE", conflicts_with = "id")]
    pub(crate) plan: Option<PathBuf>,
    /// With --plan: a protected path that may be written all the same; may be given several times
    #[arg(long, value_name = "PATH", requires = "plan")]
    pub(crate) allow: Vec<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `keys` can do.
#[expect(clippy::doc_markdown, reason = "help texts are shown as they stand")]
#[derive(Subcommand)]
pub(crate) enum KeysCommand {
    /// Make a key. It is printed once, alone, on stdout; only a hash of it is kept.
    #[command(
        after_help = "Examples:\n  fluxway keys create --label laptop                      a key that reads\n  \
        fluxway keys create --scope read,write --expires 90d    a key that writes, for 90 days\n  \
        KEY=$(fluxway keys create --label ci)                   the key alone is on stdout"
    )]
    Create {
        /// What the key allows, separated by commas: read, write, admin, execute. The largest contains the others; execute runs
        /// checks of plans on a server with --allow-checks
        #[arg(long, value_name = "SCOPES", value_delimiter = ',', default_value = "read")]
        scope: Vec<server::Scope>,
        /// The one project that the key is good for; the tenant must have it [default: all]
        #[arg(long, value_name = "ID")]
        project: Option<String>,
        /// When the key ends by itself: 30m, 12h, 90d, 8w [default: never]
        #[arg(long, value_name = "TIME", value_parser = crate::commands::keys::parse_duration)]
        expires: Option<std::time::Duration>,
        /// What people call the key
        #[arg(long, value_name = "TEXT", default_value = "")]
        label: String,
        /// Whose key it is: what one tenant has, no other sees
        #[arg(long, value_name = "NAME", default_value = "main")]
        tenant: String,
        /// A key for trying out, cf_test_sk_… instead of cf_live_sk_…: only servers with --test-keys accept it
        #[arg(long)]
        test: bool,
        /// Print the key and what is known about it as JSON
        #[arg(long)]
        json: bool,
    },
    /// List the keys. Secrets cannot be shown again.
    List {
        /// Only the keys of this tenant
        #[arg(long, value_name = "NAME")]
        tenant: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// End a key. Within two seconds no replica takes it any more.
    Revoke {
        /// The key's id, as `fluxway keys list` shows it
        id: String,
    },
    /// Give a key a new secret, which is printed once. The old one is good for some time more.
    Rotate {
        /// The key's id, as `fluxway keys list` shows it
        id: String,
        /// For how long the old secret is good: 0m, 30m, 12h, 7d
        #[arg(long, value_name = "TIME", default_value = "24h", value_parser = crate::commands::keys::parse_duration)]
        overlap: std::time::Duration,
    },
}

/// What `projects` can do.
#[derive(Subcommand)]
pub(crate) enum ProjectsCommand {
    /// List the projects of every account, or of one.
    List {
        /// Only the projects of this account
        #[arg(long, value_name = "NAME")]
        account: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a project with its assets and versions into a new folder, as it is at one moment.
    #[command(after_help = "Example:\n  fluxway projects export proj_0abc --out website")]
    Export {
        /// The project's id, as `fluxway projects list` shows it
        id: String,
        /// Whose project it is [default: whoever has it]
        #[arg(long, value_name = "NAME")]
        account: Option<String>,
        /// The folder to write; it must not be there yet [default: the project's slug, here]
        #[arg(long, short, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Bring exported projects in: one, or all of a backup. The database may be another one, of another kind.
    ///
    /// A project comes as a whole or not at all, with its versions, times and revision. One that is there already, and the
    /// same, stays as it is; so an import that was interrupted can be repeated. One that has been changed since is refused.
    #[command(
        after_help = "Examples:\n  fluxway projects import website                      with its old id, for its old account\n  \
        fluxway projects import website --account acme --copy  as a new project of acme\n  \
        fluxway projects import backup --database postgres://…  everything of a backup, elsewhere"
    )]
    Import {
        /// A folder that `export` or `backup` wrote, or one account's folder of a backup
        folder: PathBuf,
        /// Whose it will be [default: whose it was]
        #[arg(long, value_name = "NAME")]
        account: Option<String>,
        /// Make it a new project, with another id and slug, so that the original can stay
        #[arg(long)]
        copy: bool,
    },
    /// Write every project of every account into a new folder, from which `import` brings them back.
    ///
    /// Only its owner can read the folder. Keys, limits and sessions are not in it.
    #[command(after_help = "Example:\n  fluxway projects backup ../backup-$(date +%F)")]
    Backup {
        /// The folder to write; it must not be there yet
        folder: PathBuf,
    },
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Serve on stdin and stdout, or over HTTP with --http.
    ///
    /// Over HTTP, callers need a key (`fluxway keys create`), or with --issuer a token. /mcp is MCP of every revision, /api/mcp
    /// the CODEFLUSS endpoint, /ws and /sse are for clients that know nothing else; /healthz, /readyz and /metrics are for
    /// whoever runs the server. SIGHUP reads toolsets, limits, certificates and --jwks again; SIGTERM lets running calls end.
    Serve,
    /// List the tools that would be served.
    Tools {
        /// Print the `tools/list` result.
        #[arg(long)]
        json: bool,
    },
    /// Call one tool and print its answer.
    ///
    /// Arguments are given as --name value (fluxway tools says which), or all at once as --args '{"name": "value"}'. A list takes
    /// its values one by one, --name a --name b, or as JSON. --args - reads the object from stdin and --args @FILE from a file:
    /// what is long does not fit on a command line.
    /// --json prints the structured result alone; without it, wide tables are fitted to the terminal. A tool that needs more
    /// asks on the terminal, if there is one. --root DIR chooses the folder for tools that work on one, --toolsets NAMES which
    /// tools there are.
    #[command(after_help = "Examples:\n  fluxway call tell_fortune --category love --mood optimistic\n  \
        fluxway call tell_fortune --json --args '{\"category\": \"love\"}'\n  \
        fluxway call list_projects --toolsets projects --fields name --fields revision\n  \
        fluxway call edit_asset --toolsets projects --args @photo.json")]
    Call {
        /// The tool's name.
        tool: String,
        /// [--json] [--args JSON|@FILE|-] [--NAME VALUE]…
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
        rest: Vec<String>,
    },
    /// Ask the documentation, and your own documents, with citations.
    ///
    /// Quotes what is written there, and says so when nothing fits. --index adds an index of your own.
    #[command(after_help = "Examples:\n  fluxway faq \"how do I run an agent behind FastAPI?\"\n  \
        fluxway faq --index fluxway-docs.index \"how do we deploy?\"\n  \
        fluxway faq --json \"what is a persona?\"")]
    Faq(FaqArgs),
    /// Index a folder of documents, so that `faq` answers from them too.
    ///
    /// What has not changed since the last time is not worked out again. Nothing leaves this machine.
    #[command(
        after_help = "Examples:\n  fluxway index docs                       write fluxway-docs.index\n  \
        fluxway index docs --out docs.index      write another file\n  \
        fluxway serve --index docs.index         answer from it\n  \
        fluxway faq --index docs.index --no-shipped-docs \"how do we deploy?\""
    )]
    Index(IndexArgs),
    /// Bring FluxLoop into a repository: looks, asks, shows the diff, writes it if you agree, and can undo it.
    ///
    /// What the analysis can decide is not asked. Nothing is written before you have seen the diff and said yes, or without a
    /// terminal before you have given --yes. Everything is written, or nothing; `fluxway undo` takes it back.
    #[command(
        after_help = "Examples:\n  fluxway integrate                             this folder, question by question\n  \
        fluxway integrate . --package services/chat   one service of a monorepo\n  \
        fluxway integrate . --yes --check             no questions; run the checks afterwards\n  \
        fluxway integrate . --yes --json              the same for a script\n\n\
        `fluxway plan` shows what would be written, and asks nothing."
    )]
    Integrate(IntegrateArgs),
    /// Propose the edits that bring FluxLoop into a repository, and show their diff. Nothing is written.
    #[command(
        after_help = "Examples:\n  fluxway plan .                           what would change here\n  \
        fluxway plan . --out plan.json           keep the plan, for `fluxway apply plan.json`\n  \
        fluxway plan . --package services/chat   one service of a monorepo\n  \
        fluxway plan . --agent app/bot.py:reply  this function is the agent"
    )]
    Plan(PlanArgs),
    /// Apply a plan: all of it or nothing. `fluxway undo` takes it back.
    ///
    /// The plan is checked again first: paths, hashes, syntax. --root DIR chooses the repository.
    Apply(ApplyArgs),
    /// Take an applied plan back: exactly the files that it wrote.
    ///
    /// Files that have been edited since are not touched: then nothing is undone, and both changes are shown.
    /// --root DIR chooses the repository.
    Undo(UndoArgs),
    /// Make, list and end the API keys that open the server over HTTP.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// List, export, import and back up projects: for whoever owns the database. No key is asked for.
    #[command(subcommand)]
    Projects(ProjectsCommand),
    /// Show a scripted conversation with the real server.
    Demo,
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
}
