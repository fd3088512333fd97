use super::*;
use crate::document::TokenDocument;

#[test]
fn known_contrast_ratios_are_computed() {
    for (text, background, expected) in [
        ("#000", "#fff", 21.0),
        ("#fff", "#fff", 1.0),
        ("#777", "#fff", 4.478),
        ("#767676", "#fff", 4.542),
        ("#fff", "#0000ff", 8.592),
        ("#ff0000", "#ffffff", 3.998),
        ("rgb(0 0 0 / 0.5)", "#fff", 3.976), // Nearly the same as #808080.
        ("#000", "rgb(0 0 0 / 0)", 21.0),    // Fully transparent over white is white.
    ] {
        let (text, background) = (Color::from_css(text).unwrap(), Color::from_css(background).unwrap());
        let ratio = contrast_ratio(&text, &background);
        assert!((ratio - expected).abs() < 0.03, "{text:?} {background:?}: {ratio}");
    }
}

#[test]
fn wcag_level_thresholds_are_inclusive() {
    for (ratio, normal, large) in [
        (2.99, ContrastLevel::Fail, ContrastLevel::Fail),
        (3.0, ContrastLevel::Fail, ContrastLevel::Aa),
        (4.49, ContrastLevel::Fail, ContrastLevel::Aa),
        (4.5, ContrastLevel::Aa, ContrastLevel::Aaa),
        (7.0, ContrastLevel::Aaa, ContrastLevel::Aaa),
    ] {
        assert_eq!(
            (contrast_level(ratio, TextSize::Normal), contrast_level(ratio, TextSize::Large)),
            (normal, large),
            "{ratio}"
        );
    }
}

#[test]
fn unmeasured_pairs_are_reported() {
    let group = |name: &str, count: usize| {
        let colors: Vec<_> = (0..count).map(|at| format!(r##""{name}{at}":{{"$value":"#000"}}"##)).collect();
        format!(r#""{name}":{{{}}}"#, colors.join(","))
    };
    for (texts, backgrounds, expected) in [
        (20, 25, None),
        (20, 30, Some("100 pairs were not measured")),
        (200, 200, Some("at least 9500 pairs were not measured")),
    ] {
        let text = format!(r#"{{"$type":"color",{},{}}}"#, group("text", texts), group("bg", backgrounds));
        let document = TokenDocument::parse(&text).unwrap();
        let pairs = suggest_pairs(&document);
        let told = unmeasured_pairs_warning(&pairs).map(|finding| finding.message);
        assert_eq!(told.is_some(), expected.is_some(), "{told:?}");
        assert!(told.unwrap_or_default().starts_with(expected.unwrap_or_default()), "{texts} {backgrounds}");
        assert_eq!(check_contrast(&document, &pairs).len(), 500);
    }
}

#[test]
fn pairs_are_suggested_by_name() {
    let color = r##"{"$value":"#777777","$extensions":{"mode":{"dark":"#000000"}}}"##;
    let text = format!(
        r##"{{"$type":"color","c":{{"text":{{"main":{color},"disabled":{color}}},"bg":{{"page":{color},"card":{color}}},
            "brand":{color},"on-brand":{{"$value":"#ffffff"}},"note":{{"$root":{color}}},"note-text":{color}}},
            "bg":{color},"lonely-text":{color}}}"##
    );
    let document = TokenDocument::parse(&text).unwrap();
    let pairs = suggest_pairs(&document);
    let named: Vec<_> = pairs.iter().map(|pair| format!("{} on {}", pair.text, pair.background)).collect();
    assert_eq!(
        named,
        [
            "c.on-brand on c.brand",
            "c.note-text on c.note.$root",
            "c.text.main on c.bg.page",
            "c.text.main on c.bg.card"
        ]
    );
    let checked = check_contrast(&document, &pairs[..1]);
    let told: Vec<_> = checked.iter().map(|one| (one.mode.as_deref(), one.ratio_text())).collect();
    assert_eq!(told, [(None, "4.47:1".to_owned()), (Some("dark"), "21:1".to_owned())]);
    let wrong = ContrastPair { text: "nope".into(), background: "bg".into() };
    assert_eq!(check_contrast(&document, &[wrong])[0].level(TextSize::Large), ContrastLevel::Fail);
}
