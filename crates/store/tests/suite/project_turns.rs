//! How much the database is asked for what: ways there and back, texts that are written, tries.

use projects::{
    AssetId, AssetPatch, Block, BlockId, DesignEdit, Error, FieldsPatch, Ids, NewAsset, NewFields,
    NewProject, Page, Place, ProjectId, ProjectStore, Reach, Seed, StoreError,
};
use serde_json::{Map, Value, json};
use store::Options;

use crate::harness::{self, now, superuser};
use crate::project_desk::{ann, blocks, fill, write};
use crate::way::Way;

fn map(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// Use cases, and how often each waits for the database at most, once its statements are known there.
const WAYS: [(&str, u32); 18] = [
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

async fn ask(store: &ProjectStore, id: &ProjectId, page: &BlockId, what: &str, round: u8) {
    let (ann, write, first) = (ann(), write("ann", id), Page::first(9));
    let asset = AssetId::parse("a").unwrap();
    let text = format!("{round}");
    match what {
        "project" => drop(store.project(&ann, id).await.unwrap()),
        "projects" => drop(store.list_projects(&ann, first).await.unwrap()),
        "content" => drop(store.content(&ann, id).await.unwrap()),
        "types" => drop(store.block_types(&ann, id).await.unwrap()),
        "blocks" => drop(store.blocks(&ann, id, Some(page), Reach::ALL).await.unwrap()),
        "children" => drop(store.children(&ann, id, Some(page), first).await.unwrap()),
        "design" => drop(store.design_system(&ann, id).await.unwrap()),
        "asset" => drop(store.asset(&ann, id, &asset).await.unwrap()),
        "bytes" => drop(store.asset_bytes(&ann, id, &projects::Digest::of(b"ann")).await.unwrap()),
        "versions" => drop(store.list_versions(&ann, id, first).await.unwrap()),
        "update project" => {
            let patch = FieldsPatch { description: Some(text), ..FieldsPatch::default() };
            drop(store.update_project(write, patch).await.unwrap());
        }
        "edit design" => {
            let css = DesignEdit::ImportCss(format!(":root {{ --gap: {round}px }}"));
            drop(store.edit_design_system(write, css).await.unwrap());
        }
        "insert" => {
            let new =
                blocks(&json!([{ "type": "image", "props": { "src": "asset:a" } }, { "type": "divider" }]));
            let place = Place::last(Some(page.clone()));
            drop(store.insert_blocks(write, place, new, Seed([100 + round; 16])).await.unwrap());
        }
        "update block" => {
            drop(store.update_block(write, page, map(json!({ "title": text }))).await.unwrap());
        }
        "move" => {
            let last = store.children(&ann, id, Some(page), Page::ALL).await.unwrap().value.items.pop();
            let last = last.unwrap().block.id;
            let place = Place::In { parent: Some(page.clone()), index: Some(0) };
            drop(store.move_block(write, &last, place).await.unwrap());
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
async fn little_is_waited_for() {
    let Some(place) = harness::postgres().await else { return };
    let way = Way::to(&place).await;
    let options = Options { connections: 1, ..harness::patient() };
    let store = store::open(&way.url.parse().unwrap(), &options).await.unwrap().projects();
    let id = fill(&store, "ann", 1).await;
    let Block { id: page, .. } = store.content(&ann(), &id).await.unwrap().value.blocks.remove(0);
    for (what, expected) in WAYS {
        ask(&store, &id, &page, what, 1).await;
        ask(&store, &id, &page, what, 2).await;
        let before = way.bursts();
        ask(&store, &id, &page, what, 3).await;
        // What is to be moved is looked for first.
        let looks = u32::from(what == "move");
        let waits = way.bursts() - before - looks;
        assert!((1..=expected).contains(&waits), "{what}: {waits} instead of {expected}");
    }
}

/// A write that is about something else leaves the long texts of a project where they are.
#[tokio::test]
async fn long_texts_are_not_written_anew() {
    let Some(place) = harness::postgres().await else { return };
    let store = place.open_projects().await;
    let id = Ids::of(Seed([1; 16])).project();
    // Digits that do not get shorter by compression.
    let text: String = (0..200_u8).map(|number| projects::Digest::of(&[number]).to_string()).collect();
    let fields = NewFields { metadata: map(json!({ "text": text })), ..NewFields::named("P") };
    store.create_project(&ann(), NewProject::empty(id.clone(), fields), false, now()).await.unwrap();
    let all = superuser(&place).await;
    let kept = "SELECT reltoastrelid::regclass::text FROM pg_class WHERE oid = 'projects'::regclass";
    let kept: String = all.query_one(kept, &[]).await.unwrap().get(0);
    let pieces =
        format!("SELECT string_agg(chunk_id::text || '-' || xmin::text, ' ' ORDER BY chunk_seq) FROM {kept}");
    let before: Option<String> = all.query_one(&pieces, &[]).await.unwrap().get(0);
    assert!(before.is_some(), "it is not long");
    let page = json!({ "type": "page", "props": { "title": "T", "path": "/" } });
    store.insert_blocks(write("ann", &id), Place::last(None), blocks(&page), Seed([2; 16])).await.unwrap();
    store.publish(write("ann", &id), "").await.unwrap();
    store.unpublish(write("ann", &id)).await.unwrap();
    let after: Option<String> = all.query_one(&pieces, &[]).await.unwrap().get(0);
    assert_eq!(after, before);
}

/// Ids that are there already are there again the next time.
#[tokio::test]
async fn what_can_only_fail_again_is_not_tried_again() {
    let Some(place) = harness::postgres().await else { return };
    let store = place.open_projects().await;
    let id = fill(&store, "ann", 1).await;
    let all = superuser(&place).await;
    all.batch_execute(
        "CREATE SEQUENCE tries; GRANT ALL ON SEQUENCE tries TO PUBLIC;
        CREATE FUNCTION count_tries() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN PERFORM nextval('tries'); RETURN NULL; END $$;
        CREATE TRIGGER tries BEFORE INSERT ON project_blocks FOR EACH STATEMENT EXECUTE FUNCTION count_tries()",
    )
    .await
    .unwrap();
    let new = |path: &str| blocks(&json!({ "type": "page", "props": { "title": "T", "path": path } }));
    let seed = Seed([7; 16]);
    store.insert_blocks(write("ann", &id), Place::last(None), new("/a"), seed).await.unwrap();
    let error = store.insert_blocks(write("ann", &id), Place::last(None), new("/b"), seed).await.unwrap_err();
    assert!(matches!(error, Error::Store(StoreError::Broken(_))), "{error}");
    let tries: i64 = all.query_one("SELECT last_value FROM tries", &[]).await.unwrap().get(0);
    assert_eq!(tries, 2);
}
