//! `fluxway serve`.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use server::{App, CheckPolicy, Scope};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::database;
use super::http::{PreparedHttpServer, ReloadHandle};
use crate::args::ServeArgs;
use crate::config::{Config, ConfigSources};
use crate::exit::{self, CommandError};

const STORE_CLOSE_TIMEOUT: Duration = Duration::from_secs(3);
const PARENT_CHECK_INTERVAL: Duration = Duration::from_secs(2);

pub(crate) fn run(config: Config, sources: ConfigSources, args: &ServeArgs) -> Result<(), CommandError> {
    // In the file it may be for another start of the server, with --http.
    if config.http.is_none() && args.serving.allows_anyone() {
        let why = "--no-auth is about HTTP and needs --http, such as --http localhost:8080; stdin and stdout need no keys";
        return Err(CommandError::Usage(why.to_owned()));
    }
    // On stdio the reader thread does the work and tasks only wait, so one runtime thread is enough and starts sooner.
    let mut runtime = match config.http {
        Some(_) => Builder::new_multi_thread(),
        None => Builder::new_current_thread(),
    };
    let runtime = runtime.enable_all().build().map_err(CommandError::io("cannot start the runtime"))?;
    let has_store = config.http.is_some();
    config.warn_about_roots();
    let outcome = runtime.block_on(serve(config, sources));
    // Do not wait for threads that still read from a client that is gone, but let a store be closed.
    runtime.shutdown_timeout(if has_store { STORE_CLOSE_TIMEOUT } else { Duration::ZERO });
    outcome
}

async fn serve(mut config: Config, sources: ConfigSources) -> Result<(), CommandError> {
    exit::ignore_file_size_signal();
    let stop = CancellationToken::new();
    if let Some(address) = config.http {
        let may_write = !config.read_only;
        let http = PreparedHttpServer::bind(config, address).await?;
        if may_write {
            http.app.recover_interrupted_plans().await;
        }
        handle_signals(&http.app, Some(http.reload_handle.clone()), sources, &stop)?;
        return http.serve(stop).await;
    }
    let principal = config.local_user();
    let root = config.roots.first().cloned();
    let database = database::DatabaseHandle::for_settings(&config.serving);
    let flow = database.flow_settings(config.interactive, config.seal.is_some());
    let app = config
        .app_builder()
        .flow(flow)
        .projects(database.project_opener())
        // The client is on the user's machine, and asks the user.
        .checks(CheckPolicy::ProposedPlans)
        .asks_client_roots(true)
        .build();
    if principal.has_scope(Scope::Write) {
        app.recover_interrupted_plans().await;
    }
    if std::io::stdin().is_terminal() {
        print_registration_hint(root);
    }
    handle_signals(&app, None, sources, &stop)?;
    tokio::spawn(watch_parent(stop.clone()));
    let what = "cannot start a thread; the machine may be out of memory or at its process limit";
    server::transport::stdio::serve(app, principal, stdin()?, stdout()?, stop)
        .await
        .map_err(CommandError::io(what))
}

/// A server that waits in silence looks broken to a user who typed the command.
fn print_registration_hint(root: Option<PathBuf>) {
    let program = std::env::args().next().unwrap_or_else(|| "fluxway".to_owned());
    let root = root.map_or_else(|| "DIR".to_owned(), |root| root.display().to_string());
    let quote = |text: &str| shlex::try_quote(text).map_or_else(|_| text.to_owned(), Into::into);
    exit::print_notice(&format!(
        "fluxway serves MCP on stdin and stdout, for {root}. It is meant to be started by an MCP client; Ctrl-D ends it.\n\
         To register it with Claude Code:\n  claude mcp add fluxway -- {} serve --root {}",
        quote(&program),
        quote(&root)
    ));
}

/// The pipe itself, without the buffers and locks of the standard library's handle.
fn stdin() -> Result<std::fs::File, CommandError> {
    use std::os::fd::AsFd;
    std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map(Into::into)
        .map_err(CommandError::io("cannot open stdin"))
}

fn stdout() -> Result<std::fs::File, CommandError> {
    use std::os::fd::AsFd;
    std::io::stdout()
        .as_fd()
        .try_clone_to_owned()
        .map(Into::into)
        .map_err(CommandError::io("cannot open stdout"))
}

fn handle_signals(
    app: &Arc<App>,
    live: Option<ReloadHandle>,
    sources: ConfigSources,
    stop: &CancellationToken,
) -> Result<(), CommandError> {
    let on = |kind| signal(kind).map_err(CommandError::io("cannot listen to signals"));
    let (mut terminate, mut interrupt, mut hang_up) =
        (on(SignalKind::terminate())?, on(SignalKind::interrupt())?, on(SignalKind::hangup())?);
    let (app, stop) = (Arc::clone(app), stop.clone());
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => request_stop(&stop),
                _ = interrupt.recv() => request_stop(&stop),
                _ = hang_up.recv() => reload(&app, live.as_ref(), &sources),
            }
        }
    });
    Ok(())
}

/// The first signal lets running calls finish; the second exits.
fn request_stop(stop: &CancellationToken) {
    if stop.is_cancelled() {
        tracing::warn!("second termination signal, exiting now");
        std::process::exit(130);
    }
    stop.cancel();
}

/// Applies the settings that may change at run time. Invalid settings change nothing.
fn reload(app: &App, live: Option<&ReloadHandle>, sources: &ConfigSources) {
    match Config::resolve(sources) {
        Ok(config) => {
            app.serve_toolsets(&config.toolsets);
            if let Some(live) = live {
                live.reload(&config.serving);
            }
        }
        Err(error) => tracing::error!(%error, "settings not reloaded, keeping the previous ones"),
    }
}

/// Stops when the parent process is gone: its end of the pipe may stay open in another child. The parent is looked up before
/// the task first runs, since it may exit in between.
fn watch_parent(stop: CancellationToken) -> impl Future<Output = ()> {
    let parent = std::os::unix::process::parent_id();
    async move {
        while std::os::unix::process::parent_id() == parent {
            tokio::time::sleep(PARENT_CHECK_INTERVAL).await;
        }
        tracing::info!("parent process exited");
        stop.cancel();
    }
}
