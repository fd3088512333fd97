//! In a file: the statements of the store.

use std::hint::black_box;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Params, Result, Row, params};

use super::{Plain, Wish, after, new_id};
use crate::database::Done;
use crate::database::sqlite::Sqlite;
use crate::projects::case::{Case, PAGE, props, words};
use crate::projects::made::{ACCOUNT, Site, kept};

macro_rules! projects {
    ($rest:literal) => {
        concat!(
            "SELECT id, account, slug, name, created, updated, revision, published_version, published_revision, next_version,
                blocks, block_bytes, types, assets, asset_bytes, versions, version_bytes, mentions, description, metadata
                FROM projects ",
            $rest
        )
    };
}

const PROJECT: &str = projects!("INDEXED BY projects_by_id WHERE id = ?1 AND account = ?2");
const REVISION: &str =
    "SELECT revision FROM projects INDEXED BY projects_by_id WHERE id = ?1 AND account = ?2";
const LIST: &str = projects!("WHERE account = ?1 AND (created, id) > (?2, ?3) ORDER BY created, id LIMIT ?4");
const TREE: &str = "WITH RECURSIVE tree (id, level) AS (
        SELECT id, 1 FROM project_blocks WHERE project = ?1 AND id = ?2
        UNION ALL
        SELECT b.id, level + 1 FROM tree CROSS JOIN project_blocks b ON b.project = ?1 AND b.parent = tree.id
        WHERE level < 3 LIMIT 501)
    SELECT b.id, b.parent, b.position, b.kind, b.props, CASE WHEN level < 3 THEN 0 ELSE
        (SELECT count(*) FROM project_blocks c WHERE c.project = b.project AND c.parent = b.id) END
    FROM tree CROSS JOIN project_blocks b ON b.project = ?1 AND b.id = tree.id";
const BLOCK: &str =
    "SELECT id, parent, position, kind, props FROM project_blocks WHERE project = ?1 AND id = ?2";
const ABOVE: &str = "WITH RECURSIVE above (id, kind, parent) AS (
        SELECT id, kind, parent FROM project_blocks WHERE project = ?1 AND id = ?2
        UNION ALL
        SELECT b.id, b.kind, b.parent FROM above CROSS JOIN project_blocks b ON b.project = ?1 AND b.id = above.parent)
    SELECT id, kind FROM above";
const LAST: &str = "SELECT position FROM project_blocks WHERE project = ?1 AND parent = ?2
    ORDER BY position DESC, id DESC LIMIT 1";
const DESIGN: &str = "SELECT document FROM project_designs WHERE project = ?1";
const DESCRIBE: &str =
    "UPDATE projects SET description = ?3, updated = ?2, revision = revision + 1 WHERE id = ?1";
const NOTE: &str = "UPDATE projects SET updated = ?2, revision = revision + 1, blocks = blocks + ?3,
    block_bytes = block_bytes + ?4 WHERE id = ?1";
const PUT_PROPS: &str = "UPDATE project_blocks SET props = ?3 WHERE project = ?1 AND id = ?2";
const UNNAME: &str = "DELETE FROM project_block_assets WHERE project = ?1 AND block = ?2";
const ADD: &str = "INSERT INTO project_blocks (project, id, parent, position, kind, path, props)
    VALUES (?1, ?2, ?3, ?4, 'text', NULL, ?5)";
const PUT_DESIGN: &str = "INSERT INTO project_designs (project, document) VALUES (?1, ?2)
    ON CONFLICT (project) DO UPDATE SET document = excluded.document";

impl Plain for Sqlite {
    async fn run(&self, wish: Wish) -> Done {
        if !wish.case.reads() {
            return self.change(move |connection| change(connection, &wish)).await;
        }
        let look = move |connection: &Connection| look(&*connection.unchecked_transaction()?, &wish);
        self.look(look).await
    }
}

fn look(connection: &Connection, Wish { case, site }: &Wish) -> Result<()> {
    if *case == Case::ListProjects {
        return read(connection, LIST, params![ACCOUNT, i64::MIN, "", PAGE + 1], PAGE as usize);
    }
    if *case == Case::GetProject {
        return read(connection, PROJECT, [&site.id, ACCOUNT], 1);
    }
    read(connection, REVISION, [&site.id, ACCOUNT], 1)?;
    match case {
        Case::GetBlocks => read(connection, TREE, [&site.id, &site.page], PAGE as usize),
        _ => read(connection, DESIGN, [&site.id], 1),
    }
}

fn change(connection: &Connection, Wish { case, site }: &Wish) -> Result<()> {
    let Site { id, notes, last, .. } = &**site;
    let (words, now) = (words(), site.created().as_microsecond() + 1);
    let props = props(&words);
    read(connection, PROJECT, [id, ACCOUNT], 1)?;
    let mut more = (0, 0);
    match case {
        Case::UpdateProject => return write(connection, DESCRIBE, params![id, now, words]),
        Case::UpdateBlock => {
            read(connection, BLOCK, [id, last], 1)?;
            write(connection, PUT_PROPS, [id, last, &props])?;
            connection.prepare_cached(UNNAME)?.execute([id, last])?;
        }
        Case::CreateBlock => {
            read(connection, ABOVE, [id, notes], 1)?;
            let key = |row: &Row<'_>| row.get::<_, String>(0);
            let before = connection.prepare_cached(LAST)?.query_row([id, notes], key).optional()?;
            write(connection, ADD, [id, &new_id(), notes, &after(before.as_deref()), &props])?;
            more = (1, kept(props.len()));
        }
        _ => {
            read(connection, DESIGN, [id], 1)?;
            write(connection, PUT_DESIGN, [id, &Wish::design()])?;
        }
    }
    write(connection, NOTE, params![id, now, more.0, more.1])
}

/// Reads every column of every row. There are as many as somebody expects.
fn read(connection: &Connection, sql: &str, values: impl Params, expected: usize) -> Result<()> {
    let mut statement = connection.prepare_cached(sql)?;
    let columns = statement.column_count();
    let all = |row: &Row<'_>| (0..columns).map(|column| row.get(column)).collect::<Result<Vec<Value>>>();
    let rows = statement.query_map(values, all)?.collect::<Result<Vec<_>>>()?;
    if black_box(rows).len() < expected { Err(rusqlite::Error::QueryReturnedNoRows) } else { Ok(()) }
}

fn write(connection: &Connection, sql: &str, values: impl Params) -> Result<()> {
    match connection.prepare_cached(sql)?.execute(values)? {
        1 => Ok(()),
        rows => Err(rusqlite::Error::StatementChangedRows(rows)),
    }
}
