//! Maps byte offsets to line numbers.

/// The start offsets of all lines.
pub(crate) struct SourceLineIndex(Vec<u32>);

impl SourceLineIndex {
    pub(crate) fn new(text: &str) -> Self {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes());
        Self(ends.map(|at| u32::try_from(at).unwrap_or(u32::MAX)).collect())
    }

    /// The line of a byte offset, counted from 1.
    pub(crate) fn line_at(&self, offset: usize) -> u32 {
        let offset = u32::try_from(offset).unwrap_or(u32::MAX);
        u32::try_from(self.0.partition_point(|end| *end < offset)).unwrap_or(u32::MAX).saturating_add(1)
    }
}
