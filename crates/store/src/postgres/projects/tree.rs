//! Ancestors, descendants and siblings of blocks.
//!
//! Tree queries look up each block by index (`LATERAL … OFFSET 0`), regardless of the size of the project,
//! and stop below the maximum depth, even if the data contains a cycle.

use ::projects::blocks::AncestorBlock;
use ::projects::limits::MAX_BLOCK_DEPTH;
use ::projects::{BlockEntry, BlockId, ProjectId, TreeQuery};
use futures_util::future::try_join;
use store_api::StoreError;
use tokio_postgres::Row;

use super::super::transaction::PgTransaction;
use super::read::{self, project_is_owned, read_rows};
use super::row_limit;
use ::projects::store::tables::{NeighbourKeys, RemovedBlocks, SiblingGap};

/// The descendants of these blocks, down to level $3.
macro_rules! subtree_cte {
    ($columns:literal, $from:literal) => {
        concat!(
            "WITH RECURSIVE inside AS (SELECT ",
            $columns,
            ", 1::bigint AS level FROM project_blocks WHERE project = $1 AND ",
            $from,
            " AND",
            project_is_owned!(),
            " UNION ALL SELECT b.*, i.level + 1 FROM inside i CROSS JOIN LATERAL (SELECT ",
            $columns,
            " FROM project_blocks WHERE project = $1 AND parent = i.id OFFSET 0) AS b WHERE i.level < $3)"
        )
    };
}

/// Children of blocks on the last level are only counted.
macro_rules! select_subtree {
    ($from:literal) => {
        concat!(
            subtree_cte!("id, kind, parent, position, props", $from),
            " SELECT id, kind, parent, position, props, CASE WHEN level < $3 THEN 0 ELSE
                (SELECT count(*) FROM project_blocks c WHERE c.project = $1 AND c.parent = i.id) END
            FROM inside i LIMIT $4"
        )
    };
}

const SUBTREE: &str = select_subtree!("id = $2");
const ALL_PAGES_SUBTREE: &str = select_subtree!("parent = $2");

const HEIGHT: &str = concat!(subtree_cte!("id", "id = $2"), " SELECT coalesce(max(level), 0) FROM inside");

/// Builds each array once instead of once per row.
const DELETE_SUBTREE: &str = concat!(
    subtree_cte!("id", "id = $2"),
    ", gone AS (DELETE FROM project_blocks WHERE project = $1 AND id = ANY (ARRAY(SELECT id FROM inside))
        RETURNING octet_length(props) AS bytes),
    unnamed AS (DELETE FROM project_block_assets
        WHERE project = $1 AND block = ANY (ARRAY(SELECT id FROM inside)) RETURNING block)
    SELECT count(*), coalesce(sum(bytes), 0)::bigint, (SELECT count(*) FROM unnamed) FROM gone"
);

const ANCESTORS: &str = concat!(
    "WITH RECURSIVE above AS (
        SELECT id, kind, parent, 1::bigint AS level FROM project_blocks WHERE project = $1 AND id = $2 AND",
    project_is_owned!(),
    " UNION ALL
        SELECT b.*, a.level + 1 FROM above a CROSS JOIN LATERAL (
            SELECT id, kind, parent FROM project_blocks WHERE project = $1 AND id = a.parent OFFSET 0) AS b
        WHERE a.level < $3)
    SELECT id, kind FROM above ORDER BY level"
);

/// The siblings, except for the block that is being moved.
macro_rules! siblings {
    ($rest:literal) => {
        concat!(
            "SELECT position FROM project_blocks WHERE project = $1 AND parent = $2 AND id <> $3 AND",
            project_is_owned!(),
            $rest
        )
    };
}

const LAST_SIBLING: &str = siblings!(" ORDER BY position DESC, id DESC LIMIT 1");
const SIBLING_BEFORE: &str =
    siblings!(" AND (position, id) < ($4, $5) ORDER BY position DESC, id DESC LIMIT 1");
const SIBLING_AFTER: &str = siblings!(" AND (position, id) > ($4, $5) ORDER BY position, id LIMIT 1");
const TWO_SIBLINGS_FROM_OFFSET: &str = siblings!(" ORDER BY position, id OFFSET $4 LIMIT 2");

/// One level more than allowed.
fn max_level() -> i64 {
    row_limit(MAX_BLOCK_DEPTH) + 1
}

pub(super) async fn subtree(
    tables: &PgTransaction<'_>,
    project: &ProjectId,
    root: Option<&BlockId>,
    query: TreeQuery,
) -> Result<Vec<BlockEntry>, StoreError> {
    let sql = if root.is_some() { SUBTREE } else { ALL_PAGES_SUBTREE };
    let root = root.map_or("", BlockId::as_str);
    let depth = i64::from(query.depth).min(max_level());
    let count = i64::from(query.max_blocks) + 1;
    let rows = tables.fetch_rows(sql, &[&project.as_str(), &root, &depth, &count]).await?;
    read_rows(&rows, read::block_entry)
}

pub(super) async fn height(
    tables: &PgTransaction<'_>,
    project: &ProjectId,
    id: &BlockId,
) -> Result<usize, StoreError> {
    let rows = tables.fetch_rows(HEIGHT, &[&project.as_str(), &id.as_str(), &max_level()]).await?;
    let height = rows.first().map_or(Ok(0), |row| read::count(row, 0))?;
    Ok(usize::try_from(height).unwrap_or(usize::MAX))
}

pub(super) async fn delete_subtree(
    tables: &PgTransaction<'_>,
    project: &ProjectId,
    root: &BlockId,
) -> Result<RemovedBlocks, StoreError> {
    let rows = tables.fetch_rows(DELETE_SUBTREE, &[&project.as_str(), &root.as_str(), &max_level()]).await?;
    let Some(row) = rows.first() else { return Ok(RemovedBlocks::default()) };
    Ok(RemovedBlocks {
        blocks: read::count(row, 0)?,
        bytes: read::count(row, 1)?,
        mentions: read::count(row, 2)?,
    })
}

pub(super) async fn ancestors(
    tables: &PgTransaction<'_>,
    project: &ProjectId,
    id: &BlockId,
) -> Result<Vec<AncestorBlock>, StoreError> {
    let rows = tables.fetch_rows(ANCESTORS, &[&project.as_str(), &id.as_str(), &max_level()]).await?;
    read_rows(&rows, read::ancestor)
}

/// `moved` is empty if no block is being moved.
pub(super) async fn neighbours(
    tables: &PgTransaction<'_>,
    project: &ProjectId,
    parent: &str,
    gap: SiblingGap<'_>,
    moved: &str,
) -> Result<NeighbourKeys, StoreError> {
    let project = project.as_str();
    let key = |rows: &[Row], at: usize| rows.get(at).map(|row| read::order_key(row, 0)).transpose();
    match gap {
        SiblingGap::Last => {
            let last = tables.fetch_rows(LAST_SIBLING, &[&project, &parent, &moved]).await?;
            Ok(NeighbourKeys { left: key(&last, 0)?, right: None })
        }
        SiblingGap::Index(index) => {
            // Start at the sibling before the index, if there is one.
            let from = i64::from(index.saturating_sub(1));
            let (two, last) = try_join(
                tables.fetch_rows(TWO_SIBLINGS_FROM_OFFSET, &[&project, &parent, &moved, &from]),
                tables.fetch_rows(LAST_SIBLING, &[&project, &parent, &moved]),
            )
            .await?;
            match index {
                0 => Ok(NeighbourKeys { left: None, right: key(&two, 0)? }),
                _ if two.is_empty() => Ok(NeighbourKeys { left: key(&last, 0)?, right: None }),
                _ => Ok(NeighbourKeys { left: key(&two, 0)?, right: key(&two, 1)? }),
            }
        }
        SiblingGap::Before(block) => {
            let (order, id) = (block.order.as_str(), block.id.as_str());
            let rows = tables.fetch_rows(SIBLING_BEFORE, &[&project, &parent, &moved, &order, &id]).await?;
            Ok(NeighbourKeys { left: key(&rows, 0)?, right: Some(block.order.clone()) })
        }
        SiblingGap::After(block) => {
            let (order, id) = (block.order.as_str(), block.id.as_str());
            let rows = tables.fetch_rows(SIBLING_AFTER, &[&project, &parent, &moved, &order, &id]).await?;
            Ok(NeighbourKeys { left: Some(block.order.clone()), right: key(&rows, 0)? })
        }
    }
}
