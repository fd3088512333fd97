//! How much the database is asked for what: ways there and back, texts that are written, tries.

use projects::{
    AssetId, AssetPatch, Block, BlockId, BlockPosition, DesignEdit, Error, IdGenerator, IdSeed, NewAsset,
    NewProject, NewProjectFields, Page, ProjectFieldsPatch, ProjectId, ProjectStore, StoreError, TreeQuery,
};
use serde_json::{Map, Value, json};
use store::StoreOptions;

use crate::harness::{self, connect_as_superuser, now_micros};
use crate::lossy_proxy::LossyProxy;
use crate::project_fixture::{ann, create_populated_project, parse_blocks, write};

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// Use cases, and how often each waits for the database at most, once its statements are known there.
const MAX_ROUND_TRIPS: [(&str, u32); 18] = [
    ("project", 1),
    ("projects", 1),
    ("content", 1),
    ("types", 1),
    ("blocks", 1),
    ("children", 1),
    ("design", 1),
    ("asset", 1),
    ("bytes", 1),
    ("versions", 1),
    ("update project", 3),
    // It is read before. That ends while the change is made on another thread, or together with the write if that was quicker.
    ("edit design", 5),
    ("insert", 3),
    ("update block", 3),
    ("move", 3),
    ("update asset", 3),
    ("put asset", 4),
    ("publish", 3),
];

async fn run_use_case(store: &ProjectStore, id: &ProjectId, page: &BlockId, what: &str, round: u8) {
    let (ann, write, first) = (ann(), write("ann", id), Page::first(9));
    let asset = AssetId::parse("a").unwrap();
    let text = format!("{round}");
    match what {
        "project" => drop(store.project(&ann, id).await.unwrap()),
        "projects" => drop(store.list_projects(&ann, first).await.unwrap()),
        "content" => drop(store.content(&ann, id).await.unwrap()),
        "types" => drop(store.block_types(&ann, id).await.unwrap()),
        "blocks" => drop(store.blocks(&ann, id, Some(page), TreeQuery::ALL).await.unwrap()),
        "children" => drop(store.children(&ann, id, Some(page), first).await.unwrap()),
        "design" => drop(store.design_system(&ann, id).await.unwrap()),
        "asset" => drop(store.asset(&ann, id, &asset).await.unwrap()),
        "bytes" => drop(store.asset_bytes(&ann, id, &projects::Digest::from_content(b"ann")).await.unwrap()),
        "versions" => drop(store.list_versions(&ann, id, first).await.unwrap()),
        "update project" => {
            let patch = ProjectFieldsPatch { description: Some(text), ..ProjectFieldsPatch::default() };
            drop(store.update_project(write, patch).await.unwrap());
        }
        "edit design" => {
            let css = DesignEdit::ImportCss(format!(":root {{ --gap: {round}px }}"));
            drop(store.edit_design_system(write, css).await.unwrap());
        }
        "insert" => {
            let new = parse_blocks(
                &json!([{ "type": "image", "props": { "src": "asset:a" } }, { "type": "divider" }]),
            );
            let database = BlockPosition::last(Some(page.clone()));
            drop(store.insert_blocks(write, database, new, IdSeed([100 + round; 16])).await.unwrap());
        }
        "update block" => {
            drop(store.update_block(write, page, object(json!({ "title": text }))).await.unwrap());
        }
        "move" => {
            let last = store.children(&ann, id, Some(page), Page::ALL).await.unwrap().value.items.pop();
            let last = last.unwrap().block.id;
            let database = BlockPosition::In { parent: Some(page.clone()), index: Some(0) };
            drop(store.move_block(write, &last, database).await.unwrap());
        }
        "update asset" => {
            let patch = AssetPatch { alt: Some(text), name: None };
            drop(store.update_asset(write, &asset, patch).await.unwrap());
        }
        "put asset" => {
            let new = NewAsset {
                id: AssetId::parse("b").unwrap(),
                name: "b.txt".to_owned(),
                content_type: None,
                alt: String::new(),
                content: text.into_bytes(),
            };
            drop(store.put_asset(write, new).await.unwrap());
        }
        _ => drop(store.publish(write, &text).await.unwrap()),
    }
}

/// In one thread, where what is asked together is sent together for sure.
#[tokio::test]
async fn use_cases_stay_within_their_round_trips() {
    let Some(database) = harness::postgres().await else { return };
    let way = LossyProxy::start(&database).await;
    let options = StoreOptions { max_connections: 1, ..harness::patient_options() };
    let store = store::open(&way.url.parse().unwrap(), &options).await.unwrap().projects();
    let id = create_populated_project(&store, "ann", 1).await;
    let Block { id: page, .. } = store.content(&ann(), &id).await.unwrap().value.blocks.remove(0);
    for (what, expected) in MAX_ROUND_TRIPS {
        run_use_case(&store, &id, &page, what, 1).await;
        run_use_case(&store, &id, &page, what, 2).await;
        let before = way.round_trips();
        run_use_case(&store, &id, &page, what, 3).await;
        // What is to be moved is looked for first.
        let sources = u32::from(what == "move");
        let waits = way.round_trips() - before - sources;
        assert!((1..=expected).contains(&waits), "{what}: {waits} instead of {expected}");
    }
}

/// A write that is about something else leaves the long texts of a project where they are.
#[tokio::test]
async fn unchanged_long_texts_are_not_rewritten() {
    let Some(database) = harness::postgres().await else { return };
    let store = database.open_projects().await;
    let id = IdGenerator::from_seed(IdSeed([1; 16])).next_project_id();
    // Digits that do not get shorter by compression.
    let text: String =
        (0..200_u8).map(|number| projects::Digest::from_content(&[number]).to_string()).collect();
    let fields =
        NewProjectFields { metadata: object(json!({ "text": text })), ..NewProjectFields::with_name("P") };
    store.create_project(&ann(), NewProject::empty(id.clone(), fields), false, now_micros()).await.unwrap();
    let all = connect_as_superuser(&database).await;
    let kept = "SELECT reltoastrelid::regclass::text FROM pg_class WHERE oid = 'projects'::regclass";
    let kept: String = all.query_one(kept, &[]).await.unwrap().get(0);
    let pieces =
        format!("SELECT string_agg(chunk_id::text || '-' || xmin::text, ' ' ORDER BY chunk_seq) FROM {kept}");
    let before: Option<String> = all.query_one(&pieces, &[]).await.unwrap().get(0);
    assert!(before.is_some(), "it is not long");
    let page = json!({ "type": "page", "props": { "title": "T", "path": "/" } });
    store
        .insert_blocks(write("ann", &id), BlockPosition::last(None), parse_blocks(&page), IdSeed([2; 16]))
        .await
        .unwrap();
    store.publish(write("ann", &id), "").await.unwrap();
    store.unpublish(write("ann", &id)).await.unwrap();
    let after: Option<String> = all.query_one(&pieces, &[]).await.unwrap().get(0);
    assert_eq!(after, before);
}

/// Ids that are there already are there again the next time.
#[tokio::test]
async fn permanent_failures_are_not_retried() {
    let Some(database) = harness::postgres().await else { return };
    let store = database.open_projects().await;
    let id = create_populated_project(&store, "ann", 1).await;
    let all = connect_as_superuser(&database).await;
    all.batch_execute(
        "CREATE SEQUENCE tries; GRANT ALL ON SEQUENCE tries TO PUBLIC;
        CREATE FUNCTION count_tries() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN PERFORM nextval('tries'); RETURN NULL; END $$;
        CREATE TRIGGER tries BEFORE INSERT ON project_blocks FOR EACH STATEMENT EXECUTE FUNCTION count_tries()",
    )
    .await
    .unwrap();
    let new = |path: &str| parse_blocks(&json!({ "type": "page", "props": { "title": "T", "path": path } }));
    let seed = IdSeed([7; 16]);
    store.insert_blocks(write("ann", &id), BlockPosition::last(None), new("/a"), seed).await.unwrap();
    let error =
        store.insert_blocks(write("ann", &id), BlockPosition::last(None), new("/b"), seed).await.unwrap_err();
    assert!(matches!(error, Error::Store(StoreError::Broken(_))), "{error}");
    let tries: i64 = all.query_one("SELECT last_value FROM tries", &[]).await.unwrap().get(0);
    assert_eq!(tries, 2);
}
