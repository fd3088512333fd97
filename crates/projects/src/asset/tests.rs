use super::*;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

fn check_asset(name: &str, claim: Option<ContentType>, content: &[u8]) -> Result<Asset, ProjectRejection> {
    let id = AssetId::parse("a").unwrap();
    let new = NewAsset {
        id,
        name: name.to_owned(),
        content_type: claim,
        alt: String::new(),
        content: content.to_vec(),
    };
    new.check(Timestamp::UNIX_EPOCH)
}

fn detected_type(claim: Option<ContentType>, content: &[u8]) -> Result<ContentType, String> {
    check_asset("file", claim, content).map(|asset| asset.content_type).map_err(|error| error.to_string())
}

#[test]
fn content_type_is_detected_from_bytes() {
    use ContentType::*;
    let svg = br#"<svg xmlns="http://www.w3.org/2000/svg"/>"#;
    for (content, expected) in [
        (PNG, Png),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", Jpeg),
        (b"GIF89a....", Gif),
        (b"RIFF\x10\0\0\0WEBPVP8 ", Webp),
        (b"\0\0\0\x1cftypavif\0\0\0\0mif1avif", Avif),
        (b"\0\0\0\x1cftypmif1\0\0\0\0mif1avif", Avif),
        (b"\0\0\0\x18ftypmp42\0\0\0\0isom", Mp4),
        (b"\x1a\x45\xdf\xa3\x01\0\0\0\0\0\0\x1f\x42\x82\x84webm", Webm),
        (b"wOF2\0\x01", Woff2),
        (b"%PDF-1.7\n", Pdf),
        (svg, Svg),
        (b"hello\n", Text),
        (b"<html>", Text),
    ] {
        assert_eq!(detected_type(None, content), Ok(expected), "{content:?}");
        assert_eq!(detected_type(Some(expected), content), Ok(expected), "{content:?}");
    }
    assert_eq!(detected_type(Some(Css), b"a { color: red }"), Ok(Css));
    assert_eq!(detected_type(Some(Json), b"{}"), Ok(Json));
    // A prefix of a format that is checked as a whole counts as text until it is complete.
    for (whole, expected) in [(&svg[..], Svg), (b"{\"a\": 1}", Json)] {
        assert!(detected_type(Some(expected), &whole[..6]).is_err());
        assert_eq!(detected_type(Some(Text), &whole[..6]), Ok(Text));
    }
}

#[test]
fn false_content_type_claim_is_rejected() {
    use ContentType::*;
    for (claim, content, expected) in [
        (Some(Jpeg), PNG, "/content: is image/png, not image/jpeg; declare the actual type"),
        (Some(Png), &b"hello"[..], "/content: is not image/png; declare the actual type or omit it"),
        (Some(Png), b"", "/content: is empty; send the bytes of the file"),
        (Some(Text), PNG, "/content: is image/png, not text/plain; declare the actual type"),
        (Some(Text), b"a\0b", "/content: is not text/plain: contains control characters; remove them"),
        (Some(Css), b"\xff\xfe", "/content: is not text/css: not valid UTF-8; save it as UTF-8"),
        (
            Some(Mp4),
            b"\0\0\0\x18ftypheic\0\0\0\0mif1",
            "/content: is not video/mp4; declare the actual type or omit it",
        ),
        (
            Some(Webm),
            b"\x1a\x45\xdf\xa3\x42\x82\x88matroska",
            "/content: is not video/webm; declare the actual type or omit it",
        ),
    ] {
        assert_eq!(detected_type(claim, content), Err(expected.to_owned()), "{claim:?} {content:?}");
    }
    assert!(detected_type(Some(Json), b"{").unwrap_err().contains("not valid JSON"));
    assert!(detected_type(Some(Json), &vec![b'['; 100_000]).is_err());
    assert!(detected_type(None, b"MZ\x90\0\x03").unwrap_err().contains("has an unknown type"));
    assert_eq!(ContentType::parse("Image/PNG; charset=x"), Some(Png));
    assert_eq!(ContentType::parse("text/html"), None);
}

/// Allowed drawings, without their root element.
const SAFE_FRAGMENTS: &[&str] = &[
    "",
    "<!-- drawn -->",
    "<g fill='url(#a)'><use href='#b'/></g>",
    "<image href='data:image/png;base64,AAAA'/>",
    "<style>.a { fill: red; mask: url(#m) }</style>",
    "<style><![CDATA[.a > b { fill: red }]]></style>",
    "<text>a &lt; b &#169;</text>",
    "<animate attributeName='opacity' values='0;1'/>",
    "<i:x xmlns:i='http://inkscape.example'/>",
    "<path style='fill:#000' d='M0 0'/>",
    "<filter><feColorMatrix values='1'/></filter>",
    "<style/><style><!-- a --> .a { fill: red } <!-- b --></style>",
    "<metadata><r:RDF xmlns:r='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><r:li/></r:RDF></metadata>",
];

/// Rejected drawings, without their root element.
const ACTIVE_FRAGMENTS: &[&str] = &[
    "<script>alert(1)</script>",
    "<SCRIPT/>",
    "<x:script xmlns:x='http://www.w3.org/2000/svg'/>",
    "<g onload='alert(1)'/>",
    "<g ONCLICK='x'/>",
    "<foreignObject/>",
    "<iframe/>",
    "<h:b xmlns:h='http://www.w3.org/1999/xhtml'/>",
    "<a href='javascript:alert(1)'/>",
    "<a href='java&#115;cript:alert(1)'/>",
    "<a href='java&#x0A;script:alert(1)'/>",
    "<a x:href='https://example.com' xmlns:x='http://www.w3.org/1999/xlink'/>",
    "<use href='other.svg#a'/>",
    "<use href='data:image/svg+xml,x'/>",
    "<image href='//example.com/x.png'/>",
    "<g fill='url(https://example.com/x)'/>",
    "<g fill='url( \"//example.com/x\")'/>",
    "<g style='fill:u\\72l(x)'/>",
    "<style>@import 'x';</style>",
    "<style>a{background:url(x.png)}</style>",
    "<style>a{background:u&#114;l(x.png)}</style>",
    "<style>@imp/**/ort 'x'</style>",
    "<set attributeName='href' to='javascript:alert(1)'/>",
    "<animate attributeName='xlink:href' values='#a'/>",
    "<set attributeName='onclick' to='x'/>",
    "<?xml-stylesheet href='x'?>",
    "&x;",
    "<g>",
    "</g>",
    "<g a='1' a='2'/>",
    "<y:g/>",
    // Content that a browser would join, resolve or load although no single piece shows it.
    "<style>@imp<!-- -->ort 'https://evil.example/x.css';</style>",
    "<style>a{fill:ur<![CDATA[l(https://evil.example/x)]]>}</style>",
    "<style>@imp<g/>ort 'https://evil.example/x.css'</style>",
    "<style>a{fill:src('https://evil.example/x')}</style>",
    "<h:img xmlns:h='http://www.w3.org/1999/x&#104;tml' srcset='https://evil.example/x 1x'/>",
    "<image srcset='https://evil.example/x 1x'/>",
    "<m:math xmlns:m='http://www.w3.org/1998/Math/MathML'/>",
    "<font-face-uri/>",
    "<unheard-of/>",
];

fn svg_with(inside: &str) -> String {
    format!("<svg xmlns=\"http://www.w3.org/2000/svg\">{inside}</svg>")
}

#[test]
fn svg_with_active_content_is_rejected() {
    for inside in SAFE_FRAGMENTS {
        assert_eq!(detected_type(None, svg_with(inside).as_bytes()), Ok(ContentType::Svg), "{inside}");
    }
    for inside in ACTIVE_FRAGMENTS {
        let refused = detected_type(Some(ContentType::Svg), svg_with(inside).as_bytes());
        assert!(refused.as_ref().is_err_and(|why| why.starts_with("/content: ")), "{inside} {refused:?}");
    }
    for whole in [
        "<!DOCTYPE svg [<!ENTITY x 'y'>]><svg xmlns='http://www.w3.org/2000/svg'>&x;</svg>",
        "<svg/>",
        "<html xmlns='http://www.w3.org/1999/xhtml'/>",
        "<svg xmlns='http://www.w3.org/2000/svg'/><svg xmlns='http://www.w3.org/2000/svg'/>",
        "hello",
        "<x xmlns='http://example.com'/>",
        "<x:svg xmlns:x='http://example.com'/>",
        "<g xmlns='http://www.w3.org/2000/svg'/>",
        "words<svg xmlns='http://www.w3.org/2000/svg'/>",
        "<svg xmlns='http://www.w3.org/2000/svg'/>words",
        "<svg xmlns='http://www.w3.org/2000/svg'/>&#120;",
        // In the declared encoding this is not a comment, and the script runs.
        "<?xml version=\"1.0\" encoding=\"Shift_JIS\"?><svg xmlns=\"http://www.w3.org/2000/svg\"><text><![CDATA[ぁ]]></text><!-- ]]></text><script>alert(1)</script><text><![CDATA[ --><text><![CDATA[ ]]></text></svg>",
        "<?xml version='1.0' encoding='UTF-7'?><svg xmlns='http://www.w3.org/2000/svg'/>",
        "<?xml version='1.0' encoding=?><svg xmlns='http://www.w3.org/2000/svg'/>",
        &"<g>".repeat(100_000),
    ] {
        assert!(detected_type(Some(ContentType::Svg), whole.as_bytes()).is_err(), "{whole:.80}");
    }
    let doctype = "<?xml version='1.0'?><!DOCTYPE svg PUBLIC '-//W3C//DTD SVG 1.1//EN' 'x.dtd'>";
    for before in
        [doctype, "\u{feff}", "<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"no\"?>\n<!-- a -->\n"]
    {
        assert_eq!(
            detected_type(None, format!("{before}{}\n", svg_with("")).as_bytes()),
            Ok(ContentType::Svg),
            "{before}"
        );
    }
}

/// Elements with their attributes, as found by an XML parser.
fn split_elements(text: &str) -> Vec<String> {
    use quick_xml::XmlVersion;
    use quick_xml::events::Event;
    let mut reader = quick_xml::Reader::from_str(text);
    let mut parts = Vec::new();
    loop {
        match reader.read_event().unwrap() {
            Event::Start(start) | Event::Empty(start) => {
                let attributes = start.attributes().map(Result::unwrap).filter_map(|attribute| {
                    let (name, value) = (attribute.key, attribute.normalized_value(XmlVersion::Explicit1_0));
                    (!name.as_ref().starts_with("xmlns"))
                        .then(|| format!("{}={}", name.local_name().as_ref(), value.unwrap()))
                });
                let mut attributes: Vec<_> = attributes.collect();
                attributes.sort();
                parts.push(format!("{} {}", start.local_name().as_ref(), attributes.join(" ")));
            }
            Event::Eof => break,
            _ => {}
        }
    }
    parts
}

proptest::proptest! {
    /// Cross-check: an independent filter removes nothing from accepted drawings.
    #[test]
    fn accepted_svg_passes_svg_hush_unchanged(picked in proptest::collection::vec(0..SAFE_FRAGMENTS.len() + ACTIVE_FRAGMENTS.len(), 1..6)) {
        let inside: String = picked.iter().map(|n| SAFE_FRAGMENTS.iter().chain(ACTIVE_FRAGMENTS).nth(*n).unwrap()).copied().collect();
        let text = svg_with(&inside);
        // Editor-specific elements are accepted and harmless; the filter removes them.
        if svg::check_svg(&text).is_ok() && !inside.contains("xmlns:") {
            let mut filtered = Vec::new();
            let mut filter = svg_hush::Filter::new();
            filter.set_data_url_filter(svg_hush::data_url_filter::allow_standard_images);
            filter.filter(text.as_bytes(), &mut filtered).unwrap();
            proptest::prop_assert_eq!(split_elements(&text), split_elements(std::str::from_utf8(&filtered).unwrap()));
        }
    }
}

#[test]
fn asset_name_size_and_digest_are_checked() {
    for bad in ["", "a/b", "..\\x", ".htaccess", "a.", "a\n", "a\0", &"x".repeat(201)] {
        assert!(matches!(check_asset(bad, None, PNG), Err(ProjectRejection::Invalid(_))), "{bad:?}");
    }
    let asset = check_asset("Foto ä 🎉.png", None, PNG).unwrap();
    assert_eq!(asset.bytes, PNG.len() as u64);
    assert_eq!(Digest::parse(&asset.digest.to_string()), Some(asset.digest));
    assert_eq!(
        Digest::from_content(b"").to_string(),
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
    for bad in ["", "zz", &"g".repeat(64), &"ä".repeat(32), &"+f".repeat(32), &" f".repeat(32)] {
        assert_eq!(Digest::parse(bad), None);
    }
    let large = vec![b'a'; usize::try_from(MAX_ASSET_BYTES).unwrap() + 1];
    assert!(matches!(check_asset("a", None, &large), Err(ProjectRejection::TooLarge { .. })));
    let patch = AssetPatch { name: None, alt: Some("A photo".to_owned()) };
    assert_eq!(patch.apply(&asset).unwrap().alt, "A photo");
    assert!(AssetPatch { name: Some("a/b".to_owned()), alt: None }.apply(&asset).is_err());
}
