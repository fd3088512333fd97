//! `fluxway serve`.

use std::sync::Arc;
use std::time::Duration;

use server::{App, CheckPolicy, Scope};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::database;
use super::http::{PreparedHttpServer, ReloadHandle};
use crate::config::{Config, ConfigSources};
use crate::exit::{self, CommandError};

/// How long the store may take to be closed.
const STORE_CLOSE_TIMEOUT: Duration = Duration::from_secs(3);
/// How often to look whether the program that started us is still there.
const PARENT_CHECK_INTERVAL: Duration = Duration::from_secs(2);

pub(crate) fn run(config: Config, sources: ConfigSources) -> Result<(), CommandError> {
    // On a pipe the reader thread does the work, and tasks only wait: one thread is enough for them, and starts sooner.
    let mut runtime = match config.http {
        Some(_) => Builder::new_multi_thread(),
        None => Builder::new_current_thread(),
    };
    let runtime = runtime.enable_all().build().map_err(CommandError::io("cannot start the runtime"))?;
    let has_store = config.http.is_some();
    config.warn_about_roots();
    let outcome = runtime.block_on(serve(config, sources));
    // Threads that wait for a client which is gone are not waited for; a store that has to be closed is.
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
    let database = database::DatabaseHandle::for_settings(&config.serving);
    let flow = database.flow_settings(config.interactive, config.seal.is_some());
    let app = config
        .app_builder()
        .flow(flow)
        .projects(database.project_opener())
        // The user holds the other end of the pipe; their client asks them.
        .checks(CheckPolicy::ProposedPlans)
        .asks_client_roots(true)
        .build();
    if principal.has_scope(Scope::Write) {
        app.recover_interrupted_plans().await;
    }
    handle_signals(&app, None, sources, &stop)?;
    tokio::spawn(watch_parent(stop.clone()));
    let what = "the server could not start a thread; it may be out of memory or at a limit on processes";
    server::transport::stdio::serve(app, principal, stdin()?, stdout()?, stop)
        .await
        .map_err(CommandError::io(what))
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

/// The first time, what runs may come to its end; whoever says it twice means at once.
fn request_stop(stop: &CancellationToken) {
    if stop.is_cancelled() {
        tracing::warn!("told twice to end");
        std::process::exit(130);
    }
    stop.cancel();
}

/// Takes over what the settings say now, as far as it may change. Settings that are not usable change nothing.
fn reload(app: &App, live: Option<&ReloadHandle>, sources: &ConfigSources) {
    match Config::resolve(sources) {
        Ok(config) => {
            app.serve_toolsets(&config.toolsets);
            if let Some(live) = live {
                live.reload(&config.serving);
            }
        }
        Err(error) => tracing::error!(%error, "kept the settings as they were"),
    }
}

/// Stops when the program that started this one is gone: its end of the pipe may live on in another child. Who that was
/// is asked at once, not when the task first runs: by then it may be gone already, and nobody would notice.
fn watch_parent(stop: CancellationToken) -> impl Future<Output = ()> {
    let parent = std::os::unix::process::parent_id();
    async move {
        while std::os::unix::process::parent_id() == parent {
            tokio::time::sleep(PARENT_CHECK_INTERVAL).await;
        }
        tracing::info!("the parent process is gone");
        stop.cancel();
    }
}
