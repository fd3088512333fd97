//! Published versions.

use serde_json::json;

use super::Replicas;
use super::fixture::{ExpectRejection as _, SuiteFixture, ann, asset_id, object, timestamp};
use crate::blocks::BlockPosition;
use crate::cursor::Page;
use crate::design::DesignEdit;
use crate::error::ProjectRejection;
use crate::project::{ProjectFieldsPatch, ProjectStatus, Publication};
use crate::types::CustomBlockType;
use crate::version::diff_content;
use design_tokens::TokenDocument;

/// A version is a snapshot of the draft, unaffected by later changes.
pub async fn versions_are_stored(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let page = suite.page("/").await;
    let ids = suite.sections(&page, "ab").await;
    let draft = suite.other.content(&ann(), &suite.id).await.unwrap().value;
    let made = suite.store.publish(suite.write(), "the first\n🎉").await.unwrap();
    let version = made.value;
    assert_eq!((version.number, version.revision, version.created), (1, 4, timestamp(60)));
    assert_eq!((version.note.as_str(), version.blocks, made.revision), ("the first\n🎉", 3, 4));
    let project = suite.project().await;
    assert_eq!(project.published, Some(Publication { version: 1, revision: 4 }));
    assert_eq!(
        (project.status(), project.has_unpublished_changes(), project.next_version),
        (ProjectStatus::Published, false, 2)
    );
    suite.store.update_block(suite.write(), &ids[0], object(json!({ "title": "x" }))).await.unwrap();
    assert!(suite.project().await.has_unpublished_changes());
    let (read, content) = suite.other.version(&ann(), &suite.id, 1).await.unwrap();
    assert_eq!((read, &content), (version, &draft));
    let draft = suite.other.content(&ann(), &suite.id).await.unwrap().value;
    let changed = diff_content(&content, &draft).changed;
    assert_eq!(changed.iter().map(|change| &change.after.id).collect::<Vec<_>>(), [&ids[0]]);
    let back = suite.store.unpublish(suite.write()).await.unwrap();
    assert_eq!((back.status(), back.usage.versions), (ProjectStatus::Draft, 1));
    assert_eq!(suite.store.publish(suite.write(), "").await.unwrap().value.number, 2);
}

/// Every problem is reported, and no version is created.
pub async fn invalid_draft_is_not_published(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let page = suite.page("/").await;
    suite.put_asset("a", b"1").await;
    suite.store.put_block_type(suite.write(), super::projects::custom_type("price")).await.unwrap();
    let price = json!({ "type": "price", "props": { "amount": 3 } });
    let image = json!({ "type": "image", "props": { "src": "asset:a" } });
    let ids = suite.insert(BlockPosition::last(Some(page)), json!([price, image])).await;
    let strict = CustomBlockType {
        schema: json!({ "required": ["currency"] }),
        ..super::projects::custom_type("price")
    };
    suite.store.put_block_type(suite.write(), strict).await.unwrap();
    suite.store.delete_asset(suite.write(), &asset_id("a"), true).await.unwrap();
    let before = suite.project().await;
    let ProjectRejection::Invalid(problems) =
        suite.store.publish(suite.write(), "x\0").await.expect_rejection()
    else {
        panic!()
    };
    let told: Vec<_> = problems.iter().map(|told| (told.block.as_deref(), told.path.as_str())).collect();
    let expected =
        [(None, "/note"), (Some(ids[0].as_str()), "/props"), (Some(ids[1].as_str()), "/props/src")];
    assert_eq!(told, expected);
    assert_eq!(suite.project().await, before);
    assert_eq!(suite.other.list_versions(&ann(), &suite.id, Page::ALL).await.unwrap().items, []);
}

/// Versions are listed newest first, in pages.
pub async fn versions_are_listed_newest_first(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    for number in 1..=12 {
        assert_eq!(suite.store.publish(suite.write(), "").await.unwrap().value.number, number);
    }
    let mut page = Page::first(5);
    let mut found = Vec::new();
    loop {
        let listed = suite.other.list_versions(&ann(), &suite.id, page).await.unwrap();
        found.extend(listed.items.iter().map(|version| version.number));
        let Some(next) = listed.next else { break };
        page = Page { after: Some(next), limit: Some(5) };
    }
    assert!(found.into_iter().eq((1..=12).rev()));
}

/// Everything is restored except the slug, and the revision increases.
pub async fn version_is_restored_as_draft(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let page = suite.page("/").await;
    let ids = suite.sections(&page, "abc").await;
    let asset = suite.put_asset("a", b"old").await.value;
    suite.store.put_block_type(suite.write(), super::projects::custom_type("price")).await.unwrap();
    let then = suite.other.content(&ann(), &suite.id).await.unwrap().value;
    let version_bytes = suite.store.publish(suite.write(), "").await.unwrap().value.bytes;
    // Everything changes.
    let patch = ProjectFieldsPatch {
        name: Some("Two".to_owned()),
        slug: Some("two".to_owned()),
        ..ProjectFieldsPatch::default()
    };
    suite.store.update_project(suite.write(), patch).await.unwrap();
    suite.store.delete_block(suite.write(), &ids[1]).await.unwrap();
    suite.store.move_block(suite.write(), &ids[2], BlockPosition::Before(ids[0].clone())).await.unwrap();
    suite.sections(&page, "new").await;
    suite.store.delete_asset(suite.write(), &asset.id, false).await.unwrap();
    suite.put_asset("b", b"new content").await;
    suite.store.delete_block_type(suite.write(), "price").await.unwrap();
    suite
        .store
        .edit_design_system(suite.write(), DesignEdit::Replace(TokenDocument::default()))
        .await
        .unwrap();
    let before = suite.project().await;
    assert_eq!(suite.store.restore_version(suite.write_at_revision(1), 1).await.outcome_name(), "conflict");
    assert_eq!(suite.store.restore_version(suite.write(), 9).await.outcome_name(), "not found");
    assert_eq!(suite.store.restore_version(suite.dry_run(), 1).await.unwrap().revision, before.revision + 1);
    assert_eq!(suite.project().await, before);
    let restored = suite.store.restore_version(suite.write(), 1).await.unwrap();
    assert_eq!((restored.revision, restored.fields.slug.as_str()), (before.revision + 1, "two"));
    assert_eq!((restored.fields.name.as_str(), restored.published), ("One", before.published));
    let mut draft = suite.other.content(&ann(), &suite.id).await.unwrap().value;
    assert_eq!(
        suite.project().await.usage,
        crate::ProjectUsage { versions: 1, version_bytes, ..draft.usage() }
    );
    "one".clone_into(&mut draft.fields.slug);
    assert_eq!(draft, then);
    assert_eq!(suite.other.asset_bytes(&ann(), &suite.id, &asset.digest).await.unwrap(), b"old");
    assert_eq!(suite.titles(&page).await, "abc");
    // The index of asset references is restored as well.
    assert_eq!(suite.store.delete_asset(suite.write(), &asset.id, false).await.outcome_name(), "done");
}

/// The draft counts as published again after its version is restored, but not after another one.
pub async fn restored_published_version_has_no_unpublished_changes(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let page = suite.page("/").await;
    suite.store.publish(suite.write(), "").await.unwrap();
    suite.sections(&page, "a").await;
    suite.store.publish(suite.write(), "").await.unwrap();
    let renamed = ProjectFieldsPatch { slug: Some("two".to_owned()), ..ProjectFieldsPatch::default() };
    suite.sections(&page, "b").await;
    for (number, patch, has_changes) in
        [(1, None, true), (2, None, false), (1, None, true), (2, Some(renamed), true)]
    {
        if let Some(patch) = patch {
            suite.store.update_project(suite.write(), patch).await.unwrap();
        }
        let restored = suite.store.restore_version(suite.write(), number).await.unwrap();
        assert_eq!(restored.published.map(|published| published.version), Some(2));
        assert_eq!(restored.has_unpublished_changes(), has_changes, "{number}");
        assert_eq!(suite.project().await, restored);
        let draft = suite.other.content(&ann(), &suite.id).await.unwrap().value;
        let (_, published) = suite.other.version(&ann(), &suite.id, 2).await.unwrap();
        assert_eq!(diff_content(&published, &draft).is_empty(), !has_changes, "{number}");
    }
}

/// A deleted version's number is not reused, and the publication stays.
pub async fn versions_are_deleted(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    suite.store.publish(suite.write(), "").await.unwrap();
    suite.store.publish(suite.write(), "").await.unwrap();
    let delete = async |number| suite.store.delete_version(suite.write(), number).await;
    assert_eq!(delete(2).await.outcome_name(), "published");
    assert_eq!(delete(1).await.unwrap().value.number, 1);
    assert!(!suite.project().await.has_unpublished_changes(), "the draft is still what is published");
    let (left, _) = suite.other.version(&ann(), &suite.id, 2).await.unwrap();
    assert_eq!(suite.project().await.usage.version_bytes, left.bytes);
    assert_eq!(delete(1).await.outcome_name(), "not found");
    assert_eq!(suite.other.version(&ann(), &suite.id, 1).await.outcome_name(), "not found");
    suite.store.unpublish(suite.write()).await.unwrap();
    assert_eq!(delete(2).await.outcome_name(), "done");
    assert_eq!(suite.project().await.usage.versions, 0);
    assert_eq!(suite.store.publish(suite.write(), "").await.unwrap().value.number, 3);
}
