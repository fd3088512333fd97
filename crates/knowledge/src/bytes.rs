//! Little-endian numbers in byte slices.

/// A table of rows of `N` numbers. Reading past its end gives zeros: a file that lies about itself yields nonsense, and
/// never a panic.
#[derive(Debug, Clone, Copy)]
pub(crate) struct U32Rows<'a, const N: usize>(&'a [[[u8; 4]; N]]);

impl<'a, const N: usize> U32Rows<'a, N> {
    /// What does not fill a row at the end is left out.
    pub(crate) fn from_bytes(bytes: &'a [u8]) -> Self {
        let (numbers, _) = bytes.as_chunks::<4>();
        Self(numbers.as_chunks::<N>().0)
    }

    pub(crate) fn len(self) -> usize {
        self.0.len()
    }

    pub(crate) fn get(self, row: usize) -> [u32; N] {
        self.0.get(row).map_or([0; N], |row| row.map(u32::from_le_bytes))
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = [u32; N]> + use<'a, N> {
        self.0.iter().map(|row| row.map(u32::from_le_bytes))
    }

    /// A part of the table, as far as it exists.
    pub(crate) fn slice(self, from: usize, to: usize) -> Self {
        let to = to.min(self.0.len());
        Self(&self.0[from.min(to)..to])
    }

    /// How many rows at the beginning satisfy `is_before`, if those that do come first.
    pub(crate) fn partition_point(self, mut is_before: impl FnMut([u32; N]) -> bool) -> usize {
        self.0.partition_point(|row| is_before(row.map(u32::from_le_bytes)))
    }
}

/// Appends numbers.
pub(crate) fn append_u32s(bytes: &mut Vec<u8>, numbers: &[u32]) {
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}
