//! Projects to try things with.

use projects::types::AllowedChildren;
use projects::{
    Account, AssetId, BlockPosition, CustomBlockType, IdGenerator, IdSeed, NewAsset, NewBlock, NewProject,
    NewProjectFields, Project, ProjectContent, ProjectId, ProjectStore, ProjectUsage, ProjectWrite,
};
use serde_json::{Value, json};

use crate::harness::now_micros;

pub(crate) fn write(account: &str, project: &ProjectId) -> ProjectWrite {
    ProjectWrite {
        account: Account::new(account),
        project: project.clone(),
        if_revision: None,
        dry_run: false,
        now: now_micros(),
    }
}

/// A project of an account with something in every table.
pub(crate) async fn create_populated_project(store: &ProjectStore, account: &str, number: u8) -> ProjectId {
    let id = IdGenerator::from_seed(IdSeed([number; 16])).next_project_id();
    let new = NewProject::empty(id.clone(), NewProjectFields::with_name("P"));
    store.create_project(&Account::new(account), new, false, now_micros()).await.unwrap();
    let own = CustomBlockType {
        name: "price".to_owned(),
        description: String::new(),
        schema: json!({ "type": "object" }),
        children: AllowedChildren::Any,
    };
    store.put_block_type(write(account, &id), own).await.unwrap();
    let asset = NewAsset {
        id: AssetId::parse("a").unwrap(),
        name: "a.txt".to_owned(),
        content_type: None,
        alt: String::new(),
        content: account.as_bytes().to_vec(),
    };
    store.put_asset(write(account, &id), asset).await.unwrap();
    let page = json!({ "type": "page", "props": { "title": "T", "path": "/" }, "children": [
        { "type": "image", "props": { "src": "asset:a" } },
        { "type": "section", "props": { "title": "S" } },
    ] });
    store
        .insert_blocks(
            write(account, &id),
            BlockPosition::last(None),
            parse_blocks(&page),
            IdSeed([number; 16]),
        )
        .await
        .unwrap();
    store.publish(write(account, &id), "first").await.unwrap();
    id
}

pub(crate) fn parse_blocks(json: &Value) -> Vec<NewBlock> {
    NewBlock::parse(json).unwrap()
}

pub(crate) fn ann() -> Account {
    Account::new("ann")
}

/// Ann's project and all that is in it.
pub(crate) async fn read_consistent_project(
    store: &ProjectStore,
    id: &ProjectId,
) -> (Project, ProjectContent) {
    let mut project = store.project(&ann(), id).await.unwrap();
    let mut content = store.content(&ann(), id).await.unwrap();
    if content.revision != project.revision {
        // A write that its writer has given up may have been done just now.
        project = store.project(&ann(), id).await.unwrap();
        content = store.content(&ann(), id).await.unwrap();
    }
    assert_eq!(content.revision, project.revision);
    let ProjectUsage { versions, version_bytes, asset_bytes, .. } = project.usage;
    assert_eq!(project.usage, ProjectUsage { versions, version_bytes, asset_bytes, ..content.value.usage() });
    (project, content.value)
}
