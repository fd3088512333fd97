//! Order of siblings: string keys with room for another key between any two.
//!
//! A move writes only one row, and keys sort as bytes, which both databases do the same way. This is
//! fractional indexing with an integer part: appending increments the integer, so keys stay short, and only
//! inserting between two neighbours adds a fraction. Repeated inserts at the same spot grow the fraction by
//! about one digit per six inserts. Beyond [`MAX_KEY_BYTES`] there is no key, and the siblings get new ones
//! from [`evenly_spaced_keys`].
//!
//! A key consists of a head, integer digits, and a fraction. The head encodes the number of digits: `a` for
//! one, `b` for two, up to `z`; for negative numbers `Z` for one, `Y` for two. A fraction never ends in `0`,
//! because nothing would fit before it.

#[cfg(test)]
mod tests;

use std::fmt;

/// Maximum length of a key.
pub const MAX_KEY_BYTES: usize = 64;

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const FIRST_DIGIT: u8 = b'0';
const LAST_DIGIT: u8 = b'z';

/// A position among siblings. Keys sort as bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OrderKey(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid order key `{0}`")]
pub struct InvalidOrderKey(String);

impl OrderKey {
    /// Parses a stored key.
    pub fn parse(text: &str) -> Result<Self, InvalidOrderKey> {
        let whole = integer_len(text.as_bytes());
        let fits = whole.is_some_and(|whole| {
            text.len() >= whole && text.len() <= MAX_KEY_BYTES && !(text.len() > whole && text.ends_with('0'))
        });
        let digits = text.bytes().skip(1).all(|byte| byte.is_ascii_alphanumeric());
        if fits && digits {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidOrderKey(text.chars().take(80).collect()))
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key of an only child.
    pub fn first() -> Self {
        Self("a0".to_owned())
    }

    /// A key after `left` and before `right`. `None` on a side means there is no neighbour.
    ///
    /// Returns `None` if there is no room, because the key would be too long or the two are out of order.
    /// Then the siblings need new keys.
    pub fn between(left: Option<&Self>, right: Option<&Self>) -> Option<Self> {
        let key = match (left, right) {
            (None, None) => return Some(Self::first()),
            (Some(left), None) => increment(left.integer_and_fraction().0)?,
            (None, Some(right)) => {
                let (whole, fraction) = right.integer_and_fraction();
                if fraction.is_empty() { decrement(whole)? } else { whole.to_vec() }
            }
            (Some(left), Some(right)) if left < right => key_inside(left, right)?,
            _ => return None,
        };
        let text = String::from_utf8(key).ok().filter(|text| text.len() <= MAX_KEY_BYTES)?;
        Some(Self(text))
    }

    /// Splits the key into its integer and its fraction.
    fn integer_and_fraction(&self) -> (&[u8], &[u8]) {
        let bytes = self.0.as_bytes();
        bytes.split_at(integer_len(bytes).unwrap_or(bytes.len()).min(bytes.len()))
    }
}

impl fmt::Display for OrderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// `count` keys in order between two neighbours. Returns `None` like [`OrderKey::between`].
pub fn keys_between(
    left: Option<&OrderKey>,
    right: Option<&OrderKey>,
    count: usize,
) -> Option<Vec<OrderKey>> {
    let Some(right) = right else {
        let mut keys: Vec<OrderKey> = Vec::with_capacity(count);
        for _ in 0..count {
            keys.push(OrderKey::between(keys.last().or(left), None)?);
        }
        return Some(keys);
    };
    // Bisects, so that the last key is not much longer than the first.
    let mut keys = Vec::with_capacity(count);
    fill_between(left, right, count, &mut keys)?;
    Some(keys)
}

fn fill_between(
    left: Option<&OrderKey>,
    right: &OrderKey,
    count: usize,
    keys: &mut Vec<OrderKey>,
) -> Option<()> {
    if count == 0 {
        return Some(());
    }
    let middle = OrderKey::between(left, Some(right))?;
    fill_between(left, &middle, count / 2, keys)?;
    keys.push(middle.clone());
    fill_between(Some(&middle), right, count - count / 2 - 1, keys)
}

/// `count` short keys in order, for respacing siblings.
pub fn evenly_spaced_keys(count: usize) -> Vec<OrderKey> {
    keys_between(None, None, count).unwrap_or_default()
}

/// Length of the integer part, head included.
fn integer_len(key: &[u8]) -> Option<usize> {
    match *key.first()? {
        head @ b'a'..=b'z' => Some(usize::from(head - b'a') + 2),
        head @ b'A'..=b'Z' => Some(usize::from(b'Z' - head) + 2),
        _ => None,
    }
}

fn digit_value(digit: u8) -> usize {
    DIGITS.iter().position(|known| *known == digit).unwrap_or(0)
}

fn increment(whole: &[u8]) -> Option<Vec<u8>> {
    let mut next = whole.to_vec();
    for digit in next.iter_mut().skip(1).rev() {
        if *digit != LAST_DIGIT {
            *digit = DIGITS[digit_value(*digit) + 1];
            return Some(next);
        }
        *digit = FIRST_DIGIT;
    }
    let head = match *next.first()? {
        b'Z' => b'a',
        b'z' => return None,
        head => head + 1,
    };
    Some(integer_filled_with(head, FIRST_DIGIT))
}

fn decrement(whole: &[u8]) -> Option<Vec<u8>> {
    let mut next = whole.to_vec();
    for digit in next.iter_mut().skip(1).rev() {
        if *digit != FIRST_DIGIT {
            *digit = DIGITS[digit_value(*digit) - 1];
            return Some(next);
        }
        *digit = LAST_DIGIT;
    }
    let head = match *next.first()? {
        b'a' => b'Z',
        b'A' => return None,
        head => head - 1,
    };
    Some(integer_filled_with(head, LAST_DIGIT))
}

/// An integer with this head and all digits the same.
fn integer_filled_with(head: u8, digit: u8) -> Vec<u8> {
    let mut whole = vec![head];
    whole.resize(integer_len(&whole).unwrap_or(1), digit);
    whole
}

/// A key between two keys that are in order.
fn key_inside(left: &OrderKey, right: &OrderKey) -> Option<Vec<u8>> {
    let ((whole, fraction), (other, limit)) = (left.integer_and_fraction(), right.integer_and_fraction());
    if whole == other {
        return Some([whole, &midpoint_fraction(fraction, Some(limit))].concat());
    }
    let next = increment(whole)?;
    if next.as_slice() < right.0.as_bytes() {
        return Some(next);
    }
    Some([whole, &midpoint_fraction(fraction, None)].concat())
}

/// A fraction between two others, not ending in `0`. The upper bound is 1 if there is no right one.
fn midpoint_fraction(left: &[u8], right: Option<&[u8]>) -> Vec<u8> {
    let mut key = Vec::new();
    let mut right = right;
    for at in 0.. {
        let low = left.get(at).map_or(0, |digit| digit_value(*digit));
        let high = right.map_or(DIGITS.len(), |right| right.get(at).map_or(0, |digit| digit_value(*digit)));
        if low == high {
            key.push(DIGITS[low]);
        } else if high - low > 1 {
            key.push(DIGITS[usize::midpoint(low, high)]);
            break;
        } else if right.is_some_and(|right| right.len() > at + 1) {
            // The right fraction has more digits: truncated here it is smaller, but still greater than the
            // left one.
            key.push(DIGITS[high]);
            break;
        } else {
            key.push(DIGITS[low]);
            right = None;
        }
    }
    key
}
