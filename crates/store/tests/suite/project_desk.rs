//! Projects to try things with.

use projects::types::Children;
use projects::{
    Account, AssetId, Content, CustomType, Ids, NewAsset, NewBlock, NewFields, NewProject, Place, Project,
    ProjectId, ProjectStore, Seed, Usage, Write,
};
use serde_json::{Value, json};

use crate::harness::now;

pub(crate) fn write(account: &str, project: &ProjectId) -> Write {
    Write {
        account: Account::new(account),
        project: project.clone(),
        if_revision: None,
        dry_run: false,
        now: now(),
    }
}

/// A project of an account with something in every table.
pub(crate) async fn fill(store: &ProjectStore, account: &str, number: u8) -> ProjectId {
    let id = Ids::of(Seed([number; 16])).project();
    let new = NewProject::empty(id.clone(), NewFields::named("P"));
    store.create_project(&Account::new(account), new, false, now()).await.unwrap();
    let own = CustomType {
        name: "price".to_owned(),
        description: String::new(),
        schema: json!({ "type": "object" }),
        children: Children::Any,
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
        .insert_blocks(write(account, &id), Place::last(None), blocks(&page), Seed([number; 16]))
        .await
        .unwrap();
    store.publish(write(account, &id), "first").await.unwrap();
    id
}

pub(crate) fn blocks(json: &Value) -> Vec<NewBlock> {
    NewBlock::parse(json).unwrap()
}

pub(crate) fn ann() -> Account {
    Account::new("ann")
}

/// Ann's project and all that is in it.
pub(crate) async fn whole(store: &ProjectStore, id: &ProjectId) -> (Project, Content) {
    let mut project = store.project(&ann(), id).await.unwrap();
    let mut content = store.content(&ann(), id).await.unwrap();
    if content.revision != project.revision {
        // A write that its writer has given up may have been done just now.
        project = store.project(&ann(), id).await.unwrap();
        content = store.content(&ann(), id).await.unwrap();
    }
    assert_eq!(content.revision, project.revision);
    let Usage { versions, version_bytes, asset_bytes, .. } = project.usage;
    assert_eq!(project.usage, Usage { versions, version_bytes, asset_bytes, ..content.value.usage() });
    (project, content.value)
}
