//! Validates the raw head of a request before it is parsed.
//!
//! The parser is lenient in places where implementations differ: a proxy could see one request where this
//! server sees two (request smuggling). Such heads are rejected.

/// Heads are only validated up to this size.
const MAX_HEAD_BYTES: usize = 256 * 1024;

/// The part of a head that has arrived so far.
#[derive(Default)]
pub(crate) struct HeadValidator {
    bytes: Vec<u8>,
    scanned: usize,
    is_complete: bool,
}

impl HeadValidator {
    /// Validates the next bytes. Returns `false` if parsers could interpret the head differently.
    pub(crate) fn validate_next(&mut self, bytes: &[u8]) -> bool {
        if self.is_complete || bytes.is_empty() {
            return true;
        }
        self.bytes.extend_from_slice(bytes);
        // Empty lines before a head are not part of it.
        while self.bytes.starts_with(b"\r\n") {
            self.bytes.drain(..2);
        }
        let from = self.scanned.saturating_sub(3).min(self.bytes.len());
        let end = self.bytes[from..].windows(4).position(|four| four == b"\r\n\r\n").map(|at| from + at + 4);
        let head = &self.bytes[..end.unwrap_or(self.bytes.len())];
        let is_clean = !has_bare_line_feed(head, from) && (end.is_none() || has_single_body_length(head));
        self.scanned = self.bytes.len();
        self.is_complete = end.is_some() || self.bytes.len() > MAX_HEAD_BYTES;
        if self.is_complete {
            self.bytes = Vec::new();
        }
        is_clean
    }
}

fn has_bare_line_feed(head: &[u8], from: usize) -> bool {
    (from..head.len()).any(|at| head[at] == b'\n' && (at == 0 || head[at - 1] != b'\r'))
}

/// Whether the length of the body is declared at most once: `Content-Length` or `Transfer-Encoding`, never
/// both.
fn has_single_body_length(head: &[u8]) -> bool {
    let names = head.split(|byte| *byte == b'\n').filter_map(|line| line.split(|byte| *byte == b':').next());
    let says_length = |name: &&[u8]| {
        name.eq_ignore_ascii_case(b"content-length") || name.eq_ignore_ascii_case(b"transfer-encoding")
    };
    names.filter(says_length).count() <= 1
}

#[cfg(test)]
mod tests {
    use super::HeadValidator;

    #[test]
    fn ambiguous_heads_are_rejected() {
        for (head, is_clean) in [
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\na\nb", true),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", true),
            ("GET / HTTP/1.1\r\n\r\n\n", true),
            ("\r\n\r\nGET / HTTP/1.1\r\n\r\n", true),
            ("\r\n\r\nPOST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", false),
            ("POST / HTTP/1.1\r\nContent-Length: 3\r\ntransfer-encoding: chunked\r\n\r\n", false),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-length: 3\r\n\r\n", false),
            ("POST / HTTP/1.1\r\nContent-Length: 3\r\nCONTENT-LENGTH: 3\r\n\r\n", false),
            ("POST / HTTP/1.1\nHost: a\r\n\r\n", false),
            ("POST / HTTP/1.1\r\nHost: a\n\r\n", false),
            ("\nPOST / HTTP/1.1\r\n\r\n", false),
        ] {
            assert_eq!(HeadValidator::default().validate_next(head.as_bytes()), is_clean, "{head:?}");
            // Must not depend on how the bytes are split.
            let mut slow = HeadValidator::default();
            let all_clean = head.as_bytes().chunks(1).all(|byte| slow.validate_next(byte));
            assert_eq!(all_clean, is_clean, "{head:?} byte by byte");
        }
    }
}
