//! Readability of text: contrast ratios as defined by WCAG 2.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use super::color::{Color, format_number};
use super::document::TokenDocument;
use super::evaluate::{ModeResolver, ModeValues};
use super::finding::TokenFinding;
use super::limits::MAX_CONTRAST_PAIRS;
use super::model::TokenModel;
use super::parse::parse_value;
use super::value::TokenValue;

/// Large text is at least 24 px, or 18.66 px if bold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextSize {
    /// Body text.
    Normal,
    /// Headings and similar.
    Large,
}

/// The WCAG level that a pair satisfies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContrastLevel {
    /// Less than AA.
    Fail,
    /// At least 4.5, or 3 for large text.
    Aa,
    /// At least 7, or 4.5 for large text.
    Aaa,
}

/// The contrast ratio of a text on a background, from 1 to 21.
///
/// A translucent background is composited over white, and a translucent text over the result. Mixing happens
/// in sRGB, as in browsers.
pub fn contrast_ratio(text: &Color, background: &Color) -> f64 {
    let below = composite_over(background, [1.0; 3]);
    let above = composite_over(text, below);
    let (one, two) = (luminance(above), luminance(below));
    (one.max(two) + 0.05) / (one.min(two) + 0.05)
}

/// The level that a ratio satisfies.
pub fn contrast_level(ratio: f64, size: TextSize) -> ContrastLevel {
    let (aa, aaa) = match size {
        TextSize::Normal => (4.5, 7.0),
        TextSize::Large => (3.0, 4.5),
    };
    if ratio >= aaa {
        ContrastLevel::Aaa
    } else if ratio >= aa {
        ContrastLevel::Aa
    } else {
        ContrastLevel::Fail
    }
}

fn composite_over(color: &Color, below: [f64; 3]) -> [f64; 3] {
    let above = color.to_srgb();
    let mix = |at: usize| above[at] * color.alpha + below[at] * (1.0 - color.alpha);
    [mix(0), mix(1), mix(2)]
}

/// Relative luminance as defined by WCAG 2.
fn luminance(srgb: [f64; 3]) -> f64 {
    let linear =
        |value: f64| if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) };
    let [red, green, blue] = srgb.map(linear);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/// A text colour and the background behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContrastPair {
    /// Path of the text colour.
    pub text: String,
    /// Path of the background colour.
    pub background: String,
}

/// The contrast of a pair in a mode.
#[derive(Clone, Debug, PartialEq)]
pub struct ContrastCheck {
    pub pair: ContrastPair,
    /// `None` for the base values.
    pub mode: Option<String>,
    /// `None` if one of the two is not a colour.
    pub ratio: Option<f64>,
}

impl ContrastCheck {
    /// A pair without a ratio fails.
    pub fn level(&self, size: TextSize) -> ContrastLevel {
        self.ratio.map_or(ContrastLevel::Fail, |ratio| contrast_level(ratio, size))
    }

    /// The ratio for display, such as `4.5:1`.
    pub fn ratio_text(&self) -> String {
        // Truncated, not rounded: 4.496 does not satisfy 4.5.
        self.ratio.map_or_else(
            || "not a colour".to_owned(),
            |ratio| format!("{}:1", format_number((ratio * 100.0).floor() / 100.0)),
        )
    }
}

/// Measures the first [`MAX_CONTRAST_PAIRS`] pairs in the base values and in every mode.
/// [`unmeasured_pairs_warning`] reports the rest.
pub fn check_contrast(document: &TokenDocument, pairs: &[ContrastPair]) -> Vec<ContrastCheck> {
    let pairs = &pairs[..pairs.len().min(MAX_CONTRAST_PAIRS)];
    let model = TokenModel::new(document);
    let mut everywhere = ModeResolver::new(&model, &mut |_| {});
    let mut all = Vec::new();
    let mut measure = |values: &ModeValues, mode: Option<&str>| {
        for pair in pairs {
            let color = |path: &str| resolved_color(&model, values, path);
            let ratio = color(&pair.text).zip(color(&pair.background));
            let ratio = ratio.map(|(text, background)| contrast_ratio(&text, &background));
            all.push(ContrastCheck { pair: pair.clone(), mode: mode.map(str::to_owned), ratio });
        }
    };
    measure(&everywhere.base, None);
    for mode in document.modes() {
        let values = everywhere.resolve_mode(&mode, &mut |_| {});
        measure(&values, Some(&mode));
    }
    all
}

/// Warns if [`check_contrast`] does not measure all of these pairs.
pub fn unmeasured_pairs_warning(pairs: &[ContrastPair]) -> Option<TokenFinding> {
    let left_out = pairs.len().checked_sub(MAX_CONTRAST_PAIRS).filter(|count| *count > 0)?;
    // At this limit the list of suggestions is incomplete.
    let at_least = if pairs.len() >= MAX_SUGGESTED_PAIRS { "at least " } else { "" };
    let message = format!(
        "{at_least}{left_out} pairs were not measured, because the limit is {MAX_CONTRAST_PAIRS}; name the pairs that matter"
    );
    Some(TokenFinding::warning("", message))
}

fn resolved_color(model: &TokenModel<'_>, values: &ModeValues, path: &str) -> Option<Color> {
    let at = *model.index().get(path)?;
    match parse_value(model.kinds[at]?, values.get(at)?)? {
        TokenValue::Color(color) => Some(color),
        _ => None,
    }
}

/// Groups of text colours and of background colours.
const TEXT_GROUPS: [&str; 4] = ["text", "foreground", "fg", "content"];
const BACKGROUND_GROUPS: [&str; 4] = ["background", "bg", "surface", "backgrounds"];
/// Words in names of colours that need no contrast or have a dedicated partner.
const EXEMPT_WORDS: [&str; 4] = ["disabled", "inverse", "placeholder", "overlay"];
/// Maximum number of suggested pairs. More than are measured at once, so that callers can be told how many
/// there are.
const MAX_SUGGESTED_PAIRS: usize = 10_000;

/// Suggests pairs by name.
///
/// `on-brand`, `brand-text` and `brand-foreground` are paired with `brand` in the same group. Otherwise every
/// colour in a group `text`, `foreground`, `fg` or `content` is paired with every colour in a sibling group
/// `background`, `bg` or `surface`. Colours named disabled, inverse, placeholder or overlay are skipped.
pub fn suggest_pairs(document: &TokenDocument) -> Vec<ContrastPair> {
    let model = TokenModel::new(document);
    let values = ModeValues::for_mode(&model, None, &mut |_| {});
    let is_color = |path: &str| resolved_color(&model, &values, path).is_some();
    let paths = model.tokens().iter().map(|token| &*token.path).filter(|path| is_color(path));
    let mut pairs = Vec::new();
    let mut texts = Vec::new();
    let mut backgrounds: HashMap<String, Vec<&str>> = HashMap::new();
    for path in paths {
        if let Some(background) = background_by_name(path, &is_color) {
            pairs.push(ContrastPair { text: path.to_owned(), background });
        } else if !EXEMPT_WORDS.iter().any(|word| path.to_lowercase().contains(word)) {
            texts.extend(role_parent_group(path, &TEXT_GROUPS).map(|beside| (beside, path)));
            if let Some(beside) = role_parent_group(path, &BACKGROUND_GROUPS) {
                backgrounds.entry(beside).or_default().push(path);
            }
        }
    }
    let together = texts.iter().flat_map(|(beside, text)| {
        let behind = backgrounds.get(beside).into_iter().flatten();
        behind
            .map(|background| ContrastPair { text: (*text).to_owned(), background: (*background).to_owned() })
    });
    pairs.extend(together.take(MAX_SUGGESTED_PAIRS));
    pairs
}

/// The parent of the first group in the path with one of these names.
fn role_parent_group(path: &str, words: &[&str]) -> Option<String> {
    let names: Vec<_> = path.split('.').collect();
    let at = names.iter().position(|name| words.contains(&name.to_lowercase().as_str()))?;
    Some(names[..at].join("."))
}

/// The background that a text colour is named after.
fn background_by_name(path: &str, is_color: &impl Fn(&str) -> bool) -> Option<String> {
    let (group, name) = path.rsplit_once('.').map_or(("", path), |(group, name)| (group, name));
    let base = name
        .strip_prefix("on-")
        .or_else(|| name.strip_suffix("-foreground"))
        .or_else(|| name.strip_suffix("-text"))?;
    let beside = |name: &str| if group.is_empty() { name.to_owned() } else { format!("{group}.{name}") };
    let names =
        [base.to_owned(), format!("{base}-background"), format!("{base}-bg"), format!("{base}.$root")];
    names.iter().map(|name| beside(name)).find(|path| is_color(path))
}
