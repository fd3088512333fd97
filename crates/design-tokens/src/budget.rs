//! Budgets that bound the size and cost of results.

/// An amount that is used up bit by bit: values, bytes, steps.
#[derive(Debug)]
pub(super) struct CostBudget {
    remaining: usize,
}

impl CostBudget {
    pub(super) const fn new(most: usize) -> Self {
        Self { remaining: most }
    }

    /// Spends an amount. `None` if there was not enough; then the budget is empty.
    pub(super) fn spend(&mut self, amount: usize) -> Option<()> {
        let left = self.remaining.checked_sub(amount);
        self.remaining = left.unwrap_or(0);
        left.map(drop)
    }

    pub(super) const fn remaining(&self) -> usize {
        self.remaining
    }
}
