//! Finds the assets that props reference.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use pulldown_cmark::{Event, Parser, Tag};
use serde_json::{Map, Value};

use crate::ids::AssetId;
use crate::limits::MAX_PROBLEMS;
use crate::links::parse_asset_ref;
use crate::naming;
use crate::render::MARKDOWN_OPTIONS;

/// Assets mentioned anywhere in a string. Errs on the side of too many, so that no referenced asset can be
/// deleted.
pub(super) fn mentioned_assets(props: &Map<String, Value>) -> BTreeSet<AssetId> {
    let mut found = BTreeSet::new();
    for_each_text(props, &mut |text| {
        for (at, word) in text.match_indices("asset:") {
            let rest = &text[at + word.len()..];
            let end =
                rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-').unwrap_or(rest.len());
            found.extend(AssetId::parse(&rest[..end]).ok());
        }
        // Markdown can also spell the reference with escapes or entities.
        if text.contains(['\\', '&']) {
            found.extend(markdown_assets(text));
        }
    });
    found
}

/// Assets that a Markdown string embeds or links to.
fn markdown_assets(text: &str) -> impl Iterator<Item = AssetId> {
    Parser::new_ext(text, MARKDOWN_OPTIONS).filter_map(|event| match event {
        Event::Start(Tag::Image { dest_url, .. } | Tag::Link { dest_url, .. }) => parse_asset_ref(&dest_url),
        _ => None,
    })
}

/// Assets referenced by a whole string. These must exist; mentions within prose need not.
pub(super) fn required_assets(props: &Map<String, Value>) -> BTreeSet<AssetId> {
    let mut found = BTreeSet::new();
    for_each_text(props, &mut |text| found.extend(parse_asset_ref(text)));
    found
}

/// JSON pointers to strings that reference a missing asset, up to the reporting limit.
pub(super) fn missing_assets(
    props: &Map<String, Value>,
    is_gone: &dyn Fn(&AssetId) -> bool,
) -> Vec<(String, AssetId)> {
    let mut found = Vec::new();
    naming::visit_values(props, &mut |way, value| {
        let asset = value.as_str().and_then(parse_asset_ref).filter(|asset| is_gone(asset));
        found.extend(asset.map(|asset| (naming::json_pointer(way), asset)));
        if found.len() > MAX_PROBLEMS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    found
}

fn for_each_text(props: &Map<String, Value>, take: &mut impl FnMut(&str)) {
    let mut open: Vec<&Value> = props.values().collect();
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => take(text),
            Value::Array(items) => open.extend(items),
            Value::Object(map) => open.extend(map.values()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn mentioned_and_required_assets_are_found() {
        for (props, expected, needed) in [
            (json!({ "src": "asset:a" }), "a", "a"),
            (json!({ "x": [{ "y": "asset:b" }], "z": "asset:a" }), "a b", "a b"),
            (json!({ "text": "![x](asset:a_1) and [y]: asset:b-2." }), "a_1 b-2", ""),
            (json!({ "text": "![a](asset:asset\\_1) ![b](asset&#58;b) <asset:c>" }), "asset asset_1 b c", ""),
            (json!({ "text": "[x]\\\n\n[x]: asset\\:a" }), "a", ""),
            (json!({ "text": "an asset: none", "n": 1 }), "", ""),
            (json!({ "asset:a": "asset:" }), "", ""),
            (json!({ "text": format!("asset:{}", "x".repeat(70)) }), "", ""),
        ] {
            let props = props.as_object().unwrap();
            let words =
                |ids: BTreeSet<AssetId>| ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
            assert_eq!(words(mentioned_assets(props)), expected, "{props:?}");
            assert_eq!(words(required_assets(props)), needed, "{props:?}");
        }
        let props = json!({ "a/b": ["x", "asset:a"], "c": "asset:b", "many": vec!["asset:c"; 5000] });
        let places = |id: &'static str| {
            let found = missing_assets(props.as_object().unwrap(), &|asset| asset.as_str() == id);
            found.into_iter().map(|(place, _)| place).collect::<Vec<_>>()
        };
        assert_eq!(places("a"), ["/a~1b/1"]);
        assert_eq!(places("d").len(), 0);
        assert_eq!(places("c").len(), MAX_PROBLEMS + 1);
    }
}
