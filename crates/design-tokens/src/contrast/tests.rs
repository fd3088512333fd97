use super::*;
use crate::document::Document;

#[test]
fn known_ratios_are_met() {
    for (text, background, expected) in [
        ("#000", "#fff", 21.0),
        ("#fff", "#fff", 1.0),
        ("#777", "#fff", 4.478),
        ("#767676", "#fff", 4.542),
        ("#fff", "#0000ff", 8.592),
        ("#ff0000", "#ffffff", 3.998),
        ("rgb(0 0 0 / 0.5)", "#fff", 3.976), // The same as #808080, nearly.
        ("#000", "rgb(0 0 0 / 0)", 21.0),    // Nothing over white is white.
    ] {
        let (text, background) = (Color::from_css(text).unwrap(), Color::from_css(background).unwrap());
        let ratio = contrast(&text, &background);
        assert!((ratio - expected).abs() < 0.03, "{text:?} {background:?}: {ratio}");
    }
}

#[test]
fn levels_begin_where_they_should() {
    for (ratio, normal, large) in [
        (2.99, Level::Fail, Level::Fail),
        (3.0, Level::Fail, Level::Aa),
        (4.49, Level::Fail, Level::Aa),
        (4.5, Level::Aa, Level::Aaa),
        (7.0, Level::Aaa, Level::Aaa),
    ] {
        assert_eq!(
            (level(ratio, TextSize::Normal), level(ratio, TextSize::Large)),
            (normal, large),
            "{ratio}"
        );
    }
}

#[test]
fn pairs_that_are_not_measured_are_told() {
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
        let document = Document::parse(&text).unwrap();
        let pairs = suggest_pairs(&document);
        let told = unmeasured(&pairs).map(|finding| finding.message);
        assert_eq!(told.is_some(), expected.is_some(), "{told:?}");
        assert!(told.unwrap_or_default().starts_with(expected.unwrap_or_default()), "{texts} {backgrounds}");
        assert_eq!(check_contrast(&document, &pairs).len(), 500);
    }
}

#[test]
fn pairs_are_found_by_name() {
    let color = r##"{"$value":"#777777","$extensions":{"mode":{"dark":"#000000"}}}"##;
    let text = format!(
        r##"{{"$type":"color","c":{{"text":{{"main":{color},"disabled":{color}}},"bg":{{"page":{color},"card":{color}}},
            "brand":{color},"on-brand":{{"$value":"#ffffff"}},"note":{{"$root":{color}}},"note-text":{color}}},
            "bg":{color},"lonely-text":{color}}}"##
    );
    let document = Document::parse(&text).unwrap();
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
    let wrong = Pair { text: "nope".into(), background: "bg".into() };
    assert_eq!(check_contrast(&document, &[wrong])[0].level(TextSize::Large), Level::Fail);
}
