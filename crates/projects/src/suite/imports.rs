//! Imports of projects from another store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Replicas;
use super::fixture::{ExpectRejection as _, SuiteFixture, ann, bob, project_id, timestamp};
use super::projects::custom_type;
use crate::asset::Digest;
use crate::cursor::Page;
use crate::error::{EntityKind, ProjectRejection};
use crate::ids::{Account, ProjectId};
use crate::import::{ImportSource, ImportedVersion, ProjectHistory, ProjectImport};
use crate::project::{ProjectFieldsPatch, Publication};
use crate::store::ProjectStore;
use crate::version::Version;

/// An in-memory export.
#[derive(Clone, Default)]
struct InMemoryImportSource {
    versions: BTreeMap<u32, ImportedVersion>,
    bytes: BTreeMap<Digest, Vec<u8>>,
}

impl ImportSource for InMemoryImportSource {
    fn version(&self, number: u32) -> Result<ImportedVersion, ProjectRejection> {
        self.versions.get(&number).cloned().ok_or_else(|| Version::missing(number))
    }

    fn bytes(&self, digest: &Digest) -> Result<Vec<u8>, ProjectRejection> {
        let missing = || ProjectRejection::not_found(EntityKind::Asset, digest.to_string());
        self.bytes.get(digest).cloned().ok_or_else(missing)
    }
}

/// Everything in a project.
async fn export(
    store: &ProjectStore,
    account: &Account,
    id: &ProjectId,
) -> (ProjectImport, InMemoryImportSource) {
    let project = store.project(account, id).await.unwrap();
    let content = store.content(account, id).await.unwrap().value;
    let mut assets = content.assets.clone();
    let mut shelf = InMemoryImportSource::default();
    for version in store.list_versions(account, id, Page::ALL).await.unwrap().items {
        let (Version { number, note, created, revision, .. }, content) =
            store.version(account, id, version.number).await.unwrap();
        assets.extend(content.assets.iter().cloned());
        shelf.versions.insert(number, ImportedVersion { note, created, revision, content });
    }
    for asset in assets {
        shelf.bytes.insert(asset.digest, store.asset_bytes(account, id, &asset.digest).await.unwrap());
    }
    let past = ProjectHistory::from_project(&project, shelf.versions.keys().copied().collect());
    let parts = Arc::new(shelf.clone());
    (
        ProjectImport {
            id: id.clone(),
            slug: Some(project.fields.slug),
            content,
            history: past,
            source: parts,
        },
        shelf,
    )
}

/// A project with versions, one of them deleted, assets that only versions reference, and a draft with later
/// changes.
async fn project_with_history(replicas: Replicas) -> SuiteFixture {
    let suite = SuiteFixture::new(replicas).await;
    let page = suite.page("/").await;
    suite.sections(&page, "ab").await;
    suite.store.put_block_type(suite.write(), custom_type("price")).await.unwrap();
    for content in [b"one" as &[u8], b"two", b"three"] {
        suite.put_asset("a", content).await;
        suite.put_asset("b", b"three").await;
        suite.store.publish(suite.write(), "a note").await.unwrap();
    }
    suite.store.publish(suite.write(), "").await.unwrap();
    suite.store.unpublish(suite.write()).await.unwrap();
    for gone in [1, 4] {
        suite.store.delete_version(suite.write(), gone).await.unwrap();
    }
    suite.put_asset("a", b"four").await;
    suite
}

/// An import is lossless: the project, its draft, versions and content are unchanged, and so are times and
/// revisions.
pub async fn import_keeps_history(replicas: Replicas) {
    let suite = project_with_history(replicas).await;
    let before = suite.project().await;
    let (mut import, shelf) = export(&suite.other, &ann(), &suite.id).await;
    assert_eq!((before.next_version, import.history.versions.clone()), (5, BTreeSet::from([2, 3])));
    suite.store.delete_project(suite.write()).await.unwrap();
    assert_eq!(suite.store.import_project(&ann(), import.clone()).await.unwrap(), before);
    assert_eq!(suite.project().await, before);
    let (again, same) = export(&suite.other, &ann(), &suite.id).await;
    assert_eq!((again.content, again.history), (import.content.clone(), import.history.clone()));
    assert_eq!(same.bytes, shelf.bytes);
    for (number, version) in &shelf.versions {
        let found = &same.versions[number];
        assert_eq!(
            (&found.note, found.created, found.revision),
            (&version.note, version.created, version.revision)
        );
        assert_eq!(found.content, version.content);
    }
    // The imported project can be used normally.
    assert_eq!(
        suite.store.publish(suite.write_at_revision(before.revision), "").await.unwrap().value.number,
        5
    );
    suite.store.restore_version(suite.write(), 2).await.unwrap();
    for gone in [2, 3] {
        suite.store.delete_version(suite.write(), gone).await.unwrap();
    }
    // The published version has `four`, and the draft has `two` and `three`.
    assert_eq!(suite.project().await.usage.asset_bytes, 4 + 3 + 5);

    // A copy has another account and id, and keeps the publication.
    import.history.published = Some(Publication { version: 3, revision: import.history.revision });
    let copy = ProjectImport { id: project_id(2), slug: None, ..import };
    let copied = suite.store.import_project(&bob(), copy).await.unwrap();
    assert_eq!((copied.account.clone(), copied.fields.slug.as_str()), (bob(), "one"));
    assert!(!copied.has_unpublished_changes());
    assert_eq!(suite.other.project(&bob(), &project_id(2)).await.unwrap(), copied);
    assert_eq!(suite.other.accounts().await.unwrap(), [ann(), bob()]);
}

/// A manipulation of an import, and the expected result.
type ImportCorruption = (&'static str, fn(&mut ProjectImport, &mut InMemoryImportSource), &'static str);

const IMPORT_CORRUPTIONS: &[ImportCorruption] = &[
    ("a version is lost", |_, shelf| drop(shelf.versions.remove(&3)), "not found"),
    ("bytes are lost", |_, shelf| drop(shelf.bytes.remove(&Digest::from_content(b"two"))), "not found"),
    (
        "bytes are others",
        |_, shelf| drop(shelf.bytes.insert(Digest::from_content(b"two"), b"2".to_vec())),
        "invalid",
    ),
    ("a block hangs in the air", |import, _| drop(import.content.blocks.remove(0)), "invalid"),
    (
        "and in a version",
        |_, shelf| {
            drop(shelf.versions.get_mut(&3).unwrap().content.blocks.remove(0));
        },
        "invalid",
    ),
    (
        "an asset is there twice",
        |import, _| {
            let asset = import.content.assets[0].clone();
            import.content.assets.push(asset);
        },
        "invalid",
    ),
    (
        "an asset is of another kind",
        |import, _| import.content.assets[0].content_type = crate::ContentType::Png,
        "invalid",
    ),
    ("an asset is larger than it says", |import, _| import.content.assets[0].bytes = 1, "invalid"),
    (
        "and in a version, where its content is known",
        |_, shelf| shelf.versions.get_mut(&3).unwrap().content.assets[1].bytes = 1,
        "invalid",
    ),
    (
        "an asset has a path for a name",
        |import, _| "../x".clone_into(&mut import.content.assets[0].name),
        "invalid",
    ),
    ("a version is newer than all", |_, shelf| shelf.versions.get_mut(&2).unwrap().revision = 99, "invalid"),
    ("a note is no text", |_, shelf| shelf.versions.get_mut(&2).unwrap().note.push('\0'), "invalid"),
    ("a number would come again", |import, _| import.history.next_version = 3, "invalid"),
    ("the slug is another's", |import, _| import.slug = Some("two".to_owned()), "taken"),
    ("the id is another's", |import, _| import.id = project_id(2), "taken"),
];

/// A failed import leaves nothing behind, however late the problem is found.
pub async fn corrupt_import_leaves_nothing(replicas: Replicas) {
    let suite = project_with_history(replicas).await;
    let (import, shelf) = export(&suite.other, &ann(), &suite.id).await;
    suite.store.delete_project(suite.write()).await.unwrap();
    let two = crate::NewProject::empty(project_id(2), crate::NewProjectFields::with_name("Two"));
    suite.store.create_project(&ann(), two, false, timestamp(1)).await.unwrap();
    for (what, damage, expected) in IMPORT_CORRUPTIONS {
        let (mut import, mut shelf) = (import.clone(), shelf.clone());
        damage(&mut import, &mut shelf);
        import.source = Arc::new(shelf);
        assert_eq!(suite.store.import_project(&ann(), import).await.outcome_name(), *expected, "{what}");
        assert_eq!(suite.store.project(&ann(), &suite.id).await.outcome_name(), "not found", "{what}");
        assert_eq!(suite.other.list_projects(&ann(), Page::ALL).await.unwrap().items.len(), 1, "{what}");
    }
    // The rejection names the asset.
    let mut odd = import.clone();
    odd.content.assets[0].content_type = crate::ContentType::Png;
    let told = suite.store.import_project(&ann(), odd).await.expect_rejection().to_string();
    assert!(told.starts_with("/assets/a/content: is not image/png"), "{told}");
    // The slug is still free, and a valid import succeeds, but only once.
    let patch = ProjectFieldsPatch { slug: Some("one".to_owned()), ..ProjectFieldsPatch::default() };
    let dry = crate::ProjectWrite { project: project_id(2), ..suite.dry_run() };
    suite.store.update_project(dry, patch).await.unwrap();
    suite.store.import_project(&ann(), import.clone()).await.unwrap();
    assert_eq!(suite.store.import_project(&ann(), import.clone()).await.outcome_name(), "taken");
    assert_eq!(suite.store.import_project(&bob(), import).await.outcome_name(), "taken");
}
