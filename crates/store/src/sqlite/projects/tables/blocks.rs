//! Rows of blocks.

use std::collections::BTreeSet;

use ::projects::blocks::Above;
use ::projects::limits::MAX_DEPTH;
use ::projects::{Block, BlockId, Found, OrderKey, ProjectId, Reach};
use async_trait::async_trait;
use rusqlite::{Result, Row, params};

use super::super::rows::{block, block_columns, block_id, count, found, number, position};
use super::{Done, Rows, done};
use crate::text;
use ::projects::store::tables::{BlockTables, Gap, Neighbours, Removed, Window};

pub(crate) const BY_ID: &str =
    concat!("SELECT ", block_columns!(), " FROM project_blocks b WHERE b.project = ?1 AND b.id = ?2");

/// In an order that an index has, and in which rows were likely added.
pub(crate) const ALL: &str = concat!(
    "SELECT ",
    block_columns!(),
    " FROM project_blocks b WHERE b.project = ?1 ORDER BY b.parent, b.position, b.id"
);

/// How many are directly inside of a block.
macro_rules! inside_count {
    () => {
        "(SELECT count(*) FROM project_blocks c WHERE c.project = b.project AND c.parent = b.id)"
    };
}

/// A block, or all pages, and what is inside: project, block, levels, rows. The rows that were found lead to the next
/// ones, and not the other way round: `CROSS JOIN` says so. What is inside of those on the last level is not read but counted.
macro_rules! inside {
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
            inside_count!(),
            " END FROM inside CROSS JOIN project_blocks b ON b.project = ?1 AND b.id = inside.id"
        )
    };
}

pub(crate) const INSIDE: &str = inside!("id = ?2");
pub(crate) const INSIDE_PAGES: &str = inside!("parent = ?2");

pub(crate) const CHILDREN: &str = concat!(
    "SELECT ",
    block_columns!(),
    ", ",
    inside_count!(),
    " FROM project_blocks b WHERE b.project = ?1 AND b.parent = ?2 AND (b.position, b.id) > (?3, ?4)
    ORDER BY b.position, b.id LIMIT ?5"
);

pub(crate) const PLACES: &str =
    "SELECT id, position FROM project_blocks WHERE project = ?1 AND parent = ?2 ORDER BY position, id";

pub(crate) const ABOVE: &str = "WITH RECURSIVE above (id, kind, parent, level) AS (
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

pub(crate) const PUT_PLACE: &str =
    "UPDATE project_blocks SET parent = ?3, position = ?4 WHERE project = ?1 AND id = ?2";

/// A block and all that is inside, however deep, also if it goes in circles.
macro_rules! all_inside {
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

pub(crate) const MENTIONS_INSIDE: &str =
    all_inside!("SELECT count(*) FROM project_block_assets WHERE project = ?1 AND block IN inside");

/// What assets they name goes with them.
pub(crate) const DELETE_INSIDE: &str = all_inside!(
    "DELETE FROM project_blocks WHERE project = ?1 AND id IN inside RETURNING octet_length(props)"
);

const NAME_ASSET: &str = "INSERT INTO project_block_assets (project, asset, block) VALUES (?1, ?2, ?3)";

pub(crate) const NAME_NONE: &str = "DELETE FROM project_block_assets WHERE project = ?1 AND block = ?2";

/// What pages are inside of.
pub(super) fn parent_text(parent: Option<&BlockId>) -> &str {
    parent.map_or("", BlockId::as_str)
}

#[async_trait]
impl BlockTables for Rows<'_> {
    async fn block(&self, project: &ProjectId, id: &BlockId) -> Done<Option<Block>> {
        done(self.one(BY_ID, [project.as_str(), id.as_str()], block))
    }

    async fn all_blocks(&self, project: &ProjectId) -> Done<Vec<Block>> {
        done(self.all(ALL, [project.as_str()], block))
    }

    async fn inside(&self, project: &ProjectId, root: Option<&BlockId>, reach: Reach) -> Done<Vec<Found>> {
        let sql = if root.is_some() { INSIDE } else { INSIDE_PAGES };
        let most = i64::from(reach.most) + 1;
        // One level more than there may be, even if something goes in circles.
        let depth = i64::from(reach.depth).min(number(MAX_DEPTH as u64) + 1);
        done(self.all(sql, params![project.as_str(), parent_text(root), depth, most], found))
    }

    async fn children(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
        window: Window<String>,
    ) -> Done<Vec<Found>> {
        let (key, id) = window.after.unwrap_or_default();
        let values = params![project.as_str(), parent_text(parent), key, id, window.limit];
        done(self.all(CHILDREN, values, found))
    }

    async fn places(&self, project: &ProjectId, parent: Option<&BlockId>) -> Done<Vec<(BlockId, OrderKey)>> {
        let place = |row: &Row<'_>| Ok((block_id(row)?, position(row, 1)?));
        done(self.all(PLACES, [project.as_str(), parent_text(parent)], place))
    }

    async fn above(&self, project: &ProjectId, id: &BlockId) -> Done<Vec<Above>> {
        done(self.all_above(project, id))
    }

    async fn height(&self, project: &ProjectId, id: &BlockId) -> Done<usize> {
        let levels =
            self.one(HEIGHT, params![project.as_str(), id.as_str(), number(MAX_DEPTH as u64)], |row| {
                count(row, 0)
            });
        done(levels.map(|levels| usize::try_from(levels.unwrap_or(0)).unwrap_or(usize::MAX)))
    }

    async fn neighbours(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
        gap: Gap<'_>,
        moved: Option<&BlockId>,
    ) -> Done<Neighbours> {
        done(self.sides(project, parent, gap, moved))
    }

    async fn taken_paths(&self, project: &ProjectId, paths: &BTreeSet<String>) -> Done<BTreeSet<String>> {
        let mut taken = BTreeSet::new();
        for path in paths {
            match self.any(BY_PATH, params![project.as_str(), text::path_digest(path)]) {
                Ok(true) => drop(taken.insert(path.clone())),
                Ok(false) => {}
                Err(error) => return done(Err(error)),
            }
        }
        done(Ok(taken))
    }

    async fn add_blocks(&self, project: &ProjectId, blocks: &[Block]) -> Done<()> {
        done(blocks.iter().try_for_each(|block| self.add_block(project, block)))
    }

    async fn put_props(&self, project: &ProjectId, block: &Block) -> Done<()> {
        done(self.replace_props(project, block))
    }

    async fn put_places(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
        places: &[(BlockId, OrderKey)],
    ) -> Done<()> {
        let put = |(id, key): &(BlockId, OrderKey)| {
            self.run(PUT_PLACE, [project.as_str(), id.as_str(), parent_text(parent), key.as_str()]).map(drop)
        };
        done(places.iter().try_for_each(put))
    }

    async fn delete_inside(&self, project: &ProjectId, root: &BlockId) -> Done<Removed> {
        done(self.remove_inside(project, root))
    }
}

impl Rows<'_> {
    fn remove_inside(&self, project: &ProjectId, root: &BlockId) -> Result<Removed> {
        let values = [project.as_str(), root.as_str()];
        let mentions = self.one(MENTIONS_INSIDE, values, |row| count(row, 0))?.unwrap_or(0);
        let gone = self.all(DELETE_INSIDE, values, |row| count(row, 0))?;
        Ok(Removed { blocks: gone.len() as u64, bytes: gone.into_iter().sum(), mentions })
    }

    fn all_above(&self, project: &ProjectId, id: &BlockId) -> Result<Vec<Above>> {
        let mut levels =
            self.all(ABOVE, params![project.as_str(), id.as_str(), number(MAX_DEPTH as u64)], |row| {
                Ok((count(row, 2)?, Above { id: block_id(row)?, kind: row.get(1)? }))
            })?;
        levels.sort_by_key(|(level, _)| *level);
        Ok(levels.into_iter().map(|(_, above)| above).collect())
    }

    fn add_block(&self, project: &ProjectId, block: &Block) -> Result<()> {
        let values = params![
            project.as_str(),
            block.id.as_str(),
            parent_text(block.parent.as_ref()),
            block.order.as_str(),
            block.kind,
            text::page_path(block),
            text::of_map(&block.props),
        ];
        self.run(ADD, values)?;
        self.name_assets(project, block)
    }

    fn replace_props(&self, project: &ProjectId, block: &Block) -> Result<()> {
        let (props, path) = (text::of_map(&block.props), text::page_path(block));
        self.run(PUT_PROPS, params![project.as_str(), block.id.as_str(), props, path])?;
        self.run(NAME_NONE, [project.as_str(), block.id.as_str()])?;
        self.name_assets(project, block)
    }

    fn name_assets(&self, project: &ProjectId, block: &Block) -> Result<()> {
        for asset in block.assets() {
            self.run(NAME_ASSET, [project.as_str(), asset.as_str(), block.id.as_str()])?;
        }
        Ok(())
    }
}
