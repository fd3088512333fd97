//! What is above blocks, inside them and beside them.
//!
//! Whoever walks the tree asks for each block by an index (`LATERAL … OFFSET 0`), however many others there are in the project,
//! and stops below the greatest depth, even if something goes in circles.

use ::projects::blocks::Above;
use ::projects::limits::MAX_DEPTH;
use ::projects::{BlockId, Found, ProjectId, Reach};
use futures_util::future::try_join;
use storage::StoreError;
use tokio_postgres::Row;

use super::super::transaction::Transaction;
use super::most;
use super::read::{self, each, own};
use ::projects::store::tables::{Gap, Neighbours, Removed};

/// From these blocks downwards, as far as level $3.
macro_rules! inside {
    ($columns:literal, $from:literal) => {
        concat!(
            "WITH RECURSIVE inside AS (SELECT ",
            $columns,
            ", 1::bigint AS level FROM project_blocks WHERE project = $1 AND ",
            $from,
            " AND",
            own!(),
            " UNION ALL SELECT b.*, i.level + 1 FROM inside i CROSS JOIN LATERAL (SELECT ",
            $columns,
            " FROM project_blocks WHERE project = $1 AND parent = i.id OFFSET 0) AS b WHERE i.level < $3)"
        )
    };
}

/// What is inside of those on the last level is not read but counted.
macro_rules! read_inside {
    ($from:literal) => {
        concat!(
            inside!("id, kind, parent, position, props", $from),
            " SELECT id, kind, parent, position, props, CASE WHEN level < $3 THEN 0 ELSE
                (SELECT count(*) FROM project_blocks c WHERE c.project = $1 AND c.parent = i.id) END
            FROM inside i LIMIT $4"
        )
    };
}

const INSIDE: &str = read_inside!("id = $2");
const INSIDE_PAGES: &str = read_inside!("parent = $2");

const HEIGHT: &str = concat!(inside!("id", "id = $2"), " SELECT coalesce(max(level), 0) FROM inside");

/// Each array is made once and not for each row.
const DELETE: &str = concat!(
    inside!("id", "id = $2"),
    ", gone AS (DELETE FROM project_blocks WHERE project = $1 AND id = ANY (ARRAY(SELECT id FROM inside))
        RETURNING octet_length(props) AS bytes),
    unnamed AS (DELETE FROM project_block_assets
        WHERE project = $1 AND block = ANY (ARRAY(SELECT id FROM inside)) RETURNING block)
    SELECT count(*), coalesce(sum(bytes), 0)::bigint, (SELECT count(*) FROM unnamed) FROM gone"
);

const ABOVE: &str = concat!(
    "WITH RECURSIVE above AS (
        SELECT id, kind, parent, 1::bigint AS level FROM project_blocks WHERE project = $1 AND id = $2 AND",
    own!(),
    " UNION ALL
        SELECT b.*, a.level + 1 FROM above a CROSS JOIN LATERAL (
            SELECT id, kind, parent FROM project_blocks WHERE project = $1 AND id = a.parent OFFSET 0) AS b
        WHERE a.level < $3)
    SELECT id, kind FROM above ORDER BY level"
);

/// Siblings but for the one that is moved.
macro_rules! siblings {
    ($rest:literal) => {
        concat!(
            "SELECT position FROM project_blocks WHERE project = $1 AND parent = $2 AND id <> $3 AND",
            own!(),
            $rest
        )
    };
}

const LAST: &str = siblings!(" ORDER BY position DESC, id DESC LIMIT 1");
const BEFORE: &str = siblings!(" AND (position, id) < ($4, $5) ORDER BY position DESC, id DESC LIMIT 1");
const AFTER: &str = siblings!(" AND (position, id) > ($4, $5) ORDER BY position, id LIMIT 1");
const TWO_FROM: &str = siblings!(" ORDER BY position, id OFFSET $4 LIMIT 2");

/// One level more than there may be.
fn deepest() -> i64 {
    most(MAX_DEPTH) + 1
}

pub(super) async fn inside(
    tables: &Transaction<'_>,
    project: &ProjectId,
    root: Option<&BlockId>,
    reach: Reach,
) -> Result<Vec<Found>, StoreError> {
    let sql = if root.is_some() { INSIDE } else { INSIDE_PAGES };
    let root = root.map_or("", BlockId::as_str);
    let depth = i64::from(reach.depth).min(deepest());
    let count = i64::from(reach.most) + 1;
    let rows = tables.rows(sql, &[&project.as_str(), &root, &depth, &count]).await?;
    each(&rows, read::found)
}

pub(super) async fn height(
    tables: &Transaction<'_>,
    project: &ProjectId,
    id: &BlockId,
) -> Result<usize, StoreError> {
    let rows = tables.rows(HEIGHT, &[&project.as_str(), &id.as_str(), &deepest()]).await?;
    let height = rows.first().map_or(Ok(0), |row| read::count(row, 0))?;
    Ok(usize::try_from(height).unwrap_or(usize::MAX))
}

pub(super) async fn delete(
    tables: &Transaction<'_>,
    project: &ProjectId,
    root: &BlockId,
) -> Result<Removed, StoreError> {
    let rows = tables.rows(DELETE, &[&project.as_str(), &root.as_str(), &deepest()]).await?;
    let Some(row) = rows.first() else { return Ok(Removed::default()) };
    Ok(Removed { blocks: read::count(row, 0)?, bytes: read::count(row, 1)?, mentions: read::count(row, 2)? })
}

pub(super) async fn above(
    tables: &Transaction<'_>,
    project: &ProjectId,
    id: &BlockId,
) -> Result<Vec<Above>, StoreError> {
    let rows = tables.rows(ABOVE, &[&project.as_str(), &id.as_str(), &deepest()]).await?;
    each(&rows, read::above)
}

/// `moved` is empty if nothing is.
pub(super) async fn neighbours(
    tables: &Transaction<'_>,
    project: &ProjectId,
    parent: &str,
    gap: Gap<'_>,
    moved: &str,
) -> Result<Neighbours, StoreError> {
    let project = project.as_str();
    let key = |rows: &[Row], at: usize| rows.get(at).map(|row| read::order_key(row, 0)).transpose();
    match gap {
        Gap::Last => {
            let last = tables.rows(LAST, &[&project, &parent, &moved]).await?;
            Ok(Neighbours { left: key(&last, 0)?, right: None })
        }
        Gap::Index(index) => {
            // From the one before the place, if there is one before it.
            let from = i64::from(index.saturating_sub(1));
            let (two, last) = try_join(
                tables.rows(TWO_FROM, &[&project, &parent, &moved, &from]),
                tables.rows(LAST, &[&project, &parent, &moved]),
            )
            .await?;
            match index {
                0 => Ok(Neighbours { left: None, right: key(&two, 0)? }),
                _ if two.is_empty() => Ok(Neighbours { left: key(&last, 0)?, right: None }),
                _ => Ok(Neighbours { left: key(&two, 0)?, right: key(&two, 1)? }),
            }
        }
        Gap::Before(block) => {
            let (order, id) = (block.order.as_str(), block.id.as_str());
            let rows = tables.rows(BEFORE, &[&project, &parent, &moved, &order, &id]).await?;
            Ok(Neighbours { left: key(&rows, 0)?, right: Some(block.order.clone()) })
        }
        Gap::After(block) => {
            let (order, id) = (block.order.as_str(), block.id.as_str());
            let rows = tables.rows(AFTER, &[&project, &parent, &moved, &order, &id]).await?;
            Ok(Neighbours { left: Some(block.order.clone()), right: key(&rows, 0)? })
        }
    }
}
