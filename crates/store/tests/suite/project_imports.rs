//! Imports while others look, and imports that nobody waits for any more.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use projects::{
    Digest, Error, ImportSource, ImportedVersion, Page, ProjectHistory, ProjectId, ProjectImport,
    ProjectRejection, ProjectStore, Version,
};

use crate::harness::TestDatabase;
use crate::project_fixture::{ann, create_populated_project, write};

/// The parts of a project. Whoever asks for one waits until it is let through, or is sent away.
struct GatedImportSource {
    asked: Sender<()>,
    may_pass: Mutex<Receiver<bool>>,
    version: ImportedVersion,
    bytes: Vec<u8>,
}

impl GatedImportSource {
    fn wait_for_gate<T>(&self, part: T) -> Result<T, ProjectRejection> {
        self.asked.send(()).unwrap();
        let may_pass = self.may_pass.lock().unwrap().recv().unwrap();
        if may_pass { Ok(part) } else { Err(ProjectRejection::invalid("", "nobody waits any more")) }
    }
}

impl ImportSource for GatedImportSource {
    fn version(&self, _: u32) -> Result<ImportedVersion, ProjectRejection> {
        self.wait_for_gate(self.version.clone())
    }

    fn bytes(&self, _: &Digest) -> Result<Vec<u8>, ProjectRejection> {
        self.wait_for_gate(self.bytes.clone())
    }
}

/// Both sides of the gate of a project that was in the store, and is not any more.
async fn gated_import(store: &ProjectStore) -> (ProjectId, ProjectImport, Receiver<()>, Sender<bool>) {
    let id = create_populated_project(store, "ann", 1).await;
    let project = store.project(&ann(), &id).await.unwrap();
    let (Version { note, created, revision, .. }, content) = store.version(&ann(), &id, 1).await.unwrap();
    let bytes = store.asset_bytes(&ann(), &id, &content.assets[0].digest).await.unwrap();
    let draft = store.content(&ann(), &id).await.unwrap().value;
    store.delete_project(write("ann", &id)).await.unwrap();
    let ((asked, is_asked), (pass, may_pass)) = (channel(), channel());
    let version = ImportedVersion { note, created, revision, content };
    let parts = Arc::new(GatedImportSource { asked, may_pass: Mutex::new(may_pass), version, bytes });
    let import = ProjectImport {
        id: id.clone(),
        history: ProjectHistory::from_project(&project, BTreeSet::from([1])),
        slug: Some(project.fields.slug),
        content: draft,
        source: parts,
    };
    (id, import, is_asked, pass)
}

/// Waits without keeping others from their work.
async fn wait_until_asked(gate: Receiver<()>) -> Receiver<()> {
    let wait = move || {
        gate.recv().unwrap();
        gate
    };
    tokio::task::spawn_blocking(wait).await.unwrap()
}

async fn is_absent(store: &ProjectStore, id: &ProjectId) -> bool {
    let found = store.project(&ann(), id).await;
    assert_eq!(store.list_projects(&ann(), Page::ALL).await.unwrap().items.len(), usize::from(found.is_ok()));
    assert_eq!(store.accounts().await.unwrap().len(), usize::from(found.is_ok()));
    matches!(found, Err(Error::Rejected(ProjectRejection::NotFound { .. })))
}

/// Parts of a project whose times are finer than those that are kept.
struct NanosecondImportSource(Arc<dyn ImportSource>);

const EXTRA_NANOSECONDS: Duration = Duration::from_nanos(999);

impl ImportSource for NanosecondImportSource {
    fn version(&self, number: u32) -> Result<ImportedVersion, ProjectRejection> {
        let version = self.0.version(number)?;
        Ok(ImportedVersion { created: version.created + EXTRA_NANOSECONDS, ..version })
    }

    fn bytes(&self, digest: &Digest) -> Result<Vec<u8>, ProjectRejection> {
        self.0.bytes(digest)
    }
}

async fn imported_times_are_truncated_to_microseconds(database: &TestDatabase) {
    let store = database.open_projects().await;
    let (id, mut import, _gate, pass) = gated_import(&store).await;
    let (created, updated, asset) =
        (import.history.created, import.history.updated, &mut import.content.assets[0]);
    let put = asset.created;
    asset.created += EXTRA_NANOSECONDS;
    import.history.created += EXTRA_NANOSECONDS;
    import.history.updated += EXTRA_NANOSECONDS;
    import.source = Arc::new(NanosecondImportSource(import.source));
    for _ in 0..2 {
        pass.send(true).unwrap();
    }
    let project = store.import_project(&ann(), import).await.unwrap();
    assert_eq!((project.created, project.updated), (created, updated));
    assert_eq!(store.project(&ann(), &id).await.unwrap(), project);
    assert_eq!(store.content(&ann(), &id).await.unwrap().value.assets[0].created, put);
    // Publishing was the last that was written.
    assert_eq!(store.version(&ann(), &id, 1).await.unwrap().0.created, updated);
}

async fn running_import_is_invisible_to_readers(database: &TestDatabase) {
    let (store, other) = (database.open_projects().await, database.open_projects().await);
    let (id, import, mut gate, pass) = gated_import(&store).await;
    let importing = tokio::spawn(async move { store.import_project(&ann(), import).await });
    for _part in ["the bytes of its asset", "its version"] {
        gate = wait_until_asked(gate).await;
        assert!(is_absent(&other, &id).await);
        pass.send(true).unwrap();
    }
    let project = importing.await.unwrap().unwrap();
    assert_eq!(other.project(&ann(), &id).await.unwrap(), project);
}

async fn abandoned_import_leaves_nothing(database: &TestDatabase) {
    let (store, other) = (database.open_projects().await, database.open_projects().await);
    let (id, import, gate, pass) = gated_import(&store).await;
    let again = import.clone();
    let worker = store.clone();
    let importing = tokio::spawn(async move { worker.import_project(&ann(), import).await });
    let gate = wait_until_asked(gate).await;
    importing.abort();
    pass.send(false).unwrap();
    assert!(importing.await.map_or(true, |refused| refused.is_err()));
    assert!(is_absent(&other, &id).await);
    // It stands in nobody's way.
    for _ in 0..2 {
        pass.send(true).unwrap();
    }
    store.import_project(&ann(), again).await.unwrap();
    assert!(!is_absent(&other, &id).await);
    drop(gate);
}

test_on_both_databases!(
    imported_times_are_truncated_to_microseconds,
    running_import_is_invisible_to_readers,
    abandoned_import_leaves_nothing
);
