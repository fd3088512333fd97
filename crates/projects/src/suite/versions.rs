//! What was published.

use serde_json::json;

use super::Replicas;
use super::tools::{Desk, Refused as _, ann, asset_id, at, map};
use crate::blocks::Place;
use crate::cursor::Page;
use crate::design::DesignEdit;
use crate::error::Refusal;
use crate::project::{FieldsPatch, Published, Status};
use crate::types::CustomType;
use crate::version::differences;
use design_tokens::Document;

/// A version is the draft of its moment, whatever happens to the draft.
pub async fn versions_are_kept(replicas: Replicas) {
    let desk = Desk::new(replicas).await;
    let page = desk.page("/").await;
    let ids = desk.sections(&page, "ab").await;
    let draft = desk.other.content(&ann(), &desk.id).await.unwrap().value;
    let made = desk.store.publish(desk.write(), "the first\n🎉").await.unwrap();
    let version = made.value;
    assert_eq!((version.number, version.revision, version.created), (1, 4, at(60)));
    assert_eq!((version.note.as_str(), version.blocks, made.revision), ("the first\n🎉", 3, 4));
    let project = desk.project().await;
    assert_eq!(project.published, Some(Published { version: 1, revision: 4 }));
    assert_eq!(
        (project.status(), project.has_changes(), project.next_version),
        (Status::Published, false, 2)
    );
    desk.store.update_block(desk.write(), &ids[0], map(json!({ "title": "x" }))).await.unwrap();
    assert!(desk.project().await.has_changes());
    let (read, content) = desk.other.version(&ann(), &desk.id, 1).await.unwrap();
    assert_eq!((read, &content), (version, &draft));
    let draft = desk.other.content(&ann(), &desk.id).await.unwrap().value;
    let changed = differences(&content, &draft).changed;
    assert_eq!(changed.iter().map(|change| &change.after.id).collect::<Vec<_>>(), [&ids[0]]);
    let back = desk.store.unpublish(desk.write()).await.unwrap();
    assert_eq!((back.status(), back.usage.versions), (Status::Draft, 1));
    assert_eq!(desk.store.publish(desk.write(), "").await.unwrap().value.number, 2);
}

/// All mistakes are told, and there is no version.
pub async fn a_draft_with_mistakes_is_not_published(replicas: Replicas) {
    let desk = Desk::new(replicas).await;
    let page = desk.page("/").await;
    desk.put("a", b"1").await;
    desk.store.put_block_type(desk.write(), super::projects::own("price")).await.unwrap();
    let price = json!({ "type": "price", "props": { "amount": 3 } });
    let image = json!({ "type": "image", "props": { "src": "asset:a" } });
    let ids = desk.insert(Place::last(Some(page)), json!([price, image])).await;
    let strict = CustomType { schema: json!({ "required": ["currency"] }), ..super::projects::own("price") };
    desk.store.put_block_type(desk.write(), strict).await.unwrap();
    desk.store.delete_asset(desk.write(), &asset_id("a"), true).await.unwrap();
    let before = desk.project().await;
    let Refusal::Invalid(problems) = desk.store.publish(desk.write(), "x\0").await.refusal() else {
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
    let desk = Desk::new(replicas).await;
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
pub async fn a_version_becomes_the_draft_again(replicas: Replicas) {
    let desk = Desk::new(replicas).await;
    let page = desk.page("/").await;
    let ids = desk.sections(&page, "abc").await;
    let asset = desk.put("a", b"old").await.value;
    desk.store.put_block_type(desk.write(), super::projects::own("price")).await.unwrap();
    let then = desk.other.content(&ann(), &desk.id).await.unwrap().value;
    let version_bytes = desk.store.publish(desk.write(), "").await.unwrap().value.bytes;
    // Everything changes.
    let patch =
        FieldsPatch { name: Some("Two".to_owned()), slug: Some("two".to_owned()), ..FieldsPatch::default() };
    desk.store.update_project(desk.write(), patch).await.unwrap();
    desk.store.delete_block(desk.write(), &ids[1]).await.unwrap();
    desk.store.move_block(desk.write(), &ids[2], Place::Before(ids[0].clone())).await.unwrap();
    desk.sections(&page, "new").await;
    desk.store.delete_asset(desk.write(), &asset.id, false).await.unwrap();
    desk.put("b", b"new content").await;
    desk.store.delete_block_type(desk.write(), "price").await.unwrap();
    desk.store.edit_design_system(desk.write(), DesignEdit::Replace(Document::default())).await.unwrap();
    let before = desk.project().await;
    assert_eq!(desk.store.restore_version(desk.at_revision(1), 1).await.word(), "conflict");
    assert_eq!(desk.store.restore_version(desk.write(), 9).await.word(), "not found");
    assert_eq!(desk.store.restore_version(desk.dry(), 1).await.unwrap().revision, before.revision + 1);
    assert_eq!(desk.project().await, before);
    let restored = desk.store.restore_version(desk.write(), 1).await.unwrap();
    assert_eq!((restored.revision, restored.fields.slug.as_str()), (before.revision + 1, "two"));
    assert_eq!((restored.fields.name.as_str(), restored.published), ("One", before.published));
    let mut draft = desk.other.content(&ann(), &desk.id).await.unwrap().value;
    assert_eq!(desk.project().await.usage, crate::Usage { versions: 1, version_bytes, ..draft.usage() });
    "one".clone_into(&mut draft.fields.slug);
    assert_eq!(draft, then);
    assert_eq!(desk.other.asset_bytes(&ann(), &desk.id, &asset.digest).await.unwrap(), b"old");
    assert_eq!(desk.titles(&page).await, "abc");
    // Who names which asset is right again, too.
    assert_eq!(desk.store.delete_asset(desk.write(), &asset.id, false).await.word(), "done");
}

/// The draft is what is published again after that version has become the draft, and after no other.
pub async fn a_draft_is_what_is_published_again(replicas: Replicas) {
    let desk = Desk::new(replicas).await;
    let page = desk.page("/").await;
    desk.store.publish(desk.write(), "").await.unwrap();
    desk.sections(&page, "a").await;
    desk.store.publish(desk.write(), "").await.unwrap();
    let renamed = FieldsPatch { slug: Some("two".to_owned()), ..FieldsPatch::default() };
    desk.sections(&page, "b").await;
    for (number, patch, has_changes) in
        [(1, None, true), (2, None, false), (1, None, true), (2, Some(renamed), true)]
    {
        if let Some(patch) = patch {
            desk.store.update_project(desk.write(), patch).await.unwrap();
        }
        let restored = desk.store.restore_version(desk.write(), number).await.unwrap();
        assert_eq!(restored.published.map(|published| published.version), Some(2));
        assert_eq!(restored.has_changes(), has_changes, "{number}");
        assert_eq!(desk.project().await, restored);
        let draft = desk.other.content(&ann(), &desk.id).await.unwrap().value;
        let (_, published) = desk.other.version(&ann(), &desk.id, 2).await.unwrap();
        assert_eq!(differences(&published, &draft).is_empty(), !has_changes, "{number}");
    }
}

/// A version goes, its number does not come back, and what is published stays.
pub async fn versions_are_deleted(replicas: Replicas) {
    let desk = Desk::new(replicas).await;
    desk.store.publish(desk.write(), "").await.unwrap();
    desk.store.publish(desk.write(), "").await.unwrap();
    let delete = async |number| desk.store.delete_version(desk.write(), number).await;
    assert_eq!(delete(2).await.word(), "published");
    assert_eq!(delete(1).await.unwrap().value.number, 1);
    assert!(!desk.project().await.has_changes(), "the draft is still what is published");
    let (left, _) = desk.other.version(&ann(), &desk.id, 2).await.unwrap();
    assert_eq!(desk.project().await.usage.version_bytes, left.bytes);
    assert_eq!(delete(1).await.word(), "not found");
    assert_eq!(desk.other.version(&ann(), &desk.id, 1).await.word(), "not found");
    desk.store.unpublish(desk.write()).await.unwrap();
    assert_eq!(delete(2).await.word(), "done");
    assert_eq!(desk.project().await.usage.versions, 0);
    assert_eq!(desk.store.publish(desk.write(), "").await.unwrap().value.number, 3);
}
