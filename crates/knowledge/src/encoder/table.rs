//! The token table, read where it lies.
//!
//! Little-endian: the magic, then n, dims, the length of the blob and a zero as u32; n + 1 offsets into the blob; the blob of
//! wordpieces, sorted as bytes, filled up to a multiple of four; n scales as f32; n rows of `dims` i8.

use std::borrow::Cow;
use std::ops::Range;

use crate::bytes::Rows;

const MAGIC: &[u8] = b"FXTOKEN1";
const HEADER: usize = 24;
/// More is a mistake: the model that tables are made from has 384.
const MOST_DIMS: usize = 1024;

/// Why bytes are not a token table.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// Something else, or another version of the format.
    #[error("this is not a token table: it does not begin with `FXTOKEN1`")]
    NotATable,
    /// Cut off, or with something behind it.
    #[error("the token table should have {expected} bytes and has {found}; fetch it again")]
    WrongSize {
        /// By its header.
        expected: u64,
        /// In fact.
        found: u64,
    },
    /// No vectors, or far too long ones.
    #[error("the token table has vectors of {0} numbers; 1 to 1024 are possible")]
    WrongDims(u32),
    /// Offsets that go back, or scales that are no numbers.
    #[error("the {0} of the token table are damaged; fetch it again")]
    Damaged(&'static str),
}

pub(super) struct Table {
    bytes: Cow<'static, [u8]>,
    dims: usize,
    offsets: Range<usize>,
    blob: Range<usize>,
    scales: Range<usize>,
    rows: Range<usize>,
    /// The tokens that continue a word: those that begin with `##`.
    continuations: Range<usize>,
}

impl Table {
    pub(super) fn open(bytes: Cow<'static, [u8]>) -> Result<Self, TableError> {
        if !bytes.starts_with(MAGIC) || bytes.len() < HEADER {
            return Err(TableError::NotATable);
        }
        let [count, dims, blob, _] = Rows::<4>::of(&bytes[MAGIC.len()..]).get(0);
        if dims == 0 || dims as usize > MOST_DIMS {
            return Err(TableError::WrongDims(dims));
        }
        // In u64 these sums cannot overflow.
        let sizes = [
            u64::from(count) * 4 + 4,
            u64::from(blob).next_multiple_of(4),
            u64::from(count) * 4,
            u64::from(count) * u64::from(dims),
        ];
        let expected = HEADER as u64 + sizes.iter().sum::<u64>();
        if expected != bytes.len() as u64 {
            return Err(TableError::WrongSize { expected, found: bytes.len() as u64 });
        }
        let mut at = HEADER;
        let [offsets, blob_padded, scales, rows] = sizes.map(|size| {
            let start = at;
            // Together they are as long as the bytes are, so none is cut off here.
            at += usize::try_from(size).unwrap_or(usize::MAX);
            start..at
        });
        let blob = blob_padded.start..blob_padded.start + blob as usize;
        let mut table = Self { bytes, dims: dims as usize, offsets, blob, scales, rows, continuations: 0..0 };
        table.check()?;
        table.continuations = table.position(b"##")..table.position(b"#$");
        Ok(table)
    }

    fn check(&self) -> Result<(), TableError> {
        let offsets = self.offsets();
        let in_order = (0..self.len()).all(|token| offsets.get(token) <= offsets.get(token + 1));
        if !in_order || offsets.get(self.len())[0] as usize > self.blob.len() {
            return Err(TableError::Damaged("offsets"));
        }
        let are_numbers = (0..self.len()).all(|token| self.scale(token).is_finite());
        if are_numbers { Ok(()) } else { Err(TableError::Damaged("scales")) }
    }

    pub(super) fn dims(&self) -> usize {
        self.dims
    }

    /// A checksum of everything but the rows, which are most of the file: other training gives other scales.
    pub(super) fn fingerprint(&self) -> u32 {
        crc32fast::hash(&self.bytes[..self.scales.end])
    }

    /// Adds a token's vector to a sum.
    pub(super) fn add_to(&self, token: u32, sum: &mut [f32]) {
        let scale = self.scale(token as usize);
        let start = self.rows.start + token as usize * self.dims;
        let row = self.bytes.get(start..start + self.dims).unwrap_or_default();
        for (slot, byte) in sum.iter_mut().zip(row) {
            *slot += scale * f32::from(byte.cast_signed());
        }
    }

    /// The longest token that begins `text`: which it is, and how long. `continues` a word, or begins one.
    pub(super) fn longest_prefix(&self, text: &str, continues: bool) -> Option<(u32, usize)> {
        let (tokens, mark) = if continues { (self.continuations.clone(), 2) } else { (0..self.len(), 0) };
        let mut wanted = text.as_bytes();
        // A token that begins `wanted` is not behind it in the order, and whatever stands between the two begins the same way.
        // So if the nearest token does not fit, only what it has in common with `wanted` can.
        while !wanted.is_empty() {
            let next = partition(tokens.clone(), |token| self.piece(token, mark) <= wanted);
            let nearest = next.checked_sub(1).filter(|token| tokens.contains(token))?;
            let token = self.piece(nearest, mark);
            if !token.is_empty() && wanted.starts_with(token) {
                return Some((u32::try_from(nearest).ok()?, token.len()));
            }
            let common = token.iter().zip(wanted).take_while(|(a, b)| a == b).count();
            wanted = &wanted[..common.min(wanted.len() - 1)];
        }
        None
    }

    fn len(&self) -> usize {
        self.scales.len() / 4
    }

    fn offsets(&self) -> Rows<'_, 1> {
        Rows::of(&self.bytes[self.offsets.clone()])
    }

    fn scale(&self, token: usize) -> f32 {
        let [bits] = Rows::<1>::of(&self.bytes[self.scales.clone()]).get(token);
        f32::from_bits(bits)
    }

    /// The text of a token, without so many bytes at its beginning.
    fn piece(&self, token: usize, skipped: usize) -> &[u8] {
        let (start, end) = (self.offsets().get(token)[0] as usize, self.offsets().get(token + 1)[0] as usize);
        self.bytes[self.blob.clone()].get(start + skipped..end).unwrap_or_default()
    }

    fn position(&self, text: &[u8]) -> usize {
        partition(0..self.len(), |token| self.piece(token, 0) < text)
    }
}

/// The first number of a range that is not before.
fn partition(range: Range<usize>, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (range.start, range.end.max(range.start));
    while low < high {
        let middle = low.midpoint(high);
        if is_before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}
