//! Pages and blocks.

use serde_json::{Value, json};

use super::Replicas;
use super::fixture::{ExpectRejection as _, SuiteFixture, ann, asset_id, block_id, object};
use crate::blocks::{BlockEntry, BlockPosition, NewBlock, TreeQuery};
use crate::cursor::Page;
use crate::error::ProjectRejection;
use crate::ids::BlockId;
use crate::limits::{MAX_ASSET_MENTIONS, MAX_BLOCK_DEPTH, MAX_PROPS_BYTES};

/// A subtree is created as a whole, and read to the requested depth.
pub async fn blocks_are_created_and_read(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let page = suite.page("/").await;
    let tree = json!([
        { "type": "section", "props": { "title": "a" }, "children": [
            { "type": "section", "props": { "title": "b" }, "children": [{ "type": "divider" }] },
            { "type": "section", "props": { "title": "c" } },
        ] },
        { "type": "section", "props": { "title": "d" } },
    ]);
    let ids = suite.insert(BlockPosition::last(Some(page.clone())), tree).await;
    assert_eq!((ids.len(), suite.titles(&page).await.as_str()), (5, "ab?cd"));
    for (root, depth, expected) in [
        (None, 1, "2"),
        (None, 2, "2 2 0"),
        (Some(&page), 1, "2"),
        (Some(&page), 3, "2 2 1 0 0"),
        (Some(&page), 99, "2 2 1 0 0 0"),
        (Some(&ids[0]), 2, "2 1 0"),
        (Some(&ids[4]), 9, "0"),
    ] {
        let found = suite.read(root, depth).await;
        let counts: Vec<String> = found.value.iter().map(|found| found.children.to_string()).collect();
        assert_eq!(counts.join(" "), expected, "{root:?} {depth}");
        assert_eq!(found.revision, 3);
        assert_eq!(
            found.value[0].block.parent,
            root.filter(|root| **root != page).and(found.value[0].block.parent.clone())
        );
    }
    let reach = |most| TreeQuery { depth: 9, max_blocks: most };
    assert_eq!(
        suite.other.blocks(&ann(), &suite.id, Some(&page), reach(5)).await.outcome_name(),
        "too large"
    );
    assert_eq!(suite.other.blocks(&ann(), &suite.id, Some(&page), reach(6)).await.outcome_name(), "done");
    // An invalid subtree is rejected as a whole, with all its problems.
    let bad = NewBlock::parse(
        &json!([{ "type": "text", "props": { "text": "x" } }, { "type": "nope" }, { "type": "heading" }]),
    );
    let place = BlockPosition::last(Some(page.clone()));
    let refused = suite
        .store
        .insert_blocks(suite.write(), place, bad.unwrap(), suite.next_seed())
        .await
        .expect_rejection();
    assert!(matches!(refused, ProjectRejection::Invalid(problems) if problems.len() == 2));
    assert_eq!((suite.project().await.revision, suite.project().await.usage.blocks), (3, 6));
}

/// Search covers every prop at every depth, in reading order, and nothing else.
pub async fn blocks_are_found_by_their_text(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let page = suite.page("/").await;
    let tree = json!([
        { "type": "section", "props": { "title": "Preise" }, "children": [
            { "type": "text", "props": { "text": "Ein *Äpfel* \"GRÜN\"" } },
            { "type": "list", "props": { "items": ["Birnen", "äpfel"] } },
        ] },
        { "type": "divider" },
    ]);
    let ids = suite.insert(BlockPosition::last(Some(page)), tree).await;
    for (text, expected) in [
        ("äpfel", vec![&ids[1], &ids[2]]),
        ("PREISE", vec![&ids[0]]),
        ("\"grün\"", vec![&ids[1]]),
        ("birne", vec![&ids[2]]),
        // Names of props, types and JSON punctuation are not searched.
        ("items", vec![]),
        ("divider", vec![]),
        ("\",\"", vec![]),
    ] {
        let found = suite.other.find_blocks(&ann(), &suite.id, text).await.unwrap();
        assert_eq!(found.value.iter().map(|block| &block.id).collect::<Vec<_>>(), expected, "{text}");
        assert_eq!(found.revision, suite.project().await.revision);
    }
}

/// Children are listed in order, in pages.
pub async fn blocks_are_listed_in_pages(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let (one, _two) = (suite.page("/").await, suite.page("/two").await);
    suite.sections(&one, "abcdefg").await;
    for parent in [None, Some(&one)] {
        let all = suite.other.children(&ann(), &suite.id, parent, Page::ALL).await.unwrap().value;
        let mut found: Vec<BlockEntry> = Vec::new();
        let mut page = Page::first(3);
        loop {
            let listed = suite.other.children(&ann(), &suite.id, parent, page).await.unwrap().value;
            found.extend(listed.items);
            let Some(next) = listed.next else { break };
            page = Page { after: Some(next), limit: Some(3) };
        }
        assert_eq!(found, all.items);
        assert_eq!(found.len(), if parent.is_none() { 2 } else { 7 });
    }
    let pages = suite.other.children(&ann(), &suite.id, None, Page::ALL).await.unwrap().value.items;
    assert_eq!(pages.iter().map(|found| found.children).collect::<Vec<_>>(), [7, 0]);
    let gone = block_id("gone");
    assert_eq!(
        suite.other.children(&ann(), &suite.id, Some(&gone), Page::ALL).await.outcome_name(),
        "not found"
    );
}

/// A patch is merged, validated, and stored if it is valid.
pub async fn props_are_patched_and_validated(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let page = suite.page("/").await;
    let props = json!({ "links": [{ "label": "a", "href": "/a" }], "title": "x" });
    let links = suite
        .insert(BlockPosition::last(Some(page)), json!({ "type": "links", "props": props }))
        .await
        .remove(0);
    let change = async |value: Value| suite.store.update_block(suite.write(), &links, object(value)).await;
    let changed = change(json!({ "title": null, "links": [{ "label": "b", "href": "#" }] })).await.unwrap();
    let expected = json!({ "links": [{ "label": "b", "href": "#" }] });
    assert_eq!(Value::Object(changed.value.props.clone()), expected);
    assert_eq!(suite.read(Some(&links), 1).await.value[0].block, changed.value);
    let refused = change(json!({ "x": 1, "links": [{ "label": "", "href": "javascript:x" }] }))
        .await
        .expect_rejection();
    let ProjectRejection::Invalid(problems) = refused else { panic!("{refused}") };
    assert!(problems.iter().all(|problem| problem.block.as_deref() == Some(links.as_str())));
    assert_eq!(problems.len(), 3, "{problems:?}");
    let large = change(json!({ "title": "x".repeat(MAX_PROPS_BYTES) })).await;
    assert_eq!(large.outcome_name(), "invalid");
    assert_eq!(Value::Object(suite.read(Some(&links), 1).await.value[0].block.props.clone()), expected);
}

/// Every kind of position, and invalid ones.
pub async fn blocks_are_moved(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let (page, other) = (suite.page("/").await, suite.page("/other").await);
    let ids = suite.sections(&page, "abcd").await;
    let inner = suite.sections(&ids[1], "e").await.remove(0);
    let go =
        async |id: &BlockId, place: BlockPosition| suite.store.move_block(suite.write(), id, place).await;
    let within = |parent: &BlockId, index| BlockPosition::In { parent: Some(parent.clone()), index };
    for (block, place, expected) in [
        (&ids[0], within(&page, Some(2)), "beca d"),
        (&ids[3], BlockPosition::Before(ids[1].clone()), "dbeca "),
        (&ids[1], BlockPosition::After(ids[2].clone()), "dcbea "),
        (&inner, within(&page, Some(0)), "edcba "),
        (&ids[2], within(&ids[0], None), "edbac "),
        (&ids[1], within(&other, None), "edac b"),
        (&ids[1], BlockPosition::Before(inner.clone()), "bedac "),
    ] {
        let before = suite.project().await.revision;
        let moved = go(block, place.clone()).await.unwrap();
        assert_eq!(moved.revision, before + 1);
        let found = format!("{} {}", suite.titles(&page).await, suite.titles(&other).await);
        assert_eq!(found.replace(' ', ""), expected.replace(' ', ""), "{place:?}");
        assert_eq!(suite.titles(&other).await.is_empty(), !expected.ends_with('b'));
    }
    let before = suite.other.content(&ann(), &suite.id).await.unwrap();
    for (block, place, expected) in [
        (&ids[0], within(&ids[0], None), "invalid"),
        (&ids[0], within(&ids[2], None), "invalid"),
        (&ids[0], BlockPosition::Before(ids[0].clone()), "invalid"),
        (&ids[0], BlockPosition::last(None), "invalid"),
        (&page, within(&other, None), "invalid"),
        (&ids[0], within(&block_id("gone"), None), "not found"),
        (&ids[0], BlockPosition::After(block_id("gone")), "not found"),
        (&block_id("gone"), within(&page, None), "not found"),
    ] {
        assert_eq!(go(block, place.clone()).await.outcome_name(), expected, "{block} {place:?}");
    }
    assert_eq!(suite.other.content(&ann(), &suite.id).await.unwrap(), before);
}

/// Repeated inserts between the same two siblings always find room and keep the order.
pub async fn many_inserts_at_one_position_stay_in_order(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let page = suite.page("/").await;
    let ids = suite.sections(&page, "abc").await;
    for round in 0..400 {
        // The two alternately move between the other and `a`.
        let moved = &ids[1 + round % 2];
        suite.store.move_block(suite.write(), moved, BlockPosition::After(ids[0].clone())).await.unwrap();
        let expected = if round % 2 == 0 { "abc" } else { "acb" };
        if round % 50 < 2 || round > 340 {
            assert_eq!(suite.titles(&page).await, expected, "{round}");
        }
    }
    let found = suite.read(Some(&page), 2).await.value;
    assert!(found.iter().all(|found| found.block.order.as_str().len() <= crate::order::MAX_KEY_BYTES));
}

/// A copy has new ids and the same content.
pub async fn blocks_are_copied(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let page = suite.page("/").await;
    let ids = suite.sections(&page, "ab").await;
    suite.sections(&ids[0], "cd").await;
    let copy =
        async |id: &BlockId, place| suite.store.copy_block(suite.write(), id, place, suite.next_seed()).await;
    let made = copy(&ids[0], BlockPosition::After(ids[1].clone())).await.unwrap().value;
    assert_eq!((made.len(), suite.titles(&page).await.as_str()), (3, "acdbacd"));
    copy(&ids[0], BlockPosition::last(Some(ids[0].clone()))).await.unwrap();
    assert_eq!(suite.titles(&page).await, "acdacdbacd");
    let second = copy(&page, BlockPosition::After(page.clone())).await.unwrap().value;
    assert_eq!(suite.titles(&second[0].id).await, "acdacdbacd");
    assert_ne!(second[0].path(), Some("/"));
    assert_eq!(suite.project().await.usage.blocks, 22);
    assert_eq!(
        copy(&block_id("gone"), BlockPosition::last(Some(page.clone()))).await.outcome_name(),
        "not found"
    );
    assert_eq!(copy(&ids[0], BlockPosition::last(None)).await.outcome_name(), "invalid");
}

/// Descendants are deleted as well, and nothing else.
pub async fn blocks_are_deleted_with_their_descendants(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let page = suite.page("/").await;
    let ids = suite.sections(&page, "abc").await;
    let inner = suite.sections(&ids[1], "de").await;
    suite.sections(&inner[0], "f").await;
    let gone = suite.store.delete_block(suite.write(), &ids[1]).await.unwrap();
    assert_eq!((gone.value, suite.titles(&page).await.as_str()), (4, "ac"));
    assert_eq!(suite.store.delete_block(suite.write(), &inner[0]).await.outcome_name(), "not found");
    assert_eq!(suite.store.delete_block(suite.write(), &page).await.unwrap().value, 3);
    assert_eq!(suite.read(None, 9).await.value, []);
    assert_eq!(suite.project().await.usage.block_bytes, 0);
}

/// Page paths are unique.
pub async fn page_paths_are_unique(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let (home, about) = (suite.page("/").await, suite.page("/about").await);
    let page = |path: &str| NewBlock::new("page", object(json!({ "title": "T", "path": path })));
    let insert = async |new| {
        suite.store.insert_blocks(suite.write(), BlockPosition::last(None), new, suite.next_seed()).await
    };
    assert_eq!(insert(vec![page("/")]).await.outcome_name(), "invalid");
    assert_eq!(insert(vec![page("/x"), page("/x")]).await.outcome_name(), "invalid");
    let change = async |id, path: &str| {
        suite.store.update_block(suite.write(), id, object(json!({ "path": path }))).await
    };
    assert_eq!(change(&about, "/").await.outcome_name(), "invalid");
    assert_eq!(change(&about, "/about").await.outcome_name(), "done");
    assert_eq!(change(&home, "/start").await.outcome_name(), "done");
    assert_eq!(change(&about, "/").await.outcome_name(), "done");
    suite.store.delete_block(suite.write(), &about).await.unwrap();
    assert_eq!(insert(vec![page("/")]).await.outcome_name(), "done");
}

/// Limits on depth and on blocks per call.
pub async fn block_limits_are_enforced(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let page = suite.page("/").await;
    let mut deepest = page.clone();
    for _ in 1..MAX_BLOCK_DEPTH {
        deepest = suite.sections(&deepest, "x").await.remove(0);
    }
    let divider = || vec![NewBlock::new("divider", object(json!({})))];
    let place = BlockPosition::last(Some(deepest.clone()));
    let below = suite.store.insert_blocks(suite.write(), place, divider(), suite.next_seed()).await;
    assert_eq!(below.outcome_name(), "invalid");
    let pair = suite.sections(&page, "p").await.remove(0);
    suite.sections(&pair, "q").await;
    let parent = suite.read(Some(&deepest), 1).await.value[0].block.parent.clone();
    assert_eq!(
        suite.store.move_block(suite.write(), &pair, BlockPosition::last(parent)).await.outcome_name(),
        "invalid"
    );
    let many = vec![NewBlock::new("divider", object(json!({}))); crate::limits::MAX_NEW_BLOCKS_PER_CALL + 1];
    let place = BlockPosition::last(Some(page));
    assert_eq!(
        suite.store.insert_blocks(suite.write(), place, many, suite.next_seed()).await.outcome_name(),
        "too large"
    );
    let words: Vec<String> = (0..4000).map(|number| format!("asset:{number:04}")).collect();
    let words = words.join(" ");
    let naming = vec![NewBlock::new("text", object(json!({ "text": words }))); 13];
    let named = suite
        .store
        .insert_blocks(suite.write(), BlockPosition::last(Some(pair)), naming, suite.next_seed())
        .await;
    assert!(matches!(named.expect_rejection(), ProjectRejection::TooLarge { limit: MAX_ASSET_MENTIONS, .. }));
    let usage = suite.project().await.usage;
    assert_eq!((usage.blocks, usage.asset_mentions), (MAX_BLOCK_DEPTH as u64 + 2, 0));
}

/// The row of the project always contains the exact usage.
pub async fn usage_is_tracked(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let page = suite.page("/").await;
    let ids = suite.sections(&page, "abc").await;
    suite.put_asset("one", b"12345").await;
    suite.put_asset("two", b"12345").await;
    suite.put_asset("three", b"123").await;
    for (id, title) in [(&ids[0], "asset:x, asset:y, asset:x"), (&ids[1], "+asset:x"), (&ids[2], "+asset:x")]
    {
        suite.store.update_block(suite.write(), id, object(json!({ "title": title }))).await.unwrap();
    }
    suite.store.update_block(suite.write(), &ids[2], object(json!({ "title": null }))).await.unwrap();
    suite
        .store
        .copy_block(suite.write(), &ids[0], BlockPosition::last(Some(page.clone())), suite.next_seed())
        .await
        .unwrap();
    suite.store.delete_block(suite.write(), &ids[1]).await.unwrap();
    suite.store.delete_asset(suite.write(), &asset_id("two"), false).await.unwrap();
    let content = suite.other.content(&ann(), &suite.id).await.unwrap().value;
    let usage = suite.project().await.usage;
    assert_eq!(usage, content.usage());
    assert_eq!((usage.blocks, usage.asset_mentions, usage.assets, usage.asset_bytes), (4, 4, 2, 8));
}
