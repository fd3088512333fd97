//! The store, opened as the settings say; and the server's own secrets in it.

use std::io::ErrorKind;
use std::sync::Arc;

use server::access::{AccessStore, Pepper};
use server::flow::session::{MemorySessionStore, StoreError};
use server::{
    Clock, Entropy, FlowSettings, OsEntropy, ProjectStoreOpener, SealKey, SessionStoreOpener,
    SessionStoreResult, SystemClock, Timestamp, projects,
};
use store::{Store, StoreLocation, StoreOptions};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::OnceCell;

use crate::config::{ConfigError, InteractiveSettings, ServingSettings};
use crate::exit::CommandError;

/// Runs a command that works on the store. `now` is the time as stores keep it, to the microsecond.
///
/// Ctrl-C and SIGTERM end it where it waits, and what it holds is dropped; so it can clear up after itself. `stopped` says what
/// that means for this command.
pub(crate) fn run_with_store(
    database: &DatabaseHandle,
    stopped: &str,
    work: impl AsyncFnOnce(Arc<dyn Store>, Timestamp) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(CommandError::io("cannot start the runtime"))?.block_on(async {
        let on = |kind| signal(kind).map_err(CommandError::io("cannot handle signals"));
        let (mut interrupt, mut terminate) = (on(SignalKind::interrupt())?, on(SignalKind::terminate())?);
        let now = Timestamp::from_microsecond(SystemClock.now().as_microsecond()).unwrap_or_default();
        // Opening may take its time too, while others write.
        let work = async { work(database.store().await?, now).await };
        tokio::select! {
            done = work => done,
            _ = interrupt.recv() => Err(CommandError::Stopped(stopped.to_owned())),
            _ = terminate.recv() => Err(CommandError::Stopped(stopped.to_owned())),
        }
    })
}

/// The database that the settings name, opened when it is first needed: most servers on a pipe need none.
pub(crate) struct DatabaseHandle {
    location: Option<StoreLocation>,
    options: StoreOptions,
    store: OnceCell<Arc<dyn Store>>,
}

impl DatabaseHandle {
    pub(crate) fn for_settings(settings: &ServingSettings) -> Arc<Self> {
        let options = StoreOptions { ca_file: settings.database_ca.clone(), ..StoreOptions::default() };
        Arc::new(Self { location: settings.database.clone(), options, store: OnceCell::new() })
    }

    /// Refuses a file that is not there, and makes none.
    pub(crate) fn require_existing(&self) -> Result<(), CommandError> {
        let Some(StoreLocation::Sqlite(path)) = &self.location else { return Ok(()) };
        match path.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => Err(CommandError::Refused(format!(
                "there is no database {}, and none was made; --database names another one",
                path.display()
            ))),
            // Other problems are reported when it is opened.
            _ => Ok(()),
        }
    }

    pub(crate) async fn store(&self) -> Result<Arc<dyn Store>, CommandError> {
        let open = async || {
            let location = self.location.as_ref().ok_or(ConfigError::NoDataFolder)?;
            Ok::<_, CommandError>(store::open(location, &self.options).await?)
        };
        self.store.get_or_try_init(open).await.map(Arc::clone)
    }

    /// Interactive sessions in this database.
    pub(crate) fn flow_settings(
        self: &Arc<Self>,
        settings: InteractiveSettings,
        has_key: bool,
    ) -> FlowSettings {
        let InteractiveSettings { mode, limits } = settings;
        // What is gone with the process needs no database, and must not be called lasting.
        if matches!(self.location, None | Some(StoreLocation::Memory)) {
            return FlowSettings { mode, limits, store: None };
        }
        let database = Arc::clone(self);
        let open: SessionStoreOpener = Box::new(move || {
            let database = Arc::clone(&database);
            Box::pin(async move { database.open_sessions(has_key).await })
        });
        FlowSettings { mode, limits, store: Some(open) }
    }

    async fn open_sessions(&self, has_key: bool) -> SessionStoreResult {
        let store = match self.store().await {
            Ok(store) => store,
            // A home that cannot be written to is no reason to ask nothing.
            Err(error) if matches!(self.location, Some(StoreLocation::Sqlite(_))) => {
                tracing::warn!(%error, "interactive sessions end with this process");
                return Ok((Arc::new(MemorySessionStore::default()), None));
            }
            Err(error) => return Err(StoreError::Unreachable(error.to_string())),
        };
        if has_key {
            return Ok((store, None));
        }
        let broken = |error: CommandError| StoreError::Broken(error.to_string());
        let key =
            SealKey::from_bytes(load_or_create_secret(store.as_ref(), "seal_key").await.map_err(broken)?);
        Ok((store, Some(key)))
    }

    /// Projects in this database. One that cannot be opened is an error: writes must not be lost.
    pub(crate) fn project_opener(self: &Arc<Self>) -> ProjectStoreOpener {
        let database = Arc::clone(self);
        Box::new(move || {
            let database = Arc::clone(&database);
            Box::pin(async move {
                let unreachable = |error: CommandError| projects::StoreError::Unreachable(error.to_string());
                let store = database.store().await.map_err(unreachable)?;
                Ok(store.projects())
            })
        })
    }
}

/// The secret that keys are hashed with: the one in the settings, else the one in the store.
pub(crate) async fn resolve_pepper(
    settings: &mut ServingSettings,
    store: &dyn Store,
) -> Result<Pepper, CommandError> {
    match settings.pepper.take() {
        Some(pepper) => Ok(pepper),
        None => Ok(Pepper::new(load_or_create_secret(store, "key_pepper").await?)),
    }
}

/// The secret of this name. It is generated once, on first use.
pub(crate) async fn load_or_create_secret(store: &dyn Store, name: &str) -> Result<[u8; 32], CommandError> {
    let mut fresh = [0; 32];
    OsEntropy.fill(&mut fresh);
    let kept = AccessStore::get_or_insert_secret(store, name, &fresh).await?;
    kept.try_into().map_err(|_| {
        let why = format!("the secret `{name}` in the database is damaged");
        CommandError::AccessStore(server::access::StoreError::Broken(why))
    })
}
