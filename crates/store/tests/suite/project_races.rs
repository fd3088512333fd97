//! Different writes to one project at once, on two replicas: they come one after the other, and together they fit.

use futures_util::future::join_all;
use projects::{
    AllowedChildren, AssetId, Block, BlockId, BlockPosition, CustomBlockType, DesignEdit, Error, IdSeed,
    NewAsset, ProjectFieldsPatch, ProjectId, ProjectRejection, ProjectStore,
};
use serde_json::json;

use crate::harness::TestDatabase;
use crate::project_fixture::{ann, create_populated_project, parse_blocks, read_consistent_project, write};

/// How many kinds of writes there are.
const WRITE_KINDS: u8 = 12;

/// Gives the revision that the write has made.
async fn run_write(
    store: &ProjectStore,
    id: &ProjectId,
    page: &BlockId,
    other: &BlockId,
    number: u8,
) -> Result<u64, Error> {
    let write = write("ann", id);
    let place = BlockPosition::In { parent: Some(page.clone()), index: Some(u32::from(number) % 3) };
    let seed = IdSeed([number; 16]);
    let text = format!("{number} asset:a{}", number % 4);
    let title = json!({ "title": text });
    let title = title.as_object().unwrap().clone();
    let own = CustomBlockType {
        name: format!("own{}", number % 5),
        description: String::new(),
        schema: json!({ "type": "object" }),
        children: AllowedChildren::Any,
    };
    let asset = AssetId::parse(&format!("a{}", number % 4)).unwrap();
    let new_asset = NewAsset {
        id: asset.clone(),
        name: "n.txt".to_owned(),
        content_type: None,
        alt: String::new(),
        content: vec![b'x'; usize::from(number % 7)],
    };
    let section = json!({ "type": "section", "props": title, "children": [{ "type": "divider" }] });
    match number % WRITE_KINDS {
        0 | 1 => {
            store.insert_blocks(write, place, parse_blocks(&section), seed).await.map(|done| done.revision)
        }
        2 => store.update_block(write, other, title).await.map(|done| done.revision),
        3 => store.move_block(write, other, place).await.map(|done| done.revision),
        4 => store.copy_block(write, other, place, seed).await.map(|done| done.revision),
        5 => store.delete_block(write, other).await.map(|done| done.revision),
        6 => store.put_asset(write, new_asset).await.map(|done| done.revision),
        7 => store.delete_asset(write, &asset, true).await.map(|done| done.revision),
        8 => store.put_block_type(write, own).await.map(|done| done.revision),
        9 => {
            let css = DesignEdit::ImportCss(format!(":root {{ --gap: {number}px }}"));
            store.edit_design_system(write, css).await.map(|done| done.revision)
        }
        10 => store.publish(write, &text).await.map(|done| done.revision),
        _ if number.is_multiple_of(2) => store.restore_version(write, 1).await.map(|done| done.revision),
        _ => {
            let patch =
                ProjectFieldsPatch { slug: Some(format!("slug-{number}")), ..ProjectFieldsPatch::default() };
            store.update_project(write, patch).await.map(|done| done.revision)
        }
    }
}

async fn concurrent_writes_are_serialized(database: &TestDatabase) {
    let replicas = [database.open_projects().await, database.open_projects().await];
    let id = create_populated_project(&replicas[0], "ann", 255).await;
    for round in 0..4 {
        let (before, content) = read_consistent_project(&replicas[0], &id).await;
        let ids: Vec<&BlockId> = content.blocks.iter().map(|Block { id, .. }| id).collect();
        let numbers = (0..3 * WRITE_KINDS).map(|number| round * 3 * WRITE_KINDS + number);
        let done = join_all(numbers.map(|number| {
            let store = &replicas[usize::from(number) % 2];
            let other = ids[1 + usize::from(number) % (ids.len() - 1)];
            run_write(store, &id, ids[0], other, number)
        }))
        .await;
        let mut revisions = Vec::new();
        for done in done {
            match done {
                Ok(revision) => revisions.push(revision),
                // Somebody else was faster: what it was about is gone, or a mistake keeps it from being published.
                Err(Error::Rejected(ProjectRejection::NotFound { .. } | ProjectRejection::Invalid(_))) => {}
                Err(other) => panic!("{other}"),
            }
        }
        revisions.sort_unstable();
        let (after, _) = read_consistent_project(&replicas[1], &id).await;
        assert!(revisions.into_iter().eq(before.revision + 1..=after.revision), "{round}");
        assert_eq!(after, replicas[0].project(&ann(), &id).await.unwrap());
    }
}

test_on_both_databases!(concurrent_writes_are_serialized);
