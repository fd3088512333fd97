//! What was published.

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

/// A version is the draft of its moment, whatever happens to the draft.
pub async fn versions_are_stored(replicas: Replicas) {
    let desk = SuiteFixture::new(replicas).await;
    let page = desk.page("/").await;
    let ids = desk.sections(&page, "ab").await;
    let draft = desk.other.content(&ann(), &desk.id).await.unwrap().value;
    let made = desk.store.publish(desk.write(), "the first\n🎉").await.unwrap();
    let version = made.value;
    assert_eq!((version.number, version.revision, version.created), (1, 4, timestamp(60)));
    assert_eq!((version.note.as_str(), version.blocks, made.revision), ("the first\n🎉", 3, 4));
    let project = desk.project().await;
    assert_eq!(project.published, Some(Publication { version: 1, revision: 4 }));
    assert_eq!(
        (project.status(), project.has_unpublished_changes(), project.next_version),
        (ProjectStatus::Published, false, 2)
    );
    desk.store.update_block(desk.write(), &ids[0], object(json!({ "title": "x" }))).await.unwrap();
    assert!(desk.project().await.has_unpublished_changes());
    let (read, content) = desk.other.version(&ann(), &desk.id, 1).await.unwrap();
    assert_eq!((read, &content), (version, &draft));
    let draft = desk.other.content(&ann(), &desk.id).await.unwrap().value;
    let changed = diff_content(&content, &draft).changed;
    assert_eq!(changed.iter().map(|change| &change.after.id).collect::<Vec<_>>(), [&ids[0]]);
    let back = desk.store.unpublish(desk.write()).await.unwrap();
    assert_eq!((back.status(), back.usage.versions), (ProjectStatus::Draft, 1));
    assert_eq!(desk.store.publish(desk.write(), "").await.unwrap().value.number, 2);
}

/// All mistakes are told, and there is no version.
pub async fn invalid_draft_is_not_published(replicas: Replicas) {
    let desk = SuiteFixture::new(replicas).await;
    let page = desk.page("/").await;
    desk.put_asset("a", b"1").await;
    desk.store.put_block_type(desk.write(), super::projects::custom_type("price")).await.unwrap();
    let price = json!({ "type": "price", "props": { "amount": 3 } });
    let image = json!({ "type": "image", "props": { "src": "asset:a" } });
    let ids = desk.insert(BlockPosition::last(Some(page)), json!([price, image])).await;
    let strict = CustomBlockType {
        schema: json!({ "required": ["currency"] }),
        ..super::projects::custom_type("price")
    };
    desk.store.put_block_type(desk.write(), strict).await.unwrap();
    desk.store.delete_asset(desk.write(), &asset_id("a"), true).await.unwrap();
    let before = desk.project().await;
    let ProjectRejection::Invalid(problems) =
        desk.store.publish(desk.write(), "x\0").await.expect_rejection()
    else {
        panic!()
    };
    let told: Vec<_> = problems.iter().map(|told| (told.block.as_deref(), told.path.as_str())).collect();
    let expected =
        [(None, "/note"), (Some(ids[0].as_str()), "/props"), (Some(ids[1].as_str()), "/props/src")];
    assert_eq!(told, expected);
    assert_eq!(desk.project().await, before);
    assert_eq!(desk.other.list_versions(&ann(), &desk.id, Page::ALL).await.unwrap().items, []);
}

/// The newest first, in pages.
pub async fn versions_are_listed_newest_first(replicas: Replicas) {
    let desk = SuiteFixture::new(replicas).await;
    for number in 1..=12 {
        assert_eq!(desk.store.publish(desk.write(), "").await.unwrap().value.number, number);
    }
    let mut page = Page::first(5);
    let mut found = Vec::new();
    loop {
        let listed = desk.other.list_versions(&ann(), &desk.id, page).await.unwrap();
        found.extend(listed.items.iter().map(|version| version.number));
        let Some(next) = listed.next else { break };
        page = Page { after: Some(next), limit: Some(5) };
    }
    assert!(found.into_iter().eq((1..=12).rev()));
}

/// Everything is what it was but the slug, and the revision goes on.
pub async fn version_is_restored_as_draft(replicas: Replicas) {
    let desk = SuiteFixture::new(replicas).await;
    let page = desk.page("/").await;
    let ids = desk.sections(&page, "abc").await;
    let asset = desk.put_asset("a", b"old").await.value;
    desk.store.put_block_type(desk.write(), super::projects::custom_type("price")).await.unwrap();
    let then = desk.other.content(&ann(), &desk.id).await.unwrap().value;
    let version_bytes = desk.store.publish(desk.write(), "").await.unwrap().value.bytes;
    // Everything changes.
    let patch = ProjectFieldsPatch {
        name: Some("Two".to_owned()),
        slug: Some("two".to_owned()),
        ..ProjectFieldsPatch::default()
    };
    desk.store.update_project(desk.write(), patch).await.unwrap();
    desk.store.delete_block(desk.write(), &ids[1]).await.unwrap();
    desk.store.move_block(desk.write(), &ids[2], BlockPosition::Before(ids[0].clone())).await.unwrap();
    desk.sections(&page, "new").await;
    desk.store.delete_asset(desk.write(), &asset.id, false).await.unwrap();
    desk.put_asset("b", b"new content").await;
    desk.store.delete_block_type(desk.write(), "price").await.unwrap();
    desk.store.edit_design_system(desk.write(), DesignEdit::Replace(TokenDocument::default())).await.unwrap();
    let before = desk.project().await;
    assert_eq!(desk.store.restore_version(desk.write_at_revision(1), 1).await.outcome_name(), "conflict");
    assert_eq!(desk.store.restore_version(desk.write(), 9).await.outcome_name(), "not found");
    assert_eq!(desk.store.restore_version(desk.dry_run(), 1).await.unwrap().revision, before.revision + 1);
    assert_eq!(desk.project().await, before);
    let restored = desk.store.restore_version(desk.write(), 1).await.unwrap();
    assert_eq!((restored.revision, restored.fields.slug.as_str()), (before.revision + 1, "two"));
    assert_eq!((restored.fields.name.as_str(), restored.published), ("One", before.published));
    let mut draft = desk.other.content(&ann(), &desk.id).await.unwrap().value;
    assert_eq!(
        desk.project().await.usage,
        crate::ProjectUsage { versions: 1, version_bytes, ..draft.usage() }
    );
    "one".clone_into(&mut draft.fields.slug);
    assert_eq!(draft, then);
    assert_eq!(desk.other.asset_bytes(&ann(), &desk.id, &asset.digest).await.unwrap(), b"old");
    assert_eq!(desk.titles(&page).await, "abc");
    // Who names which asset is right again, too.
    assert_eq!(desk.store.delete_asset(desk.write(), &asset.id, false).await.outcome_name(), "done");
}

/// The draft is what is published again after that version has become the draft, and after no other.
pub async fn restored_published_version_has_no_unpublished_changes(replicas: Replicas) {
    let desk = SuiteFixture::new(replicas).await;
    let page = desk.page("/").await;
    desk.store.publish(desk.write(), "").await.unwrap();
    desk.sections(&page, "a").await;
    desk.store.publish(desk.write(), "").await.unwrap();
    let renamed = ProjectFieldsPatch { slug: Some("two".to_owned()), ..ProjectFieldsPatch::default() };
    desk.sections(&page, "b").await;
    for (number, patch, has_changes) in
        [(1, None, true), (2, None, false), (1, None, true), (2, Some(renamed), true)]
    {
        if let Some(patch) = patch {
            desk.store.update_project(desk.write(), patch).await.unwrap();
        }
        let restored = desk.store.restore_version(desk.write(), number).await.unwrap();
        assert_eq!(restored.published.map(|published| published.version), Some(2));
        assert_eq!(restored.has_unpublished_changes(), has_changes, "{number}");
        assert_eq!(desk.project().await, restored);
        let draft = desk.other.content(&ann(), &desk.id).await.unwrap().value;
        let (_, published) = desk.other.version(&ann(), &desk.id, 2).await.unwrap();
        assert_eq!(diff_content(&published, &draft).is_empty(), !has_changes, "{number}");
    }
}

/// A version goes, its number does not come back, and what is published stays.
pub async fn versions_are_deleted(replicas: Replicas) {
    let desk = SuiteFixture::new(replicas).await;
    desk.store.publish(desk.write(), "").await.unwrap();
    desk.store.publish(desk.write(), "").await.unwrap();
    let delete = async |number| desk.store.delete_version(desk.write(), number).await;
    assert_eq!(delete(2).await.outcome_name(), "published");
    assert_eq!(delete(1).await.unwrap().value.number, 1);
    assert!(!desk.project().await.has_unpublished_changes(), "the draft is still what is published");
    let (left, _) = desk.other.version(&ann(), &desk.id, 2).await.unwrap();
    assert_eq!(desk.project().await.usage.version_bytes, left.bytes);
    assert_eq!(delete(1).await.outcome_name(), "not found");
    assert_eq!(desk.other.version(&ann(), &desk.id, 1).await.outcome_name(), "not found");
    desk.store.unpublish(desk.write()).await.unwrap();
    assert_eq!(delete(2).await.outcome_name(), "done");
    assert_eq!(desk.project().await.usage.versions, 0);
    assert_eq!(desk.store.publish(desk.write(), "").await.unwrap().value.number, 3);
}
