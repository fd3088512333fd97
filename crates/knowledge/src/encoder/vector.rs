//! Vectors of small integers, compared by the angle between them.

/// A direction: numbers from -127 to 127, and what makes its length 1.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct QuantizedVector {
    pub(crate) numbers: Vec<i8>,
    /// One over the length of `numbers`; 0 for a vector that points nowhere.
    pub(crate) scale: f32,
}

impl QuantizedVector {
    /// Rounds a sum of token vectors.
    pub(super) fn quantize(sum: &[f32]) -> Self {
        let largest = sum.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
        if largest <= 0.0 || !largest.is_finite() {
            return Self { numbers: vec![0; sum.len()], scale: 0.0 };
        }
        #[expect(clippy::cast_possible_truncation, reason = "from -127 to 127 by the division")]
        let numbers: Vec<i8> = sum.iter().map(|x| (x / largest * 127.0).round() as i8).collect();
        let squares: f32 = numbers.iter().map(|x| f32::from(*x).powi(2)).sum();
        Self { numbers, scale: squares.sqrt().recip() }
    }
}

/// A vector in the form in which it is compared with many.
pub(crate) struct QueryVector {
    /// Wider than necessary, so that the compiler multiplies and adds pairs of them in one instruction.
    numbers: Vec<i16>,
    scale: f32,
}

impl From<&QuantizedVector> for QueryVector {
    fn from(vector: &QuantizedVector) -> Self {
        Self { numbers: vector.numbers.iter().map(|x| i16::from(*x)).collect(), scale: vector.scale }
    }
}

impl QueryVector {
    /// The cosine of the angle to a vector that is given as bytes and scale.
    pub(crate) fn cosine(&self, numbers: &[u8], scale: f32) -> f32 {
        #[expect(clippy::cast_precision_loss, reason = "at most 1024 * 127 * 127, which f32 holds exactly")]
        let product = dot(&self.numbers, numbers) as f32;
        product * self.scale * scale
    }
}

/// In blocks of a known size, which compile to vector instructions without a word about them. Of all sizes this is the one
/// that does: 64 and more take twice the time.
fn dot(left: &[i16], right: &[u8]) -> i32 {
    const BLOCK: usize = 32;
    let (left_blocks, left_rest) = left.as_chunks::<BLOCK>();
    let (right_blocks, right_rest) = right.as_chunks::<BLOCK>();
    let product = |(a, b): (&i16, &u8)| i32::from(*a) * i32::from(b.cast_signed());
    let blocks = left_blocks.iter().zip(right_blocks);
    let sum: i32 = blocks.map(|(a, b)| a.iter().zip(b).map(product).sum::<i32>()).sum();
    sum + left_rest.iter().zip(right_rest).map(product).sum::<i32>()
}
