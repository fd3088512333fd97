//! Projects with odd names, times and paths, which a database may mind and no rule does.

use jiff::Timestamp;
use projects::{
    Account, Error, NewBlock, NewFields, NewProject, Page, Place, Refusal, Seed, StoreError, Write,
};

use crate::harness::{Place as Database, now};
use crate::projects::{ann, fill, id, open, page, write};

/// In the answer as well as in what is read later.
async fn times_are_whole_microseconds_in_answers_too(place: &Database) {
    let store = open(place).await;
    let odd = Timestamp::from_nanosecond(1_900_000_000_123_456_789).unwrap();
    let new = NewProject::empty(id(1), NewFields::named("P"));
    let made = store.create_project(&ann(), new, false, odd).await.unwrap();
    assert_eq!(store.project(&ann(), &id(1)).await.unwrap(), made);
    let version = store.publish(Write { now: odd, ..write(1) }, "").await.unwrap().value;
    assert_eq!(store.version(&ann(), &id(1), 1).await.unwrap().0, version);
}

/// Accounts come from tokens of others, and may be called anything.
async fn an_account_that_cannot_be_kept_has_nothing(place: &Database) {
    let store = open(place).await;
    fill(&store, 1).await;
    for name in ["", "a\0b", &"x".repeat(1001)] {
        let odd = Account::new(name);
        let new = NewProject::empty(id(2), NewFields::named("P"));
        let made = store.create_project(&odd, new, false, now()).await;
        assert!(matches!(made, Err(Error::Store(StoreError::Broken(_)))), "{made:?}");
        let found = store.project(&odd, &id(1)).await;
        assert!(matches!(found, Err(Error::Refused(Refusal::NotFound { .. }))), "{found:?}");
        let written = store.delete_project(Write { account: odd.clone(), ..write(1) }).await;
        assert!(matches!(written, Err(Error::Refused(Refusal::NotFound { .. }))), "{written:?}");
        assert_eq!(store.list_projects(&odd, Page::ALL).await.unwrap().items, []);
        assert_eq!(store.projects_beginning(&odd, "", 9).await.unwrap(), []);
    }
    let longest = Account::new("x".repeat(1000));
    let new = NewProject::empty(id(2), NewFields::named("P"));
    store.create_project(&longest, new, false, now()).await.unwrap();
    assert_eq!(store.accounts().await.unwrap(), [ann(), longest]);
}

/// Also one that no page of a type would have, but an import may.
async fn a_path_may_be_as_long_as_props(place: &Database) {
    let store = open(place).await;
    let long = format!("/{}", "x".repeat(60_000));
    let mut content = fill(&store, 1).await.value;
    content.blocks[0].props.insert("path".to_owned(), long.into());
    let new = NewProject::copy_of(content.clone(), id(2), NewFields::default());
    store.create_project(&ann(), new, false, now()).await.unwrap();
    assert_eq!(store.content(&ann(), &id(2)).await.unwrap().value.blocks, content.blocks);
}

/// Names that are looked up before anybody has judged them.
async fn odd_names_are_refused_and_break_nothing(place: &Database) {
    let store = open(place).await;
    fill(&store, 1).await;
    for odd in ["", "\0", "a\0b", &"x".repeat(5000), "'", "\u{202e}"] {
        let fields = NewFields { slug: Some(odd.to_owned()), ..NewFields::named("P") };
        let made = store.create_project(&ann(), NewProject::empty(id(2), fields), false, now()).await;
        assert!(matches!(made, Err(Error::Refused(Refusal::Invalid(_)))), "{odd:.9} {made:?}");
        let gone = store.delete_block_type(write(1), odd).await;
        assert!(matches!(gone, Err(Error::Refused(Refusal::NotFound { .. }))), "{odd:.9} {gone:?}");
        let blocks = [vec![NewBlock::new(odd, serde_json::Map::new())], page(odd)];
        for new in blocks {
            let made = store.insert_blocks(write(1), Place::last(None), new, Seed([9; 16])).await;
            assert!(matches!(made, Err(Error::Refused(Refusal::Invalid(_)))), "{odd:.9} {made:?}");
        }
    }
}

on_both!(
    times_are_whole_microseconds_in_answers_too,
    an_account_that_cannot_be_kept_has_nothing,
    a_path_may_be_as_long_as_props,
    odd_names_are_refused_and_break_nothing,
);
