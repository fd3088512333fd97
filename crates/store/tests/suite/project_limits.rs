//! Projects at their limits: what grows past them is refused, and what is as large as it may be can still be copied and deleted.

use std::time::Duration;

use projects::limits::{
    MAX_ASSETS, MAX_ASSETS_BYTES, MAX_BLOCK_BYTES, MAX_BLOCKS, MAX_MENTIONS, MAX_TYPES, MAX_VERSIONS,
    MAX_VERSIONS_BYTES,
};
use projects::{
    AssetId, Children, CustomType, Error, Ids, NewAsset, NewFields, Place, ProjectId, ProjectStore, Refusal,
    Seed, Write,
};
use serde_json::json;
use store::Options;

use crate::harness::{self, Place as Database, execute, superuser};
use crate::project_desk::{ann, blocks, fill, whole, write};

/// What grows past a limit.
#[derive(Clone, Copy, Debug)]
enum Growth {
    Block,
    Type,
    Asset,
    Version,
}

async fn grow(store: &ProjectStore, id: &ProjectId, growth: Growth) -> Result<(), Error> {
    let write = write("ann", id);
    match growth {
        Growth::Block => {
            let page = json!({ "type": "page", "props": { "title": "see asset:x", "path": "/new" } });
            store.insert_blocks(write, Place::last(None), blocks(&page), Seed([9; 16])).await.map(drop)
        }
        Growth::Type => {
            let own = CustomType {
                name: "own".to_owned(),
                description: String::new(),
                schema: json!({ "type": "object" }),
                children: Children::Any,
            };
            store.put_block_type(write, own).await.map(drop)
        }
        Growth::Asset => {
            let new = NewAsset {
                id: AssetId::parse("new").unwrap(),
                name: "new.txt".to_owned(),
                content_type: None,
                alt: String::new(),
                content: b"new".to_vec(),
            };
            store.put_asset(write, new).await.map(drop)
        }
        Growth::Version => store.publish(write, "").await.map(drop),
    }
}

async fn what_is_full_takes_no_more_and_loses_nothing(place: &Database) {
    let store = place.open_projects().await;
    for (number, (column, most, growth)) in [
        ("blocks", MAX_BLOCKS, Growth::Block),
        ("block_bytes", MAX_BLOCK_BYTES, Growth::Block),
        ("mentions", MAX_MENTIONS, Growth::Block),
        ("types", MAX_TYPES, Growth::Type),
        ("assets", MAX_ASSETS, Growth::Asset),
        ("asset_bytes", MAX_ASSETS_BYTES, Growth::Asset),
        ("versions", MAX_VERSIONS, Growth::Version),
        ("version_bytes", MAX_VERSIONS_BYTES, Growth::Version),
    ]
    .into_iter()
    .enumerate()
    {
        let id = fill(&store, "ann", u8::try_from(number + 1).unwrap()).await;
        let (_, content) = whole(&store, &id).await;
        let pretend = |count: u64| format!("UPDATE projects SET {column} = {count} WHERE id = '{id}'");
        execute(place, &pretend(most)).await;
        let full = store.project(&ann(), &id).await.unwrap();
        let refused = grow(&store, &id, growth).await;
        let is_told =
            matches!(&refused, Err(Error::Refused(Refusal::TooLarge { limit, .. })) if *limit == most);
        assert!(is_told, "{column}: {refused:?}");
        assert_eq!(store.project(&ann(), &id).await.unwrap(), full, "{column}");
        assert_eq!(store.content(&ann(), &id).await.unwrap().value, content, "{column}");
        execute(place, &pretend(1)).await;
        grow(&store, &id, growth).await.unwrap();
    }
}

/// Refuses bytes of assets, in the words of each database.
fn no_bytes(place: &Database) -> &'static str {
    if place.url.starts_with("sqlite:") {
        "CREATE TRIGGER refuse_bytes BEFORE INSERT ON project_bytes BEGIN SELECT RAISE(ABORT, 'copied'); END"
    } else {
        "CREATE FUNCTION refuse_bytes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'copied'; END $$;
        CREATE TRIGGER refuse_bytes BEFORE INSERT ON project_bytes FOR EACH ROW EXECUTE FUNCTION refuse_bytes()"
    }
}

/// All that a project keeps of assets may be a gigabyte.
async fn a_rehearsed_copy_copies_no_bytes(place: &Database) {
    let store = place.open_projects().await;
    let id = fill(&store, "ann", 1).await;
    execute(place, no_bytes(place)).await;
    let copy = Ids::of(Seed([2; 16])).project();
    let dry = Write { dry_run: true, ..write("ann", &id) };
    let told = store.duplicate_project(dry, copy.clone(), NewFields::default()).await.unwrap();
    assert_eq!((told.usage.assets, told.usage.asset_bytes), (1, 3));
    let made = store.duplicate_project(write("ann", &id), copy, NewFields::default()).await;
    assert!(matches!(made, Err(Error::Store(_))), "{made:?}");
}

on_both!(what_is_full_takes_no_more_and_loses_nothing, a_rehearsed_copy_copies_no_bytes);

/// Twenty contents and twenty versions that are said to have 32 MB each, in a database that needs a while for each of them.
const LARGE: &str = "
    CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_sleep(0.3); RETURN coalesce(NEW, OLD); END $$;
    INSERT INTO project_assets SELECT p.id, p.account, 'big' || n, 'n', 'text/plain', 33554432,
        sha256(n::text::bytea), now(), '' FROM projects p, generate_series(1, 20) n;
    INSERT INTO project_bytes SELECT p.id, p.account, sha256(n::text::bytea), n::text::bytea
        FROM projects p, generate_series(1, 20) n;
    INSERT INTO project_versions SELECT p.id, p.account, 1 + n, '', now(), n, 0, 33554432, ''
        FROM projects p, generate_series(1, 20) n;
    UPDATE projects SET asset_bytes = 20 * 33554432, version_bytes = 20 * 33554432, assets = 21, versions = 21;
    CREATE TRIGGER dawdle BEFORE INSERT ON project_bytes FOR EACH ROW EXECUTE FUNCTION dawdle();
    CREATE TRIGGER dawdle BEFORE DELETE ON project_versions FOR EACH ROW EXECUTE FUNCTION dawdle();";

/// Each takes longer than a statement may.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_as_large_as_it_may_be_is_copied_and_deleted() {
    let Some(place) = harness::postgres().await else { return };
    let id = fill(&place.open_projects().await, "ann", 1).await;
    superuser(&place).await.batch_execute(LARGE).await.unwrap();
    let options = Options { statement_timeout: Duration::from_secs(4), ..harness::patient() };
    let store = place.open_projects_with(&options).await;
    let copy = Ids::of(Seed([2; 16])).project();
    let made = store.duplicate_project(write("ann", &id), copy.clone(), NewFields::default()).await.unwrap();
    assert_eq!(made.usage.assets, 21);
    let big = store.asset(&ann(), &copy, &AssetId::parse("big7").unwrap()).await.unwrap();
    assert_eq!(store.asset_bytes(&ann(), &copy, &big.digest).await.unwrap(), b"7");
    store.delete_project(write("ann", &id)).await.unwrap();
    let left = "SELECT (SELECT count(*) FROM project_versions) + (SELECT count(*) FROM project_bytes)";
    let left: i64 = superuser(&place).await.query_one(left, &[]).await.unwrap().get(0);
    assert_eq!(left, 21, "the contents of the copy");
}

/// Statements that are sent together are done one after the other: each may take its time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_statements_may_take_longer_than_one() {
    let Some(place) = harness::postgres().await else { return };
    let id = fill(&place.open_projects().await, "ann", 1).await;
    let all = superuser(&place).await;
    all.batch_execute(
        "CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN PERFORM pg_sleep(2); RETURN NULL; END $$",
    )
    .await
    .unwrap();
    for table in ["block_types", "designs", "blocks", "block_assets", "assets"] {
        let slow = format!(
            "CREATE TRIGGER dawdle AFTER INSERT ON project_{table} FOR EACH STATEMENT EXECUTE FUNCTION dawdle()"
        );
        all.batch_execute(&slow).await.unwrap();
    }
    // Five times 2 seconds, where 7 and what is granted for the way are less.
    let options = Options { statement_timeout: Duration::from_secs(7), ..harness::patient() };
    let store = place.open_projects_with(&options).await;
    let before = whole(&store, &id).await;
    store.restore_version(write("ann", &id), 1).await.unwrap();
    assert_eq!(whole(&store, &id).await.1, before.1);
}
