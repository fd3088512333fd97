//! Request ids, preserved exactly as the client wrote them.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// A request id: a JSON string or number, echoed byte for byte.
///
/// Ids are never parsed into a Rust number: `12345678901234567890123`, `1.50` and `1e3` would not round-trip.
#[derive(Clone, Debug)]
pub struct Id(Box<RawValue>);

impl Id {
    /// Returns `None` unless the raw JSON value is a string or a number.
    pub fn new(raw: Box<RawValue>) -> Option<Self> {
        match raw.get().as_bytes().first() {
            Some(b'"' | b'-' | b'0'..=b'9') => Some(Self(raw)),
            _ => None,
        }
    }

    /// A string id for a request that the server sends.
    pub fn from_text(value: &str) -> Self {
        let raw = serde_json::value::to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned());
        Self(raw)
    }

    /// The id as written in the message.
    pub fn as_json(&self) -> &str {
        self.0.get()
    }

    /// A canonical form for comparison: `"a"` and `"\u0061"` are the same id.
    pub fn key(&self) -> Cow<'_, str> {
        let raw = self.0.get();
        if !raw.contains('\\') {
            return Cow::Borrowed(raw);
        }
        let canonical = serde_json::from_str::<String>(raw).and_then(|text| serde_json::to_string(&text));
        canonical.map_or(Cow::Borrowed(raw), Cow::Owned)
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}
