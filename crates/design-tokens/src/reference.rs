//! References: `{group.token}` and JSON pointers.

use std::borrow::Cow;
use std::fmt;

use super::json::Json;
use super::limits::MAX_PATH_BYTES;

/// A reference to a token, a group or a part of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenReference {
    /// `{a.b.c}`: the path of a token (in `$extends`: of a group), without the braces.
    Path(String),
    /// `{"$ref": "#/a/b/$value/0"}`: the segments of the pointer, unescaped.
    Pointer(Vec<String>),
}

/// A malformed reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MalformedReference {
    /// `{a} * 2`, `x{a}`.
    #[error(
        "it mixes a reference with other text; a reference must be the whole string, as in `{{group.token}}`"
    )]
    Mixed,
    /// `{}`, `{a..b}`.
    #[error("the path in braces is empty or contains an empty name")]
    Empty,
    /// A pointer without `#/`: to another file or a URL.
    #[error("only pointers into this document are supported; they start with `#/`")]
    External,
    /// `~` that is not `~0` or `~1`.
    #[error("the pointer contains an escape other than `~0` and `~1`")]
    InvalidEscape,
    /// Longer than any valid pointer.
    #[error("the pointer is too long")]
    TooLong,
    /// A `$ref` that is not a string.
    #[error("`$ref` must be a string with a JSON pointer")]
    NotAString,
}

/// Maximum size of a reference: a path with surrounding whitespace, escapes and parts of a value.
const MAX_REFERENCE_BYTES: usize = 2 * MAX_PATH_BYTES;

impl TokenReference {
    /// Parses a string as a reference in braces. `None` if it contains no brace.
    pub fn parse_braces(text: &str) -> Option<Result<Self, MalformedReference>> {
        // A string longer than any path is plain text.
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

    pub fn parse_pointer(text: &str) -> Result<Self, MalformedReference> {
        let rest = text.strip_prefix("#/").ok_or(MalformedReference::External)?;
        if rest.len() > MAX_REFERENCE_BYTES {
            return Err(MalformedReference::TooLong);
        }
        // A URI fragment first, then a pointer: `%2F` separates names like `/` (RFC 6901, section 6).
        let rest = percent_decode(rest);
        rest.split('/')
            .map(unescape_segment)
            .collect::<Option<_>>()
            .map(Self::Pointer)
            .ok_or(MalformedReference::InvalidEscape)
    }

    /// Parses a whole value as a reference: a string in braces or an object with `$ref`.
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

    /// Parses the value of `$extends`: either form, as a string.
    pub fn parse_extends(value: &Json) -> Result<Self, MalformedReference> {
        let text = value.as_str().ok_or(MalformedReference::NotAString)?;
        Self::parse_braces(text).unwrap_or_else(|| Self::parse_pointer(text))
    }

    /// The names, starting at the root.
    pub(super) fn segments(&self) -> Vec<&str> {
        match self {
            Self::Path(path) => path.split('.').collect(),
            Self::Pointer(segments) => segments.iter().map(String::as_str).collect(),
        }
    }

    /// The reference as text: in braces, or as a pointer.
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

/// Escapes a name for a pointer. A `%` is kept as people write it, unless it would be read as an escape.
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

/// Decodes percent escapes. A `%` that starts no escape is literal, and so are all of them if the result is
/// not UTF-8.
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

/// Decodes an escape at the beginning: `%` and two digits.
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
            // A `%` that starts no escape is literal.
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
