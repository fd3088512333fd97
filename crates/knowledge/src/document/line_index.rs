//! From byte offsets to line numbers.

/// Where the lines of a text begin.
pub(super) struct LineIndex(Vec<usize>);

impl LineIndex {
    pub(super) fn new(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self([0].into_iter().chain(ends.map(|(at, _)| at + 1)).collect())
    }

    /// The line, counted from 1, in which the byte at `offset` stands.
    pub(super) fn line_number(&self, offset: usize) -> usize {
        self.0.partition_point(|start| *start <= offset)
    }
}
