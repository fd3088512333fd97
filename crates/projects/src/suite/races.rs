//! Concurrent writes.

use futures_util::future::join_all;
use serde_json::json;

use super::Replicas;
use super::fixture::{ExpectRejection as _, SuiteFixture, ann, object, project_id, timestamp};
use crate::blocks::{BlockPosition, NewBlock};
use crate::new_project::NewProject;
use crate::project::NewProjectFields;

/// Number of concurrent writers.
const CONCURRENT_WRITERS: u8 = 12;

/// No update is lost: the writer with the current revision succeeds, the others get a conflict.
pub async fn one_of_concurrent_writers_at_a_revision_wins(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let page = suite.page("/").await;
    let section = suite.sections(&page, "s").await.remove(0);
    for round in 0..5 {
        let revision = suite.project().await.revision;
        let writers = (0..CONCURRENT_WRITERS).map(|number| {
            let store = if number % 2 == 0 { &suite.store } else { &suite.other };
            let change = object(json!({ "title": format!("{round} {number}") }));
            store.update_block(suite.write_at_revision(revision), &section, change)
        });
        let done = join_all(writers).await;
        let winners: Vec<_> = done.iter().filter_map(|done| done.as_ref().ok()).collect();
        assert_eq!(winners.len(), 1);
        let kept = suite.read(Some(&section), 1).await;
        assert_eq!((kept.revision, &kept.value[0].block), (revision + 1, &winners[0].value));
        assert!(done.into_iter().filter(Result::is_err).all(|lost| lost.outcome_name() == "conflict"));
    }
}

/// Without a revision every write succeeds and counts.
pub async fn all_concurrent_writers_without_a_revision_succeed(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let page = suite.page("/").await;
    let before = suite.project().await;
    let writers = (0..CONCURRENT_WRITERS).map(|number| {
        let store = if number % 2 == 0 { &suite.store } else { &suite.other };
        let new = vec![NewBlock::new("section", object(json!({ "title": format!("{number} ") })))];
        let place = BlockPosition::In { parent: Some(page.clone()), index: Some(0) };
        store.insert_blocks(suite.write(), place, new, suite.next_seed())
    });
    let made = join_all(writers).await;
    let mut revisions: Vec<u64> = made.iter().map(|made| made.as_ref().unwrap().revision).collect();
    revisions.sort_unstable();
    assert!(revisions.into_iter().eq(before.revision + 1..=before.revision + u64::from(CONCURRENT_WRITERS)));
    let found = suite.read(Some(&page), 2).await.value;
    assert_eq!(found.len(), usize::from(CONCURRENT_WRITERS) + 1);
    assert!(found[1..].windows(2).all(|pair| pair[0].block.order < pair[1].block.order));
    let content = suite.other.content(&ann(), &suite.id).await.unwrap().value;
    assert_eq!(suite.project().await.usage, content.usage());
}

/// Uniqueness holds under concurrency.
pub async fn concurrent_duplicate_slugs_and_paths_are_rejected(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let ann = ann();
    let makers = (0..CONCURRENT_WRITERS).map(|number| {
        let fields = NewProjectFields { slug: Some("same".to_owned()), ..NewProjectFields::with_name("P") };
        let store = if number % 2 == 0 { &suite.store } else { &suite.other };
        store.create_project(&ann, NewProject::empty(project_id(50 + number), fields), false, timestamp(0))
    });
    let made = join_all(makers).await;
    assert_eq!(made.iter().filter(|made| made.is_ok()).count(), 1);
    assert!(made.into_iter().filter(Result::is_err).all(|lost| lost.outcome_name() == "taken"));
    let pages = (0..CONCURRENT_WRITERS).map(|number| {
        let store = if number % 2 == 0 { &suite.store } else { &suite.other };
        let new = vec![NewBlock::new("page", object(json!({ "title": "T", "path": "/same" })))];
        store.insert_blocks(suite.write(), BlockPosition::last(None), new, suite.next_seed())
    });
    let made = join_all(pages).await;
    assert_eq!(made.iter().filter(|made| made.is_ok()).count(), 1);
    assert!(made.into_iter().filter(Result::is_err).all(|lost| lost.outcome_name() == "invalid"));
}
