//! Assets.

use serde_json::json;

use super::Replicas;
use super::fixture::{ExpectRejection as _, SuiteFixture, ann, asset_id, new_asset, object, timestamp};
use crate::asset::{AssetPatch, ContentType, Digest, NewAsset};
use crate::blocks::BlockPosition;
use crate::cursor::Page;
use crate::error::ProjectRejection;
use crate::project::ProjectWrite;

/// Content and metadata. Storing an asset again replaces the content under the same id.
pub async fn assets_are_put_and_read(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let large: Vec<u8> = b"abc\n".iter().copied().cycle().take(300_000).collect();
    let made = suite.put_asset("a", &large).await;
    assert_eq!((made.revision, made.value.created, made.value.bytes), (2, timestamp(60), 300_000));
    assert_eq!(
        (made.value.digest, made.value.content_type),
        (Digest::from_content(&large), ContentType::Text)
    );
    assert_eq!(suite.other.asset(&ann(), &suite.id, &asset_id("a")).await.unwrap(), made.value);
    assert_eq!(suite.other.asset_bytes(&ann(), &suite.id, &made.value.digest).await.unwrap(), large);
    let patch = AssetPatch { name: Some("Ä 🎉.txt".to_owned()), alt: Some("two\nlines".to_owned()) };
    let changed = suite.store.update_asset(suite.write(), &made.value.id, patch).await.unwrap().value;
    assert_eq!((changed.name.as_str(), changed.digest), ("Ä 🎉.txt", made.value.digest));
    let png = NewAsset { content: b"\x89PNG\r\n\x1a\n\0\0".to_vec(), ..new_asset("a", b"") };
    let later = ProjectWrite { now: timestamp(90), ..suite.write() };
    let again = suite.store.put_asset(later, png.clone()).await.unwrap().value;
    assert_eq!((again.content_type, again.created), (ContentType::Png, timestamp(60)));
    assert_eq!(suite.other.asset_bytes(&ann(), &suite.id, &again.digest).await.unwrap(), png.content);
    assert_eq!(
        suite.other.asset_bytes(&ann(), &suite.id, &made.value.digest).await.outcome_name(),
        "not found"
    );
    let lie = NewAsset { content_type: Some(ContentType::Jpeg), ..png };
    assert_eq!(suite.store.put_asset(suite.write(), lie).await.outcome_name(), "invalid");
    assert_eq!(suite.store.put_asset(suite.write(), new_asset("b", b"")).await.outcome_name(), "invalid");
    let gone = suite.store.update_asset(suite.write(), &asset_id("gone"), AssetPatch::default()).await;
    assert_eq!(gone.outcome_name(), "not found");
    assert_eq!(suite.other.asset(&ann(), &suite.id, &asset_id("a")).await.unwrap(), again);
}

/// Assets are listed by time and id, in pages.
pub async fn assets_are_listed_in_pages(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    for (number, name) in ["d", "a", "c", "b", "e"].into_iter().enumerate() {
        let seconds = if number < 2 { 5 } else { 4 };
        let write = ProjectWrite { now: timestamp(seconds), ..suite.write() };
        suite.store.put_asset(write, new_asset(name, name.as_bytes())).await.unwrap();
    }
    let mut page = Page::first(2);
    let mut found = String::new();
    loop {
        let listed = suite.other.list_assets(&ann(), &suite.id, page).await.unwrap().value;
        listed.items.iter().for_each(|asset| found.push_str(asset.id.as_str()));
        let Some(next) = listed.next else { break };
        page = Page { after: Some(next), limit: Some(2) };
    }
    assert_eq!(found, "bcead");
}

/// A referenced asset is only deleted by force, and the index of references follows every write.
pub async fn assets_in_use_are_not_deleted(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let page = suite.page("/").await;
    suite.put_asset("a", b"1").await;
    suite.put_asset("b", b"2").await;
    let image = json!({ "type": "image", "props": { "src": "asset:a" } });
    let text = json!({ "type": "text", "props": { "text": "see [it](asset:a)", "format": "markdown" } });
    let ids = suite.insert(BlockPosition::last(Some(page.clone())), json!([image, text])).await;
    let users = async |name: &str| {
        let users = suite.other.asset_users(&ann(), &suite.id, &asset_id(name)).await.unwrap();
        users.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let mut both: Vec<String> = ids.iter().map(ToString::to_string).collect();
    both.sort();
    assert_eq!(users("a").await, both);
    let delete =
        async |name: &str, force| suite.store.delete_asset(suite.write(), &asset_id(name), force).await;
    let refused = delete("a", false).await.expect_rejection();
    assert!(matches!(refused, ProjectRejection::InUse { by, .. } if by == both));
    suite.store.update_block(suite.write(), &ids[0], object(json!({ "src": "asset:b" }))).await.unwrap();
    assert_eq!((users("a").await, users("b").await), (vec![ids[1].to_string()], vec![ids[0].to_string()]));
    let copied = suite
        .store
        .copy_block(suite.write(), &ids[0], BlockPosition::last(Some(page)), suite.next_seed())
        .await
        .unwrap();
    assert_eq!(users("b").await.len(), 2);
    suite.store.delete_block(suite.write(), &copied.value[0].id).await.unwrap();
    suite.store.delete_block(suite.write(), &ids[1]).await.unwrap();
    assert_eq!((users("a").await.len(), users("b").await.len()), (0, 1));
    assert_eq!(delete("a", false).await.outcome_name(), "done");
    assert_eq!(delete("a", false).await.outcome_name(), "not found");
    assert_eq!(delete("b", true).await.outcome_name(), "done");
    // The block has a dangling reference and can still be changed, but the reference cannot be added again.
    let change = async |value| suite.store.update_block(suite.write(), &ids[0], object(value)).await;
    assert_eq!(change(json!({ "alt": "x" })).await.outcome_name(), "done");
    assert_eq!(change(json!({ "src": "asset:a" })).await.outcome_name(), "invalid");
}

/// Content is kept for as long as an asset or a version refers to it, and counts once.
pub async fn bytes_are_kept_while_referenced(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let digest = suite.put_asset("a", b"content").await.value.digest;
    suite.put_asset("b", b"content").await;
    assert_eq!(suite.project().await.usage.asset_bytes, 7);
    suite.store.publish(suite.write(), "").await.unwrap();
    let bytes = async || suite.other.asset_bytes(&ann(), &suite.id, &digest).await;
    for name in ["a", "b"] {
        suite.store.delete_asset(suite.write(), &asset_id(name), false).await.unwrap();
        assert_eq!(bytes().await.unwrap(), b"content", "{name}");
    }
    let usage = suite.project().await.usage;
    assert_eq!((usage.assets, usage.asset_bytes), (0, 7));
    suite.store.unpublish(suite.write()).await.unwrap();
    suite.store.delete_version(suite.write(), 1).await.unwrap();
    assert_eq!(bytes().await.outcome_name(), "not found");
    assert_eq!(suite.project().await.usage.asset_bytes, 0);
}
