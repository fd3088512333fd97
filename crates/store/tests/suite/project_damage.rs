//! Rows that no use case leaves behind, and writes that hit nothing: nothing is lost in silence, and nothing goes on for ever.

use projects::{
    AssetId, BlockId, BlockPosition, Error, IdGenerator, IdSeed, NewAsset, ProjectId, ProjectRejection,
    ProjectStore, ProjectWrite, StoreError, TreeQuery,
};
use serde_json::json;

use crate::harness::{TestDatabase, execute};
use crate::project_fixture::{ann, create_populated_project, parse_blocks, write};

/// The ids of the blocks of a project, in the order of reading.
async fn block_ids(store: &ProjectStore, id: &ProjectId) -> Vec<BlockId> {
    let content = store.content(&ann(), id).await.unwrap().value;
    content.blocks.into_iter().map(|block| block.id).collect()
}

/// A block whose parent is missing is still there, and keeps the rest from being published without it.
async fn orphaned_block_is_kept_and_blocks_publishing(database: &TestDatabase) {
    let store = database.open_projects().await;
    let id = create_populated_project(&store, "ann", 1).await;
    let before = block_ids(&store, &id).await;
    let orphan = before.last().unwrap();
    execute(database, &format!("UPDATE project_blocks SET parent = 'nobody' WHERE id = '{orphan}'")).await;
    assert_eq!(block_ids(&store, &id).await, before);
    let refused = store.publish(write("ann", &id), "").await.unwrap_err();
    assert!(refused.to_string().contains("not reachable from any page"), "{refused}");
    let copy = IdGenerator::from_seed(IdSeed([2; 16])).next_project_id();
    let refused =
        store.duplicate_project(write("ann", &id), copy, projects::NewProjectFields::default()).await;
    assert!(matches!(refused, Err(Error::Rejected(ProjectRejection::Invalid(_)))), "{refused:?}");
    assert_eq!(store.list_versions(&ann(), &id, projects::Page::ALL).await.unwrap().items.len(), 1);
}

/// Two blocks that are inside of each other.
async fn cyclic_blocks_can_be_read_and_deleted(database: &TestDatabase) {
    let store = database.open_projects().await;
    let id = create_populated_project(&store, "ann", 1).await;
    let page = block_ids(&store, &id).await.remove(0);
    let section = json!({ "type": "section", "children": [{ "type": "section" }] });
    let made = store
        .insert_blocks(
            write("ann", &id),
            BlockPosition::last(Some(page)),
            parse_blocks(&section),
            IdSeed([7; 16]),
        )
        .await
        .unwrap()
        .value;
    let (one, other) = (&made[0].id, &made[1].id);
    execute(database, &format!("UPDATE project_blocks SET parent = '{other}' WHERE id = '{one}'")).await;
    let found = store.blocks(&ann(), &id, Some(one), TreeQuery::ALL).await.unwrap().value;
    assert!(found.len() < 40, "{}", found.len());
    store.move_block(write("ann", &id), one, BlockPosition::last(Some(other.clone()))).await.unwrap_err();
    assert_eq!(store.delete_block(write("ann", &id), one).await.unwrap().value, 2);
}

/// A row that is not there any more, or that something keeps from being written, is no success.
async fn write_that_matches_no_row_is_an_error(database: &TestDatabase) {
    let store = database.open_projects().await;
    let id = create_populated_project(&store, "ann", 1).await;
    let before = store.content(&ann(), &id).await.unwrap();
    let ignore = if database.url.starts_with("sqlite:") {
        "CREATE TRIGGER ignored BEFORE UPDATE ON projects BEGIN SELECT RAISE(IGNORE); END"
    } else {
        "CREATE FUNCTION ignored() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
        CREATE TRIGGER ignored BEFORE UPDATE ON projects FOR EACH ROW EXECUTE FUNCTION ignored()"
    };
    execute(database, ignore).await;
    let patch = projects::ProjectFieldsPatch {
        name: Some("N".to_owned()),
        ..projects::ProjectFieldsPatch::default()
    };
    let published = store.publish(write("ann", &id), "").await.map(drop);
    let renamed = store.update_project(write("ann", &id), patch).await.map(drop);
    for told in [published, renamed] {
        assert!(matches!(told, Err(Error::Store(StoreError::Broken(_)))), "{told:?}");
    }
    assert_eq!(store.content(&ann(), &id).await.unwrap(), before);
}

/// A content is judged before the project is looked for; told it is after that.
async fn project_errors_are_reported_before_content_errors(database: &TestDatabase) {
    let store = database.open_projects().await;
    let id = create_populated_project(&store, "ann", 1).await;
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
        wrong(ProjectWrite { if_revision: Some(1), ..write("ann", &id) }).await,
        wrong(write("ann", &id)).await,
    ];
    let [Err(Error::Rejected(absent)), Err(Error::Rejected(stale)), Err(Error::Rejected(invalid))] = told
    else {
        panic!("{told:?}")
    };
    assert!(matches!(absent, ProjectRejection::NotFound { .. }), "{absent}");
    assert!(matches!(stale, ProjectRejection::Conflict { .. }), "{stale}");
    assert!(matches!(invalid, ProjectRejection::Invalid(_)), "{invalid}");
}

test_on_both_databases!(
    orphaned_block_is_kept_and_blocks_publishing,
    cyclic_blocks_can_be_read_and_deleted,
    write_that_matches_no_row_is_an_error,
    project_errors_are_reported_before_content_errors,
);
