//! Projects as a caller has them: those of their account, or the one that their key is good for.

use std::pin::Pin;
use std::sync::Arc;

use flow::Entropy;
use jiff::Timestamp;
use projects::{
    Account, EntityKind, Error, IdSeed, Project, ProjectId, ProjectRejection, ProjectStore, ProjectWrite,
    StoreError,
};
use tokio::sync::{OnceCell, Semaphore, broadcast};

use crate::error::RequestError;
use crate::rpc::subscriptions::{ChangeEvent, ChangedProject};
use crate::{ToolContext, blocking};

/// What opening a store of projects comes to.
pub type ProjectStoreResult = Result<ProjectStore, StoreError>;

/// Opens the store of projects when the first call needs it.
pub type ProjectStoreOpener =
    Box<dyn Fn() -> Pin<Box<dyn Future<Output = ProjectStoreResult> + Send>> + Send + Sync>;

/// The store of everybody's projects, opened when it is first needed: most servers on a pipe have none.
pub(crate) struct LazyProjectStore {
    open: Option<ProjectStoreOpener>,
    store: OnceCell<ProjectStore>,
    changes: broadcast::Sender<ChangeEvent>,
    /// Work that takes a core for itself is done by so many at a time.
    blocking_permits: Arc<Semaphore>,
}

/// How many work aside at a time.
const MAX_BLOCKING_JOBS: usize = 4;

impl LazyProjectStore {
    /// Without a way to open one, every call that needs it fails.
    pub(crate) fn new(open: Option<ProjectStoreOpener>, changes: broadcast::Sender<ChangeEvent>) -> Self {
        Self {
            open,
            store: OnceCell::new(),
            changes,
            blocking_permits: Arc::new(Semaphore::new(MAX_BLOCKING_JOBS)),
        }
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
pub(crate) struct WriteOptions {
    /// The revision that the caller has read.
    pub(crate) if_revision: Option<u64>,
    /// Tell what would happen, and do nothing.
    pub(crate) dry_run: bool,
}

/// What of a project has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProjectChange {
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
pub(crate) struct ProjectScope {
    store: ProjectStore,
    pub(crate) account: Account,
    bound_project: Option<String>,
    now: Timestamp,
    entropy: Arc<dyn Entropy>,
    changes: broadcast::Sender<ChangeEvent>,
    blocking_permits: Arc<Semaphore>,
}

impl ProjectScope {
    /// The scope of the caller.
    pub(crate) async fn for_call(call: &ToolContext) -> Result<Self, RequestError> {
        Ok(Self {
            store: call.projects.store().await?,
            account: Account::new(call.principal.tenant()),
            bound_project: call.principal.project().map(str::to_owned),
            now: call.now,
            entropy: Arc::clone(&call.entropy),
            changes: call.projects.changes.clone(),
            blocking_permits: Arc::clone(&call.projects.blocking_permits),
        })
    }

    /// Does `work` on another thread, as soon as there is a place: all tokens or all blocks of a project are
    /// a matter of milliseconds, which should not block other callers.
    pub(crate) async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, RequestError> + Send + 'static,
    ) -> Result<T, RequestError> {
        blocking::run_with_permit(&self.blocking_permits, work).await
    }

    /// The time of the call.
    pub(crate) const fn now(&self) -> Timestamp {
        self.now
    }

    pub(crate) fn store(&self) -> &ProjectStore {
        &self.store
    }

    /// The id of a project that the caller may see. One that they may not is as absent as one that is not
    /// there.
    pub(crate) fn resolve_project_id(&self, id: &str) -> Result<ProjectId, RequestError> {
        match &self.bound_project {
            Some(only) if only != id => Err(ProjectRejection::not_found(EntityKind::Project, id).into()),
            _ => Ok(ProjectId::parse(id)?),
        }
    }

    /// The one project that there is for this caller.
    pub(crate) fn bound_project(&self) -> Option<&str> {
        self.bound_project.as_deref()
    }

    /// A write to a project, now.
    pub(crate) fn write(&self, project: &ProjectId, options: WriteOptions) -> ProjectWrite {
        let WriteOptions { if_revision, dry_run } = options;
        ProjectWrite {
            account: self.account.clone(),
            project: project.clone(),
            if_revision,
            dry_run,
            now: self.now,
        }
    }

    /// The project that a write is to be about, if it can be made from where it stands.
    pub(crate) async fn load_for_write(
        &self,
        id: &str,
        options: WriteOptions,
    ) -> Result<Project, RequestError> {
        let id = self.resolve_project_id(id)?;
        let project = self.store.project(&self.account, &id).await?;
        project.check_revision(&self.write(&id, options))?;
        Ok(project)
    }

    /// What the ids of new things are made from.
    pub(crate) fn seed(&self) -> IdSeed {
        let mut seed = [0; 16];
        self.entropy.fill(&mut seed);
        IdSeed(seed)
    }

    /// Tells those of the account who listen that something has changed, unless it was only tried.
    pub(crate) fn notify(&self, project: &ProjectId, changed: ProjectChange, options: WriteOptions) {
        if options.dry_run {
            return;
        }
        let whose = ChangedProject { tenant: self.account.as_str().into(), project: project.as_str().into() };
        // There may be no listeners.
        let _ = self.changes.send(ChangeEvent::Project { project: whose, change: changed });
    }
}
