//! Tests that SQLite finds and orders rows by an index, regardless of their number.

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::tables::{assets, blocks, positions, projects, types, versions};
use crate::sqlite::schema;

/// Statements that concern a few rows of a project or account.
const SELECTIVE_QUERIES: [&str; 40] = [
    projects::BY_ID,
    projects::REVISION,
    projects::LIST,
    projects::LIST_FROM_ID,
    projects::PROJECT_COUNT,
    projects::BY_SLUG,
    projects::PUT,
    projects::PUT_COUNTERS,
    projects::DESIGN,
    types::BY_NAME,
    types::DELETE,
    types::BLOCKS_OF_TYPE,
    blocks::BY_ID,
    blocks::SUBTREE,
    blocks::ALL_PAGES_SUBTREE,
    blocks::CHILDREN,
    blocks::CHILD_KEYS,
    blocks::ANCESTORS,
    blocks::HEIGHT,
    blocks::BY_PATH,
    blocks::PUT_PROPS,
    blocks::PUT_POSITION,
    blocks::COUNT_SUBTREE_MENTIONS,
    blocks::DELETE_SUBTREE,
    blocks::DELETE_ASSET_MENTIONS,
    positions::SIBLING_BEFORE,
    positions::SIBLING_AFTER,
    positions::TWO_SIBLINGS_FROM_OFFSET,
    assets::BY_ID,
    assets::LIST,
    assets::DELETE,
    assets::BLOCKS_USING_ASSET,
    assets::BYTES,
    assets::COPY_BYTES,
    assets::UNREFERENCED_BYTES,
    assets::DELETE_BYTES,
    versions::LIST,
    versions::CONTENT,
    versions::DIGESTS_OF_VERSION,
    versions::DELETE,
];

/// Statements that concern all rows of a project, and no others.
const FULL_PROJECT_QUERIES: [&str; 7] = [
    projects::DELETE,
    types::ALL,
    blocks::ALL,
    versions::CLEAR_DRAFT[0],
    versions::CLEAR_DRAFT[1],
    versions::CLEAR_DRAFT[2],
    versions::CLEAR_DRAFT[3],
];

fn migrated_connection() -> Connection {
    let mut connection = schema::configure(Connection::open_in_memory().unwrap()).unwrap();
    schema::migrate("memory", &mut connection).unwrap();
    connection
}

/// The query plan of a statement.
fn query_plan(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let values = vec![Value::Null; statement.parameter_count()];
    let steps = statement.query_map(params_from_iter(values), |row| row.get(3)).unwrap();
    steps.collect::<Result<_, _>>().unwrap()
}

/// Whether a step scans a whole table or sorts. Scanning the statement's own intermediate results is fine.
fn is_scan_or_sort(step: &str) -> bool {
    let own = ["SCAN inside", "SCAN above", "SCAN CONSTANT ROW"];
    (step.starts_with("SCAN") && !own.contains(&step)) || step.contains("TEMP B-TREE")
}

#[test]
fn no_query_scans_a_whole_table() {
    let connection = migrated_connection();
    for sql in SELECTIVE_QUERIES.into_iter().chain(FULL_PROJECT_QUERIES) {
        let steps = query_plan(&connection, sql);
        assert!(!steps.is_empty() && !steps.iter().any(|step| is_scan_or_sort(step)), "{sql}\n{steps:#?}");
    }
}

#[test]
fn selective_queries_do_not_read_a_whole_project() {
    let connection = migrated_connection();
    let is_wide = |step: &String| step.ends_with("(project=?)") && !step.contains("project_designs");
    for sql in SELECTIVE_QUERIES {
        let steps = query_plan(&connection, sql);
        assert!(!steps.iter().any(is_wide), "{sql}\n{steps:#?}");
    }
    for sql in FULL_PROJECT_QUERIES {
        assert!(query_plan(&connection, sql).iter().any(is_wide), "{sql} is narrow");
    }
}

/// Projects of other accounts and missing projects fail at the same step of the same index.
#[test]
fn project_of_another_account_is_excluded_by_the_index() {
    let connection = migrated_connection();
    for sql in [projects::BY_ID, projects::REVISION] {
        let expected = ["SEARCH projects USING INDEX projects_by_id (account=? AND id=?)"];
        assert_eq!(query_plan(&connection, sql), expected, "{sql}");
    }
}
