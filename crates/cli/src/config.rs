//! Settings: from flags, from the environment, from a TOML file. Unknown ones are refused, wherever they stand.

mod documents;
mod interactive;
mod roots;
mod serving;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory, ValueEnum};
pub(crate) use interactive::InteractiveSettings;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use server::tools::Toolset;
use server::{CitationFormat, DocumentSettings, EnvelopeErrors, Locale, Seal};
pub(crate) use serving::ServingSettings;
use tracing::level_filters::LevelFilter;

/// Every variable begins with this.
pub(crate) const ENV_PREFIX: &str = "FLUXWAY_";

/// One source of settings. Every field is optional here, and only here. Help texts are the documentation.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct SettingsLayer {
    /// A folder that tools may touch; may be given several times [default: the working directory, unless it is /, your home or a folder of the system]
    #[arg(long, global = true, value_name = "DIR", env = "FLUXWAY_ROOT")]
    root: Option<Vec<PathBuf>>,
    /// The toolsets to serve, separated by commas: integrate, docs, context, reference, projects, diagnostics [default: integrate,docs,context,reference; over HTTP also projects]
    #[arg(long, global = true, value_name = "NAMES", env = "FLUXWAY_TOOLSETS", value_delimiter = ',')]
    toolsets: Option<Vec<String>>,
    /// Serve no tool that writes [default: false]
    #[arg(long, global = true, env = "FLUXWAY_READ_ONLY", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    read_only: Option<bool>,
    /// Serve HTTP on this address instead of stdin and stdout, such as 127.0.0.1:8080
    #[arg(long, global = true, value_name = "ADDRESS", env = "FLUXWAY_HTTP")]
    http: Option<SocketAddr>,
    /// The name that the server gives itself in `initialize` [default: fluxway]
    #[arg(long, global = true, value_name = "NAME", env = "FLUXWAY_SERVER_NAME")]
    server_name: Option<String>,
    /// Which document names the envelope's unknown-tool error [default: protocol]
    #[arg(long, global = true, value_name = "DOCUMENT", env = "FLUXWAY_ENVELOPE_ERRORS")]
    envelope_errors: Option<EnvelopeDocument>,
    /// What `citations` holds in the envelope: paths, or objects with path and section [default: strings]
    #[arg(long, global = true, value_name = "FORMAT", env = "FLUXWAY_ENVELOPE_CITATIONS")]
    envelope_citations: Option<Citations>,
    /// Ask questions line by line, for screen readers and simple terminals [default: false]
    #[arg(long, global = true, env = "FLUXWAY_PLAIN_PROMPTS", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    plain_prompts: Option<bool>,
    /// How much to log on stderr [default: warn]
    #[arg(long, global = true, value_name = "LEVEL", env = "FLUXWAY_LOG")]
    log: Option<LogVerbosity>,
    /// How to write logs: text or json [default: text]
    #[arg(long, global = true, value_name = "FORMAT", env = "FLUXWAY_LOG_FORMAT")]
    log_format: Option<LogFormat>,
    /// The language of texts on /api/mcp where the client asks for none: en or de [default: en]
    #[arg(long, global = true, value_name = "LANGUAGE", env = "FLUXWAY_LANG")]
    lang: Option<Lang>,
    /// Everything about the documents that are searched.
    #[command(flatten)]
    #[serde(default)]
    docs: documents::DocumentLayer,
    /// Everything about HTTP.
    #[command(flatten)]
    #[serde(default)]
    serve: serving::ServingLayer,
    /// Everything about interactive sessions.
    #[command(flatten)]
    #[serde(default)]
    flow: interactive::InteractiveLayer,
    /// The key that interactive sessions are encrypted with: 32 bytes as base64 or hexadecimal.
    // Not a flag: flags can be read by everybody on the machine.
    #[arg(skip)]
    seal_key: Option<SecretString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum EnvelopeDocument {
    /// `tool_not_found`, as in the protocol document.
    Protocol,
    /// `unknown_tool`, as in the tool reference.
    ToolsReference,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Citations {
    /// Paths, as in the tool reference.
    Strings,
    /// Objects with `path` and `section`, as in the protocol document.
    Objects,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum LogVerbosity {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// How logs are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For programs: one object a line.
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Lang {
    /// English.
    En,
    /// German.
    De,
}

/// Flags and environment on one side, the file on the other.
pub(crate) struct ConfigSources {
    cli_layer: SettingsLayer,
    file_path: Option<PathBuf>,
    /// The folder of the user's data.
    data_dir: Option<PathBuf>,
    /// The user's home folder.
    home_dir: Option<PathBuf>,
}

/// Complete, checked, immutable.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) roots: Vec<PathBuf>,
    /// Roots that were named, and that no program should be let into without thinking twice.
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

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("cannot read the settings in {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("the settings in {} are not usable: {problem}", path.display())]
    File { path: PathBuf, problem: String },
    #[error("there is no setting {name}; the variables are {}", known.join(", "))]
    UnknownVariable { name: String, known: Vec<String> },
    #[error("toolsets: {0}")]
    Toolset(String),
    #[error("root: {} is not a folder", .0.display())]
    Root(PathBuf),
    #[error("root: {0}")]
    GuardedRoot(String),
    #[error("seal-key: want 32 bytes as base64 or hexadecimal")]
    Seal,
    #[error("key-pepper: want 32 bytes as base64 or hexadecimal")]
    Pepper,
    #[error("database: {0}")]
    Database(store::LocationError),
    #[error("database: name one, such as sqlite:fluxway.db; there is no home folder to put it in")]
    NoDataFolder,
    #[error("{one} needs {other} beside it")]
    MissingCompanion { one: &'static str, other: &'static str },
    #[error("trusted-proxy: `{0}` is no address or network; write it like 10.0.0.7 or 10.0.0.0/8")]
    TrustedProxy(String),
    #[error("public-url: `{0}` is not like https://mcp.example.com, without a path")]
    PublicUrl(String),
}

impl ConfigSources {
    /// Takes what was typed, and looks where else settings may be.
    #[expect(clippy::disallowed_methods, reason = "the one place where the environment is read")]
    pub(crate) fn gather(mut typed: SettingsLayer, file: Option<PathBuf>) -> Result<Self, ConfigError> {
        let ours = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
        if let Some(name) = ours
            .filter(|name| name.starts_with(ENV_PREFIX))
            .find(|name| !environment_variables().contains(name))
        {
            return Err(ConfigError::UnknownVariable { name, known: environment_variables() });
        }
        typed.seal_key = std::env::var("FLUXWAY_SEAL_KEY").ok().map(SecretString::from);
        typed.serve.key_pepper = std::env::var("FLUXWAY_KEY_PEPPER").ok().map(SecretString::from);
        let home = |folder: &str| std::env::var_os("HOME").map(|home| Path::new(&home).join(folder));
        let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).or_else(|| home(".local/share"));
        let usual = || {
            let folder =
                std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| home(".config"))?;
            Some(folder.join("fluxway/config.toml")).filter(|path| path.exists())
        };
        Ok(Self {
            cli_layer: typed,
            file_path: file.or_else(usual),
            data_dir: data,
            home_dir: std::env::home_dir(),
        })
    }

    /// The file is read anew on every call, so that SIGHUP can ask again.
    #[expect(clippy::disallowed_methods, reason = "the user's settings lie in no repository")]
    fn read_file(&self) -> Result<SettingsLayer, ConfigError> {
        let Some(path) = &self.file_path else { return Ok(SettingsLayer::default()) };
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Read { path: path.clone(), source })?;
        toml::from_str(&text)
            .map_err(|error| ConfigError::File { path: path.clone(), problem: error.message().to_owned() })
    }
}

impl Config {
    /// What was typed goes before the environment, the environment before the file, the file before the defaults.
    #[expect(clippy::disallowed_methods, reason = "roots are named here; they are opened elsewhere")]
    pub(crate) fn resolve(sources: &ConfigSources) -> Result<Self, ConfigError> {
        let (typed, file) = (sources.cli_layer.clone(), sources.read_file()?);
        let home = sources.home_dir.as_ref().and_then(|home| home.canonicalize().ok());
        let can_be_project = |root: &PathBuf| roots::can_be_project(root, home.as_deref());
        let given = typed.root.or(file.root);
        let is_given = given.is_some();
        let roots: Vec<PathBuf> = match given {
            Some(roots) => {
                let real = |root: PathBuf| {
                    root.canonicalize().ok().filter(|real| real.is_dir()).ok_or(ConfigError::Root(root))
                };
                roots.into_iter().map(real).collect::<Result<_, _>>()?
            }
            None => Path::new(".").canonicalize().ok().filter(can_be_project).into_iter().collect(),
        };
        for root in &roots {
            server::check_root(root).map_err(|error| ConfigError::GuardedRoot(error.to_string()))?;
        }
        let bold_roots = roots.iter().filter(|root| is_given && !can_be_project(root)).cloned().collect();
        let http = typed.http.or(file.http);
        let toolsets = match typed.toolsets.or(file.toolsets) {
            None if http.is_some() => Toolset::DEFAULT_HTTP.to_vec(),
            None => Toolset::DEFAULT.to_vec(),
            Some(names) => names
                .iter()
                .map(|name| name.trim().parse().map_err(ConfigError::Toolset))
                .collect::<Result<_, _>>()?,
        };
        let seal_key = typed.seal_key.or(file.seal_key);
        Ok(Self {
            roots,
            broad_roots: bold_roots,
            toolsets,
            read_only: typed.read_only.or(file.read_only).unwrap_or(false),
            http,
            server_name: typed.server_name.or(file.server_name).unwrap_or_else(|| "fluxway".to_owned()),
            envelope_errors: match typed.envelope_errors.or(file.envelope_errors) {
                None | Some(EnvelopeDocument::Protocol) => EnvelopeErrors::Protocol,
                Some(EnvelopeDocument::ToolsReference) => EnvelopeErrors::ToolsReference,
            },
            envelope_citations: match typed.envelope_citations.or(file.envelope_citations) {
                None | Some(Citations::Strings) => CitationFormat::Strings,
                Some(Citations::Objects) => CitationFormat::Objects,
            },
            documents: documents::resolve(typed.docs, file.docs),
            plain_prompts: typed.plain_prompts.or(file.plain_prompts).unwrap_or(false),
            log: match typed.log.or(file.log).unwrap_or(LogVerbosity::Warn) {
                LogVerbosity::Off => LevelFilter::OFF,
                LogVerbosity::Error => LevelFilter::ERROR,
                LogVerbosity::Warn => LevelFilter::WARN,
                LogVerbosity::Info => LevelFilter::INFO,
                LogVerbosity::Debug => LevelFilter::DEBUG,
                LogVerbosity::Trace => LevelFilter::TRACE,
            },
            log_format: typed.log_format.or(file.log_format).unwrap_or_default(),
            language: match typed.lang.or(file.lang) {
                None | Some(Lang::En) => Locale::English,
                Some(Lang::De) => Locale::German,
            },
            serving: ServingSettings::resolve(typed.serve, file.serve, sources.data_dir.clone())?,
            interactive: InteractiveSettings::resolve(&typed.flow, &file.flow),
            seal: match seal_key {
                None => None,
                Some(text) => Some(Seal::parse(text.expose_secret()).ok_or(ConfigError::Seal)?),
            },
        })
    }

    /// The server that these settings describe, as far as they do.
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

    /// Logs what whoever starts a server should know about its folders.
    pub(crate) fn warn_about_roots(&self) {
        for root in &self.broad_roots {
            let root = root.display();
            tracing::warn!(%root, "tools may read all of this folder, which is more than a project; name a smaller one");
        }
        if self.roots.is_empty() {
            tracing::warn!(
                "no folder to work in: none is named, and where this was started is no project; pass --root DIR"
            );
        }
    }

    /// Whoever calls from this machine.
    pub(crate) fn local_user(&self) -> server::Principal {
        // Over HTTP anybody on this machine can ask: without keys nobody is known well enough to write.
        let may_write = !self.read_only && self.http.is_none();
        server::Principal::local_user(if may_write { server::Scope::Execute } else { server::Scope::Read })
    }
}

/// Every setting: its name in the file, its flag, its variable, what it does.
fn setting_rows() -> Vec<[String; 4]> {
    let command = crate::args::Args::command();
    let mut rows: Vec<[String; 4]> = command
        .get_arguments()
        .filter(|arg| arg.get_env().is_some())
        .map(|arg| {
            let flag = arg.get_long().unwrap_or_default();
            let name = match arg.get_help_heading() {
                Some(serving::HEADING) => format!("serve.{flag}"),
                Some(documents::HEADING) => format!("docs.{flag}"),
                Some(interactive::HEADING) => flag.replacen("flow-", "flow.", 1),
                // The file cannot name another file.
                _ if flag == "config" => String::new(),
                _ => flag.to_owned(),
            };
            let variable = arg.get_env().map(|env| env.to_string_lossy().into_owned()).unwrap_or_default();
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            [name, format!("--{flag}"), variable, help]
        })
        .collect();
    // Secrets are no flags.
    let seal_key = "The key that interactive sessions are encrypted with, in the database and in tokens: 32 bytes as base64 or \
                    hexadecimal. Several, separated by commas: the first encrypts, all of them decrypt [default: drawn once and \
                    kept in the database]";
    for (name, variable, help) in [
        ("seal-key", "FLUXWAY_SEAL_KEY", seal_key),
        ("serve.key-pepper", "FLUXWAY_KEY_PEPPER", serving::PEPPER_HELP),
    ] {
        rows.push([name.to_owned(), String::new(), variable.to_owned(), help.to_owned()]);
    }
    rows
}

fn environment_variables() -> Vec<String> {
    setting_rows().into_iter().map(|[_, _, variable, _]| variable).collect()
}

#[cfg(test)]
mod tests;
