//! Where a block is to go.

use crate::error::ProjectRejection;
use crate::ids::BlockId;
use crate::order::{self, OrderKey};

/// Where a block is to go, as a caller says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockPosition {
    /// Inside of a block, or among the pages.
    In {
        /// The block. None: among the pages.
        parent: Option<BlockId>,
        /// How many of the others come before it. Without, or if there are not so many, it is the last.
        index: Option<u32>,
    },
    /// Beside a block, before it.
    Before(BlockId),
    /// Beside a block, after it.
    After(BlockId),
}

impl BlockPosition {
    /// Says that a block cannot be moved beside itself.
    pub fn self_sibling_rejection(id: &BlockId) -> ProjectRejection {
        ProjectRejection::invalid("/place", format!("block `{id}` cannot stand beside itself; name another"))
    }

    /// The last inside of a block, or of the pages.
    pub const fn last(parent: Option<BlockId>) -> Self {
        Self::In { parent, index: None }
    }
}

/// A block that is above another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AncestorBlock {
    /// Its id.
    pub id: BlockId,
    /// Its type.
    pub kind: String,
}

/// A place as a store found it. A block that is moved does not count among its siblings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockSlot {
    /// What is above it: the parent first, the page last. None: among the pages.
    pub ancestors: Vec<AncestorBlock>,
    /// The sibling before it.
    pub left: Option<OrderKey>,
    /// The sibling after it.
    pub right: Option<OrderKey>,
}

impl BlockSlot {
    /// What it is inside of.
    pub fn parent(&self) -> Option<&BlockId> {
        self.ancestors.first().map(|above| &above.id)
    }

    /// The type of what it is inside of.
    pub fn parent_kind(&self) -> Option<&str> {
        self.ancestors.first().map(|above| above.kind.as_str())
    }

    /// Keys for so many blocks. `None`: there is no room, and the store gives all children of the parent the keys of
    /// [`order::evenly_spaced_keys`], in their order, and finds the spot again. That is rare: see [`order`].
    pub fn order_keys(&self, count: usize) -> Option<Vec<OrderKey>> {
        order::keys_between(self.left.as_ref(), self.right.as_ref(), count)
    }

    /// There is always room after spreading; this says so without panicking.
    pub fn no_room() -> ProjectRejection {
        ProjectRejection::invalid("/place", "has no room; choose another place")
    }
}
