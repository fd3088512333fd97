//! Positions of blocks in the tree.

use crate::error::ProjectRejection;
use crate::ids::BlockId;
use crate::order::{self, OrderKey};

/// A position as given by a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockPosition {
    /// Inside a block, or at the top level among the pages.
    In {
        /// `None` for the top level.
        parent: Option<BlockId>,
        /// Number of siblings before it. Last if `None` or too large.
        index: Option<u32>,
    },
    /// Before a sibling.
    Before(BlockId),
    /// After a sibling.
    After(BlockId),
}

impl BlockPosition {
    /// Rejection for moving a block next to itself.
    pub fn self_sibling_rejection(id: &BlockId) -> ProjectRejection {
        ProjectRejection::invalid(
            "/place",
            format!("block `{id}` cannot be placed next to itself; name another block"),
        )
    }

    /// The last position inside a block, or among the pages.
    pub const fn last(parent: Option<BlockId>) -> Self {
        Self::In { parent, index: None }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AncestorBlock {
    pub id: BlockId,
    pub kind: String,
}

/// A position as resolved by a store. A block that is being moved does not count among the siblings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockSlot {
    /// Parent first, page last. Empty at the top level.
    pub ancestors: Vec<AncestorBlock>,
    /// Key of the preceding sibling.
    pub left: Option<OrderKey>,
    /// Key of the following sibling.
    pub right: Option<OrderKey>,
}

impl BlockSlot {
    pub fn parent(&self) -> Option<&BlockId> {
        self.ancestors.first().map(|above| &above.id)
    }

    pub fn parent_kind(&self) -> Option<&str> {
        self.ancestors.first().map(|above| above.kind.as_str())
    }

    /// Keys for `count` blocks. `None` if there is no room: then the store assigns the keys of
    /// [`order::evenly_spaced_keys`] to all children of the parent, in their order, and resolves the position
    /// again. That is rare; see [`order`].
    pub fn order_keys(&self, count: usize) -> Option<Vec<OrderKey>> {
        order::keys_between(self.left.as_ref(), self.right.as_ref(), count)
    }

    /// Cannot happen after respacing, but must not panic.
    pub fn no_room() -> ProjectRejection {
        ProjectRejection::invalid("/place", "has no room; choose another place")
    }
}
