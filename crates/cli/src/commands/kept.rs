//! The store, opened as the settings say; and the server's own secrets in it.

use std::io::ErrorKind;
use std::sync::Arc;

use server::access::{AccessStore, Pepper};
use server::flow::session::{Memory, StoreError};
use server::{
    Clock, Entropy, FlowSettings, OpenProjects, OpenSessions, OpenedSessions, OsEntropy, SealKey,
    SystemClock, Timestamp, projects,
};
use store::{Location, Options, Store};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::OnceCell;

use crate::config::{ConfigError, Interactive, Serving};
use crate::exit::Failure;

/// Runs a command that works on the store and serves nobody. `now` is the time as stores keep it, to the microsecond.
///
/// Ctrl-C and SIGTERM end it where it waits, and what it holds is dropped; so it can clear up after itself. `stopped` says what
/// that means for this command.
pub(crate) fn with_store(
    database: &Database,
    stopped: &str,
    work: impl AsyncFnOnce(Arc<dyn Store>, Timestamp) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(Failure::io("cannot start the runtime"))?.block_on(async {
        let on = |kind| signal(kind).map_err(Failure::io("cannot handle signals"));
        let (mut interrupt, mut terminate) = (on(SignalKind::interrupt())?, on(SignalKind::terminate())?);
        let now = Timestamp::from_microsecond(SystemClock.now().as_microsecond()).unwrap_or_default();
        // Opening may take its time too, while others write.
        let work = async { work(database.store().await?, now).await };
        tokio::select! {
            done = work => done,
            _ = interrupt.recv() => Err(Failure::Stopped(stopped.to_owned())),
            _ = terminate.recv() => Err(Failure::Stopped(stopped.to_owned())),
        }
    })
}

/// The database that the settings name, opened when it is first needed: most servers on a pipe need none.
pub(crate) struct Database {
    location: Option<Location>,
    options: Options,
    store: OnceCell<Arc<dyn Store>>,
}

impl Database {
    pub(crate) fn of(serving: &Serving) -> Arc<Self> {
        let options = Options { ca_file: serving.database_ca.clone(), ..Options::default() };
        Arc::new(Self { location: serving.database.clone(), options, store: OnceCell::new() })
    }

    /// Refuses a file that is not there, and makes none.
    pub(crate) fn must_exist(&self) -> Result<(), Failure> {
        let Some(Location::Sqlite(path)) = &self.location else { return Ok(()) };
        match path.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => Err(Failure::Refused(format!(
                "there is no database {}, and none was made; --database names another one",
                path.display()
            ))),
            // Whatever else is wrong with it, whoever opens it says so.
            _ => Ok(()),
        }
    }

    pub(crate) async fn store(&self) -> Result<Arc<dyn Store>, Failure> {
        let open = async || {
            let location = self.location.as_ref().ok_or(ConfigError::NoDataFolder)?;
            Ok::<_, Failure>(store::open(location, &self.options).await?)
        };
        self.store.get_or_try_init(open).await.map(Arc::clone)
    }

    /// Interactive sessions in this database.
    pub(crate) fn sessions(self: &Arc<Self>, interactive: Interactive, has_key: bool) -> FlowSettings {
        let Interactive { mode, limits } = interactive;
        // What is gone with the process needs no database, and must not be called lasting.
        if matches!(self.location, None | Some(Location::Memory)) {
            return FlowSettings { mode, limits, store: None };
        }
        let database = Arc::clone(self);
        let open: OpenSessions = Box::new(move || {
            let database = Arc::clone(&database);
            Box::pin(async move { database.open_sessions(has_key).await })
        });
        FlowSettings { mode, limits, store: Some(open) }
    }

    async fn open_sessions(&self, has_key: bool) -> OpenedSessions {
        let store = match self.store().await {
            Ok(store) => store,
            // A home that cannot be written to is no reason to ask nothing.
            Err(error) if matches!(self.location, Some(Location::Sqlite(_))) => {
                tracing::warn!(%error, "interactive sessions end with this process");
                return Ok((Arc::new(Memory::default()), None));
            }
            Err(error) => return Err(StoreError::Unreachable(error.to_string())),
        };
        if has_key {
            return Ok((store, None));
        }
        let broken = |error: Failure| StoreError::Broken(error.to_string());
        let key = SealKey::of(secret(store.as_ref(), "seal_key").await.map_err(broken)?);
        Ok((store, Some(key)))
    }

    /// Projects in this database. One that cannot be opened is an error: nobody wants to lose what they write.
    pub(crate) fn projects(self: &Arc<Self>) -> OpenProjects {
        let database = Arc::clone(self);
        Box::new(move || {
            let database = Arc::clone(&database);
            Box::pin(async move {
                let unreachable = |error: Failure| projects::StoreError::Unreachable(error.to_string());
                let store = database.store().await.map_err(unreachable)?;
                Ok(store.projects())
            })
        })
    }
}

/// The secret that keys are hashed with: the one in the settings, else the one in the store.
pub(crate) async fn pepper(serving: &mut Serving, store: &dyn Store) -> Result<Pepper, Failure> {
    match serving.pepper.take() {
        Some(pepper) => Ok(pepper),
        None => Ok(Pepper::new(secret(store, "key_pepper").await?)),
    }
}

/// The secret of this name. It is drawn once, by whoever needs it first.
pub(crate) async fn secret(store: &dyn Store, name: &str) -> Result<[u8; 32], Failure> {
    let mut fresh = [0; 32];
    OsEntropy.fill(&mut fresh);
    let kept = AccessStore::secret(store, name, &fresh).await?;
    kept.try_into().map_err(|_| {
        let why = format!("the secret `{name}` in the database is damaged");
        Failure::Kept(server::access::StoreError::Broken(why))
    })
}
