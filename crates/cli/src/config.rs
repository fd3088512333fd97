//! Settings from flags, the environment and a TOML file, in this order of precedence.

mod documents;
mod interactive;
mod layers;
mod roots;
mod serving;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory, FromArgMatches as _};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use server::tools::Toolset;
use server::{CitationFormat, DocumentSettings, EnvelopeErrors, Locale, Seal};
use tracing::level_filters::LevelFilter;

pub(crate) use documents::DocumentLayer;
pub(crate) use interactive::{InteractiveLayer, InteractiveSettings};
use layers::{Citations, EnvelopeDocument, Lang, LogVerbosity};
pub(crate) use layers::{LogFormat, LogLayer, PromptLayer, RootLayer, ServerLayer, ToolsetLayer};
pub(crate) use serving::{DatabaseLayer, ServingLayer, ServingSettings};

use crate::exit::print_notice;
use crate::suggest::nearest;

pub(crate) const ENV_PREFIX: &str = "FLUXWAY_";
const SEAL_KEY_VARIABLE: &str = "FLUXWAY_SEAL_KEY";
const PEPPER_VARIABLE: &str = "FLUXWAY_KEY_PEPPER";

/// The settings of one source. Every field is optional here, and only here; the help texts are the documentation.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct SettingsLayer {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) roots: RootLayer,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) toolsets: ToolsetLayer,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) server: ServerLayer,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) prompts: PromptLayer,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) log: LogLayer,
    #[command(flatten)]
    #[serde(default)]
    pub(crate) docs: DocumentLayer,
    #[command(flatten)]
    #[serde(default)]
    pub(crate) serve: ServingLayer,
    #[command(flatten)]
    #[serde(default)]
    pub(crate) flow: InteractiveLayer,
    // Not a flag: every user of the machine can read the flags of a process.
    #[arg(skip)]
    seal_key: Option<SecretString>,
}

impl SettingsLayer {
    fn or(self, weaker: Self) -> Self {
        Self {
            roots: self.roots.or(weaker.roots),
            toolsets: self.toolsets.or(weaker.toolsets),
            server: self.server.or(weaker.server),
            prompts: self.prompts.or(weaker.prompts),
            log: self.log.or(weaker.log),
            docs: self.docs.or(weaker.docs),
            serve: self.serve.or(weaker.serve),
            flow: self.flow.or(weaker.flow),
            seal_key: self.seal_key.or(weaker.seal_key),
        }
    }

    /// What the environment says, for all settings: a command's own flags cover only some of them.
    #[expect(clippy::disallowed_methods, reason = "the one place where the environment is read")]
    fn from_env() -> Result<Self, clap::Error> {
        let mut layer = Self::from_arg_matches(&all_settings().try_get_matches_from(["fluxway"])?)?;
        layer.seal_key = std::env::var(SEAL_KEY_VARIABLE).ok().map(SecretString::from);
        layer.serve.http.key_pepper = std::env::var(PEPPER_VARIABLE).ok().map(SecretString::from);
        Ok(layer)
    }
}

/// What is wrong with a variable, without clap's frame around it.
fn environment_error(error: &clap::Error) -> ConfigError {
    let text = error.render().to_string();
    let text = text.trim_start_matches("error: ").split("\n\n").next().unwrap_or_default();
    // clap names the flag; the user has set the variable.
    let named = text.split_once(" for '--").and_then(|(what, rest)| {
        let (flag, why) = rest.split_once('\'')?;
        let flag = flag.split([' ', '[', '=']).next()?;
        let variable = setting_rows().into_iter().find(|row| row.flag == format!("--{flag}"))?.variable;
        Some(format!("{variable}: {what}{why}"))
    });
    ConfigError::Environment(named.unwrap_or_else(|| text.to_owned()))
}

/// A command line with every setting, to read the environment and to list them.
fn all_settings() -> clap::Command {
    SettingsLayer::augment_args(clap::Command::new("fluxway"))
}

/// Flags and environment on one side, the file on the other.
pub(crate) struct ConfigSources {
    flags_and_env: SettingsLayer,
    file_path: Option<PathBuf>,
    data_dir: Option<PathBuf>,
    home_dir: Option<PathBuf>,
    /// Only a server listens, whatever the environment or the file says.
    is_server: bool,
}

/// The resolved settings, checked.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) roots: Vec<PathBuf>,
    /// Configured roots that are broader than a project, such as the home folder.
    pub(crate) broad_roots: Vec<PathBuf>,
    pub(crate) toolsets: Vec<Toolset>,
    pub(crate) read_only: bool,
    pub(crate) http: Option<SocketAddr>,
    pub(crate) server_name: String,
    pub(crate) envelope_errors: EnvelopeErrors,
    pub(crate) envelope_citations: CitationFormat,
    pub(crate) documents: DocumentSettings,
    pub(crate) plain_prompts: bool,
    pub(crate) log: LevelFilter,
    pub(crate) log_format: LogFormat,
    pub(crate) language: Locale,
    pub(crate) serving: ServingSettings,
    pub(crate) interactive: InteractiveSettings,
    pub(crate) seal: Option<Seal>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("cannot read the settings in {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("invalid settings in {}: {problem}", path.display())]
    File { path: PathBuf, problem: String },
    #[error("in the environment: {0}")]
    Environment(String),
    #[error("toolsets: {0}")]
    Toolset(String),
    #[error("no such folder: {}", .0.display())]
    NoSuchFolder(PathBuf),
    #[error("{} is a file; pass the folder of a repository", .0.display())]
    NotAFolder(PathBuf),
    #[error("root: {0}")]
    GuardedRoot(String),
    #[error("seal-key: expected 32 bytes as base64 or hexadecimal")]
    Seal,
    #[error("key-pepper: expected 32 bytes as base64 or hexadecimal")]
    Pepper,
    #[error("database: {0}")]
    Database(store::LocationError),
    #[error(
        "database: there is no home folder for the default database; name one, such as sqlite:fluxway.db"
    )]
    NoDataFolder,
    #[error("`{one}` requires {other}")]
    MissingCompanion { one: &'static str, other: String },
    #[error("trusted-proxy: `{0}` is not an address or network, such as 10.0.0.7 or 10.0.0.0/8")]
    TrustedProxy(String),
    #[error("public-url: `{0}` is not a URL without a path, such as https://mcp.example.com")]
    PublicUrl(String),
}

impl ConfigSources {
    #[expect(clippy::disallowed_methods, reason = "the one place where the environment is read")]
    pub(crate) fn gather(
        flags: SettingsLayer,
        file: Option<PathBuf>,
        is_server: bool,
    ) -> Result<Self, ConfigError> {
        warn_about_unknown_variables();
        let flags_and_env = flags.or(SettingsLayer::from_env().map_err(|error| environment_error(&error))?);
        let home = |folder: &str| std::env::var_os("HOME").map(|home| Path::new(&home).join(folder));
        let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).or_else(|| home(".local/share"));
        let default_file = || {
            let folder =
                std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| home(".config"))?;
            Some(folder.join("fluxway/config.toml")).filter(|path| path.exists())
        };
        Ok(Self {
            flags_and_env,
            file_path: file.or_else(default_file),
            data_dir: data,
            home_dir: std::env::home_dir(),
            is_server,
        })
    }

    /// Reads the file anew on every call, since SIGHUP reloads it.
    #[expect(clippy::disallowed_methods, reason = "the user's settings are in no repository")]
    fn read_file(&self) -> Result<SettingsLayer, ConfigError> {
        let Some(path) = &self.file_path else { return Ok(SettingsLayer::default()) };
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Read { path: path.clone(), source })?;
        parse_file(&text).map_err(|problem| ConfigError::File { path: path.clone(), problem })
    }
}

/// Reads settings in TOML. Unknown ones are rejected: a misspelt `read-only` must not be ignored.
fn parse_file(text: &str) -> Result<SettingsLayer, String> {
    let table: toml::Table = toml::from_str(text).map_err(|error| error.message().to_owned())?;
    let known: Vec<String> =
        setting_rows().into_iter().map(|row| row.name).filter(|name| !name.is_empty()).collect();
    for name in setting_names(&table) {
        if !known.contains(&name) {
            // The right name, but outside of its section?
            let in_section =
                known.iter().find(|known| known.ends_with(&format!(".{name}"))).map(String::as_str);
            let hint = in_section
                .or_else(|| nearest(&name, known.iter().map(String::as_str)))
                .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            return Err(format!("unknown setting `{name}`{hint}"));
        }
    }
    SettingsLayer::deserialize(table).map_err(|error| error.message().to_owned())
}

/// The settings of a file: `root`, `serve.database`.
fn setting_names(table: &toml::Table) -> BTreeSet<String> {
    let sections: BTreeSet<String> =
        setting_rows().iter().filter_map(|row| Some(row.name.split_once('.')?.0.to_owned())).collect();
    let names = table.iter().flat_map(|(name, value)| match value {
        toml::Value::Table(section) if sections.contains(name) => {
            section.keys().map(|key| format!("{name}.{key}")).collect()
        }
        _ => vec![name.clone()],
    });
    names.collect()
}

/// A misspelt variable is probably a mistake, but a server that does not start over another program's variable is worse.
fn warn_about_unknown_variables() {
    let known: Vec<String> = setting_rows().into_iter().map(|row| row.variable).collect();
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with(ENV_PREFIX) && !known.iter().any(|known| *known == name) {
            // All of them begin alike: only the rest can resemble another.
            let rest = |name: &str| name.trim_start_matches(ENV_PREFIX).to_owned();
            let own_names: Vec<String> = known.iter().map(|known| rest(known)).collect();
            let hint = nearest(&rest(&name), own_names.iter().map(String::as_str))
                .map_or_else(String::new, |near| format!("; did you mean {ENV_PREFIX}{near}?"));
            print_notice(&format!("warning: unknown variable {name} is ignored{hint}"));
        }
    }
}

/// A folder that the user named, with every link in its path resolved.
#[expect(clippy::disallowed_methods, reason = "the user named this folder")]
fn canonical_folder(folder: &Path) -> Result<PathBuf, ConfigError> {
    match folder.canonicalize() {
        Ok(real) if real.is_dir() => Ok(real),
        Ok(_) => Err(ConfigError::NotAFolder(folder.to_path_buf())),
        Err(_) => Err(ConfigError::NoSuchFolder(folder.to_path_buf())),
    }
}

impl Config {
    #[expect(clippy::disallowed_methods, reason = "roots are named here and opened elsewhere")]
    pub(crate) fn resolve(sources: &ConfigSources) -> Result<Self, ConfigError> {
        let layer = sources.flags_and_env.clone().or(sources.read_file()?);
        let SettingsLayer { roots, toolsets, server, prompts, log, docs, serve, flow, seal_key } = layer;
        let home = sources.home_dir.as_ref().and_then(|home| home.canonicalize().ok());
        let can_be_project = |root: &PathBuf| roots::can_be_project(root, home.as_deref());
        let given = roots.root;
        let is_given = given.is_some();
        let roots: Vec<PathBuf> = match given {
            Some(roots) => roots.iter().map(|root| canonical_folder(root)).collect::<Result<_, _>>()?,
            None => Path::new(".").canonicalize().ok().filter(can_be_project).into_iter().collect(),
        };
        for root in &roots {
            server::check_root(root).map_err(|error| ConfigError::GuardedRoot(error.to_string()))?;
        }
        let broad_roots = roots.iter().filter(|root| is_given && !can_be_project(root)).cloned().collect();
        let http = server.http.filter(|_| sources.is_server);
        let names = toolsets.toolsets;
        let read_only = toolsets.read_only.unwrap_or(false);
        let toolsets = match names {
            None if http.is_some() => Toolset::DEFAULT_HTTP.to_vec(),
            None => Toolset::DEFAULT.to_vec(),
            Some(names) => names
                .iter()
                .map(|name| name.trim().parse().map_err(ConfigError::Toolset))
                .collect::<Result<_, _>>()?,
        };
        Ok(Self {
            roots,
            broad_roots,
            toolsets,
            read_only,
            http,
            server_name: server.server_name.unwrap_or_else(|| "fluxway".to_owned()),
            envelope_errors: match server.envelope_errors {
                None | Some(EnvelopeDocument::Protocol) => EnvelopeErrors::Protocol,
                Some(EnvelopeDocument::ToolsReference) => EnvelopeErrors::ToolsReference,
            },
            envelope_citations: match server.envelope_citations {
                None | Some(Citations::Strings) => CitationFormat::Strings,
                Some(Citations::Objects) => CitationFormat::Objects,
            },
            documents: docs.into(),
            plain_prompts: prompts.plain_prompts.unwrap_or(false),
            log: match log.log.unwrap_or(LogVerbosity::Warn) {
                LogVerbosity::Off => LevelFilter::OFF,
                LogVerbosity::Error => LevelFilter::ERROR,
                LogVerbosity::Warn => LevelFilter::WARN,
                LogVerbosity::Info => LevelFilter::INFO,
                LogVerbosity::Debug => LevelFilter::DEBUG,
                LogVerbosity::Trace => LevelFilter::TRACE,
            },
            log_format: server.log_format.unwrap_or_default(),
            language: match server.lang {
                None | Some(Lang::En) => Locale::English,
                Some(Lang::De) => Locale::German,
            },
            serving: ServingSettings::resolve(serve, sources.data_dir.clone())?,
            interactive: InteractiveSettings::resolve(&flow),
            seal: match seal_key {
                None => None,
                Some(text) => Some(Seal::parse(text.expose_secret()).ok_or(ConfigError::Seal)?),
            },
        })
    }

    pub(crate) fn app_builder(&mut self) -> server::AppBuilder {
        server::App::builder()
            .name(std::mem::take(&mut self.server_name))
            .roots(std::mem::take(&mut self.roots))
            .toolsets(&self.toolsets)
            .envelope_errors(self.envelope_errors)
            .envelope_citations(self.envelope_citations)
            .documents(std::mem::take(&mut self.documents))
            .language(self.language)
            .seal(self.seal.take())
    }

    pub(crate) fn warn_about_roots(&self) {
        for root in &self.broad_roots {
            let root = root.display();
            tracing::warn!(%root, "tools may read this whole folder; pass --root with the folder of one repository");
        }
        if self.roots.is_empty() {
            tracing::warn!(
                "no folder to work in: the current folder cannot be a repository; pass --root DIR"
            );
        }
    }

    pub(crate) fn local_user(&self) -> server::Principal {
        // Over HTTP every program on this machine can call: without a key, callers may only read.
        let may_write = !self.read_only && self.http.is_none();
        server::Principal::local_user(if may_write { server::Scope::Execute } else { server::Scope::Read })
    }
}

/// A setting, as users write it.
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "docs/configuration.md, which a test writes, has all of it")
)]
struct SettingRow {
    /// In the file; empty if it cannot stand there.
    name: String,
    flag: String,
    variable: String,
    help: String,
}

fn setting_rows() -> Vec<SettingRow> {
    let config = crate::args::Args::command();
    let config = config.get_arguments().filter(|arg| arg.get_id() == "config");
    let settings = all_settings();
    let mut rows: Vec<SettingRow> = config
        .chain(settings.get_arguments())
        .filter_map(|arg| {
            let (flag, variable) = (arg.get_long()?, arg.get_env()?);
            let name = match arg.get_help_heading() {
                Some(heading) if serving::HEADINGS.contains(&heading) => format!("serve.{flag}"),
                Some(documents::HEADING) => format!("docs.{flag}"),
                Some(interactive::HEADING) => flag.replacen("flow-", "flow.", 1),
                // The file cannot name another file.
                _ if flag == "config" => String::new(),
                _ => flag.to_owned(),
            };
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let variable = variable.to_string_lossy().into_owned();
            Some(SettingRow { name, flag: format!("--{flag}"), variable, help })
        })
        .collect();
    // Secrets are not flags.
    let seal_key = "Key that encrypts interactive sessions, in the database and in tokens: 32 bytes as base64 or hexadecimal. \
                    Several may be given, separated by commas: the first encrypts, all decrypt [default: generated once and \
                    stored in the database]";
    for (name, variable, help) in [
        ("seal-key", SEAL_KEY_VARIABLE, seal_key),
        ("serve.key-pepper", PEPPER_VARIABLE, serving::PEPPER_HELP),
    ] {
        rows.push(SettingRow {
            name: name.to_owned(),
            flag: String::new(),
            variable: variable.to_owned(),
            help: help.to_owned(),
        });
    }
    rows
}

#[cfg(test)]
mod tests;
