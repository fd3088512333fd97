//! Projects as a caller has them: those of their account, or the one that their key is good for.

use std::pin::Pin;
use std::sync::Arc;

use flow::Entropy;
use jiff::Timestamp;
use projects::{Account, Error, Noun, Project, ProjectId, ProjectStore, Refusal, Seed, StoreError, Write};
use tokio::sync::{OnceCell, Semaphore, broadcast};

use crate::error::Failure;
use crate::rpc::subscriptions::{News, Whose};
use crate::{Call, blocking};

/// What opening a store of projects comes to.
pub type OpenedProjects = Result<ProjectStore, StoreError>;

/// Opens the store of projects when the first call needs it.
pub type OpenProjects = Box<dyn Fn() -> Pin<Box<dyn Future<Output = OpenedProjects> + Send>> + Send + Sync>;

/// The store of everybody's projects, opened when it is first needed: most servers on a pipe have none.
pub(crate) struct Shelves {
    open: Option<OpenProjects>,
    store: OnceCell<ProjectStore>,
    news: broadcast::Sender<News>,
    /// Work that takes a core for itself is done by so many at a time.
    places: Arc<Semaphore>,
}

/// How many work aside at a time.
const PLACES: usize = 4;

impl Shelves {
    /// Without a way to open one, every call that needs it fails.
    pub(crate) fn new(open: Option<OpenProjects>, news: broadcast::Sender<News>) -> Self {
        Self { open, store: OnceCell::new(), news, places: Arc::new(Semaphore::new(PLACES)) }
    }

    async fn store(&self) -> Result<ProjectStore, Error> {
        let open = async || match &self.open {
            Some(open) => open().await,
            None => Err(StoreError::Broken("this server was given no store of projects".to_owned())),
        };
        Ok(self.store.get_or_try_init(open).await?.clone())
    }
}

/// How a write is guarded: what every tool that writes takes besides what it is about.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Guard {
    /// The revision that the caller has read.
    pub(crate) if_revision: Option<u64>,
    /// Tell what would happen, and do nothing.
    pub(crate) dry_run: bool,
}

/// What of a project has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Changed {
    /// It is new or gone.
    List,
    /// What it is called.
    Name,
    /// What else it says of itself, or its revision alone.
    Project,
    /// Its design system.
    Design,
    /// The asset of this id.
    Asset(Arc<str>),
    /// Its name, its design system and its assets.
    Everything,
}

/// What one caller has.
#[derive(Clone)]
pub(crate) struct Desk {
    store: ProjectStore,
    pub(crate) account: Account,
    only: Option<String>,
    now: Timestamp,
    entropy: Arc<dyn Entropy>,
    news: broadcast::Sender<News>,
    places: Arc<Semaphore>,
}

impl Desk {
    /// The desk of whoever makes this call.
    pub(crate) async fn of(call: &Call) -> Result<Self, Failure> {
        Ok(Self {
            store: call.projects.store().await?,
            account: Account::new(call.principal.tenant()),
            only: call.principal.project().map(str::to_owned),
            now: call.now,
            entropy: Arc::clone(&call.entropy),
            news: call.projects.news.clone(),
            places: Arc::clone(&call.projects.places),
        })
    }

    /// Does `work` on another thread, as soon as there is a place: all tokens or all blocks of a project are a matter of
    /// milliseconds, for which nobody else should have to wait.
    pub(crate) async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        blocking::aside(&self.places, work).await
    }

    /// The time of the call.
    pub(crate) const fn now(&self) -> Timestamp {
        self.now
    }

    pub(crate) fn store(&self) -> &ProjectStore {
        &self.store
    }

    /// The id of a project that the caller may see. One that they may not is as absent as one that is not there.
    pub(crate) fn project(&self, id: &str) -> Result<ProjectId, Failure> {
        match &self.only {
            Some(only) if only != id => Err(Refusal::not_found(Noun::Project, id).into()),
            _ => Ok(ProjectId::parse(id)?),
        }
    }

    /// The one project that there is for this caller.
    pub(crate) fn only(&self) -> Option<&str> {
        self.only.as_deref()
    }

    /// A write to a project, now.
    pub(crate) fn write(&self, project: &ProjectId, guard: Guard) -> Write {
        let Guard { if_revision, dry_run } = guard;
        Write { account: self.account.clone(), project: project.clone(), if_revision, dry_run, now: self.now }
    }

    /// The project that a write is to be about, if it can be made from where it stands.
    pub(crate) async fn look(&self, id: &str, guard: Guard) -> Result<Project, Failure> {
        let id = self.project(id)?;
        let project = self.store.project(&self.account, &id).await?;
        project.admit(&self.write(&id, guard))?;
        Ok(project)
    }

    /// What the ids of new things are made from.
    pub(crate) fn seed(&self) -> Seed {
        let mut seed = [0; 16];
        self.entropy.fill(&mut seed);
        Seed(seed)
    }

    /// Tells those of the account who listen that something has changed, unless it was only tried.
    pub(crate) fn tell(&self, project: &ProjectId, changed: Changed, guard: Guard) {
        if guard.dry_run {
            return;
        }
        let whose = Whose { tenant: self.account.as_str().into(), project: project.as_str().into() };
        // Nobody may be listening.
        let _ = self.news.send(News::Project { whose, changed });
    }
}
