//! How much judging one call may take.

use crate::error::Problem;

/// What all judging of one call may cost together ([`cost`](super::cost)): some tenths of a second at most, for which others
/// may wait.
const CALL: u64 = 30_000_000;

/// What one call may still spend on judging by schemas that somebody wrote.
pub(crate) struct Effort {
    left: u64,
    is_spent: bool,
}

impl Effort {
    /// All that a call may spend.
    pub(crate) const fn of_a_call() -> Self {
        Self { left: CALL, is_spent: false }
    }

    /// Takes so much for what has to be done. If there is not as much, it cannot be done, and that is told by
    /// [`Effort::problem`].
    pub(super) fn take(&mut self, cost: u64) -> bool {
        let is_there = self.spare(cost);
        self.is_spent |= !is_there;
        is_there
    }

    /// Takes so much for what need not be done.
    pub(super) const fn spare(&mut self, cost: u64) -> bool {
        match self.left.checked_sub(cost) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }

    /// Says that something was left out because it was too much.
    pub(crate) fn problem(&self) -> Option<Problem> {
        let message = "the schemas of the project's own block types are too much work for all of these blocks; make schemas \
            or props smaller, take out patterns and `multipleOf`, or write fewer blocks at once";
        self.is_spent.then(|| Problem::new("", message))
    }
}
