//! Projects where they are kept for good: what only a database can do, or get wrong.

use std::time::Duration;

use futures_util::future::join_all;
use jiff::Timestamp;
use projects::limits::MAX_PROJECTS;
use projects::{
    Account, AssetId, Block, BlockId, BlockPosition, Cursor, Error, IdGenerator, IdSeed, NewProject,
    NewProjectFields, OrderKey, Page, ProjectId, ProjectRejection, ProjectStore, ProjectWrite, StoreError,
    TreeQuery,
};
use serde_json::{Map, Value, json};
use tokio_postgres::Client;

use crate::harness::{self, connect_as_superuser, now_micros, wait_until_count};
use crate::project_fixture::{ann, create_populated_project, parse_blocks, read_consistent_project, write};

fn project_id(number: u8) -> ProjectId {
    IdGenerator::from_seed(IdSeed([number; 16])).next_project_id()
}

fn object(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else { panic!("{value} is no object") };
    map
}

/// However many begin at once, on however many replicas.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_creates_do_not_exceed_the_project_limit() {
    let Some(database) = harness::postgres().await else { return };
    let replicas = [database.open_projects().await, database.open_projects().await];
    let create = async |number: u8| {
        let new = NewProject::empty(project_id(number), NewProjectFields::with_name(format!("P{number}")));
        replicas[usize::from(number) % 2].create_project(&ann(), new, false, now_micros()).await
    };
    create(1).await.unwrap();
    let pretend = format!("UPDATE project_accounts SET projects = {}", MAX_PROJECTS - 5);
    connect_as_superuser(&database).await.execute(&pretend, &[]).await.unwrap();
    let made = join_all((10..30).map(create)).await;
    assert_eq!(made.iter().filter(|made| made.is_ok()).count(), 5);
    for error in made.into_iter().filter_map(Result::err) {
        assert!(
            matches!(error, Error::Rejected(ProjectRejection::TooLarge { limit: MAX_PROJECTS, .. })),
            "{error}"
        );
    }
    replicas[0].delete_project(write("ann", &project_id(1))).await.unwrap();
    assert_eq!(join_all((30..40).map(create)).await.iter().filter(|made| made.is_ok()).count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn account_without_projects_is_removed() {
    let Some(database) = harness::postgres().await else { return };
    let store = database.open_projects().await;
    let project = create_populated_project(&store, "ann", 1).await;
    let new = NewProject::empty(project.clone(), NewProjectFields::with_name("Two"));
    store.create_project(&Account::new("bob"), new.clone(), false, now_micros()).await.unwrap_err();
    store
        .create_project(&Account::new("eve"), NewProject { id: project_id(9), ..new }, true, now_micros())
        .await
        .unwrap();
    assert_eq!(store.accounts().await.unwrap(), [ann()]);
    store.delete_project(write("ann", &project)).await.unwrap();
    assert_eq!(store.accounts().await.unwrap(), []);
    let all = connect_as_superuser(&database).await;
    let left = "SELECT sum((xpath('/row/c/text()', query_to_xml('SELECT count(*) AS c FROM ' || quote_ident(relname),
        false, true, '')))[1]::text::bigint)::bigint FROM pg_stat_user_tables WHERE relname LIKE 'project%'";
    assert_eq!(
        all.query_one(left, &[]).await.unwrap().get::<_, i64>(0),
        0,
        "rows that nobody deletes any more"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unstorable_account_names_are_rejected() {
    let Some(database) = harness::postgres().await else { return };
    let store = database.open_projects().await;
    // Letters that do not get shorter by compression.
    let decoded =
        |number: u32| char::from(b'!' + u8::try_from(number.wrapping_mul(2_654_435_761) >> 16 & 63).unwrap());
    let longest: String = (0..1000).map(decoded).collect();
    let project = create_populated_project(&store, &longest, 1).await;
    assert_eq!(
        store.project(&Account::new(longest.as_str()), &project).await.unwrap().account.as_str(),
        longest
    );
    for name in ["", "\0", "a\0b", &"n".repeat(1001), &"n".repeat(1 << 20)] {
        let account = Account::new(name);
        let new = NewProject::empty(project_id(2), NewProjectFields::with_name("P"));
        let error = store.create_project(&account, new, false, now_micros()).await.unwrap_err();
        assert!(matches!(error, Error::Store(StoreError::Broken(_))), "{error}");
        assert!(error.to_string().len() < 200, "{error}");
        let error = store.delete_project(write(name, &project)).await.unwrap_err();
        assert_eq!(error.to_string(), project.missing().to_string());
    }
    assert_eq!(store.accounts().await.unwrap(), [Account::new(longest)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn project_times_are_truncated_to_microseconds() {
    let Some(database) = harness::postgres().await else { return };
    let store = database.open_projects().await;
    let fine = now_micros() + Duration::from_nanos(1_999);
    let cut = Timestamp::from_microsecond(fine.as_microsecond()).unwrap();
    let new = NewProject::empty(project_id(1), NewProjectFields::with_name("P"));
    let made = store.create_project(&ann(), new, false, fine).await.unwrap();
    assert_eq!((made.created, made.updated), (cut, cut));
    assert_eq!(store.project(&ann(), &project_id(1)).await.unwrap(), made);
    let version =
        store.publish(ProjectWrite { now: fine, ..write("ann", &project_id(1)) }, "").await.unwrap().value;
    assert_eq!(version.created, cut);
    assert_eq!(store.version(&ann(), &project_id(1), 1).await.unwrap().0, version);
}

/// What comes from elsewhere may be wrong in ways that no index should mind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drafts_with_long_paths_and_kinds_are_stored() {
    let Some(database) = harness::postgres().await else { return };
    let store = database.open_projects().await;
    let letters = |seed: u32| -> String {
        let decoded = |number: u32| {
            char::from(b'a' + u8::try_from((number ^ seed).wrapping_mul(2_654_435_761) >> 20 & 15).unwrap())
        };
        (0..60_000).map(decoded).collect()
    };
    let block = |name: &str, kind: &str, parent: Option<&str>, props: Value| Block {
        id: BlockId::parse(name).unwrap(),
        kind: kind.to_owned(),
        parent: parent.map(|parent| BlockId::parse(parent).unwrap()),
        order: OrderKey::parse("a0").unwrap(),
        props: object(props),
    };
    let kind = "ü".repeat(200);
    let rows = vec![
        block("one", "page", None, json!({ "path": letters(1) })),
        block("two", "page", None, json!({ "path": letters(2) })),
        block("odd", &kind, Some("one"), json!({})),
    ];
    let new = NewProject {
        blocks: rows.clone(),
        ..NewProject::empty(project_id(1), NewProjectFields::with_name("P"))
    };
    store.create_project(&ann(), new, false, now_micros()).await.unwrap();
    let (_, content) = read_consistent_project(&store, &project_id(1)).await;
    assert_eq!(content.blocks, [rows[0].clone(), rows[2].clone(), rows[1].clone()]);
    let same = object(json!({ "path": letters(1), "title": "T" }));
    let error = store.update_block(write("ann", &project_id(1)), &rows[1].id, same).await.unwrap_err();
    assert!(error.to_string().contains("another page has the path"), "{:.200}", error.to_string());
}

/// A thousand projects for each of two accounts; twenty thousand blocks in one of them, which says less so that there is room
/// for more, and as many elsewhere.
const INSERT_MANY_PROJECTS: &str = "
    INSERT INTO project_accounts VALUES ('ann', 1000), ('bob', 1000);
    INSERT INTO projects SELECT a || n, a, 'N', 's' || n, '', '{}', timestamptz 'epoch' + n * interval '1 s', now(), 1,
        NULL, NULL, 1, 19000, 0, 0, 0, 0, 0 FROM generate_series(1, 1000) n, (VALUES ('ann'), ('bob')) v (a);
    INSERT INTO project_blocks SELECT 'ann1', 'ann', 'p' || i, 'page', '', 'a' || chr(96 + i),
        '{\"title\":\"T\",\"path\":\"/' || i || '\"}', sha256(convert_to('/' || i, 'UTF8')) FROM generate_series(1, 20) i;
    INSERT INTO project_blocks SELECT 'ann1', 'ann', 's' || i || '-' || j, 'section', 'p' || i, 'a' || j, '{}', NULL
        FROM generate_series(1, 20) i, generate_series(1, 9) j;
    INSERT INTO project_blocks SELECT 'ann1', 'ann', 'l' || i || '-' || j || '-' || k, 'divider', 's' || i || '-' || j,
        'c' || (k + 120), '{}', NULL FROM generate_series(1, 20) i, generate_series(1, 9) j, generate_series(10, 119) k;
    INSERT INTO project_blocks SELECT 'bob' || (n % 1000 + 1), 'bob', 'b' || n, 'page', '', 'a1', '{}', NULL
        FROM generate_series(1, 20000) n;
    INSERT INTO project_block_assets SELECT 'ann1', 'ann', 'a' || (n % 1000), 's' || n FROM generate_series(1, 20000) n;
    INSERT INTO project_assets SELECT 'ann1', 'ann', 'a' || n, 'n', 'text/plain', 1, sha256(n::text::bytea),
        timestamptz 'epoch' + n * interval '1 s', '' FROM generate_series(0, 999) n;
    INSERT INTO project_versions SELECT 'ann1', 'ann', n, '', now(), n, 3, 4, 'x' FROM generate_series(1, 500) n;
    ANALYZE";

/// How many rows of each table have been looked at so far. Others must have ended, for then they tell.
async fn scanned_rows(client: &Client) -> Vec<(String, i64)> {
    let others =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND backend_type = 'client backend'";
    wait_until_count(client, others, |count| count == 0).await;
    let sql = "SELECT relname::text, (seq_tup_read + coalesce((SELECT sum(i.idx_tup_read)
            FROM pg_stat_user_indexes i WHERE i.relid = t.relid), 0))::bigint
        FROM pg_stat_user_tables t WHERE relname LIKE 'project%' ORDER BY 1";
    client.query(sql, &[]).await.unwrap().iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// One of everything that must not depend on how much else there is.
async fn run_small_queries(store: &ProjectStore, round: u8) {
    let (big, last) =
        (ProjectId::parse("ann1").unwrap(), Cursor::from_time(Timestamp::from_second(970).unwrap(), "x"));
    let block = |name: &str| BlockId::parse(name).unwrap();
    let page = |after| Page { after: Some(after), limit: Some(20) };
    let write = || write("ann", &big);
    let listed = store.list_projects(&ann(), page(last.clone())).await.unwrap();
    assert_eq!(listed.items.len(), 20);
    assert_eq!(store.projects_with_id_prefix(&ann(), "ann99", 5).await.unwrap().len(), 5);
    assert_eq!(store.list_assets(&ann(), &big, page(last)).await.unwrap().value.items.len(), 20);
    assert_eq!(store.asset_users(&ann(), &big, &AssetId::parse("a7").unwrap()).await.unwrap().len(), 20);
    assert_eq!(
        store.list_versions(&ann(), &big, page(Cursor::from_number(90, ""))).await.unwrap().items.len(),
        20
    );
    let after = Cursor::new("c200", "x");
    assert_eq!(
        store.children(&ann(), &big, Some(&block("s7-7")), page(after)).await.unwrap().value.items.len(),
        20
    );
    let reach = TreeQuery { depth: 2, max_blocks: 20 };
    assert_eq!(store.blocks(&ann(), &big, Some(&block("p7")), reach).await.unwrap().value.len(), 10);
    store.blocks(&ann(), &big, None, TreeQuery { depth: 9, max_blocks: 50 }).await.unwrap_err();
    store.update_block(write(), &block("p7"), object(json!({ "path": "/new" }))).await.unwrap();
    let beside = BlockPosition::After(block("l5-5-20"));
    store.move_block(write(), &block("l7-7-30"), beside.clone()).await.unwrap();
    store.copy_block(write(), &block("l5-5-21"), beside.clone(), IdSeed([10 + round; 16])).await.unwrap();
    store
        .insert_blocks(write(), beside, parse_blocks(&json!({ "type": "divider" })), IdSeed([20 + round; 16]))
        .await
        .unwrap();
    assert_eq!(store.delete_block(write(), &block(&format!("s9-{}", 1 + round))).await.unwrap().value, 111);
    store.delete_block_type(write(), "none").await.unwrap_err();
}

/// A get, a page of a list or a small write looks at a few rows, however many there are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn small_queries_scan_few_rows() {
    let Some(database) = harness::postgres().await else { return };
    drop(database.open_projects().await);
    let all = connect_as_superuser(&database).await;
    all.batch_execute(INSERT_MANY_PROJECTS).await.unwrap();
    drop(all);
    let client = connect_as_superuser(&database).await;
    let before = scanned_rows(&client).await;
    for (round, mode) in ["auto", "force_generic_plan"].into_iter().enumerate() {
        // With one plan for all values, as the database has it in the long run.
        let plans = format!("ALTER ROLE CURRENT_USER SET plan_cache_mode = '{mode}'");
        database.connect().await.batch_execute(&plans).await.unwrap();
        run_small_queries(&database.open_projects().await, u8::try_from(round).unwrap()).await;
    }
    let after = scanned_rows(&client).await;
    for ((table, before), (_, after)) in before.into_iter().zip(after) {
        let looked = after - before;
        assert!(looked < 4000, "{table}: {looked} rows");
    }
}

/// Asks for everything of a project that is not this account's. Nothing is there.
async fn query_foreign_project(store: &ProjectStore, account: &str, project: &str) {
    let (bob, id) = (&Account::new(account), &ProjectId::parse(project).unwrap());
    let write = || write(account, id);
    let (block, asset) = (&BlockId::parse("p7").unwrap(), &AssetId::parse("a7").unwrap());
    let (all, database) = (|| Page::ALL, || BlockPosition::last(Some(block.clone())));
    let told = [
        store.project(bob, id).await.map(drop),
        store.content(bob, id).await.map(drop),
        store.block_types(bob, id).await.map(drop),
        store.design_system(bob, id).await.map(drop),
        store.blocks(bob, id, None, TreeQuery::ALL).await.map(drop),
        store.blocks(bob, id, Some(block), TreeQuery::ALL).await.map(drop),
        store.children(bob, id, Some(block), all()).await.map(drop),
        store.list_assets(bob, id, all()).await.map(drop),
        store.asset(bob, id, asset).await.map(drop),
        store.asset_users(bob, id, asset).await.map(drop),
        store.list_versions(bob, id, all()).await.map(drop),
        store.version(bob, id, 7).await.map(drop),
        store.update_block(write(), block, object(json!({ "title": "T" }))).await.map(drop),
        store
            .insert_blocks(write(), database(), parse_blocks(&json!({ "type": "divider" })), IdSeed([1; 16]))
            .await
            .map(drop),
        store.move_block(write(), block, database()).await.map(drop),
        store.copy_block(write(), block, database(), IdSeed([1; 16])).await.map(drop),
        store.delete_block(write(), block).await.map(drop),
        store.delete_asset(write(), asset, true).await.map(drop),
        store.publish(write(), "").await.map(drop),
        store.restore_version(write(), 7).await.map(drop),
        store.delete_project(write()).await.map(drop),
    ];
    for (number, told) in told.into_iter().enumerate() {
        let error = told.unwrap_err();
        assert_eq!(error.to_string(), id.missing().to_string(), "{number}");
    }
}

/// Somebody else's project is not there, and to find that out costs what it costs where there is none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_do_not_scan_projects_of_other_accounts() {
    let Some(database) = harness::postgres().await else { return };
    drop(database.open_projects().await);
    connect_as_superuser(&database).await.batch_execute(INSERT_MANY_PROJECTS).await.unwrap();
    let client = connect_as_superuser(&database).await;
    let mut seen = Vec::new();
    for project in ["ann1", "none"] {
        let before = scanned_rows(&client).await;
        query_foreign_project(&database.open_projects().await, "bob", project).await;
        let after = scanned_rows(&client).await;
        let looked =
            before.into_iter().zip(after).map(|((table, before), (_, after))| (table, after - before));
        seen.push(looked.collect::<Vec<_>>());
    }
    assert_eq!(seen[0], seen[1]);
}
