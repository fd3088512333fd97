//! Detection of content types.

use super::svg;

/// The supported content types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ContentType {
    Png,
    Jpeg,
    Gif,
    Webp,
    Avif,
    /// SVG without active content.
    Svg,
    Pdf,
    Mp4,
    Webm,
    /// WOFF2 font.
    Woff2,
    /// Plain text, UTF-8.
    Text,
    Json,
    Css,
}

impl ContentType {
    pub const ALL: [Self; 13] = [
        Self::Png,
        Self::Jpeg,
        Self::Gif,
        Self::Webp,
        Self::Avif,
        Self::Svg,
        Self::Pdf,
        Self::Mp4,
        Self::Webm,
        Self::Woff2,
        Self::Text,
        Self::Json,
        Self::Css,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
            Self::Avif => "image/avif",
            Self::Svg => "image/svg+xml",
            Self::Pdf => "application/pdf",
            Self::Mp4 => "video/mp4",
            Self::Webm => "video/webm",
            Self::Woff2 => "font/woff2",
            Self::Text => "text/plain",
            Self::Json => "application/json",
            Self::Css => "text/css",
        }
    }

    /// Parses a media type. Case and parameters are ignored.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = text.split(';').next()?.trim();
        Self::ALL.into_iter().find(|known| known.as_str().eq_ignore_ascii_case(plain))
    }

    /// Whether the content is text rather than bytes.
    pub const fn is_text(self) -> bool {
        matches!(self, Self::Svg | Self::Text | Self::Json | Self::Css)
    }
}

impl std::fmt::Display for ContentType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Detects the content type, and checks it against the declared one.
pub(super) fn detect_content_type(claim: Option<ContentType>, content: &[u8]) -> Result<ContentType, String> {
    let found = sniff_signature(content);
    match (claim, found) {
        (_, None) if content.is_empty() => Err("is empty; send the bytes of the file".to_owned()),
        (Some(claim), Some(found)) if claim == found => Ok(found),
        (Some(claim), Some(found)) => Err(format!("is {found}, not {claim}; declare the actual type")),
        (None, Some(found)) => Ok(found),
        (Some(claim), None) if claim.is_text() => check_text(claim, content),
        (Some(claim), None) => Err(format!("is not {claim}; declare the actual type or omit it")),
        (None, None) if svg::looks_like_svg(content) => check_text(ContentType::Svg, content),
        (None, None) => check_text(ContentType::Text, content).map_err(|_| {
            let known = ContentType::ALL.map(ContentType::as_str).join(", ");
            format!("has an unknown type; supported types are {known}")
        }),
    }
}

fn check_text(claim: ContentType, content: &[u8]) -> Result<ContentType, String> {
    let text = std::str::from_utf8(content)
        .map_err(|_| format!("is not {claim}: not valid UTF-8; save it as UTF-8"))?;
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{c}')) {
        return Err(format!("is not {claim}: contains control characters; remove them"));
    }
    match claim {
        ContentType::Svg => svg::check_svg(text)?,
        ContentType::Json => {
            let read = serde_json::from_str::<serde::de::IgnoredAny>(text);
            read.map_err(|error| format!("is not valid JSON: {error}; fix it"))?;
        }
        _ => {}
    }
    Ok(claim)
}

fn sniff_signature(content: &[u8]) -> Option<ContentType> {
    let at = |from: usize, bytes: &[u8]| content.get(from..).is_some_and(|rest| rest.starts_with(bytes));
    let known = [
        (at(0, b"\x89PNG\r\n\x1a\n"), ContentType::Png),
        (at(0, b"\xff\xd8\xff"), ContentType::Jpeg),
        (at(0, b"GIF87a") || at(0, b"GIF89a"), ContentType::Gif),
        (at(0, b"RIFF") && at(8, b"WEBP"), ContentType::Webp),
        (at(0, b"%PDF-"), ContentType::Pdf),
        (at(0, b"wOF2"), ContentType::Woff2),
        (at(0, b"\x1a\x45\xdf\xa3") && is_webm(content), ContentType::Webm),
    ];
    let plain = known.into_iter().find(|(fits, _)| *fits).map(|(_, kind)| kind);
    plain.or_else(|| if at(4, b"ftyp") { sniff_iso_brand(content) } else { None })
}

/// The document type is in the EBML header, which is short.
fn is_webm(content: &[u8]) -> bool {
    content.iter().take(64).copied().collect::<Vec<_>>().windows(7).any(|part| part == b"\x42\x82\x84webm")
}

/// The brands in the first box of an ISO media file identify its type.
fn sniff_iso_brand(content: &[u8]) -> Option<ContentType> {
    let size = content.get(..4).and_then(|size| size.try_into().ok()).map_or(0, u32::from_be_bytes) as usize;
    let brands: Vec<&[u8]> = content.get(8..size.min(content.len()).min(512))?.chunks_exact(4).collect();
    // The second entry is a version, not a brand.
    let has = |brand: &[u8]| brands.iter().enumerate().any(|(at, known)| at != 1 && *known == brand);
    if has(b"avif") || has(b"avis") {
        return Some(ContentType::Avif);
    }
    let videos: [&[u8]; 9] =
        [b"isom", b"iso2", b"iso4", b"iso5", b"iso6", b"mp41", b"mp42", b"avc1", b"M4V "];
    videos.into_iter().any(has).then_some(ContentType::Mp4)
}
