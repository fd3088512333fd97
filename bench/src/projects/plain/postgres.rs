//! On a server: the statements of the store, by the role and behind the policies that it has. What need not wait for an answer
//! travels together, as there.

use std::hint::black_box;

use deadpool_postgres::Object;
use futures_util::future::join_all;
use server::Timestamp;
use server::projects::{Cursor, limits};
use tokio_postgres::types::{FromSqlOwned, ToSql, Type};
use tokio_postgres::{Error, Row};

use super::{Plain, Wish, after, new_id};
use crate::database::Done;
use crate::database::postgres::Postgres;
use crate::projects::case::{Case, PAGE, props, words};
use crate::projects::made::{ACCOUNT, Site, kept};

macro_rules! projects {
    ($rest:literal) => {
        concat!(
            "SELECT id, account, name, slug, description, metadata, created, updated, revision, published_version,
                published_revision, next_version, blocks, block_bytes, types, assets, asset_bytes, versions, version_bytes,
                mentions FROM projects ",
            $rest
        )
    };
}

/// Only what belongs to a project of whoever asks.
macro_rules! own {
    ($start:literal, $rest:literal) => {
        concat!(
            $start,
            " AND EXISTS (SELECT FROM projects WHERE id = $1 AND account = current_setting('fluxway.tenant', true))",
            $rest
        )
    };
}

const SET: &str = "SELECT set_config($1, $2, true)";
const BEGIN_READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
const PROJECT: &str = projects!("WHERE id = $1 AND account = $2");
const REVISION: &str = "SELECT revision FROM projects WHERE id = $1 AND account = $2";
const HOLD: &str = projects!("WHERE id = $1 AND account = $2 FOR UPDATE");
const LIST: &str = projects!("WHERE account = $1 AND (created, id) > ($2, $3) ORDER BY created, id LIMIT $4");
const TREE: &str = own!(
    "WITH RECURSIVE tree AS (
        SELECT id, kind, parent, position, props, 1::bigint AS level FROM project_blocks WHERE project = $1 AND id = $2",
    " UNION ALL
        SELECT b.*, t.level + 1 FROM tree t CROSS JOIN LATERAL (SELECT id, kind, parent, position, props
            FROM project_blocks WHERE project = $1 AND parent = t.id OFFSET 0) AS b WHERE t.level < $3)
    SELECT id, kind, parent, position, props, CASE WHEN level < $3 THEN 0 ELSE
        (SELECT count(*) FROM project_blocks c WHERE c.project = $1 AND c.parent = t.id) END
    FROM tree t LIMIT $4"
);
const BLOCK: &str =
    own!("SELECT id, kind, parent, position, props FROM project_blocks WHERE project = $1 AND id = $2", "");
const ABOVE: &str = own!(
    "WITH RECURSIVE above AS (
        SELECT id, kind, parent, 1::bigint AS level FROM project_blocks WHERE project = $1 AND id = $2",
    " UNION ALL
        SELECT b.*, a.level + 1 FROM above a CROSS JOIN LATERAL (
            SELECT id, kind, parent FROM project_blocks WHERE project = $1 AND id = a.parent OFFSET 0) AS b
        WHERE a.level < $3)
    SELECT id, kind FROM above ORDER BY level"
);
const LAST: &str = own!(
    "SELECT position FROM project_blocks WHERE project = $1 AND parent = $2 AND id <> $3",
    " ORDER BY position DESC, id DESC LIMIT 1"
);
const DESIGN: &str = own!("SELECT document FROM project_designs WHERE project = $1", "");
const DESCRIBE: &str =
    "UPDATE projects SET description = $3, updated = $2, revision = revision + 1 WHERE id = $1";
const NOTE: &str = "UPDATE projects SET updated = $2, revision = revision + 1, blocks = blocks + $3,
    block_bytes = block_bytes + $4 WHERE id = $1";
const PUT_PROPS: &str = "WITH
    put AS (UPDATE project_blocks SET props = $4, path = NULL WHERE project = $1 AND id = $3),
    unnamed AS (DELETE FROM project_block_assets WHERE project = $1 AND block = $3 AND asset <> ALL ($5::text[]))
    INSERT INTO project_block_assets (project, account, block, asset)
        SELECT $1, $2, $3, named FROM unnest($5) AS named ON CONFLICT DO NOTHING";
const ADD: &str = "INSERT INTO project_blocks (project, account, id, kind, parent, position, props)
    SELECT $1, $2, new.* FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[]) AS new";
const PUT_DESIGN: &str = "INSERT INTO project_designs (project, account, document) VALUES ($1, $2, $3)
    ON CONFLICT (project) DO UPDATE SET document = excluded.document";

/// A statement and its values.
type Step<'a> = (&'static str, &'a [&'a (dyn ToSql + Sync)]);

impl Plain for Postgres {
    async fn run(&self, wish: Wish) -> Done {
        let client = self.own_client().await?;
        let done = if wish.case.reads() { look(&client, &wish).await } else { change(&client, &wish).await };
        done.map_err(|error| error.to_string())?
    }
}

/// Says who asks.
const WHO: Step<'static> = (SET, &[&"fluxway.tenant", &ACCOUNT]);
const DEPTH: i64 = 3;

async fn look(client: &Object, Wish { case, site }: &Wish) -> Result<Done, Error> {
    let (id, account) = (&site.id, &ACCOUNT);
    let (begin, end): (Step<'_>, Step<'_>) = ((BEGIN_READ, &[]), ("ROLLBACK", &[]));
    let (revision, most): (Step<'_>, i64) = ((REVISION, &[id, account]), i64::from(PAGE) + 1);
    let (answers, expected) = match case {
        Case::GetProject => (together(client, &[begin, WHO, (PROJECT, &[id, account]), end]).await?, 1),
        Case::ListProjects => {
            let list: Step<'_> = (LIST, &[account, &Cursor::EARLIEST, &"", &most]);
            (together(client, &[begin, WHO, list, end]).await?, PAGE)
        }
        Case::GetBlocks => {
            let tree: Step<'_> = (TREE, &[id, &site.page, &DEPTH, &501_i64]);
            (together(client, &[begin, WHO, revision, tree, end]).await?, PAGE)
        }
        _ => (together(client, &[begin, WHO, revision, (DESIGN, &[id]), end]).await?, 1),
    };
    let found = answers.iter().map(Vec::len).max().unwrap_or(0);
    Ok(if found < expected as usize { Err(format!("{found} rows: {case:?}")) } else { Ok(()) })
}

async fn change(client: &Object, Wish { case, site }: &Wish) -> Result<Done, Error> {
    let (Site { id, notes, last, .. }, account) = (&**site, &ACCOUNT);
    let (words, now) = (words(), site.created());
    let props = props(&words);
    let (begin, hold): (Step<'_>, Step<'_>) =
        (("BEGIN ISOLATION LEVEL READ COMMITTED", &[]), (HOLD, &[id, account]));
    let is_new = *case == Case::CreateBlock;
    let bytes = if is_new { kept(props.len()) } else { 0 };
    let note: Step<'_> = (NOTE, &[id, &now, &i64::from(is_new), &bytes]);
    match case {
        Case::UpdateProject => {
            together(client, &[begin, WHO, hold]).await?;
            together(client, &[(DESCRIBE, &[id, &now, &words])]).await?;
        }
        Case::UpdateBlock => {
            together(client, &[begin, WHO, hold, (BLOCK, &[id, last])]).await?;
            let named: &[&str] = &[];
            together(client, &[(PUT_PROPS, &[id, account, last, &props, &named]), note]).await?;
        }
        Case::CreateBlock => {
            // One level more than there may be.
            let deepest = kept(limits::MAX_DEPTH) + 1;
            let above: Step<'_> = (ABOVE, &[id, notes, &deepest]);
            let found = together(client, &[begin, WHO, hold, above, (LAST, &[id, notes, &""])]).await?;
            let before = found.last().and_then(|rows| rows.first()?.try_get::<_, String>(0).ok());
            let (new, place) = (new_id(), after(before.as_deref()));
            let [ids, kinds, parents, places, all] =
                [&*new, "text", notes, &place, &props].map(|text| vec![text]);
            let add: Step<'_> = (ADD, &[id, account, &ids, &kinds, &parents, &places, &all]);
            together(client, &[add, note]).await?;
        }
        _ => {
            together(client, &[begin, WHO, hold, (DESIGN, &[id])]).await?;
            together(client, &[(PUT_DESIGN, &[id, account, &Wish::design()]), note]).await?;
        }
    }
    together(client, &[("COMMIT", &[])]).await?;
    Ok(Ok(()))
}

/// Sends all of them, waits for all answers, and reads every column of them.
async fn together(client: &Object, steps: &[Step<'_>]) -> Result<Vec<Vec<Row>>, Error> {
    let mut prepared = Vec::with_capacity(steps.len());
    for (sql, _) in steps {
        prepared.push(client.prepare_cached(sql).await?);
    }
    let sent = prepared.iter().zip(steps).map(|(sql, (_, values))| client.query(sql, values));
    let answers: Vec<Vec<Row>> = join_all(sent).await.into_iter().collect::<Result<_, _>>()?;
    answers.iter().flatten().try_for_each(read)?;
    Ok(answers)
}

fn read(row: &Row) -> Result<(), Error> {
    for (at, column) in row.columns().iter().enumerate() {
        match *column.type_() {
            Type::TEXT => taken::<String>(row, at)?,
            Type::INT8 => taken::<i64>(row, at)?,
            Type::TIMESTAMPTZ => taken::<Timestamp>(row, at)?,
            _ => {}
        }
    }
    Ok(())
}

fn taken<T: FromSqlOwned>(row: &Row, column: usize) -> Result<(), Error> {
    black_box(row.try_get::<_, Option<T>>(column)?);
    Ok(())
}
