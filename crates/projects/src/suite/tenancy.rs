//! Tenancy and the guarantees of every write, as a table of all use cases.

use serde_json::json;

use super::Replicas;
use super::fixture::{
    ExpectRejection as _, SuiteFixture, ann, asset_id, block_id, bob, new_asset, object, project_id,
    timestamp,
};
use super::projects::custom_type;
use crate::asset::{AssetPatch, Digest};
use crate::blocks::{BlockPosition, NewBlock, TreeQuery};
use crate::cursor::Page;
use crate::design::DesignEdit;
use crate::error::Error;
use crate::ids::{Account, ProjectId};
use crate::new_project::NewProject;
use crate::project::{NewProjectFields, ProjectFieldsPatch, ProjectWrite};
use crate::store::ProjectStore;
use design_tokens::starter_document;

/// Number of write use cases.
const WRITE_COUNT: usize = 17;

/// Runs one of all writes. They fit a project with the page `page`, the section `section` in it, the asset
/// `a`, the type `price`, the published version 1 and the unpublished version 2; see [`prepared`].
async fn run_write(
    store: &ProjectStore,
    which: usize,
    write: ProjectWrite,
    ids: &[crate::BlockId],
) -> Result<u64, Error> {
    let seed = crate::IdSeed([u8::try_from(which).unwrap_or(0) + 200; 16]);
    let (page, section) = (&ids[0], &ids[1]);
    let into = || BlockPosition::last(Some(page.clone()));
    let text = || vec![NewBlock::new("text", object(json!({ "text": "x" })))];
    Ok(match which {
        0 => store.update_project(write, ProjectFieldsPatch::default()).await?.revision,
        1 => store.put_block_type(write, custom_type("other")).await?.revision,
        2 => store.delete_block_type(write, "price").await?.revision,
        3 => store.insert_blocks(write, into(), text(), seed).await?.revision,
        4 => store.update_block(write, section, object(json!({ "title": "t" }))).await?.revision,
        5 => store.move_block(write, section, into()).await?.revision,
        6 => store.copy_block(write, section, into(), seed).await?.revision,
        7 => store.delete_block(write, section).await?.revision,
        8 => store.edit_design_system(write, DesignEdit::Replace(starter_document())).await?.revision,
        9 => store.put_asset(write, new_asset("new", b"x")).await?.revision,
        10 => store.update_asset(write, &asset_id("a"), AssetPatch::default()).await?.revision,
        11 => store.delete_asset(write, &asset_id("a"), false).await?.revision,
        12 => store.publish(write, "").await?.revision,
        13 => store.unpublish(write).await?.revision,
        14 => store.restore_version(write, 1).await?.revision,
        15 => store.delete_version(write, 1).await?.revision,
        // These two do not change the project itself, and return its current revision.
        16 => store.duplicate_project(write, project_id(77), NewProjectFields::default()).await?.revision,
        _ => store.delete_project(write).await?.revision,
    })
}

/// A fixture with an entity of every kind.
async fn populated_project(replicas: Replicas) -> (SuiteFixture, Vec<crate::BlockId>) {
    let suite = SuiteFixture::new(replicas).await;
    let page = suite.page("/").await;
    let section = suite.sections(&page, "s").await.remove(0);
    suite.put_asset("a", b"1").await;
    suite.store.put_block_type(suite.write(), custom_type("price")).await.unwrap();
    suite.store.publish(suite.write(), "").await.unwrap();
    suite.store.publish(suite.write(), "").await.unwrap();
    (suite, vec![page, section])
}

/// A dry run of every write returns its result and changes nothing.
pub async fn a_dry_run_changes_nothing(replicas: Replicas) {
    let (suite, ids) = populated_project(replicas).await;
    let (project, content) = (suite.project().await, suite.other.content(&ann(), &suite.id).await.unwrap());
    for which in 0..=WRITE_COUNT {
        let told = run_write(&suite.store, which, suite.dry_run(), &ids).await.unwrap();
        let expected = match which {
            16 => 1,
            WRITE_COUNT => project.revision,
            _ => project.revision + 1,
        };
        assert_eq!(told, expected, "{which}");
        assert_eq!(suite.project().await, project, "{which}");
    }
    assert_eq!(suite.other.content(&ann(), &suite.id).await.unwrap(), content);
    assert_eq!(suite.other.list_projects(&ann(), Page::ALL).await.unwrap().items.len(), 1);
    assert_eq!(suite.other.list_versions(&ann(), &suite.id, Page::ALL).await.unwrap().items.len(), 2);
    let new = NewProject::empty(project_id(5), NewProjectFields::with_name("Five"));
    assert_eq!(suite.store.create_project(&ann(), new, true, timestamp(1)).await.unwrap().revision, 1);
    assert_eq!(suite.store.project(&ann(), &project_id(5)).await.outcome_name(), "not found");
}

/// Every write increments the revision by exactly one.
pub async fn every_write_adds_one_to_the_revision(replicas: Replicas) {
    let (suite, ids) = populated_project(replicas).await;
    // Ordered so that each write finds what it needs: deletions are last.
    for which in [0, 1, 3, 4, 5, 6, 8, 9, 10, 12, 13, 14, 11, 15, 2, 7] {
        let before = suite.project().await;
        let now = suite.write_at_revision(before.revision);
        assert_eq!(run_write(&suite.store, which, now, &ids).await.unwrap(), before.revision + 1, "{which}");
        assert_eq!(suite.project().await.revision, before.revision + 1, "{which}");
    }
}

/// For every write.
pub async fn stale_revision_rejects_every_write(replicas: Replicas) {
    let (suite, ids) = populated_project(replicas).await;
    let (project, content) = (suite.project().await, suite.other.content(&ann(), &suite.id).await.unwrap());
    for which in 0..=WRITE_COUNT {
        for revision in [0, project.revision - 1, project.revision + 1, u64::MAX] {
            let refused = run_write(&suite.store, which, suite.write_at_revision(revision), &ids)
                .await
                .unwrap_err()
                .to_string();
            let found = project.revision;
            let expected = crate::ProjectRejection::Conflict { expected: revision, found }.to_string();
            assert_eq!(refused, expected, "{which}");
        }
    }
    assert_eq!(suite.other.content(&ann(), &suite.id).await.unwrap(), content);
    assert_eq!(suite.project().await, project);
}

/// Every read of a project, with its error.
async fn run_all_reads(store: &ProjectStore, account: &Account, project: &ProjectId) -> Vec<Option<String>> {
    let all = TreeQuery::ALL;
    let digest = Digest::from_content(b"1");
    vec![
        store.project(account, project).await.err().map(|error| error.to_string()),
        store.content(account, project).await.err().map(|error| error.to_string()),
        store.block_types(account, project).await.err().map(|error| error.to_string()),
        store.blocks(account, project, None, all).await.err().map(|error| error.to_string()),
        store.blocks(account, project, Some(&block_id("x")), all).await.err().map(|error| error.to_string()),
        store.children(account, project, None, Page::ALL).await.err().map(|error| error.to_string()),
        store.design_system(account, project).await.err().map(|error| error.to_string()),
        store.design_text(account, project).await.err().map(|error| error.to_string()),
        store.asset(account, project, &asset_id("a")).await.err().map(|error| error.to_string()),
        store.asset_content(account, project, &asset_id("a")).await.err().map(|error| error.to_string()),
        store.asset_bytes(account, project, &digest).await.err().map(|error| error.to_string()),
        store.asset_users(account, project, &asset_id("a")).await.err().map(|error| error.to_string()),
        store.list_assets(account, project, Page::ALL).await.err().map(|error| error.to_string()),
        store.list_versions(account, project, Page::ALL).await.err().map(|error| error.to_string()),
        store.version(account, project, 1).await.err().map(|error| error.to_string()),
    ]
}

/// For every use case, a project of another account is as absent as one that never existed.
pub async fn other_accounts_find_nothing(replicas: Replicas) {
    let (suite, ids) = populated_project(replicas).await;
    let (project, content) = (suite.project().await, suite.other.content(&ann(), &suite.id).await.unwrap());
    let accounts = ["bob", "ANN", "ann ", "", "%", "ann'--", "a\0", &"x".repeat(5000)];
    for account in accounts.map(Account::new) {
        let absent = suite.id.missing().to_string();
        assert!(
            run_all_reads(&suite.store, &account, &suite.id)
                .await
                .iter()
                .all(|told| told.as_ref() == Some(&absent))
        );
        for which in 0..=WRITE_COUNT {
            for if_revision in [None, Some(project.revision), Some(0)] {
                let theirs = ProjectWrite { account: account.clone(), if_revision, ..suite.write() };
                let refused = run_write(&suite.store, which, theirs, &ids).await.unwrap_err().to_string();
                assert_eq!(refused, absent, "{which}");
            }
        }
        assert_eq!(suite.store.list_projects(&account, Page::ALL).await.unwrap().items, []);
        assert_eq!(suite.store.projects_with_id_prefix(&account, "", 9).await.unwrap(), []);
    }
    assert_eq!(suite.other.content(&ann(), &suite.id).await.unwrap(), content);
    assert_eq!(suite.project().await, project);
    // Another account cannot take an existing id, and only learns that it is taken.
    let new = NewProject::empty(suite.id.clone(), NewProjectFields::with_name("Mine"));
    assert_eq!(suite.store.create_project(&bob(), new, false, timestamp(1)).await.outcome_name(), "taken");
}

/// Projects that do not exist, and entities that a project does not contain.
pub async fn missing_entities_are_not_found(replicas: Replicas) {
    let (suite, ids) = populated_project(replicas).await;
    let gone = project_id(99);
    let absent = gone.missing().to_string();
    assert!(
        run_all_reads(&suite.store, &ann(), &gone).await.iter().all(|told| told.as_ref() == Some(&absent))
    );
    for which in 0..=WRITE_COUNT {
        let nowhere = ProjectWrite { project: gone.clone(), if_revision: Some(3), ..suite.write() };
        assert_eq!(run_write(&suite.store, which, nowhere, &ids).await.unwrap_err().to_string(), absent);
    }
    // Blocks and assets of one project are not found in another.
    let new = NewProject::empty(project_id(2), NewProjectFields::with_name("Two"));
    suite.store.create_project(&ann(), new, false, timestamp(1)).await.unwrap();
    for which in [2, 3, 4, 5, 6, 7, 10, 11, 14, 15] {
        let elsewhere = ProjectWrite { project: project_id(2), ..suite.write() };
        assert_eq!(
            run_write(&suite.store, which, elsewhere, &ids).await.outcome_name(),
            "not found",
            "{which}"
        );
    }
    assert_eq!(suite.store.project(&ann(), &project_id(2)).await.unwrap().revision, 1);
}

/// For operators of the store.
pub async fn accounts_are_listed_for_the_store_owner([store, other]: Replicas) {
    assert_eq!(other.accounts().await.unwrap(), []);
    for (number, account) in [(1, bob()), (2, ann()), (3, bob())] {
        let new = NewProject::empty(project_id(number), NewProjectFields::with_name("P"));
        store.create_project(&account, new, false, timestamp(0)).await.unwrap();
    }
    assert_eq!(other.accounts().await.unwrap(), [ann(), bob()]);
}
