//! Imports while others look, and imports that nobody waits for any more.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use projects::{
    Digest, Error, Import, ImportedVersion, Page, Parts, Past, ProjectId, ProjectStore, Refusal, Version,
};

use crate::harness::Place;
use crate::project_desk::{ann, fill, write};

/// The parts of a project. Whoever asks for one waits until it is let through, or is sent away.
struct Gate {
    asked: Sender<()>,
    may_pass: Mutex<Receiver<bool>>,
    version: ImportedVersion,
    bytes: Vec<u8>,
}

impl Gate {
    fn pass<T>(&self, part: T) -> Result<T, Refusal> {
        self.asked.send(()).unwrap();
        let may_pass = self.may_pass.lock().unwrap().recv().unwrap();
        if may_pass { Ok(part) } else { Err(Refusal::invalid("", "nobody waits any more")) }
    }
}

impl Parts for Gate {
    fn version(&self, _: u32) -> Result<ImportedVersion, Refusal> {
        self.pass(self.version.clone())
    }

    fn bytes(&self, _: &Digest) -> Result<Vec<u8>, Refusal> {
        self.pass(self.bytes.clone())
    }
}

/// Both sides of the gate of a project that was in the store, and is not any more.
async fn gated(store: &ProjectStore) -> (ProjectId, Import, Receiver<()>, Sender<bool>) {
    let id = fill(store, "ann", 1).await;
    let project = store.project(&ann(), &id).await.unwrap();
    let (Version { note, created, revision, .. }, content) = store.version(&ann(), &id, 1).await.unwrap();
    let bytes = store.asset_bytes(&ann(), &id, &content.assets[0].digest).await.unwrap();
    let draft = store.content(&ann(), &id).await.unwrap().value;
    store.delete_project(write("ann", &id)).await.unwrap();
    let ((asked, is_asked), (pass, may_pass)) = (channel(), channel());
    let version = ImportedVersion { note, created, revision, content };
    let parts = Arc::new(Gate { asked, may_pass: Mutex::new(may_pass), version, bytes });
    let import = Import {
        id: id.clone(),
        past: Past::of(&project, BTreeSet::from([1])),
        slug: Some(project.fields.slug),
        content: draft,
        parts,
    };
    (id, import, is_asked, pass)
}

/// Waits without keeping others from their work.
async fn asked(gate: Receiver<()>) -> Receiver<()> {
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
    matches!(found, Err(Error::Refused(Refusal::NotFound { .. })))
}

/// Parts of a project whose times are finer than those that are kept.
struct Finer(Arc<dyn Parts>);

const FINER: Duration = Duration::from_nanos(999);

impl Parts for Finer {
    fn version(&self, number: u32) -> Result<ImportedVersion, Refusal> {
        let version = self.0.version(number)?;
        Ok(ImportedVersion { created: version.created + FINER, ..version })
    }

    fn bytes(&self, digest: &Digest) -> Result<Vec<u8>, Refusal> {
        self.0.bytes(digest)
    }
}

async fn times_are_cut_to_the_microsecond(place: &Place) {
    let store = place.open_projects().await;
    let (id, mut import, _gate, pass) = gated(&store).await;
    let (created, updated, asset) = (import.past.created, import.past.updated, &mut import.content.assets[0]);
    let put = asset.created;
    asset.created += FINER;
    import.past.created += FINER;
    import.past.updated += FINER;
    import.parts = Arc::new(Finer(import.parts));
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

async fn whoever_looks_meanwhile_sees_nothing(place: &Place) {
    let (store, other) = (place.open_projects().await, place.open_projects().await);
    let (id, import, mut gate, pass) = gated(&store).await;
    let importing = tokio::spawn(async move { store.import_project(&ann(), import).await });
    for _part in ["the bytes of its asset", "its version"] {
        gate = asked(gate).await;
        assert!(is_absent(&other, &id).await);
        pass.send(true).unwrap();
    }
    let project = importing.await.unwrap().unwrap();
    assert_eq!(other.project(&ann(), &id).await.unwrap(), project);
}

async fn what_nobody_waits_for_leaves_nothing(place: &Place) {
    let (store, other) = (place.open_projects().await, place.open_projects().await);
    let (id, import, gate, pass) = gated(&store).await;
    let again = import.clone();
    let worker = store.clone();
    let importing = tokio::spawn(async move { worker.import_project(&ann(), import).await });
    let gate = asked(gate).await;
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

on_both!(
    times_are_cut_to_the_microsecond,
    whoever_looks_meanwhile_sees_nothing,
    what_nobody_waits_for_leaves_nothing
);
