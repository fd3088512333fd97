//! Paths in addresses: what may not stand in a URI is escaped.

use std::fmt::Write;

/// A path as it stands in a URI.
pub(crate) fn percent_encode_path(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// The path that stands in a URI. `None` for escapes that are none.
pub(crate) fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first == b'%' {
            // A sign would be read as part of the number.
            let digits = rest.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
            bytes.push(u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?);
            rest = &rest[2..];
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_round_trip_through_a_uri() {
        for path in ["fluxloop/desk/experiments/a_1", "a b/100%/ü/x#1?", ""] {
            let uri = percent_encode_path(path);
            assert!(uri.is_ascii(), "{uri}");
            assert_eq!(percent_decode(&uri).as_deref(), Some(path));
        }
        for broken in ["a%4", "%zz", "%ff", "%+f", "%-0", "% 1"] {
            assert_eq!(percent_decode(broken), None);
        }
    }
}
