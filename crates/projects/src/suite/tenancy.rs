//! What nobody sees, and what every write promises: a table of all use cases.

use serde_json::json;

use super::Replicas;
use super::projects::own;
use super::tools::{Desk, Refused as _, ann, asset, asset_id, at, block_id, bob, id, map};
use crate::asset::{AssetPatch, Digest};
use crate::blocks::{NewBlock, Place, Reach};
use crate::cursor::Page;
use crate::design::DesignEdit;
use crate::error::Error;
use crate::ids::{Account, ProjectId};
use crate::new_project::NewProject;
use crate::project::{FieldsPatch, NewFields, Write};
use crate::store::ProjectStore;
use design_tokens::starter;

/// How many writes there are.
const WRITES: usize = 17;

/// Does one of all writes. They fit a project with the page `page`, the section `section` in it, the asset `a`, the type
/// `price` and version 1, published, and version 2, not: see [`prepared`].
async fn write(
    store: &ProjectStore,
    which: usize,
    write: Write,
    ids: &[crate::BlockId],
) -> Result<u64, Error> {
    let seed = crate::Seed([u8::try_from(which).unwrap_or(0) + 200; 16]);
    let (page, section) = (&ids[0], &ids[1]);
    let into = || Place::last(Some(page.clone()));
    let text = || vec![NewBlock::new("text", map(json!({ "text": "x" })))];
    Ok(match which {
        0 => store.update_project(write, FieldsPatch::default()).await?.revision,
        1 => store.put_block_type(write, own("other")).await?.revision,
        2 => store.delete_block_type(write, "price").await?.revision,
        3 => store.insert_blocks(write, into(), text(), seed).await?.revision,
        4 => store.update_block(write, section, map(json!({ "title": "t" }))).await?.revision,
        5 => store.move_block(write, section, into()).await?.revision,
        6 => store.copy_block(write, section, into(), seed).await?.revision,
        7 => store.delete_block(write, section).await?.revision,
        8 => store.edit_design_system(write, DesignEdit::Replace(starter())).await?.revision,
        9 => store.put_asset(write, asset("new", b"x")).await?.revision,
        10 => store.update_asset(write, &asset_id("a"), AssetPatch::default()).await?.revision,
        11 => store.delete_asset(write, &asset_id("a"), false).await?.revision,
        12 => store.publish(write, "").await?.revision,
        13 => store.unpublish(write).await?.revision,
        14 => store.restore_version(write, 1).await?.revision,
        15 => store.delete_version(write, 1).await?.revision,
        // These two change nothing of the project but that it is there, and tell the revision that it has.
        16 => store.duplicate_project(write, id(77), NewFields::default()).await?.revision,
        _ => store.delete_project(write).await?.revision,
    })
}

/// A desk with something of everything.
async fn prepared(replicas: Replicas) -> (Desk, Vec<crate::BlockId>) {
    let desk = Desk::new(replicas).await;
    let page = desk.page("/").await;
    let section = desk.sections(&page, "s").await.remove(0);
    desk.put("a", b"1").await;
    desk.store.put_block_type(desk.write(), own("price")).await.unwrap();
    desk.store.publish(desk.write(), "").await.unwrap();
    desk.store.publish(desk.write(), "").await.unwrap();
    (desk, vec![page, section])
}

/// Every write tells what it would do, and nothing happens.
pub async fn a_dry_run_changes_nothing(replicas: Replicas) {
    let (desk, ids) = prepared(replicas).await;
    let (project, content) = (desk.project().await, desk.other.content(&ann(), &desk.id).await.unwrap());
    for which in 0..=WRITES {
        let told = write(&desk.store, which, desk.dry(), &ids).await.unwrap();
        let expected = match which {
            16 => 1,
            WRITES => project.revision,
            _ => project.revision + 1,
        };
        assert_eq!(told, expected, "{which}");
        assert_eq!(desk.project().await, project, "{which}");
    }
    assert_eq!(desk.other.content(&ann(), &desk.id).await.unwrap(), content);
    assert_eq!(desk.other.list_projects(&ann(), Page::ALL).await.unwrap().items.len(), 1);
    assert_eq!(desk.other.list_versions(&ann(), &desk.id, Page::ALL).await.unwrap().items.len(), 2);
    let new = NewProject::empty(id(5), NewFields::named("Five"));
    assert_eq!(desk.store.create_project(&ann(), new, true, at(1)).await.unwrap().revision, 1);
    assert_eq!(desk.store.project(&ann(), &id(5)).await.word(), "not found");
}

/// One more, and one only.
pub async fn every_write_adds_one_to_the_revision(replicas: Replicas) {
    let (desk, ids) = prepared(replicas).await;
    // The order lets each find what it needs: what deletes comes last.
    for which in [0, 1, 3, 4, 5, 6, 8, 9, 10, 12, 13, 14, 11, 15, 2, 7] {
        let before = desk.project().await;
        let now = desk.at_revision(before.revision);
        assert_eq!(write(&desk.store, which, now, &ids).await.unwrap(), before.revision + 1, "{which}");
        assert_eq!(desk.project().await.revision, before.revision + 1, "{which}");
    }
}

/// Whatever the write is.
pub async fn an_old_revision_refuses_every_write(replicas: Replicas) {
    let (desk, ids) = prepared(replicas).await;
    let (project, content) = (desk.project().await, desk.other.content(&ann(), &desk.id).await.unwrap());
    for which in 0..=WRITES {
        for revision in [0, project.revision - 1, project.revision + 1, u64::MAX] {
            let refused =
                write(&desk.store, which, desk.at_revision(revision), &ids).await.unwrap_err().to_string();
            let found = project.revision;
            let expected = crate::Refusal::Conflict { expected: revision, found }.to_string();
            assert_eq!(refused, expected, "{which}");
        }
    }
    assert_eq!(desk.other.content(&ann(), &desk.id).await.unwrap(), content);
    assert_eq!(desk.project().await, project);
}

/// Every read of a project, by what it says if it fails.
async fn reads(store: &ProjectStore, account: &Account, project: &ProjectId) -> Vec<Option<String>> {
    let all = Reach::ALL;
    let digest = Digest::of(b"1");
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

/// Another account's project is as absent as one that never was, for every use case.
pub async fn strangers_find_nothing(replicas: Replicas) {
    let (desk, ids) = prepared(replicas).await;
    let (project, content) = (desk.project().await, desk.other.content(&ann(), &desk.id).await.unwrap());
    let accounts = ["bob", "ANN", "ann ", "", "%", "ann'--", "a\0", &"x".repeat(5000)];
    for account in accounts.map(Account::new) {
        let absent = desk.id.missing().to_string();
        assert!(
            reads(&desk.store, &account, &desk.id).await.iter().all(|told| told.as_ref() == Some(&absent))
        );
        for which in 0..=WRITES {
            for if_revision in [None, Some(project.revision), Some(0)] {
                let theirs = Write { account: account.clone(), if_revision, ..desk.write() };
                let refused = write(&desk.store, which, theirs, &ids).await.unwrap_err().to_string();
                assert_eq!(refused, absent, "{which}");
            }
        }
        assert_eq!(desk.store.list_projects(&account, Page::ALL).await.unwrap().items, []);
        assert_eq!(desk.store.projects_beginning(&account, "", 9).await.unwrap(), []);
    }
    assert_eq!(desk.other.content(&ann(), &desk.id).await.unwrap(), content);
    assert_eq!(desk.project().await, project);
    // A stranger cannot take an id that is somebody's, nor learn more than that it is taken.
    let new = NewProject::empty(desk.id.clone(), NewFields::named("Mine"));
    assert_eq!(desk.store.create_project(&bob(), new, false, at(1)).await.word(), "taken");
}

/// Projects that never were, and what projects do not hold.
pub async fn what_is_not_there_is_not_found(replicas: Replicas) {
    let (desk, ids) = prepared(replicas).await;
    let gone = id(99);
    let absent = gone.missing().to_string();
    assert!(reads(&desk.store, &ann(), &gone).await.iter().all(|told| told.as_ref() == Some(&absent)));
    for which in 0..=WRITES {
        let nowhere = Write { project: gone.clone(), if_revision: Some(3), ..desk.write() };
        assert_eq!(write(&desk.store, which, nowhere, &ids).await.unwrap_err().to_string(), absent);
    }
    // Blocks and assets of one project are not found in another.
    let new = NewProject::empty(id(2), NewFields::named("Two"));
    desk.store.create_project(&ann(), new, false, at(1)).await.unwrap();
    for which in [2, 3, 4, 5, 6, 7, 10, 11, 14, 15] {
        let elsewhere = Write { project: id(2), ..desk.write() };
        assert_eq!(write(&desk.store, which, elsewhere, &ids).await.word(), "not found", "{which}");
    }
    assert_eq!(desk.store.project(&ann(), &id(2)).await.unwrap().revision, 1);
}

/// For the owner of the store.
pub async fn accounts_are_told_to_the_owner([store, other]: Replicas) {
    assert_eq!(other.accounts().await.unwrap(), []);
    for (number, account) in [(1, bob()), (2, ann()), (3, bob())] {
        let new = NewProject::empty(id(number), NewFields::named("P"));
        store.create_project(&account, new, false, at(0)).await.unwrap();
    }
    assert_eq!(other.accounts().await.unwrap(), [ann(), bob()]);
}
