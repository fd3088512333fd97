//! References: `{group.token}` and JSON pointers.

use std::borrow::Cow;
use std::fmt;

use super::json::Json;
use super::limits::MAX_PATH;

/// What a value that is a reference points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// `{a.b.c}`: the path of a token (in `$extends`: of a group), without the braces.
    Path(String),
    /// `{"$ref": "#/a/b/$value/0"}`: the segments of the pointer, unescaped.
    Pointer(Vec<String>),
}

/// Text that looks like a reference and is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// `{a} * 2`, `x{a}`.
    #[error("it mixes a reference with other text; a reference stands alone, as `{{group.token}}`")]
    Mixed,
    /// `{}`, `{a..b}`.
    #[error("the path in braces is empty or has an empty name")]
    Empty,
    /// A pointer without `#/`: another file, or an address.
    #[error("only pointers into this document are followed; they begin with `#/`")]
    Elsewhere,
    /// `~` that is not `~0` or `~1`.
    #[error("the pointer has an escape other than `~0` and `~1`")]
    Escape,
    /// A pointer that is longer than any that could lead somewhere.
    #[error("the pointer is too long")]
    Long,
    /// A `$ref` that is not text.
    #[error("`$ref` must be a string with a JSON pointer")]
    NoText,
}

/// Bytes of a reference: a path, spaces around it, escapes and parts of a value.
const MAX_TEXT: usize = 2 * MAX_PATH;

impl Reference {
    /// The reference that a text in a value is, if it has a brace at all.
    pub fn in_text(text: &str) -> Option<Result<Self, Malformed>> {
        // What is longer than any path is some text.
        if text.len() > MAX_TEXT || !text.contains('{') {
            return None;
        }
        let inner = text.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        Some(match inner {
            Some(path) if path.contains(['{', '}']) => Err(Malformed::Mixed),
            Some(path) if path.split('.').any(|name| name.trim().is_empty()) => Err(Malformed::Empty),
            Some(path) => Ok(Self::Path(path.trim().to_owned())),
            None => Err(Malformed::Mixed),
        })
    }

    /// The pointer that a text is.
    pub fn in_pointer(text: &str) -> Result<Self, Malformed> {
        let rest = text.strip_prefix("#/").ok_or(Malformed::Elsewhere)?;
        if rest.len() > MAX_TEXT {
            return Err(Malformed::Long);
        }
        // A fragment of a URI first, a pointer then: `%2F` divides names as `/` does (RFC 6901, section 6).
        let rest = percent_decoded(rest);
        rest.split('/').map(unescape).collect::<Option<_>>().map(Self::Pointer).ok_or(Malformed::Escape)
    }

    /// The reference that a whole value is: a text in braces or an object with `$ref`.
    pub fn of(value: &Json) -> Option<Result<Self, Malformed>> {
        match value {
            Json::String(text) => Self::in_text(text),
            Json::Object(map) => map.get("$ref").map(|pointer| match pointer.as_str() {
                Some(text) => Self::in_pointer(text),
                None => Err(Malformed::NoText),
            }),
            _ => None,
        }
    }

    /// The reference that `$extends` holds: either form, as text.
    pub fn in_extends(value: &Json) -> Result<Self, Malformed> {
        let text = value.as_str().ok_or(Malformed::NoText)?;
        Self::in_text(text).unwrap_or_else(|| Self::in_pointer(text))
    }

    /// The names from the root on.
    pub(super) fn segments(&self) -> Vec<&str> {
        match self {
            Self::Path(path) => path.split('.').collect(),
            Self::Pointer(segments) => segments.iter().map(String::as_str).collect(),
        }
    }

    /// As text: with braces, or as a pointer.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Path(path) => format!("{{{path}}}"),
            Self::Pointer(segments) => {
                segments.iter().fold("#".to_owned(), |text, segment| text + "/" + &escape(segment))
            }
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// A name as pointers have it. A `%` is left as it is, as people write it, unless it would be read as an escape.
fn escape(segment: &str) -> String {
    let segment = segment.replace('~', "~0").replace('/', "~1");
    let mut escaped = String::with_capacity(segment.len());
    for (at, letter) in segment.char_indices() {
        escaped.push(letter);
        if letter == '%' && escaped_byte(&segment.as_bytes()[at..]).is_some() {
            escaped.push_str("25");
        }
    }
    escaped
}

/// The text without its escapes. A `%` that begins none stands for itself, and so do all where they make no text.
fn percent_decoded(text: &str) -> Cow<'_, str> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = escaped_byte(rest);
        bytes.push(escaped.unwrap_or(first));
        rest = if escaped.is_some() { &rest[3..] } else { after };
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The byte that an escape at the beginning stands for: `%` and two digits.
fn escaped_byte(text: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = text else { return None };
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

fn unescape(segment: &str) -> Option<String> {
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
    fn pointers_are_read_and_written() {
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
            let reference = Reference::in_pointer(text).unwrap();
            assert_eq!(reference.segments(), names, "{text}");
            assert_eq!(reference.text(), written, "{text}");
            assert_eq!(Reference::in_pointer(written).unwrap(), reference, "{text}");
        }
        assert_eq!(Reference::in_pointer("#/a~2"), Err(Malformed::Escape));
    }
}
