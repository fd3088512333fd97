//! Rows that no use case leaves behind, and writes that hit nothing: nothing is lost in silence, and nothing goes on for ever.

use projects::{
    AssetId, BlockId, Error, Ids, NewAsset, Place, ProjectId, ProjectStore, Reach, Refusal, Seed, StoreError,
    Write,
};
use serde_json::json;

use crate::harness::{Place as Database, execute};
use crate::project_desk::{ann, blocks, fill, write};

/// The ids of the blocks of a project, in the order of reading.
async fn ids(store: &ProjectStore, id: &ProjectId) -> Vec<BlockId> {
    let content = store.content(&ann(), id).await.unwrap().value;
    content.blocks.into_iter().map(|block| block.id).collect()
}

/// A block whose parent is missing is still there, and keeps the rest from being published without it.
async fn what_hangs_on_no_page_is_not_lost(place: &Database) {
    let store = place.open_projects().await;
    let id = fill(&store, "ann", 1).await;
    let before = ids(&store, &id).await;
    let orphan = before.last().unwrap();
    execute(place, &format!("UPDATE project_blocks SET parent = 'nobody' WHERE id = '{orphan}'")).await;
    assert_eq!(ids(&store, &id).await, before);
    let refused = store.publish(write("ann", &id), "").await.unwrap_err();
    assert!(refused.to_string().contains("hang on no page"), "{refused}");
    let copy = Ids::of(Seed([2; 16])).project();
    let refused = store.duplicate_project(write("ann", &id), copy, projects::NewFields::default()).await;
    assert!(matches!(refused, Err(Error::Refused(Refusal::Invalid(_)))), "{refused:?}");
    assert_eq!(store.list_versions(&ann(), &id, projects::Page::ALL).await.unwrap().items.len(), 1);
}

/// Two blocks that are inside of each other.
async fn what_goes_in_circles_is_read_and_deleted(place: &Database) {
    let store = place.open_projects().await;
    let id = fill(&store, "ann", 1).await;
    let page = ids(&store, &id).await.remove(0);
    let section = json!({ "type": "section", "children": [{ "type": "section" }] });
    let made = store
        .insert_blocks(write("ann", &id), Place::last(Some(page)), blocks(&section), Seed([7; 16]))
        .await
        .unwrap()
        .value;
    let (one, other) = (&made[0].id, &made[1].id);
    execute(place, &format!("UPDATE project_blocks SET parent = '{other}' WHERE id = '{one}'")).await;
    let found = store.blocks(&ann(), &id, Some(one), Reach::ALL).await.unwrap().value;
    assert!(found.len() < 40, "{}", found.len());
    store.move_block(write("ann", &id), one, Place::last(Some(other.clone()))).await.unwrap_err();
    assert_eq!(store.delete_block(write("ann", &id), one).await.unwrap().value, 2);
}

/// A row that is not there any more, or that something keeps from being written, is no success.
async fn a_write_that_hits_no_row_is_told(place: &Database) {
    let store = place.open_projects().await;
    let id = fill(&store, "ann", 1).await;
    let before = store.content(&ann(), &id).await.unwrap();
    let ignore = if place.url.starts_with("sqlite:") {
        "CREATE TRIGGER ignored BEFORE UPDATE ON projects BEGIN SELECT RAISE(IGNORE); END"
    } else {
        "CREATE FUNCTION ignored() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
        CREATE TRIGGER ignored BEFORE UPDATE ON projects FOR EACH ROW EXECUTE FUNCTION ignored()"
    };
    execute(place, ignore).await;
    let patch = projects::FieldsPatch { name: Some("N".to_owned()), ..projects::FieldsPatch::default() };
    let published = store.publish(write("ann", &id), "").await.map(drop);
    let renamed = store.update_project(write("ann", &id), patch).await.map(drop);
    for told in [published, renamed] {
        assert!(matches!(told, Err(Error::Store(StoreError::Broken(_)))), "{told:?}");
    }
    assert_eq!(store.content(&ann(), &id).await.unwrap(), before);
}

/// A content is judged before the project is looked for; told it is after that.
async fn what_is_wrong_with_the_project_is_told_before_the_content(place: &Database) {
    let store = place.open_projects().await;
    let id = fill(&store, "ann", 1).await;
    let wrong = |write| {
        let new = NewAsset {
            id: AssetId::parse("b").unwrap(),
            name: "a/b".to_owned(),
            content_type: None,
            alt: String::new(),
            content: b"b".to_vec(),
        };
        store.put_asset(write, new)
    };
    let told = [
        wrong(write("bob", &id)).await,
        wrong(Write { if_revision: Some(1), ..write("ann", &id) }).await,
        wrong(write("ann", &id)).await,
    ];
    let [Err(Error::Refused(absent)), Err(Error::Refused(stale)), Err(Error::Refused(invalid))] = told else {
        panic!("{told:?}")
    };
    assert!(matches!(absent, Refusal::NotFound { .. }), "{absent}");
    assert!(matches!(stale, Refusal::Conflict { .. }), "{stale}");
    assert!(matches!(invalid, Refusal::Invalid(_)), "{invalid}");
}

on_both!(
    what_hangs_on_no_page_is_not_lost,
    what_goes_in_circles_is_read_and_deleted,
    a_write_that_hits_no_row_is_told,
    what_is_wrong_with_the_project_is_told_before_the_content,
);
