//! The token table, read where it lies.
//!
//! Little-endian: the magic, then n, dims, the length of the blob and a zero as u32; n + 1 offsets into the blob; the blob of
//! wordpieces, sorted as bytes, filled up to a multiple of four; n scales as f32; n rows of `dims` i8.

use std::borrow::Cow;
use std::ops::Range;

use crate::bytes::U32Rows;

const MAGIC: &[u8] = b"FXTOKEN1";
const HEADER_BYTES: usize = 24;
/// More is a mistake: the model that tables are made from has 384.
const MAX_DIMS: usize = 1024;

/// Why bytes are not a token table.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenTableError {
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

pub(super) struct TokenTable {
    bytes: Cow<'static, [u8]>,
    dims: usize,
    offsets: Range<usize>,
    blob: Range<usize>,
    scales: Range<usize>,
    rows: Range<usize>,
    /// The tokens that continue a word: those that begin with `##`.
    continuations: Range<usize>,
}

impl TokenTable {
    pub(super) fn open(bytes: Cow<'static, [u8]>) -> Result<Self, TokenTableError> {
        if !bytes.starts_with(MAGIC) || bytes.len() < HEADER_BYTES {
            return Err(TokenTableError::NotATable);
        }
        let [count, dims, blob, _] = U32Rows::<4>::from_bytes(&bytes[MAGIC.len()..]).get(0);
        if dims == 0 || dims as usize > MAX_DIMS {
            return Err(TokenTableError::WrongDims(dims));
        }
        // In u64 these sums cannot overflow.
        let sizes = [
            u64::from(count) * 4 + 4,
            u64::from(blob).next_multiple_of(4),
            u64::from(count) * 4,
            u64::from(count) * u64::from(dims),
        ];
        let expected = HEADER_BYTES as u64 + sizes.iter().sum::<u64>();
        if expected != bytes.len() as u64 {
            return Err(TokenTableError::WrongSize { expected, found: bytes.len() as u64 });
        }
        let mut at = HEADER_BYTES;
        let [offsets, blob_padded, scales, rows] = sizes.map(|size| {
            let start = at;
            // Together they are as long as the bytes are, so none is cut off here.
            at += usize::try_from(size).unwrap_or(usize::MAX);
            start..at
        });
        let blob = blob_padded.start..blob_padded.start + blob as usize;
        let mut table = Self { bytes, dims: dims as usize, offsets, blob, scales, rows, continuations: 0..0 };
        table.validate()?;
        table.continuations = table.lower_bound(b"##")..table.lower_bound(b"#$");
        Ok(table)
    }

    fn validate(&self) -> Result<(), TokenTableError> {
        let offsets = self.offsets();
        let in_order = (0..self.len()).all(|token| offsets.get(token) <= offsets.get(token + 1));
        if !in_order || offsets.get(self.len())[0] as usize > self.blob.len() {
            return Err(TokenTableError::Damaged("offsets"));
        }
        let are_numbers = (0..self.len()).all(|token| self.scale(token).is_finite());
        if are_numbers { Ok(()) } else { Err(TokenTableError::Damaged("scales")) }
    }

    pub(super) fn dims(&self) -> usize {
        self.dims
    }

    /// A checksum of everything but the rows, which are most of the file: other training gives other scales.
    pub(super) fn fingerprint(&self) -> u32 {
        crc32fast::hash(&self.bytes[..self.scales.end])
    }

    /// Adds a token's vector to a sum, so many times.
    pub(super) fn accumulate(&self, token: u32, weight: f32, sum: &mut [f32]) {
        let scale = weight * self.scale(token as usize);
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
            let next = partition_point(tokens.clone(), |token| self.token_text(token, mark) <= wanted);
            let nearest = next.checked_sub(1).filter(|token| tokens.contains(token))?;
            let token = self.token_text(nearest, mark);
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

    fn offsets(&self) -> U32Rows<'_, 1> {
        U32Rows::from_bytes(&self.bytes[self.offsets.clone()])
    }

    fn scale(&self, token: usize) -> f32 {
        let [bits] = U32Rows::<1>::from_bytes(&self.bytes[self.scales.clone()]).get(token);
        f32::from_bits(bits)
    }

    /// The text of a token, without so many bytes at its beginning.
    fn token_text(&self, token: usize, skipped: usize) -> &[u8] {
        let (start, end) = (self.offsets().get(token)[0] as usize, self.offsets().get(token + 1)[0] as usize);
        self.bytes[self.blob.clone()].get(start + skipped..end).unwrap_or_default()
    }

    fn lower_bound(&self, text: &[u8]) -> usize {
        partition_point(0..self.len(), |token| self.token_text(token, 0) < text)
    }
}

/// The first number of a range that is not before.
fn partition_point(range: Range<usize>, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (range.start, range.end.max(range.start));
    while low < high {
        let middle = low.midpoint(high);
        if is_before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}
