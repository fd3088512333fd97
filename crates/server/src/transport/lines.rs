//! A stream of bytes to lines, with bounded memory.

use std::io::{self, Read};

use memchr::memchr;

const CHUNK_BYTES: usize = 64 * 1024;

/// Reads lines in large chunks.
pub(super) struct LineReader {
    buffer: Vec<u8>,
    /// Bytes of `buffer` that hold data.
    filled: usize,
    /// Where the first line that was not handed out yet begins.
    start: usize,
    /// Where the search for the next newline goes on.
    searched: usize,
    /// The rest of a line that was too long is being thrown away.
    skipping: bool,
    max_line_bytes: usize,
}

/// What was found in the stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BoundedLine<'a> {
    /// A line without its newline.
    Complete(&'a [u8]),
    /// A line that was longer than lines may be. Its bytes are gone.
    TooLong,
}

impl LineReader {
    pub(super) fn new(max_line_bytes: usize) -> Self {
        Self {
            buffer: vec![0; CHUNK_BYTES],
            filled: 0,
            start: 0,
            searched: 0,
            skipping: false,
            max_line_bytes,
        }
    }

    /// Reads once more from the stream. `false` at its end.
    pub(super) fn fill(&mut self, from: &mut impl Read) -> io::Result<bool> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.filled, 0);
            self.filled -= self.start;
            self.searched -= self.start;
            self.start = 0;
        }
        if self.filled == 0 && self.buffer.len() > 4 * CHUNK_BYTES {
            self.buffer = vec![0; CHUNK_BYTES]; // one long line should not hold its memory for ever
        }
        if self.buffer.len() - self.filled < CHUNK_BYTES / 2 {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        loop {
            match from.read(&mut self.buffer[self.filled..]) {
                Ok(0) => return Ok(false),
                Ok(n) => {
                    self.filled += n;
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The next line, if all of it has been read.
    pub(super) fn next(&mut self) -> Option<BoundedLine<'_>> {
        loop {
            let found = memchr(b'\n', &self.buffer[self.searched..self.filled]);
            let Some(found) = found else {
                self.searched = self.filled;
                if self.filled - self.start <= self.max_line_bytes {
                    return None;
                }
                // Too long already. Forget it, and its rest as it comes.
                self.start = self.filled;
                return (!std::mem::replace(&mut self.skipping, true)).then_some(BoundedLine::TooLong);
            };
            let end = self.searched + found;
            let line = self.start..end;
            (self.start, self.searched) = (end + 1, end + 1);
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            if line.len() > self.max_line_bytes {
                return Some(BoundedLine::TooLong);
            }
            return Some(BoundedLine::Complete(&self.buffer[line]));
        }
    }

    /// What stands after the last newline when the stream has ended.
    pub(super) fn remainder(&mut self) -> Option<&[u8]> {
        let rest = &self.buffer[self.start..self.filled];
        (!self.skipping && !rest.is_empty()).then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Hands the stream out in pieces of the given sizes.
    struct ChunkedReader<'a>(&'a [u8], Vec<usize>);

    impl Read for ChunkedReader<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let piece = self.1.pop().unwrap_or(usize::MAX).min(into.len()).min(self.0.len());
            into[..piece].copy_from_slice(&self.0[..piece]);
            self.0 = &self.0[piece..];
            Ok(piece)
        }
    }

    fn read_lines(stream: &[u8], pieces: Vec<usize>, longest: usize) -> Vec<Option<Vec<u8>>> {
        let mut from = ChunkedReader(stream, pieces);
        let mut reader = LineReader::new(longest);
        let mut found = Vec::new();
        while reader.fill(&mut from).unwrap() {
            while let Some(line) = reader.next() {
                found.push(match line {
                    BoundedLine::Complete(line) => Some(line.to_vec()),
                    BoundedLine::TooLong => None,
                });
            }
            assert!(reader.buffer.len() <= 8 * CHUNK_BYTES.max(longest), "memory is bounded");
        }
        found.extend(reader.remainder().map(|rest| Some(rest.to_vec())));
        found
    }

    #[test]
    fn oversized_line_is_skipped_without_losing_the_next() {
        let mut stream = vec![b'x'; 3_000_000];
        stream.extend(b"\nok\n");
        assert_eq!(read_lines(&stream, vec![], 1000), [None, Some(b"ok".to_vec())]);
        assert_eq!(
            read_lines(b"123456\n12345\n1234\n", vec![], 5),
            [None, Some(b"12345".to_vec()), Some(b"1234".to_vec())]
        );
    }

    proptest! {
        #[test]
        fn read_sizes_do_not_change_the_lines(
            parts in prop::collection::vec("[a-c]{0,9}", 0..20),
            pieces in prop::collection::vec(1usize..7, 0..60),
        ) {
            let stream = parts.join("\n");
            let expected: Vec<Option<Vec<u8>>> = if stream.is_empty() {
                Vec::new()
            } else {
                stream.strip_suffix('\n').unwrap_or(&stream).split('\n')
                    .map(|line| (line.len() <= 6).then(|| line.as_bytes().to_vec())).collect()
            };
            let mut found = read_lines(stream.as_bytes(), pieces, 6);
            // A last line without a newline is handed out whatever its length up to what one read brings.
            if !stream.ends_with('\n') && let (Some(Some(last)), Some(None)) = (found.last(), expected.last()) && last.len() > 6 {
                found.pop();
                found.push(None);
            }
            prop_assert_eq!(found, expected);
        }
    }
}
