//! Where blocks stand among their siblings.

use ::projects::{Block, BlockId, OrderKey, ProjectId};
use rusqlite::{Result, Row, params};

use super::super::rows::position;
use super::Rows;
use super::blocks::parent_text;
use ::projects::store::tables::{Gap, Neighbours};

/// After every key: they are letters and digits.
const END: &str = "~";

macro_rules! sibling {
    ($rest:literal) => {
        concat!("SELECT position FROM project_blocks WHERE project = ?1 AND parent = ?2 AND id <> ?3 ", $rest)
    };
}

pub(crate) const BEFORE: &str =
    sibling!("AND (position, id) < (?4, ?5) ORDER BY position DESC, id DESC LIMIT 1");
pub(crate) const AFTER: &str = sibling!("AND (position, id) > (?4, ?5) ORDER BY position, id LIMIT 1");
pub(crate) const FROM: &str = sibling!("ORDER BY position, id LIMIT 2 OFFSET ?4");

/// The only column.
fn first(row: &Row<'_>) -> Result<OrderKey> {
    position(row, 0)
}

/// The children of a block, but for one that is to be moved.
struct Siblings<'a> {
    project: &'a str,
    parent: &'a str,
    /// Empty without: that is nobody's id.
    moved: &'a str,
}

impl Rows<'_> {
    pub(super) fn sides(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
        gap: Gap<'_>,
        moved: Option<&BlockId>,
    ) -> Result<Neighbours> {
        let (project, parent, moved) = (project.as_str(), parent_text(parent), parent_text(moved));
        let siblings = Siblings { project, parent, moved };
        match gap {
            Gap::Last => Ok(Neighbours { left: self.beside(BEFORE, &siblings, END, "")?, right: None }),
            Gap::Before(block) => {
                let left = self.beside_block(BEFORE, &siblings, block)?;
                Ok(Neighbours { left, right: Some(block.order.clone()) })
            }
            Gap::After(block) => {
                let right = self.beside_block(AFTER, &siblings, block)?;
                Ok(Neighbours { left: Some(block.order.clone()), right })
            }
            Gap::Index(0) => Ok(Neighbours { left: None, right: self.beside(AFTER, &siblings, "", "")? }),
            Gap::Index(index) => self.at_index(&siblings, index),
        }
    }

    fn beside_block(&self, sql: &str, siblings: &Siblings<'_>, block: &Block) -> Result<Option<OrderKey>> {
        self.beside(sql, siblings, block.order.as_str(), block.id.as_str())
    }

    fn beside(&self, sql: &str, siblings: &Siblings<'_>, key: &str, id: &str) -> Result<Option<OrderKey>> {
        self.one(sql, [siblings.project, siblings.parent, siblings.moved, key, id], first)
    }

    /// So many stand to the left, if there are so many.
    fn at_index(&self, siblings: &Siblings<'_>, index: u32) -> Result<Neighbours> {
        let values = params![siblings.project, siblings.parent, siblings.moved, index - 1];
        let mut sides = self.all(FROM, values, first)?.into_iter();
        match sides.next() {
            Some(left) => Ok(Neighbours { left: Some(left), right: sides.next() }),
            None => Ok(Neighbours { left: self.beside(BEFORE, siblings, END, "")?, right: None }),
        }
    }
}
