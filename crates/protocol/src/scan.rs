//! A scan of the message before it is parsed.
//!
//! `serde_json` decides whether the text is JSON. The scan rejects what a parser would accept but a server
//! should not: excessive nesting, too many values, duplicate keys in an object (a proxy that uses the first
//! value and a server that uses the last would disagree), invalid UTF-8, and escapes of lone surrogates.

use std::borrow::Cow;

use memchr::memchr2;

use crate::{Limits, MessageError};

/// Returns the message as a string if the scan finds nothing to reject.
pub(crate) fn scan<'a>(bytes: &'a [u8], limits: &Limits) -> Result<&'a str, MessageError> {
    let text = std::str::from_utf8(bytes).map_err(|e| MessageError::NotUtf8 { position: e.valid_up_to() })?;
    Scanner { text, position: 0, values: 0, keys: Vec::new(), open: Vec::new(), limits }.run()?;
    Ok(text)
}

/// An object or array that has been opened and not yet closed.
struct OpenContainer {
    is_object: bool,
    /// Whether the next string is a key.
    at_key: bool,
    /// Index of this object's first key in `Scanner::keys`.
    first_key: usize,
}

struct Scanner<'a, 'l> {
    text: &'a str,
    position: usize,
    values: usize,
    keys: Vec<Cow<'a, str>>,
    open: Vec<OpenContainer>,
    limits: &'l Limits,
}

impl Scanner<'_, '_> {
    fn run(mut self) -> Result<(), MessageError> {
        while let Some(&byte) = self.text.as_bytes().get(self.position) {
            self.position += 1;
            match byte {
                b'{' | b'[' => self.open_container(byte == b'{')?,
                b'}' | b']' => self.close_container()?,
                b',' => self.next_value()?,
                b'"' => self.scan_string()?,
                _ => {}
            }
        }
        Ok(())
    }

    fn open_container(&mut self, is_object: bool) -> Result<(), MessageError> {
        if self.open.len() == self.limits.depth {
            return Err(MessageError::TooDeep { limit: self.limits.depth });
        }
        self.open.push(OpenContainer { is_object, at_key: is_object, first_key: self.keys.len() });
        self.count_value()
    }

    fn close_container(&mut self) -> Result<(), MessageError> {
        let Some(closed) = self.open.pop() else { return Ok(()) };
        let keys = &mut self.keys[closed.first_key..];
        keys.sort_unstable();
        if let Some(pair) = keys.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(MessageError::DuplicateKey { key: pair[0].to_string() });
        }
        self.keys.truncate(closed.first_key);
        Ok(())
    }

    fn next_value(&mut self) -> Result<(), MessageError> {
        if let Some(open) = self.open.last_mut() {
            open.at_key = open.is_object;
        }
        self.count_value()
    }

    fn count_value(&mut self) -> Result<(), MessageError> {
        self.values += 1;
        if self.values > self.limits.values {
            return Err(MessageError::TooManyValues { limit: self.limits.values });
        }
        Ok(())
    }

    /// Skips a string after its opening quote, and records it if it is a key.
    fn scan_string(&mut self) -> Result<(), MessageError> {
        let start = self.position;
        let mut escaped = false;
        loop {
            // An escape at the very end moves the position past it.
            let rest = self.text.as_bytes().get(self.position..).unwrap_or_default();
            let Some(found) = memchr2(b'"', b'\\', rest) else {
                self.position = self.text.len(); // unterminated: the parser reports it
                return Ok(());
            };
            self.position += found + 1;
            if rest[found] == b'"' {
                break;
            }
            escaped = true;
            self.scan_escape()?;
        }
        let Some(open) = self.open.last_mut().filter(|open| open.at_key) else { return Ok(()) };
        open.at_key = false;
        let key = &self.text[start..self.position - 1];
        self.keys.push(if escaped { unescape(key) } else { Cow::Borrowed(key) });
        Ok(())
    }

    /// Skips the characters after a backslash.
    fn scan_escape(&mut self) -> Result<(), MessageError> {
        if self.text.as_bytes().get(self.position) != Some(&b'u') {
            // A backslash before a multi-byte character is not an escape; skipping one byte of it is
            // harmless.
            self.position += 1;
            return Ok(());
        }
        let position = self.position - 1;
        match (self.parse_hex_digits(self.position + 1), self.parse_hex_digits(self.position + 7)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF))
                if self.text.as_bytes().get(self.position + 5..self.position + 7) == Some(b"\\u") =>
            {
                self.position += 11;
                Ok(())
            }
            (Some(0xD800..=0xDFFF), _) => Err(MessageError::LoneSurrogate { position }),
            (Some(_), _) => {
                self.position += 5;
                Ok(())
            }
            (None, _) => {
                self.position += 1; // not four digits: the parser reports it
                Ok(())
            }
        }
    }

    fn parse_hex_digits(&self, at: usize) -> Option<u16> {
        let digits = self.text.as_bytes().get(at..at + 4)?;
        digits.iter().try_fold(0u16, |n, &d| Some(n << 4 | u16::try_from(char::from(d).to_digit(16)?).ok()?))
    }
}

fn unescape(key: &str) -> Cow<'_, str> {
    serde_json::from_str::<String>(&format!("\"{key}\"")).map_or(Cow::Borrowed(key), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<(), MessageError>) {
        assert_eq!(scan(text.as_bytes(), &Limits::default()).map(|_| ()), expected, "{text}");
    }

    #[test]
    fn duplicate_key_within_one_object_is_rejected() {
        let twice = |key: &str| Err(MessageError::DuplicateKey { key: key.to_owned() });
        check(r#"{"a":1,"b":{"a":1},"c":[{"a":1},{"a":2}]}"#, Ok(()));
        check(r#"{"a":"a","b":["a","a"]}"#, Ok(()));
        check(r#"{"a":1,"a":2}"#, twice("a"));
        check(r#"{"x":[{"k":{"z":1,"y":2,"z":3}}]}"#, twice("z"));
        check(r#"{"method":1,"\u006dethod":2}"#, twice("method"));
        check(r#"{"a\"":1,"a":2}"#, Ok(()));
    }

    #[test]
    fn depth_and_value_limits_are_enforced() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        check(&nested(64), Ok(()));
        check(&nested(65), Err(MessageError::TooDeep { limit: 64 }));
        check(&"[".repeat(100_000), Err(MessageError::TooDeep { limit: 64 }));
        check(&format!("[{}0]", "0,".repeat(300_000)), Err(MessageError::TooManyValues { limit: 200_000 }));
    }

    #[test]
    fn lone_surrogate_is_rejected() {
        check(r#""\ud83d\ude00""#, Ok(()));
        check(r#""\ud83d""#, Err(MessageError::LoneSurrogate { position: 1 }));
        check(r#""\ude00\ud83d""#, Err(MessageError::LoneSurrogate { position: 1 }));
        check(r#"{"a":"x\ud83dx"}"#, Err(MessageError::LoneSurrogate { position: 7 }));
        check(r#""\\ud83d""#, Ok(()));
    }

    #[test]
    fn invalid_json_passes_the_scan_without_panic() {
        for text in ["", "}", "]]", "\"", "\"\\", "\"\\u", "\"\\u12", "{\"a", "\"\\é\"", ",,,"] {
            check(text, Ok(()));
        }
        let broken = scan(b"\"\xff\"", &Limits::default());
        assert_eq!(broken, Err(MessageError::NotUtf8 { position: 1 }));
    }
}
