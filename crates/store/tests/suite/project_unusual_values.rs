//! Projects with odd names, times and paths, which a database may mind and no rule does.

use jiff::Timestamp;
use projects::{
    Account, BlockPosition, Error, IdSeed, NewBlock, NewProject, NewProjectFields, Page, ProjectRejection,
    ProjectWrite, StoreError,
};

use crate::harness::{TestDatabase, now_micros};
use crate::projects::{ann, create_populated_project, open, page, project_id, write};

/// In the answer as well as in what is read later.
async fn answers_contain_times_truncated_to_microseconds(database: &TestDatabase) {
    let store = open(database).await;
    let odd = Timestamp::from_nanosecond(1_900_000_000_123_456_789).unwrap();
    let new = NewProject::empty(project_id(1), NewProjectFields::with_name("P"));
    let made = store.create_project(&ann(), new, false, odd).await.unwrap();
    assert_eq!(store.project(&ann(), &project_id(1)).await.unwrap(), made);
    let version = store.publish(ProjectWrite { now: odd, ..write(1) }, "").await.unwrap().value;
    assert_eq!(store.version(&ann(), &project_id(1), 1).await.unwrap().0, version);
}

/// Accounts come from tokens of others, and may be called anything.
async fn unstorable_account_has_no_projects(database: &TestDatabase) {
    let store = open(database).await;
    create_populated_project(&store, 1).await;
    for name in ["", "a\0b", &"x".repeat(1001)] {
        let odd = Account::new(name);
        let new = NewProject::empty(project_id(2), NewProjectFields::with_name("P"));
        let made = store.create_project(&odd, new, false, now_micros()).await;
        assert!(matches!(made, Err(Error::Store(StoreError::Broken(_)))), "{made:?}");
        let found = store.project(&odd, &project_id(1)).await;
        assert!(matches!(found, Err(Error::Rejected(ProjectRejection::NotFound { .. }))), "{found:?}");
        let written = store.delete_project(ProjectWrite { account: odd.clone(), ..write(1) }).await;
        assert!(matches!(written, Err(Error::Rejected(ProjectRejection::NotFound { .. }))), "{written:?}");
        assert_eq!(store.list_projects(&odd, Page::ALL).await.unwrap().items, []);
        assert_eq!(store.projects_with_id_prefix(&odd, "", 9).await.unwrap(), []);
    }
    let longest = Account::new("x".repeat(1000));
    let new = NewProject::empty(project_id(2), NewProjectFields::with_name("P"));
    store.create_project(&longest, new, false, now_micros()).await.unwrap();
    assert_eq!(store.accounts().await.unwrap(), [ann(), longest]);
}

/// Also one that no page of a type would have, but an import may.
async fn path_may_be_as_long_as_props(database: &TestDatabase) {
    let store = open(database).await;
    let long = format!("/{}", "x".repeat(60_000));
    let mut content = create_populated_project(&store, 1).await.value;
    content.blocks[0].props.insert("path".to_owned(), long.into());
    let new = NewProject::from_content(content.clone(), project_id(2), NewProjectFields::default());
    store.create_project(&ann(), new, false, now_micros()).await.unwrap();
    assert_eq!(store.content(&ann(), &project_id(2)).await.unwrap().value.blocks, content.blocks);
}

/// Names that are looked up before anybody has judged them.
async fn unusual_names_are_rejected_without_side_effects(database: &TestDatabase) {
    let store = open(database).await;
    create_populated_project(&store, 1).await;
    for odd in ["", "\0", "a\0b", &"x".repeat(5000), "'", "\u{202e}"] {
        let fields = NewProjectFields { slug: Some(odd.to_owned()), ..NewProjectFields::with_name("P") };
        let made =
            store.create_project(&ann(), NewProject::empty(project_id(2), fields), false, now_micros()).await;
        assert!(matches!(made, Err(Error::Rejected(ProjectRejection::Invalid(_)))), "{odd:.9} {made:?}");
        let gone = store.delete_block_type(write(1), odd).await;
        assert!(matches!(gone, Err(Error::Rejected(ProjectRejection::NotFound { .. }))), "{odd:.9} {gone:?}");
        let blocks = [vec![NewBlock::new(odd, serde_json::Map::new())], page(odd)];
        for new in blocks {
            let made = store.insert_blocks(write(1), BlockPosition::last(None), new, IdSeed([9; 16])).await;
            assert!(matches!(made, Err(Error::Rejected(ProjectRejection::Invalid(_)))), "{odd:.9} {made:?}");
        }
    }
}

test_on_both_databases!(
    answers_contain_times_truncated_to_microseconds,
    unstorable_account_has_no_projects,
    path_may_be_as_long_as_props,
    unusual_names_are_rejected_without_side_effects,
);
