//! References: `{group.token}` and JSON pointers.

use std::borrow::Cow;
use std::fmt;

use super::json::Json;
use super::limits::MAX_PATH_BYTES;

/// What a value that is a reference points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenReference {
    /// `{a.b.c}`: the path of a token (in `$extends`: of a group), without the braces.
    Path(String),
    /// `{"$ref": "#/a/b/$value/0"}`: the segments of the pointer, unescaped.
    Pointer(Vec<String>),
}

/// Text that looks like a reference and is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MalformedReference {
    /// `{a} * 2`, `x{a}`.
    #[error("it mixes a reference with other text; a reference stands alone, as `{{group.token}}`")]
    Mixed,
    /// `{}`, `{a..b}`.
    #[error("the path in braces is empty or has an empty name")]
    Empty,
    /// A pointer without `#/`: another file, or an address.
    #[error("only pointers into this document are followed; they begin with `#/`")]
    External,
    /// `~` that is not `~0` or `~1`.
    #[error("the pointer has an escape other than `~0` and `~1`")]
    InvalidEscape,
    /// A pointer that is longer than any that could lead somewhere.
    #[error("the pointer is too long")]
    TooLong,
    /// A `$ref` that is not text.
    #[error("`$ref` must be a string with a JSON pointer")]
    NotAString,
}

/// Bytes of a reference: a path, spaces around it, escapes and parts of a value.
const MAX_REFERENCE_BYTES: usize = 2 * MAX_PATH_BYTES;

impl TokenReference {
    /// The reference that a text in a value is, if it has a brace at all.
    pub fn parse_braces(text: &str) -> Option<Result<Self, MalformedReference>> {
        // What is longer than any path is some text.
        if text.len() > MAX_REFERENCE_BYTES || !text.contains('{') {
            return None;
        }
        let inner = text.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        Some(match inner {
            Some(path) if path.contains(['{', '}']) => Err(MalformedReference::Mixed),
            Some(path) if path.split('.').any(|name| name.trim().is_empty()) => {
                Err(MalformedReference::Empty)
            }
            Some(path) => Ok(Self::Path(path.trim().to_owned())),
            None => Err(MalformedReference::Mixed),
        })
    }

    /// The pointer that a text is.
    pub fn parse_pointer(text: &str) -> Result<Self, MalformedReference> {
        let rest = text.strip_prefix("#/").ok_or(MalformedReference::External)?;
        if rest.len() > MAX_REFERENCE_BYTES {
            return Err(MalformedReference::TooLong);
        }
        // A fragment of a URI first, a pointer then: `%2F` divides names as `/` does (RFC 6901, section 6).
        let rest = percent_decode(rest);
        rest.split('/')
            .map(unescape_segment)
            .collect::<Option<_>>()
            .map(Self::Pointer)
            .ok_or(MalformedReference::InvalidEscape)
    }

    /// The reference that a whole value is: a text in braces or an object with `$ref`.
    pub fn from_value(value: &Json) -> Option<Result<Self, MalformedReference>> {
        match value {
            Json::String(text) => Self::parse_braces(text),
            Json::Object(map) => map.get("$ref").map(|pointer| match pointer.as_str() {
                Some(text) => Self::parse_pointer(text),
                None => Err(MalformedReference::NotAString),
            }),
            _ => None,
        }
    }

    /// The reference that `$extends` holds: either form, as text.
    pub fn parse_extends(value: &Json) -> Result<Self, MalformedReference> {
        let text = value.as_str().ok_or(MalformedReference::NotAString)?;
        Self::parse_braces(text).unwrap_or_else(|| Self::parse_pointer(text))
    }

    /// The names from the root on.
    pub(super) fn segments(&self) -> Vec<&str> {
        match self {
            Self::Path(path) => path.split('.').collect(),
            Self::Pointer(segments) => segments.iter().map(String::as_str).collect(),
        }
    }

    /// As text: with braces, or as a pointer.
    pub(super) fn to_text(&self) -> String {
        match self {
            Self::Path(path) => format!("{{{path}}}"),
            Self::Pointer(segments) => {
                segments.iter().fold("#".to_owned(), |text, segment| text + "/" + &escape_segment(segment))
            }
        }
    }
}

impl fmt::Display for TokenReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

/// A name as pointers have it. A `%` is left as it is, as people write it, unless it would be read as an escape.
fn escape_segment(segment: &str) -> String {
    let segment = segment.replace('~', "~0").replace('/', "~1");
    let mut escaped = String::with_capacity(segment.len());
    for (at, decoded) in segment.char_indices() {
        escaped.push(decoded);
        if decoded == '%' && decode_percent_escape(&segment.as_bytes()[at..]).is_some() {
            escaped.push_str("25");
        }
    }
    escaped
}

/// The text without its escapes. A `%` that begins none stands for itself, and so do all where they make no text.
fn percent_decode(text: &str) -> Cow<'_, str> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = decode_percent_escape(rest);
        bytes.push(escaped.unwrap_or(first));
        rest = if escaped.is_some() { &rest[3..] } else { after };
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The byte that an escape at the beginning stands for: `%` and two digits.
fn decode_percent_escape(text: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = text else { return None };
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

fn unescape_segment(segment: &str) -> Option<String> {
    let mut parts = segment.split('~');
    let mut name = parts.next()?.to_owned();
    for part in parts {
        name.push(match part.as_bytes().first()? {
            b'0' => '~',
            b'1' => '/',
            _ => return None,
        });
        name.push_str(&part[1..]);
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_round_trip() {
        for (text, names, written) in [
            ("#/a/b", vec!["a", "b"], "#/a/b"),
            ("#/a%20b/c~1d", vec!["a b", "c/d"], "#/a b/c~1d"),
            // A `%` that begins no escape is a name's own.
            ("#/n%/x/$value", vec!["n%", "x", "$value"], "#/n%/x/$value"),
            ("#/50%/a%2525", vec!["50%", "a%25"], "#/50%/a%2525"),
            ("#/%%2541/%4", vec!["%%41", "%4"], "#/%%2541/%4"),
            ("#/a%zz", vec!["a%zz"], "#/a%zz"),
            ("#/a%ff", vec!["a%ff"], "#/a%25ff"),
            ("#/a%2", vec!["a%2"], "#/a%2"),
        ] {
            let reference = TokenReference::parse_pointer(text).unwrap();
            assert_eq!(reference.segments(), names, "{text}");
            assert_eq!(reference.to_text(), written, "{text}");
            assert_eq!(TokenReference::parse_pointer(written).unwrap(), reference, "{text}");
        }
        assert_eq!(TokenReference::parse_pointer("#/a~2"), Err(MalformedReference::InvalidEscape));
    }
}
