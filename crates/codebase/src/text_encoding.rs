//! How the characters of a file are stored: UTF-8, or UTF-16 as some tools on Windows write it.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum TextEncoding {
    #[default]
    Utf8,
    /// With a byte order mark, which is the first character of the text.
    Utf16Le,
    Utf16Be,
}

impl TextEncoding {
    /// Told by the byte order mark. `requirements.txt` is UTF-16 where `PowerShell` wrote it.
    pub(crate) fn detect(bytes: &[u8]) -> Self {
        match bytes {
            [0xff, 0xfe, ..] => Self::Utf16Le,
            [0xfe, 0xff, ..] => Self::Utf16Be,
            _ => Self::Utf8,
        }
    }

    /// The text with its byte order mark; `None` if the bytes are not in this encoding.
    pub(crate) fn decode(self, bytes: Vec<u8>) -> Option<String> {
        let units = |of: fn([u8; 2]) -> u16| {
            let (pairs, rest) = bytes.as_chunks::<2>();
            let units: Vec<u16> = pairs.iter().map(|pair| of(*pair)).collect();
            String::from_utf16(&units).ok().filter(|_| rest.is_empty())
        };
        match self {
            Self::Utf8 => String::from_utf8(bytes).ok(),
            Self::Utf16Le => units(u16::from_le_bytes),
            Self::Utf16Be => units(u16::from_be_bytes),
        }
    }

    pub(crate) fn encode(self, text: &str) -> Vec<u8> {
        match self {
            Self::Utf8 => text.as_bytes().to_vec(),
            Self::Utf16Le => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            Self::Utf16Be => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        }
    }
}

/// The text of a file for reading: without a byte order mark, and with `�` for what cannot be decoded.
pub fn decode_text(bytes: &[u8]) -> String {
    let text = match TextEncoding::detect(bytes) {
        TextEncoding::Utf8 => String::from_utf8_lossy(bytes).into_owned(),
        encoding => {
            let whole = bytes.len() / 2 * 2;
            encoding
                .decode(bytes[..whole].to_vec())
                .unwrap_or_else(|| String::from_utf8_lossy(bytes).into_owned())
        }
    };
    text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_survives_decoding_and_encoding() {
        let check = |bytes: &[u8], expected: Option<&str>| {
            let encoding = TextEncoding::detect(bytes);
            let text = encoding.decode(bytes.to_vec());
            assert_eq!(text.as_deref(), expected, "{bytes:x?}");
            if let Some(text) = text {
                assert_eq!(encoding.encode(&text), bytes);
            }
        };
        check(b"flask\r\n", Some("flask\r\n"));
        check(b"\xff\xfef\0\n\0", Some("\u{feff}f\n"));
        check(b"\xfe\xff\0f\0\n", Some("\u{feff}f\n"));
        check(b"\xff\xfe\x3d\xd8\x00\xde", Some("\u{feff}\u{1f600}"));
        check(b"\xff\xfef", None);
        check(b"\xff\xfe\x3d\xd8", None);
        check(b"\xff", None);
        assert_eq!(decode_text(b"\xff\xfef\0\n\0"), "f\n");
        assert_eq!(decode_text("\u{feff}f".as_bytes()), "f");
    }
}
