//! `fluxway serve`.

use std::sync::Arc;
use std::time::Duration;

use server::{App, CheckPolicy, Scope};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::http::{Http, Live};
use super::kept;
use crate::config::{Config, Sources};
use crate::exit::{self, Failure};

/// How long the store may take to be closed.
const CLOSING: Duration = Duration::from_secs(3);
/// How often to look whether the program that started us is still there.
const WATCH_PARENT: Duration = Duration::from_secs(2);

pub(crate) fn run(config: Config, sources: Sources) -> Result<(), Failure> {
    // On a pipe the reader thread does the work, and tasks only wait: one thread is enough for them, and starts sooner.
    let mut runtime = match config.http {
        Some(_) => Builder::new_multi_thread(),
        None => Builder::new_current_thread(),
    };
    let runtime = runtime.enable_all().build().map_err(Failure::io("cannot start the runtime"))?;
    let has_store = config.http.is_some();
    config.warn_of_roots();
    let outcome = runtime.block_on(serve(config, sources));
    // Threads that wait for a client which is gone are not waited for; a store that has to be closed is.
    runtime.shutdown_timeout(if has_store { CLOSING } else { Duration::ZERO });
    outcome
}

async fn serve(mut config: Config, sources: Sources) -> Result<(), Failure> {
    exit::survive_file_limits();
    let stop = CancellationToken::new();
    if let Some(address) = config.http {
        let may_write = !config.read_only;
        let http = Http::prepare(config, address).await?;
        if may_write {
            http.app.clean_up_roots().await;
        }
        handle_signals(&http.app, Some(http.live.clone()), sources, &stop)?;
        return http.serve(stop).await;
    }
    let principal = config.local_user();
    let database = kept::Database::of(&config.serving);
    let flow = database.sessions(config.interactive, config.seal.is_some());
    let app = config
        .builder()
        .flow(flow)
        .projects(database.projects())
        // The user holds the other end of the pipe; their client asks them.
        .checks(CheckPolicy::ProposedPlans)
        .asks_client_roots(true)
        .build();
    if principal.may(Scope::Write) {
        app.clean_up_roots().await;
    }
    handle_signals(&app, None, sources, &stop)?;
    tokio::spawn(watch_parent(stop.clone()));
    let what = "the server could not start a thread; it may be out of memory or at a limit on processes";
    server::transport::stdio::serve(app, principal, stdin()?, stdout()?, stop)
        .await
        .map_err(Failure::io(what))
}

/// The pipe itself, without the buffers and locks of the standard library's handle.
fn stdin() -> Result<std::fs::File, Failure> {
    use std::os::fd::AsFd;
    std::io::stdin().as_fd().try_clone_to_owned().map(Into::into).map_err(Failure::io("cannot open stdin"))
}

fn stdout() -> Result<std::fs::File, Failure> {
    use std::os::fd::AsFd;
    std::io::stdout().as_fd().try_clone_to_owned().map(Into::into).map_err(Failure::io("cannot open stdout"))
}

fn handle_signals(
    app: &Arc<App>,
    live: Option<Live>,
    sources: Sources,
    stop: &CancellationToken,
) -> Result<(), Failure> {
    let on = |kind| signal(kind).map_err(Failure::io("cannot listen to signals"));
    let (mut terminate, mut interrupt, mut hang_up) =
        (on(SignalKind::terminate())?, on(SignalKind::interrupt())?, on(SignalKind::hangup())?);
    let (app, stop) = (Arc::clone(app), stop.clone());
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => end(&stop),
                _ = interrupt.recv() => end(&stop),
                _ = hang_up.recv() => reload(&app, live.as_ref(), &sources),
            }
        }
    });
    Ok(())
}

/// The first time, what runs may come to its end; whoever says it twice means at once.
fn end(stop: &CancellationToken) {
    if stop.is_cancelled() {
        tracing::warn!("told twice to end");
        std::process::exit(130);
    }
    stop.cancel();
}

/// Takes over what the settings say now, as far as it may change. Settings that are not usable change nothing.
fn reload(app: &App, live: Option<&Live>, sources: &Sources) {
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
            tokio::time::sleep(WATCH_PARENT).await;
        }
        tracing::info!("the parent process is gone");
        stop.cancel();
    }
}
