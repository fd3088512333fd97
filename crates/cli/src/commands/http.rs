//! `fluxway serve --http`: connects store, keys, limits and server.

use std::io::{ErrorKind, IsTerminal as _};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use http_transport::{
    Authenticator, BodyLimits, HttpMetrics, HttpSettings, MetricsObserver, OriginPolicy, ReloadableTls,
};
use serde_json::json;
use server::access::{AccessStore, JwtVerifier, KeyVerifier, RateLimiter};
use server::{App, CheckPolicy, Clock, QuotaLimits, Scope, Seal, SealKey, SystemClock};
use store::Store;
use tokio::net::{TcpListener, TcpSocket};
use tokio_util::sync::CancellationToken;

use super::database;
use crate::config::{Config, LogFormat, ServingSettings};
use crate::exit::{CommandError, print_notice};

pub(crate) struct PreparedHttpServer {
    pub(crate) app: Arc<App>,
    pub(crate) reload_handle: ReloadHandle,
    settings: HttpSettings,
    listener: TcpListener,
    log_format: LogFormat,
}

/// Prints a message for the operator, in the format of the logs.
fn announce(format: LogFormat, text: &str) {
    match format {
        LogFormat::Text => print_notice(text),
        LogFormat::Json => {
            let timestamp = SystemClock.now().to_string();
            print_notice(&json!({ "timestamp": timestamp, "level": "INFO", "message": text }).to_string());
        }
    }
}

/// What can be changed while the server runs.
#[derive(Clone)]
pub(crate) struct ReloadHandle {
    authenticator: Arc<Authenticator>,
    tls: Option<ReloadableTls>,
}

impl PreparedHttpServer {
    /// Binds the socket. Connections are accepted from now on and served by `serve`.
    pub(crate) async fn bind(mut config: Config, address: SocketAddr) -> Result<Self, CommandError> {
        let metrics = Arc::new(HttpMetrics::default());
        let (most, checks) = match (config.read_only, config.serving.allow_checks) {
            (true, _) => (Scope::Read, CheckPolicy::Never),
            (false, false) => (Scope::Admin, CheckPolicy::Never),
            (false, true) => (Scope::Execute, CheckPolicy::ProposedPlans),
        };
        let database = database::DatabaseHandle::for_settings(&config.serving);
        let (authenticator, store) = build_authenticator(&mut config, &database, address, most).await?;
        if let Some(store) = store.as_ref().filter(|_| config.seal.is_none()) {
            // Replicas share sealed sessions, and clients keep tokens across restarts.
            config.seal = Some(Seal::new(SealKey::from_bytes(
                database::load_or_create_secret(store.as_ref(), "seal_key").await?,
            )));
        }
        let places = QuotaLimits { streams: config.serving.streams, ..QuotaLimits::default() };
        let flow = database.flow_settings(config.interactive, config.seal.is_some());
        let watcher = Arc::new(MetricsObserver(Arc::clone(&metrics)));
        let app = config
            .app_builder()
            .observer(watcher)
            .quota_limits(places)
            .checks(checks)
            .flow(flow)
            .projects(database.project_opener())
            .build();
        if store.is_some() {
            app.open_session_store().await;
        }
        let serving = &config.serving;
        let tls = serving.tls.as_ref().map(|(chain, key)| load_tls(chain, key)).transpose()?;
        let live = ReloadHandle { authenticator: Arc::new(authenticator), tls: tls.clone() };
        live.load_token_keys(serving)?;
        let listener = listen(address).map_err(|error| listen_error(address, error))?;
        let listening = listener.local_addr().map_err(CommandError::io("cannot listen"))?;
        let settings = HttpSettings {
            app: Arc::clone(&app),
            authenticator: Arc::clone(&live.authenticator),
            origin_policy: OriginPolicy::new(listening, &serving.hosts, &serving.origins),
            metrics,
            store: store.map(|store| store as Arc<dyn AccessStore>),
            public_url: serving.public_url.clone(),
            tls,
            connections: serving.connections,
            bodies: BodyLimits::new(serving.body_memory, app.max_message_bytes()),
            proxies: serving.proxies.clone(),
        };
        if settings.tls.is_none() && !listening.ip().is_loopback() {
            tracing::warn!(
                "API keys are sent unencrypted; pass --tls-cert and --tls-key, or put a TLS proxy in front"
            );
        }
        Ok(Self { app, reload_handle: live, settings, listener, log_format: config.log_format })
    }

    /// Serves until `stop`.
    pub(crate) async fn serve(self, stop: CancellationToken) -> Result<(), CommandError> {
        // With port 0 the system chooses one.
        let listening = self.listener.local_addr().map_err(CommandError::io("cannot listen"))?;
        let scheme = if self.settings.tls.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{listening}/mcp");
        announce(self.log_format, &format!("fluxway listens on {url} (also /api/mcp, /ws, /sse)"));
        if self.log_format == LogFormat::Text && std::io::stderr().is_terminal() {
            print_notice(&format!(
                "To register it with Claude Code, with a key of `fluxway keys create`:\n  \
                 claude mcp add --transport http fluxway {url} --header \"Authorization: Bearer KEY\""
            ));
        }
        http_transport::serve(self.settings, self.listener, stop)
            .await
            .map_err(CommandError::io("cannot serve"))
    }
}

impl ReloadHandle {
    /// Reloads limits, JWKS and certificates. What cannot be read stays as it was.
    pub(crate) fn reload(&self, settings: &ServingSettings) {
        self.authenticator.set_rate_limit(settings.rate);
        if let Err(error) = self.load_token_keys(settings) {
            tracing::error!(%error, "JWKS not reloaded, keeping the previous keys");
        }
        if let (Some(tls), Some((chain, key))) = (&self.tls, &settings.tls)
            && let Err(error) = read_pem_files(chain, key)
                .and_then(|(chain, key)| tls.replace(&chain, &key).map_err(CommandError::Usage))
        {
            tracing::error!(%error, "TLS certificate not reloaded, keeping the previous one");
        }
    }

    fn load_token_keys(&self, settings: &ServingSettings) -> Result<(), CommandError> {
        let Some((trust, file)) = &settings.tokens else {
            self.authenticator.set_jwt_verifier(None);
            return Ok(());
        };
        let text = read_small_file(file)?;
        let text = String::from_utf8_lossy(&text);
        let tokens = JwtVerifier::new(trust.clone(), &text)
            .map_err(|problem| CommandError::Usage(format!("jwks: {}: {problem}", file.display())))?;
        self.authenticator.set_jwt_verifier(Some(tokens));
        Ok(())
    }
}

fn listen_error(address: SocketAddr, source: std::io::Error) -> CommandError {
    let hint = match source.kind() {
        ErrorKind::AddrInUse => format!(
            "\nhint: another process uses port {}; choose another, such as --http {}:{}",
            address.port(),
            address.ip(),
            address.port().wrapping_add(1).max(1024)
        ),
        ErrorKind::PermissionDenied => {
            "\nhint: ports below 1024 need privileges; choose a higher one".to_owned()
        }
        _ => String::new(),
    };
    CommandError::Environment(format!("cannot listen on {address}: {source}{hint}"))
}

/// Listens with a long backlog: a connection that is dropped there is retried only after a second.
fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    const LISTEN_BACKLOG: u32 = 4096;
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // As `TcpListener::bind` does: a restarted server can reuse its port at once.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(LISTEN_BACKLOG)
}

async fn build_authenticator(
    config: &mut Config,
    database: &database::DatabaseHandle,
    address: SocketAddr,
    most: Scope,
) -> Result<(Authenticator, Option<Arc<dyn Store>>), CommandError> {
    let is_local = address.ip().is_loopback();
    if config.serving.no_auth {
        if !is_local {
            let why = format!(
                "--no-auth works on loopback only, and {address} is not loopback; create a key with `fluxway keys create`"
            );
            return Err(CommandError::Usage(why));
        }
        reject_public_names(&config.serving)?;
        return Ok((Authenticator::without_authentication(config.local_user()), None));
    }
    let store = database.store().await?;
    let has_key = store.has_usable_key(SystemClock.now()).await?;
    if !has_key && config.serving.tokens.is_none() {
        if !is_local {
            let why = format!(
                "cannot listen on {address}: no API key exists yet, so only loopback addresses are allowed. Create a key first:\n  \
                 fluxway keys create --scope write"
            );
            return Err(CommandError::Usage(why));
        }
        let how = "warning: no API key exists yet, so every call is rejected. Create one while the server runs:\n  \
                   fluxway keys create --scope write";
        announce(config.log_format, how);
    }
    let pepper = database::resolve_pepper(&mut config.serving, store.as_ref()).await?;
    let kept = || Arc::clone(&store) as Arc<dyn AccessStore>;
    let verifier = KeyVerifier::new(kept(), pepper).accept_test_keys(config.serving.test_keys);
    let authenticator =
        Authenticator::with_keys(verifier, RateLimiter::new(kept(), config.serving.rate), most);
    Ok((authenticator, Some(store)))
}

/// A public name means that a proxy or tunnel forwards calls from other machines, which --no-auth would accept.
fn reject_public_names(settings: &ServingSettings) -> Result<(), CommandError> {
    let named = match (&settings.public_url, settings.hosts.iter().find(|host| !is_local_name(host))) {
        (Some(url), _) => format!("--public-url {url}"),
        (None, Some(host)) => format!("--allow-host {host}"),
        (None, None) => return Ok(()),
    };
    Err(CommandError::Usage(format!(
        "--no-auth accepts calls without a key, but {named} makes the server reachable from other machines; drop --no-auth and \
         create keys with `fluxway keys create`, or drop the name to serve this machine only"
    )))
}

/// Whether a host, with its port or without, can only mean this machine.
fn is_local_name(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    };
    let name = name.trim_matches(['[', ']']);
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

fn load_tls(chain: &Path, key: &Path) -> Result<ReloadableTls, CommandError> {
    let (chain, key) = read_pem_files(chain, key)?;
    ReloadableTls::new(&chain, &key).map_err(CommandError::Usage)
}

fn read_pem_files(chain: &Path, key: &Path) -> Result<(Vec<u8>, Vec<u8>), CommandError> {
    Ok((read_small_file(chain)?, read_small_file(key)?))
}

/// Reads a small file that the settings name.
#[expect(clippy::disallowed_methods, reason = "certificates and keys are in no repository")]
fn read_small_file(path: &Path) -> Result<Vec<u8>, CommandError> {
    use std::io::Read;
    const MAX_FILE_BYTES: u64 = 1024 * 1024;
    let describe = || format!("cannot read {}", path.display());
    let file = std::fs::File::open(path).map_err(CommandError::io(describe()))?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(CommandError::io(describe()))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(CommandError::Usage(format!("{} is larger than {MAX_FILE_BYTES} bytes", path.display())));
    }
    Ok(bytes)
}
