//! `fluxway serve --http`: puts store, keys, limits and the server together.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use http_transport::{BodyLimits, Door, Guard, Metrics, Settings, Tls, Watcher};
use serde_json::json;
use server::access::{AccessStore, Gate, Limiter, Tokens};
use server::{App, CheckPolicy, Clock, Places, Scope, Seal, SealKey, SystemClock};
use store::Store;
use tokio::net::{TcpListener, TcpSocket};
use tokio_util::sync::CancellationToken;

use super::kept;
use crate::config::{Config, LogFormat, Serving};
use crate::exit::{Failure, tell};

/// A server that is ready to listen, and what of it can be changed while it runs.
pub(crate) struct Http {
    pub(crate) app: Arc<App>,
    pub(crate) live: Live,
    settings: Settings,
    listener: TcpListener,
    log_format: LogFormat,
}

/// Says something to whoever started the server, in the way that its logs are written.
fn say(format: LogFormat, text: &str) {
    match format {
        LogFormat::Text => tell(text),
        LogFormat::Json => {
            let timestamp = SystemClock.now().to_string();
            tell(&json!({ "timestamp": timestamp, "level": "INFO", "message": text }).to_string());
        }
    }
}

/// What can be changed while the server runs.
#[derive(Clone)]
pub(crate) struct Live {
    door: Arc<Door>,
    tls: Option<Tls>,
}

impl Http {
    /// Puts everything together and begins to listen. Whoever connects now waits.
    pub(crate) async fn prepare(mut config: Config, address: SocketAddr) -> Result<Self, Failure> {
        let metrics = Arc::new(Metrics::default());
        let (most, checks) = match (config.read_only, config.serving.allow_checks) {
            (true, _) => (Scope::Read, CheckPolicy::Never),
            (false, false) => (Scope::Admin, CheckPolicy::Never),
            (false, true) => (Scope::Execute, CheckPolicy::ProposedPlans),
        };
        let database = kept::Database::of(&config.serving);
        let (door, store) = door(&mut config, &database, address, most).await?;
        if let Some(store) = store.as_ref().filter(|_| config.seal.is_none()) {
            // Replicas must open what another has sealed, and a restart must not end what clients keep.
            config.seal = Some(Seal::new(SealKey::of(kept::secret(store.as_ref(), "seal_key").await?)));
        }
        let places = Places { streams: config.serving.streams, ..Places::default() };
        let flow = database.sessions(config.interactive, config.seal.is_some());
        let watcher = Arc::new(Watcher(Arc::clone(&metrics)));
        let app = config
            .builder()
            .observer(watcher)
            .places(places)
            .checks(checks)
            .flow(flow)
            .projects(database.projects())
            .build();
        if store.is_some() {
            app.open_sessions().await;
        }
        let serving = &config.serving;
        let tls = serving.tls.as_ref().map(|(chain, key)| tls(chain, key)).transpose()?;
        let live = Live { door: Arc::new(door), tls: tls.clone() };
        live.read_tokens(serving)?;
        let listener = listen(address).map_err(Failure::io(format!("cannot listen on {address}")))?;
        let listening = listener.local_addr().map_err(Failure::io("cannot listen"))?;
        let settings = Settings {
            app: Arc::clone(&app),
            door: Arc::clone(&live.door),
            guard: Guard::new(listening, &serving.hosts, &serving.origins),
            metrics,
            store: store.map(|store| store as Arc<dyn AccessStore>),
            public_url: serving.public_url.clone(),
            tls,
            connections: serving.connections,
            bodies: BodyLimits::new(serving.body_memory, app.longest_message()),
            proxies: serving.proxies.clone(),
        };
        if settings.tls.is_none() && !listening.ip().is_loopback() {
            tracing::warn!("keys travel in the clear unless a proxy in front of this server speaks TLS");
        }
        Ok(Self { app, live, settings, listener, log_format: config.log_format })
    }

    /// Serves until `stop`.
    pub(crate) async fn serve(self, stop: CancellationToken) -> Result<(), Failure> {
        // Whoever asked for port 0 has to learn which one it became.
        let listening = self.listener.local_addr().map_err(Failure::io("cannot listen"))?;
        let scheme = if self.settings.tls.is_some() { "https" } else { "http" };
        let text = format!("fluxway listens on {scheme}://{listening}/mcp (and /api/mcp, /ws, /sse)");
        say(self.log_format, &text);
        http_transport::serve(self.settings, self.listener, stop).await.map_err(Failure::io("cannot serve"))
    }
}

impl Live {
    /// Takes over what may change: limits, keys for tokens, certificates. What cannot be used stays as it was.
    pub(crate) fn reload(&self, serving: &Serving) {
        self.door.set_rate(serving.rate);
        if let Err(error) = self.read_tokens(serving) {
            tracing::error!(%error, "kept the keys for tokens as they were");
        }
        if let (Some(tls), Some((chain, key))) = (&self.tls, &serving.tls)
            && let Err(error) =
                pem(chain, key).and_then(|(chain, key)| tls.replace(&chain, &key).map_err(Failure::Usage))
        {
            tracing::error!(%error, "kept the certificate as it was");
        }
    }

    fn read_tokens(&self, serving: &Serving) -> Result<(), Failure> {
        let Some((trust, file)) = &serving.tokens else {
            self.door.set_tokens(None);
            return Ok(());
        };
        let text = read(file)?;
        let text = String::from_utf8_lossy(&text);
        let tokens = Tokens::new(trust.clone(), &text)
            .map_err(|problem| Failure::Usage(format!("jwks: {}: {problem}", file.display())))?;
        self.door.set_tokens(Some(tokens));
        Ok(())
    }
}

/// Listens, with room for many who come at once: a connection that finds none tries again only after a second.
fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    const WAITING: u32 = 4096;
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // As `TcpListener::bind` does: the port of a server that was just stopped can be used again.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(WAITING)
}

/// Who is let in, and the store that knows them.
async fn door(
    config: &mut Config,
    database: &kept::Database,
    address: SocketAddr,
    most: Scope,
) -> Result<(Door, Option<Arc<dyn Store>>), Failure> {
    let is_local = address.ip().is_loopback();
    if config.serving.no_auth {
        if !is_local {
            let why = format!(
                "--no-auth is for loopback alone, and {address} is not; make a key with `fluxway keys create`"
            );
            return Err(Failure::Usage(why));
        }
        refuse_others(&config.serving)?;
        return Ok((Door::open(config.local_user()), None));
    }
    let store = database.store().await?;
    let has_key = store.has_usable_key(SystemClock.now()).await?;
    if !has_key && config.serving.tokens.is_none() {
        if !is_local {
            let why = format!(
                "there is no key yet, and without one the server listens on loopback alone, not on {address}; make one with \
                 `fluxway keys create --scope read,write`"
            );
            return Err(Failure::Usage(why));
        }
        let how = "There is no key yet, so nobody can call. `fluxway keys create` makes one; the server need not be restarted.";
        say(config.log_format, how);
    }
    let pepper = kept::pepper(&mut config.serving, store.as_ref()).await?;
    let kept = || Arc::clone(&store) as Arc<dyn AccessStore>;
    let gate = Gate::new(kept(), pepper).accept_test_keys(config.serving.test_keys);
    let door = Door::with_keys(gate, Limiter::new(kept(), config.serving.rate), most);
    Ok((door, Some(store)))
}

/// Without keys the server is for this machine alone. A name that others call it by says that a proxy or a tunnel brings them
/// here, and they would all be let in.
fn refuse_others(serving: &Serving) -> Result<(), Failure> {
    let named = match (&serving.public_url, serving.hosts.iter().find(|host| !is_local_name(host))) {
        (Some(url), _) => format!("--public-url {url}"),
        (None, Some(host)) => format!("--allow-host {host}"),
        (None, None) => return Ok(()),
    };
    Err(Failure::Usage(format!(
        "--no-auth lets everybody in without a key, and {named} is how others than this machine reach the server; leave out \
         --no-auth and make keys with `fluxway keys create`, or leave out the name to serve this machine alone"
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

fn tls(chain: &Path, key: &Path) -> Result<Tls, Failure> {
    let (chain, key) = pem(chain, key)?;
    Tls::new(&chain, &key).map_err(Failure::Usage)
}

fn pem(chain: &Path, key: &Path) -> Result<(Vec<u8>, Vec<u8>), Failure> {
    Ok((read(chain)?, read(key)?))
}

/// Reads a small file that the settings name.
#[expect(clippy::disallowed_methods, reason = "certificates and keys lie in no repository")]
fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    use std::io::Read;
    const MOST: u64 = 1024 * 1024;
    let describe = || format!("cannot read {}", path.display());
    let file = std::fs::File::open(path).map_err(Failure::io(describe()))?;
    let mut bytes = Vec::new();
    file.take(MOST + 1).read_to_end(&mut bytes).map_err(Failure::io(describe()))?;
    if bytes.len() as u64 > MOST {
        return Err(Failure::Usage(format!("{} is larger than {MOST} bytes", path.display())));
    }
    Ok(bytes)
}
