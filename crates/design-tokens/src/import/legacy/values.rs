//! Conversion of types and values of other tools.

use std::str::FromStr;

use crate::import::css_values::parse_css_value;
use crate::json::{Json, JsonMap};
use crate::kind::TokenKind;
use crate::value::{FONT_WEIGHTS, TokenValue};

/// Types of other tools, and their equivalents.
const LEGACY_TYPES: [(&str, &str); 20] = [
    ("borderRadius", "dimension"),
    ("borderWidth", "dimension"),
    ("boxShadow", "shadow"),
    ("dimensions", "dimension"),
    ("font", "fontFamily"),
    ("fontFamilies", "fontFamily"),
    ("fontSize", "dimension"),
    ("fontSizes", "dimension"),
    ("fontWeights", "fontWeight"),
    ("letterSpacing", "dimension"),
    ("lineHeight", "number"),
    ("lineHeights", "number"),
    ("opacity", "number"),
    ("paragraphSpacing", "dimension"),
    ("radius", "dimension"),
    ("size", "dimension"),
    ("sizing", "dimension"),
    ("spacing", "dimension"),
    ("time", "duration"),
    ("zIndex", "number"),
];
/// Additional typography members in Tokens Studio files.
const EXTRA_TYPOGRAPHY_MEMBERS: [&str; 4] =
    ["paragraphIndent", "paragraphSpacing", "textCase", "textDecoration"];

/// Converts a type of another tool. Many write `font-weight` for `fontWeight`.
pub(super) fn convert_type_name(kind: &str) -> Option<&'static str> {
    let mut name = String::new();
    for (at, word) in kind.split('-').enumerate() {
        let mut letters = word.chars();
        name.extend(letters.next().map(|first| if at > 0 { first.to_ascii_uppercase() } else { first }));
        name += letters.as_str();
    }
    let known = LEGACY_TYPES.iter().find(|(old, _)| *old == name).map(|(_, new)| *new);
    known.or_else(|| TokenKind::from_str(&name).ok().map(TokenKind::as_str)).filter(|new| *new != kind)
}

/// Converts a number with a unit: a line height in pixels becomes a dimension, one in percent a plain number.
pub(super) fn convert_number_with_unit(token: &mut JsonMap) {
    let Some(text) = token.get("$value").and_then(Json::as_str).map(str::trim) else { return };
    if text.ends_with("px") || text.ends_with("rem") {
        token.set("$type", TokenKind::Dimension.as_str());
    } else if let Some(part) = parse_percent(text) {
        token.set("$value", Json::number(part));
    }
}

fn parse_percent(text: &str) -> Option<f64> {
    let percent: f64 = text.strip_suffix('%')?.trim().parse().ok()?;
    percent.is_finite().then(|| crate::color::round(percent / 100.0, 4))
}

/// Converts a shadow of a Tokens Studio file.
pub(super) fn convert_shadow(value: &mut Json) {
    match value {
        Json::Array(items) => items.iter_mut().for_each(convert_shadow),
        Json::Object(map) if map.contains("x") && map.contains("y") => {
            map.rename("x", "offsetX");
            map.rename("y", "offsetY");
            if let Some(kind) = map.remove("type") {
                map.set("inset", kind.as_str() == Some("innerShadow"));
            }
            for name in ["blur", "spread"] {
                if !map.contains(name) {
                    map.set(name, "0px");
                }
            }
            add_pixel_units(map, &["offsetX", "offsetY", "blur", "spread"]);
        }
        _ => {}
    }
}

/// Adds the unit px to bare numbers, as other tools mean it. Returns whether there were any.
pub(super) fn add_pixel_units(map: &mut JsonMap, names: &[&str]) -> bool {
    let mut is_renewed = false;
    for name in names {
        if let Some(pixels) = map.get(name).and_then(parse_unitless_length) {
            map.set(*name, format!("{pixels}px"));
            is_renewed = true;
        }
    }
    is_renewed
}

/// A length without a unit. Zero percent counts as zero.
fn parse_unitless_length(value: &Json) -> Option<f64> {
    let text = value.as_str().map(str::trim);
    let written =
        text.and_then(|text| text.parse().ok().or_else(|| parse_percent(text).filter(|part| *part == 0.0)));
    value.as_f64().or(written).filter(|pixels: &f64| pixels.is_finite())
}

/// Whether a typography value contains members that only Tokens Studio supports.
pub(super) fn has_extra_members(text: &JsonMap) -> bool {
    EXTRA_TYPOGRAPHY_MEMBERS.iter().any(|name| text.contains(name))
}

/// Converts the typography of a Tokens Studio file, where letter spacing is optional. Removes and returns the
/// members that the format does not support.
pub(super) fn convert_typography(value: &mut JsonMap) -> Vec<(&'static str, Json)> {
    if !value.contains("letterSpacing") {
        value.set("letterSpacing", "0px");
    }
    if let Some(part) = value.get("lineHeight").and_then(Json::as_str).and_then(parse_percent) {
        value.set("lineHeight", Json::number(part));
    }
    for (name, kind) in [("fontFamily", TokenKind::FontFamily), ("fontWeight", TokenKind::FontWeight)] {
        if let Some(renewed) = value.get(name).and_then(|text| convert_text_value(kind, text)) {
            value.set(name, renewed);
        }
    }
    EXTRA_TYPOGRAPHY_MEMBERS.into_iter().filter_map(|name| Some((name, value.remove(name)?))).collect()
}

/// Converts a string that the format does not allow: CSS, or a font weight as designers write it.
pub(super) fn convert_text_value(kind: TokenKind, value: &Json) -> Option<Json> {
    let text = value.as_str()?;
    if kind == TokenKind::FontWeight {
        return convert_weight_name(text).map(Json::from);
    }
    let name = match kind {
        TokenKind::Shadow
        | TokenKind::Gradient
        | TokenKind::Border
        | TokenKind::Transition
        | TokenKind::CubicBezier => "",
        // No font has a comma in its name.
        TokenKind::FontFamily if text.contains(',') => "font-family",
        _ => return None,
    };
    parse_css_value(text, name).filter(|found| found.kind() == kind).map(|found| found.to_json())
}

/// `Semi Bold` and `SemiBold` become `semi-bold`.
fn convert_weight_name(text: &str) -> Option<&'static str> {
    let plain = |name: &str| name.replace([' ', '-'], "").to_lowercase();
    let known = FONT_WEIGHTS.into_iter().map(|(name, _)| name).find(|name| plain(name) == plain(text));
    known.filter(|name| *name != text)
}

/// Infers type and value of an untyped token from its shape and path. A single word is too ambiguous.
pub(super) fn infer_value(path: &str, value: &Json) -> Option<TokenValue> {
    let text = match value {
        Json::String(text) if text.chars().all(char::is_alphabetic) && text != "transparent" => return None,
        Json::String(text) => text.clone(),
        Json::Number(_) => value.to_string(),
        _ => return None,
    };
    parse_css_value(&text, path)
}
