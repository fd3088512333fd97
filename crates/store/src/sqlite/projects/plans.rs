//! How SQLite finds rows: by an index, and in the order that is wanted, however many there are.

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::tables::{assets, blocks, places, projects, types, versions};
use crate::sqlite::schema;

/// What is about a few rows of a project, or of an account.
const NARROW: [&str; 40] = [
    projects::BY_ID,
    projects::REVISION,
    projects::LIST,
    projects::FROM,
    projects::COUNTED,
    projects::BY_SLUG,
    projects::PUT,
    projects::PUT_COUNTS,
    projects::DESIGN,
    types::NAMED,
    types::DELETE,
    types::USERS,
    blocks::BY_ID,
    blocks::INSIDE,
    blocks::INSIDE_PAGES,
    blocks::CHILDREN,
    blocks::PLACES,
    blocks::ABOVE,
    blocks::HEIGHT,
    blocks::BY_PATH,
    blocks::PUT_PROPS,
    blocks::PUT_PLACE,
    blocks::MENTIONS_INSIDE,
    blocks::DELETE_INSIDE,
    blocks::NAME_NONE,
    places::BEFORE,
    places::AFTER,
    places::FROM,
    assets::BY_ID,
    assets::LIST,
    assets::DELETE,
    assets::USERS,
    assets::BYTES,
    assets::COPY_BYTES,
    assets::UNNAMED,
    assets::DELETE_BYTES,
    versions::LIST,
    versions::CONTENT,
    versions::NAMED,
    versions::DELETE,
];

/// What is about all rows of a project, and of no other.
const WHOLE: [&str; 7] = [
    projects::DELETE,
    types::ALL,
    blocks::ALL,
    versions::CLEAR[0],
    versions::CLEAR[1],
    versions::CLEAR[2],
    versions::CLEAR[3],
];

fn tables() -> Connection {
    let mut connection = schema::prepare(Connection::open_in_memory().unwrap()).unwrap();
    schema::migrate("memory", &mut connection).unwrap();
    connection
}

/// The steps of a statement, in the words of SQLite.
fn steps(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let values = vec![Value::Null; statement.parameter_count()];
    let steps = statement.query_map(params_from_iter(values), |row| row.get(3)).unwrap();
    steps.collect::<Result<_, _>>().unwrap()
}

/// Whether a step reads a table from end to end, or sorts. What a statement has just found itself may be read so.
fn is_slow(step: &str) -> bool {
    let own = ["SCAN inside", "SCAN above", "SCAN CONSTANT ROW"];
    (step.starts_with("SCAN") && !own.contains(&step)) || step.contains("TEMP B-TREE")
}

#[test]
fn nothing_reads_a_table_from_end_to_end() {
    let connection = tables();
    for sql in NARROW.into_iter().chain(WHOLE) {
        let steps = steps(&connection, sql);
        assert!(!steps.is_empty() && !steps.iter().any(|step| is_slow(step)), "{sql}\n{steps:#?}");
    }
}

#[test]
fn few_rows_are_found_without_reading_a_whole_project() {
    let connection = tables();
    let is_wide = |step: &String| step.ends_with("(project=?)") && !step.contains("project_designs");
    for sql in NARROW {
        let steps = steps(&connection, sql);
        assert!(!steps.iter().any(is_wide), "{sql}\n{steps:#?}");
    }
    for sql in WHOLE {
        assert!(steps(&connection, sql).iter().any(is_wide), "{sql} is narrow");
    }
}

/// Whether a project is somebody else's or is not there at all: the same step of the same index finds nothing.
#[test]
fn a_project_of_somebody_else_is_not_met() {
    let connection = tables();
    for sql in [projects::BY_ID, projects::REVISION] {
        let expected = ["SEARCH projects USING INDEX projects_by_id (account=? AND id=?)"];
        assert_eq!(steps(&connection, sql), expected, "{sql}");
    }
}
