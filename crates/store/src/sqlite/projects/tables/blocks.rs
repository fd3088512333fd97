//! Blocks.

use std::collections::BTreeSet;

use ::projects::blocks::AncestorBlock;
use ::projects::limits::MAX_BLOCK_DEPTH;
use ::projects::{Block, BlockEntry, BlockId, OrderKey, ProjectId, TreeQuery};
use async_trait::async_trait;
use rusqlite::{Result, Row, params};

use super::super::rows::{block, block_columns, block_entry, block_id, count, order_key, to_sql_integer};
use super::{SqliteTableResult, SqliteTables, to_store_result};
use crate::text_encoding;
use ::projects::store::tables::{BlockTables, NeighbourKeys, RemovedBlocks, RowWindow, SiblingGap};

pub(crate) const BY_ID: &str =
    concat!("SELECT ", block_columns!(), " FROM project_blocks b WHERE b.project = ?1 AND b.id = ?2");

/// Ordered by an index, which is likely the insertion order as well.
pub(crate) const ALL: &str = concat!(
    "SELECT ",
    block_columns!(),
    " FROM project_blocks b WHERE b.project = ?1 ORDER BY b.parent, b.position, b.id"
);

/// The number of direct children.
macro_rules! child_count {
    () => {
        "(SELECT count(*) FROM project_blocks c WHERE c.project = b.project AND c.parent = b.id)"
    };
}

/// A block, or all pages, and its descendants. Parameters: project, block, levels, rows. `CROSS JOIN` forces
/// SQLite to look up blocks from the rows found so far. Children of blocks on the last level are only
/// counted.
macro_rules! select_subtree {
    ($begin:literal) => {
        concat!(
            "WITH RECURSIVE inside (id, level) AS (
                SELECT id, 1 FROM project_blocks WHERE project = ?1 AND ",
            $begin,
            " UNION ALL
                SELECT b.id, level + 1 FROM inside CROSS JOIN project_blocks b ON b.project = ?1 AND b.parent = inside.id
                WHERE level < ?3
                LIMIT ?4)
            SELECT ",
            block_columns!(),
            ", CASE WHEN level < ?3 THEN 0 ELSE ",
            child_count!(),
            " END FROM inside CROSS JOIN project_blocks b ON b.project = ?1 AND b.id = inside.id"
        )
    };
}

pub(crate) const SUBTREE: &str = select_subtree!("id = ?2");
pub(crate) const ALL_PAGES_SUBTREE: &str = select_subtree!("parent = ?2");

pub(crate) const CHILDREN: &str = concat!(
    "SELECT ",
    block_columns!(),
    ", ",
    child_count!(),
    " FROM project_blocks b WHERE b.project = ?1 AND b.parent = ?2 AND (b.position, b.id) > (?3, ?4)
    ORDER BY b.position, b.id LIMIT ?5"
);

pub(crate) const CHILD_KEYS: &str =
    "SELECT id, position FROM project_blocks WHERE project = ?1 AND parent = ?2 ORDER BY position, id";

pub(crate) const ANCESTORS: &str = "WITH RECURSIVE above (id, kind, parent, level) AS (
        SELECT id, kind, parent, 1 FROM project_blocks WHERE project = ?1 AND id = ?2
        UNION ALL
        SELECT b.id, b.kind, b.parent, level + 1
        FROM above CROSS JOIN project_blocks b ON b.project = ?1 AND b.id = above.parent
        WHERE level <= ?3)
    SELECT id, kind, level FROM above";

pub(crate) const HEIGHT: &str = "WITH RECURSIVE inside (id, level) AS (
        SELECT id, 1 FROM project_blocks WHERE project = ?1 AND id = ?2
        UNION ALL
        SELECT b.id, level + 1 FROM inside CROSS JOIN project_blocks b ON b.project = ?1 AND b.parent = inside.id
        WHERE level <= ?3)
    SELECT coalesce(max(level), 0) FROM inside";

pub(crate) const BY_PATH: &str = "SELECT 1 FROM project_blocks WHERE project = ?1 AND path = ?2";

const ADD: &str = "INSERT INTO project_blocks (project, id, parent, position, kind, path, props)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

pub(crate) const PUT_PROPS: &str =
    "UPDATE project_blocks SET props = ?3, path = ?4 WHERE project = ?1 AND id = ?2";

pub(crate) const PUT_POSITION: &str =
    "UPDATE project_blocks SET parent = ?3, position = ?4 WHERE project = ?1 AND id = ?2";

/// A block and all of its descendants. Terminates even if the data contains a cycle.
macro_rules! in_subtree {
    ($rest:literal) => {
        concat!(
            "WITH RECURSIVE inside (id) AS (
                VALUES (?2)
                UNION
                SELECT b.id FROM inside CROSS JOIN project_blocks b ON b.project = ?1 AND b.parent = inside.id) ",
            $rest
        )
    };
}

pub(crate) const COUNT_SUBTREE_MENTIONS: &str =
    in_subtree!("SELECT count(*) FROM project_block_assets WHERE project = ?1 AND block IN inside");

/// Their asset references are deleted by a cascade.
pub(crate) const DELETE_SUBTREE: &str = in_subtree!(
    "DELETE FROM project_blocks WHERE project = ?1 AND id IN inside RETURNING octet_length(props)"
);

const ADD_ASSET_MENTION: &str =
    "INSERT INTO project_block_assets (project, asset, block) VALUES (?1, ?2, ?3)";

pub(crate) const DELETE_ASSET_MENTIONS: &str =
    "DELETE FROM project_block_assets WHERE project = ?1 AND block = ?2";

/// The stored parent; empty for pages.
pub(super) fn parent_key(parent: Option<&BlockId>) -> &str {
    parent.map_or("", BlockId::as_str)
}

#[async_trait]
impl BlockTables for SqliteTables<'_> {
    async fn block(&self, project: &ProjectId, id: &BlockId) -> SqliteTableResult<Option<Block>> {
        to_store_result(self.query_one(BY_ID, [project.as_str(), id.as_str()], block))
    }

    async fn all_blocks(&self, project: &ProjectId) -> SqliteTableResult<Vec<Block>> {
        to_store_result(self.query_all(ALL, [project.as_str()], block))
    }

    async fn subtree(
        &self,
        project: &ProjectId,
        root: Option<&BlockId>,
        query: TreeQuery,
    ) -> SqliteTableResult<Vec<BlockEntry>> {
        let sql = if root.is_some() { SUBTREE } else { ALL_PAGES_SUBTREE };
        let most = i64::from(query.max_blocks) + 1;
        // One level more than allowed; terminates even if the data contains a cycle.
        let depth = i64::from(query.depth).min(to_sql_integer(MAX_BLOCK_DEPTH as u64) + 1);
        to_store_result(self.query_all(
            sql,
            params![project.as_str(), parent_key(root), depth, most],
            block_entry,
        ))
    }

    async fn children(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
        window: RowWindow<String>,
    ) -> SqliteTableResult<Vec<BlockEntry>> {
        let (key, id) = window.after.unwrap_or_default();
        let values = params![project.as_str(), parent_key(parent), key, id, window.limit];
        to_store_result(self.query_all(CHILDREN, values, block_entry))
    }

    async fn child_keys(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
    ) -> SqliteTableResult<Vec<(BlockId, OrderKey)>> {
        let place = |row: &Row<'_>| Ok((block_id(row)?, order_key(row, 1)?));
        to_store_result(self.query_all(CHILD_KEYS, [project.as_str(), parent_key(parent)], place))
    }

    async fn ancestors(&self, project: &ProjectId, id: &BlockId) -> SqliteTableResult<Vec<AncestorBlock>> {
        to_store_result(self.select_ancestors(project, id))
    }

    async fn height(&self, project: &ProjectId, id: &BlockId) -> SqliteTableResult<usize> {
        let levels = self.query_one(
            HEIGHT,
            params![project.as_str(), id.as_str(), to_sql_integer(MAX_BLOCK_DEPTH as u64)],
            |row| count(row, 0),
        );
        to_store_result(levels.map(|levels| usize::try_from(levels.unwrap_or(0)).unwrap_or(usize::MAX)))
    }

    async fn neighbours(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
        gap: SiblingGap<'_>,
        moved: Option<&BlockId>,
    ) -> SqliteTableResult<NeighbourKeys> {
        to_store_result(self.find_neighbours(project, parent, gap, moved))
    }

    async fn taken_paths(
        &self,
        project: &ProjectId,
        paths: &BTreeSet<String>,
    ) -> SqliteTableResult<BTreeSet<String>> {
        let mut taken = BTreeSet::new();
        for path in paths {
            match self.exists(BY_PATH, params![project.as_str(), text_encoding::path_digest(path)]) {
                Ok(true) => drop(taken.insert(path.clone())),
                Ok(false) => {}
                Err(error) => return to_store_result(Err(error)),
            }
        }
        to_store_result(Ok(taken))
    }

    async fn add_blocks(&self, project: &ProjectId, blocks: &[Block]) -> SqliteTableResult<()> {
        to_store_result(blocks.iter().try_for_each(|block| self.add_block(project, block)))
    }

    async fn put_props(&self, project: &ProjectId, block: &Block) -> SqliteTableResult<()> {
        to_store_result(self.replace_props(project, block))
    }

    async fn put_positions(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
        places: &[(BlockId, OrderKey)],
    ) -> SqliteTableResult<()> {
        let put = |(id, key): &(BlockId, OrderKey)| {
            self.execute(PUT_POSITION, [project.as_str(), id.as_str(), parent_key(parent), key.as_str()])
                .map(drop)
        };
        to_store_result(places.iter().try_for_each(put))
    }

    async fn delete_subtree(&self, project: &ProjectId, root: &BlockId) -> SqliteTableResult<RemovedBlocks> {
        to_store_result(self.remove_subtree(project, root))
    }
}

impl SqliteTables<'_> {
    fn remove_subtree(&self, project: &ProjectId, root: &BlockId) -> Result<RemovedBlocks> {
        let values = [project.as_str(), root.as_str()];
        let mentions = self.query_one(COUNT_SUBTREE_MENTIONS, values, |row| count(row, 0))?.unwrap_or(0);
        let gone = self.query_all(DELETE_SUBTREE, values, |row| count(row, 0))?;
        Ok(RemovedBlocks { blocks: gone.len() as u64, bytes: gone.into_iter().sum(), mentions })
    }

    fn select_ancestors(&self, project: &ProjectId, id: &BlockId) -> Result<Vec<AncestorBlock>> {
        let mut levels = self.query_all(
            ANCESTORS,
            params![project.as_str(), id.as_str(), to_sql_integer(MAX_BLOCK_DEPTH as u64)],
            |row| Ok((count(row, 2)?, AncestorBlock { id: block_id(row)?, kind: row.get(1)? })),
        )?;
        levels.sort_by_key(|(level, _)| *level);
        Ok(levels.into_iter().map(|(_, above)| above).collect())
    }

    fn add_block(&self, project: &ProjectId, block: &Block) -> Result<()> {
        let values = params![
            project.as_str(),
            block.id.as_str(),
            parent_key(block.parent.as_ref()),
            block.order.as_str(),
            block.kind,
            text_encoding::page_path_digest(block),
            text_encoding::encode_map(&block.props),
        ];
        self.execute(ADD, values)?;
        self.add_asset_mentions(project, block)
    }

    fn replace_props(&self, project: &ProjectId, block: &Block) -> Result<()> {
        let (props, path) = (text_encoding::encode_map(&block.props), text_encoding::page_path_digest(block));
        self.execute(PUT_PROPS, params![project.as_str(), block.id.as_str(), props, path])?;
        self.execute(DELETE_ASSET_MENTIONS, [project.as_str(), block.id.as_str()])?;
        self.add_asset_mentions(project, block)
    }

    fn add_asset_mentions(&self, project: &ProjectId, block: &Block) -> Result<()> {
        for asset in block.mentioned_assets() {
            self.execute(ADD_ASSET_MENTION, [project.as_str(), asset.as_str(), block.id.as_str()])?;
        }
        Ok(())
    }
}
