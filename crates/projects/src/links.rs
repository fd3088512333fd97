//! Which URLs blocks may contain.
//!
//! Allowed are `http`, `https`, `mailto`, `tel`, relative URLs and `asset:<id>`. Every other scheme, known or
//! not, is rejected: one that runs code (`javascript:`, `vbscript:`, `data:`) must not get into a page in any
//! spelling. Browsers drop tabs and line breaks anywhere and leading whitespace, so a URL that contains any
//! of these is rejected.

use crate::ids::AssetId;

/// Maximum length of a URL.
const MAX_URL_BYTES: usize = 2_048;

/// Hosts that may be embedded. Their subdomains are not included.
pub const EMBED_HOSTS: [&str; 8] = [
    "www.youtube-nocookie.com",
    "player.vimeo.com",
    "codepen.io",
    "codesandbox.io",
    "stackblitz.com",
    "www.figma.com",
    "embed.figma.com",
    "www.openstreetmap.org",
];

/// What a URL refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinkTarget<'a> {
    Web(&'a str),
    Contact,
    Relative,
    Asset,
}

fn parse_target(address: &str) -> Option<LinkTarget<'_>> {
    let odd = |c: char| {
        c.is_control() || c.is_whitespace() || matches!(c, '\\' | '<' | '>' | '"' | '`' | '{' | '}')
    };
    if address.is_empty() || address.len() > MAX_URL_BYTES || address.chars().any(odd) {
        return None;
    }
    let Some((scheme, rest)) = split_scheme(address) else {
        // `//host` inherits the scheme of the page, which is unknown here.
        return (!address.starts_with("//")).then_some(LinkTarget::Relative);
    };
    match scheme.to_ascii_lowercase().as_str() {
        "http" | "https" => {
            let host = rest.strip_prefix("//")?.split(['/', '?', '#']).next()?;
            (!host.is_empty()).then_some(LinkTarget::Web(host))
        }
        "mailto" | "tel" => (!rest.is_empty()).then_some(LinkTarget::Contact),
        "asset" => parse_asset_ref(address).map(|_| LinkTarget::Asset),
        _ => None,
    }
}

/// Splits at the first colon if it precedes any path. A browser could read whatever comes before it as a
/// scheme.
fn split_scheme(address: &str) -> Option<(&str, &str)> {
    let end = address.find(['/', '?', '#']).unwrap_or(address.len());
    let colon = address[..end].find(':')?;
    Some((&address[..colon], &address[colon + 1..]))
}

/// Whether the URL is allowed as a link target.
pub fn is_link(address: &str) -> bool {
    parse_target(address).is_some()
}

/// Whether the URL is allowed as the source of an image or another file.
pub fn is_media_source(address: &str) -> bool {
    matches!(parse_target(address), Some(LinkTarget::Web(_) | LinkTarget::Relative | LinkTarget::Asset))
}

/// Whether the URL may be embedded.
pub fn is_embeddable(address: &str) -> bool {
    let is_secure = split_scheme(address).is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("https"));
    matches!(parse_target(address), Some(LinkTarget::Web(host)) if is_secure && EMBED_HOSTS.contains(&host))
}

/// Whether this is a valid page path.
pub fn is_page_path(path: &str) -> bool {
    let allowed =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
    let part = |part: &str| !part.is_empty() && part.bytes().all(allowed);
    path == "/" || path.strip_prefix('/').is_some_and(|rest| rest.split('/').all(part))
}

/// The asset that a URL refers to.
pub fn parse_asset_ref(address: &str) -> Option<AssetId> {
    address.strip_prefix("asset:").and_then(|id| AssetId::parse(id).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_classified_as_link_source_or_embed() {
        // Link, source, embed.
        for (address, expected) in [
            ("https://example.com/a?b=c#d", "LS-"),
            ("HTTP://example.com", "LS-"),
            ("/about", "LS-"),
            ("about.html", "LS-"),
            ("#top", "LS-"),
            ("?q=a:b", "LS-"),
            ("./a:b", "LS-"),
            ("mailto:a@example.com", "L--"),
            ("tel:+49123", "L--"),
            ("asset:asset_1", "LS-"),
            ("ASSET:asset_1", "---"),
            ("https://www.youtube-nocookie.com/embed/x", "LSE"),
            ("http://www.youtube-nocookie.com/embed/x", "LS-"),
            ("https://www.youtube-nocookie.com.evil.example/x", "LS-"),
            ("https://evil.example/www.youtube-nocookie.com", "LS-"),
            ("https://www.youtube-nocookie.com@evil.example/", "LS-"),
            ("https://www.youtube-nocookie.com:8080/", "LS-"),
            ("", "---"),
            ("//evil.example/x", "---"),
            ("https:", "---"),
            ("https:///x", "---"),
            ("https:example.com", "---"),
            ("asset:", "---"),
            ("asset:../x", "---"),
            ("javascript:alert(1)", "---"),
            ("JaVaScRiPt:alert(1)", "---"),
            (" javascript:alert(1)", "---"),
            ("java\tscript:alert(1)", "---"),
            ("java\nscript:alert(1)", "---"),
            ("\u{1}javascript:alert(1)", "---"),
            ("\u{a0}javascript:alert(1)", "---"),
            ("javascript&colon;alert(1)", "LS-"), // No scheme once it is escaped.
            ("data:text/html,<script>", "---"),
            ("data:image/png;base64,AAAA", "---"),
            ("vbscript:x", "---"),
            ("file:///etc/passwd", "---"),
            ("blob:https://example.com/x", "---"),
            ("view-source:x", "---"),
            ("a:b", "---"),
            (":x", "---"),
            ("\\\\evil.example", "---"),
            ("/\\evil.example", "---"),
            ("https://a/\"onload=x", "---"),
            (&format!("/{}", "a".repeat(2048)), "---"),
        ] {
            let judge = |fits: bool, decoded: char| if fits { decoded } else { '-' };
            let found: String = [
                judge(is_link(address), 'L'),
                judge(is_media_source(address), 'S'),
                judge(is_embeddable(address), 'E'),
            ]
            .iter()
            .collect();
            assert_eq!(found, expected, "{address:?}");
        }
    }

    #[test]
    fn page_paths_are_checked() {
        for good in ["/", "/about", "/a/b-c/d_e", "/2026"] {
            assert!(is_page_path(good), "{good}");
        }
        for bad in ["", "about", "/About", "//", "/a/", "/a//b", "/../x", "/a b", "/ä", "/a?b", "/a\0"] {
            assert!(!is_page_path(bad), "{bad}");
        }
    }
}
