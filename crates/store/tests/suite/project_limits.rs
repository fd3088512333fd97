//! Projects at their limits: what grows past them is refused, and what is as large as it may be can still be copied and deleted.

use std::time::Duration;

use projects::limits::{
    MAX_ASSET_MENTIONS, MAX_ASSETS, MAX_BLOCKS, MAX_CUSTOM_TYPES, MAX_TOTAL_ASSET_BYTES,
    MAX_TOTAL_PROPS_BYTES, MAX_TOTAL_VERSION_BYTES, MAX_VERSIONS,
};
use projects::{
    AllowedChildren, AssetId, BlockPosition, CustomBlockType, Error, IdGenerator, IdSeed, NewAsset,
    NewProjectFields, ProjectId, ProjectRejection, ProjectStore, ProjectWrite,
};
use serde_json::json;
use store::StoreOptions;

use crate::harness::{self, TestDatabase, connect_as_superuser, execute};
use crate::project_fixture::{ann, create_populated_project, parse_blocks, read_consistent_project, write};

/// What grows past a limit.
#[derive(Clone, Copy, Debug)]
enum GrowingWrite {
    Block,
    Type,
    Asset,
    Version,
}

async fn write_past_limit(store: &ProjectStore, id: &ProjectId, growth: GrowingWrite) -> Result<(), Error> {
    let write = write("ann", id);
    match growth {
        GrowingWrite::Block => {
            let page = json!({ "type": "page", "props": { "title": "see asset:x", "path": "/new" } });
            store
                .insert_blocks(write, BlockPosition::last(None), parse_blocks(&page), IdSeed([9; 16]))
                .await
                .map(drop)
        }
        GrowingWrite::Type => {
            let own = CustomBlockType {
                name: "own".to_owned(),
                description: String::new(),
                schema: json!({ "type": "object" }),
                children: AllowedChildren::Any,
            };
            store.put_block_type(write, own).await.map(drop)
        }
        GrowingWrite::Asset => {
            let new = NewAsset {
                id: AssetId::parse("new").unwrap(),
                name: "new.txt".to_owned(),
                content_type: None,
                alt: String::new(),
                content: b"new".to_vec(),
            };
            store.put_asset(write, new).await.map(drop)
        }
        GrowingWrite::Version => store.publish(write, "").await.map(drop),
    }
}

async fn writes_past_a_limit_are_rejected_without_loss(database: &TestDatabase) {
    let store = database.open_projects().await;
    for (number, (column, most, growth)) in [
        ("blocks", MAX_BLOCKS, GrowingWrite::Block),
        ("block_bytes", MAX_TOTAL_PROPS_BYTES, GrowingWrite::Block),
        ("mentions", MAX_ASSET_MENTIONS, GrowingWrite::Block),
        ("types", MAX_CUSTOM_TYPES, GrowingWrite::Type),
        ("assets", MAX_ASSETS, GrowingWrite::Asset),
        ("asset_bytes", MAX_TOTAL_ASSET_BYTES, GrowingWrite::Asset),
        ("versions", MAX_VERSIONS, GrowingWrite::Version),
        ("version_bytes", MAX_TOTAL_VERSION_BYTES, GrowingWrite::Version),
    ]
    .into_iter()
    .enumerate()
    {
        let id = create_populated_project(&store, "ann", u8::try_from(number + 1).unwrap()).await;
        let (_, content) = read_consistent_project(&store, &id).await;
        let pretend = |count: u64| format!("UPDATE projects SET {column} = {count} WHERE id = '{id}'");
        execute(database, &pretend(most)).await;
        let full = store.project(&ann(), &id).await.unwrap();
        let refused = write_past_limit(&store, &id, growth).await;
        let is_told = matches!(&refused, Err(Error::Rejected(ProjectRejection::TooLarge { limit, .. })) if *limit == most);
        assert!(is_told, "{column}: {refused:?}");
        assert_eq!(store.project(&ann(), &id).await.unwrap(), full, "{column}");
        assert_eq!(store.content(&ann(), &id).await.unwrap().value, content, "{column}");
        execute(database, &pretend(1)).await;
        write_past_limit(&store, &id, growth).await.unwrap();
    }
}

/// Refuses bytes of assets, in the words of each database.
fn reject_bytes_trigger(database: &TestDatabase) -> &'static str {
    if database.url.starts_with("sqlite:") {
        "CREATE TRIGGER refuse_bytes BEFORE INSERT ON project_bytes BEGIN SELECT RAISE(ABORT, 'copied'); END"
    } else {
        "CREATE FUNCTION refuse_bytes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'copied'; END $$;
        CREATE TRIGGER refuse_bytes BEFORE INSERT ON project_bytes FOR EACH ROW EXECUTE FUNCTION refuse_bytes()"
    }
}

/// All that a project keeps of assets may be a gigabyte.
async fn dry_run_duplicate_copies_no_bytes(database: &TestDatabase) {
    let store = database.open_projects().await;
    let id = create_populated_project(&store, "ann", 1).await;
    execute(database, reject_bytes_trigger(database)).await;
    let copy = IdGenerator::from_seed(IdSeed([2; 16])).next_project_id();
    let dry = ProjectWrite { dry_run: true, ..write("ann", &id) };
    let told = store.duplicate_project(dry, copy.clone(), NewProjectFields::default()).await.unwrap();
    assert_eq!((told.usage.assets, told.usage.asset_bytes), (1, 3));
    let made = store.duplicate_project(write("ann", &id), copy, NewProjectFields::default()).await;
    assert!(matches!(made, Err(Error::Store(_))), "{made:?}");
}

test_on_both_databases!(writes_past_a_limit_are_rejected_without_loss, dry_run_duplicate_copies_no_bytes);

/// Twenty contents and twenty versions that are said to have 32 MB each, in a database that needs a while for each of them.
const MAKE_PROJECT_LARGE: &str = "
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
async fn largest_project_can_be_duplicated_and_deleted() {
    let Some(place) = harness::postgres().await else { return };
    let id = create_populated_project(&place.open_projects().await, "ann", 1).await;
    connect_as_superuser(&place).await.batch_execute(MAKE_PROJECT_LARGE).await.unwrap();
    let options = StoreOptions { statement_timeout: Duration::from_secs(4), ..harness::patient_options() };
    let store = place.open_projects_with(&options).await;
    let copy = IdGenerator::from_seed(IdSeed([2; 16])).next_project_id();
    let made =
        store.duplicate_project(write("ann", &id), copy.clone(), NewProjectFields::default()).await.unwrap();
    assert_eq!(made.usage.assets, 21);
    let big = store.asset(&ann(), &copy, &AssetId::parse("big7").unwrap()).await.unwrap();
    assert_eq!(store.asset_bytes(&ann(), &copy, &big.digest).await.unwrap(), b"7");
    store.delete_project(write("ann", &id)).await.unwrap();
    let left = "SELECT (SELECT count(*) FROM project_versions) + (SELECT count(*) FROM project_bytes)";
    let left: i64 = connect_as_superuser(&place).await.query_one(left, &[]).await.unwrap().get(0);
    assert_eq!(left, 21, "the contents of the copy");
}

/// Statements that are sent together are done one after the other: each may take its time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statement_timeout_applies_to_each_statement() {
    let Some(place) = harness::postgres().await else { return };
    let id = create_populated_project(&place.open_projects().await, "ann", 1).await;
    let all = connect_as_superuser(&place).await;
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
    let options = StoreOptions { statement_timeout: Duration::from_secs(7), ..harness::patient_options() };
    let store = place.open_projects_with(&options).await;
    let before = read_consistent_project(&store, &id).await;
    store.restore_version(write("ann", &id), 1).await.unwrap();
    assert_eq!(read_consistent_project(&store, &id).await.1, before.1);
}
