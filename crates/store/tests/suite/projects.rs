//! Projects: the cases that every store of them passes, with two replicas of one database.

use projects::suite::Replicas;
use projects::{
    Account, AtRevision, Content, Ids, NewAsset, NewBlock, NewFields, NewProject, Place, ProjectId,
    ProjectStore, Seed, Write,
};
use serde_json::json;

use crate::harness::{Place as Database, now};

pub(crate) async fn open(place: &Database) -> ProjectStore {
    place.open_projects().await
}

async fn replicas(place: &Database) -> Replicas {
    [open(place).await, open(place).await]
}

macro_rules! on_both_databases {
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

projects::for_each_case!(on_both_databases);

pub(crate) fn ann() -> Account {
    Account::new("ann")
}

pub(crate) fn id(number: u8) -> ProjectId {
    Ids::of(Seed([number; 16])).project()
}

pub(crate) fn write(number: u8) -> Write {
    Write { account: ann(), project: id(number), if_revision: None, dry_run: false, now: now() }
}

pub(crate) fn page(path: &str) -> Vec<NewBlock> {
    let props = json!({ "title": "T", "path": path });
    vec![NewBlock::new("page", props.as_object().unwrap().clone())]
}

/// Makes a project with something of everything in it. Gives what it holds then.
pub(crate) async fn fill(store: &ProjectStore, number: u8) -> AtRevision<Content> {
    let new = NewProject::empty(id(number), NewFields::named(format!("P{number}")));
    store.create_project(&ann(), new, false, now()).await.unwrap();
    let seed = Seed([number; 16]);
    store.insert_blocks(write(number), Place::last(None), page("/"), seed).await.unwrap();
    let asset = NewAsset {
        id: Ids::of(seed).asset(),
        name: "a.txt".to_owned(),
        content_type: None,
        alt: String::new(),
        content: b"content".to_vec(),
    };
    store.put_asset(write(number), asset).await.unwrap();
    store.publish(write(number), "first").await.unwrap();
    store.content(&ann(), &id(number)).await.unwrap()
}

/// What was written is there when the store is opened again.
pub(crate) async fn keeps_a_project(place: &Database) {
    let before = fill(&open(place).await, 1).await;
    let store = open(place).await;
    assert_eq!(store.content(&ann(), &id(1)).await.unwrap(), before);
    let (version, content) = store.version(&ann(), &id(1), 1).await.unwrap();
    assert_eq!((version.note.as_str(), &content), ("first", &before.value));
    let bytes = store.asset_bytes(&ann(), &id(1), &before.value.assets[0].digest).await.unwrap();
    assert_eq!(bytes, b"content");
}
