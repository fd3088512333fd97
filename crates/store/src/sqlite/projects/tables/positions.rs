//! Positions of blocks among their siblings.

use ::projects::{Block, BlockId, OrderKey, ProjectId};
use rusqlite::{Result, Row, params};

use super::super::rows::order_key;
use super::SqliteTables;
use super::blocks::parent_key;
use ::projects::store::tables::{NeighbourKeys, SiblingGap};

/// Sorts after every key, because keys consist of letters and digits.
const AFTER_LAST_KEY: &str = "~";

macro_rules! sibling {
    ($rest:literal) => {
        concat!("SELECT position FROM project_blocks WHERE project = ?1 AND parent = ?2 AND id <> ?3 ", $rest)
    };
}

pub(crate) const SIBLING_BEFORE: &str =
    sibling!("AND (position, id) < (?4, ?5) ORDER BY position DESC, id DESC LIMIT 1");
pub(crate) const SIBLING_AFTER: &str =
    sibling!("AND (position, id) > (?4, ?5) ORDER BY position, id LIMIT 1");
pub(crate) const TWO_SIBLINGS_FROM_OFFSET: &str = sibling!("ORDER BY position, id LIMIT 2 OFFSET ?4");

fn first_column(row: &Row<'_>) -> Result<OrderKey> {
    order_key(row, 0)
}

/// The children of a block, except for one that is being moved.
struct Siblings<'a> {
    project: &'a str,
    parent: &'a str,
    /// Empty if no block is moved; no block has an empty id.
    moved: &'a str,
}

impl SqliteTables<'_> {
    pub(super) fn find_neighbours(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
        gap: SiblingGap<'_>,
        moved: Option<&BlockId>,
    ) -> Result<NeighbourKeys> {
        let (project, parent, moved) = (project.as_str(), parent_key(parent), parent_key(moved));
        let siblings = Siblings { project, parent, moved };
        match gap {
            SiblingGap::Last => Ok(NeighbourKeys {
                left: self.neighbour_of_key(SIBLING_BEFORE, &siblings, AFTER_LAST_KEY, "")?,
                right: None,
            }),
            SiblingGap::Before(block) => {
                let left = self.neighbour_of_block(SIBLING_BEFORE, &siblings, block)?;
                Ok(NeighbourKeys { left, right: Some(block.order.clone()) })
            }
            SiblingGap::After(block) => {
                let right = self.neighbour_of_block(SIBLING_AFTER, &siblings, block)?;
                Ok(NeighbourKeys { left: Some(block.order.clone()), right })
            }
            SiblingGap::Index(0) => Ok(NeighbourKeys {
                left: None,
                right: self.neighbour_of_key(SIBLING_AFTER, &siblings, "", "")?,
            }),
            SiblingGap::Index(index) => self.neighbours_at_index(&siblings, index),
        }
    }

    fn neighbour_of_block(
        &self,
        sql: &str,
        siblings: &Siblings<'_>,
        block: &Block,
    ) -> Result<Option<OrderKey>> {
        self.neighbour_of_key(sql, siblings, block.order.as_str(), block.id.as_str())
    }

    fn neighbour_of_key(
        &self,
        sql: &str,
        siblings: &Siblings<'_>,
        key: &str,
        id: &str,
    ) -> Result<Option<OrderKey>> {
        self.query_one(sql, [siblings.project, siblings.parent, siblings.moved, key, id], first_column)
    }

    /// The neighbours with `index` siblings to their left, or the end if there are fewer siblings.
    fn neighbours_at_index(&self, siblings: &Siblings<'_>, index: u32) -> Result<NeighbourKeys> {
        let values = params![siblings.project, siblings.parent, siblings.moved, index - 1];
        let mut sides = self.query_all(TWO_SIBLINGS_FROM_OFFSET, values, first_column)?.into_iter();
        match sides.next() {
            Some(left) => Ok(NeighbourKeys { left: Some(left), right: sides.next() }),
            None => Ok(NeighbourKeys {
                left: self.neighbour_of_key(SIBLING_BEFORE, siblings, AFTER_LAST_KEY, "")?,
                right: None,
            }),
        }
    }
}
