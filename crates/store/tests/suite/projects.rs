//! Projects: the cases that every store of them passes, with two replicas of one database.

use projects::suite::Replicas;
use projects::{
    Account, AtRevision, BlockPosition, IdGenerator, IdSeed, NewAsset, NewBlock, NewProject,
    NewProjectFields, ProjectContent, ProjectId, ProjectStore, ProjectWrite,
};
use serde_json::json;

use crate::harness::{TestDatabase, now_micros};

pub(crate) async fn open(database: &TestDatabase) -> ProjectStore {
    database.open_projects().await
}

async fn replicas(database: &TestDatabase) -> Replicas {
    [open(database).await, open(database).await]
}

macro_rules! test_suite_on_both_databases {
    ($($case:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let place = crate::harness::sqlite();
                projects::suite::$case(super::replicas(&place).await).await;
            })+
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                if let Some(place) = crate::harness::postgres().await {
                    projects::suite::$case(super::replicas(&place).await).await;
                }
            })+
        }
    };
}

projects::for_each_case!(test_suite_on_both_databases);

pub(crate) fn ann() -> Account {
    Account::new("ann")
}

pub(crate) fn project_id(number: u8) -> ProjectId {
    IdGenerator::from_seed(IdSeed([number; 16])).next_project_id()
}

pub(crate) fn write(number: u8) -> ProjectWrite {
    ProjectWrite {
        account: ann(),
        project: project_id(number),
        if_revision: None,
        dry_run: false,
        now: now_micros(),
    }
}

pub(crate) fn page(path: &str) -> Vec<NewBlock> {
    let props = json!({ "title": "T", "path": path });
    vec![NewBlock::new("page", props.as_object().unwrap().clone())]
}

/// Makes a project with something of everything in it. Gives what it holds then.
pub(crate) async fn create_populated_project(store: &ProjectStore, number: u8) -> AtRevision<ProjectContent> {
    let new = NewProject::empty(project_id(number), NewProjectFields::with_name(format!("P{number}")));
    store.create_project(&ann(), new, false, now_micros()).await.unwrap();
    let seed = IdSeed([number; 16]);
    store.insert_blocks(write(number), BlockPosition::last(None), page("/"), seed).await.unwrap();
    let asset = NewAsset {
        id: IdGenerator::from_seed(seed).next_asset_id(),
        name: "a.txt".to_owned(),
        content_type: None,
        alt: String::new(),
        content: b"content".to_vec(),
    };
    store.put_asset(write(number), asset).await.unwrap();
    store.publish(write(number), "first").await.unwrap();
    store.content(&ann(), &project_id(number)).await.unwrap()
}

/// What was written is there when the store is opened again.
pub(crate) async fn project_survives_reopening(database: &TestDatabase) {
    let before = create_populated_project(&open(database).await, 1).await;
    let store = open(database).await;
    assert_eq!(store.content(&ann(), &project_id(1)).await.unwrap(), before);
    let (version, content) = store.version(&ann(), &project_id(1), 1).await.unwrap();
    assert_eq!((version.note.as_str(), &content), ("first", &before.value));
    let bytes = store.asset_bytes(&ann(), &project_id(1), &before.value.assets[0].digest).await.unwrap();
    assert_eq!(bytes, b"content");
}
