//! What may still be made.

/// An amount of something that is used up bit by bit: values, bytes, steps.
#[derive(Debug)]
pub(super) struct Budget {
    left: usize,
}

impl Budget {
    pub(super) const fn of(most: usize) -> Self {
        Self { left: most }
    }

    /// Takes some. `None`: there was not so much, and now there is nothing.
    pub(super) fn take(&mut self, amount: usize) -> Option<()> {
        let left = self.left.checked_sub(amount);
        self.left = left.unwrap_or(0);
        left.map(drop)
    }

    pub(super) const fn left(&self) -> usize {
        self.left
    }
}
