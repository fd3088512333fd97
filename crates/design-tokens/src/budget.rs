//! What may still be made.

/// An amount of something that is used up bit by bit: values, bytes, steps.
#[derive(Debug)]
pub(super) struct CostBudget {
    remaining: usize,
}

impl CostBudget {
    pub(super) const fn new(most: usize) -> Self {
        Self { remaining: most }
    }

    /// Takes some. `None`: there was not so much, and now there is nothing.
    pub(super) fn spend(&mut self, amount: usize) -> Option<()> {
        let left = self.remaining.checked_sub(amount);
        self.remaining = left.unwrap_or(0);
        left.map(drop)
    }

    pub(super) const fn remaining(&self) -> usize {
        self.remaining
    }
}
