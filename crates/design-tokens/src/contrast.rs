//! Whether text can be read: contrast as WCAG 2 measures it.

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

/// How large the text is. Large: 24 px and more, or 18.66 px and more when bold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextSize {
    /// As most text is.
    Normal,
    /// Headings and the like.
    Large,
}

/// How much a pair satisfies.
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
/// A background that can be seen through lies on white; a text that can be seen through lies on that. Mixing is done in
/// sRGB, as browsers do it.
pub fn contrast_ratio(text: &Color, background: &Color) -> f64 {
    let below = composite_over(background, [1.0; 3]);
    let above = composite_over(text, below);
    let (one, two) = (luminance(above), luminance(below));
    (one.max(two) + 0.05) / (one.min(two) + 0.05)
}

/// What a ratio satisfies.
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

/// The relative luminance of WCAG 2.
fn luminance(srgb: [f64; 3]) -> f64 {
    let linear =
        |value: f64| if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) };
    let [red, green, blue] = srgb.map(linear);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/// A text and a background that are shown together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContrastPair {
    /// The path of the colour of the text.
    pub text: String,
    /// The path of the colour behind it.
    pub background: String,
}

/// What a pair has in a mode.
#[derive(Clone, Debug, PartialEq)]
pub struct ContrastCheck {
    /// The pair.
    pub pair: ContrastPair,
    /// The mode; none: the values without one.
    pub mode: Option<String>,
    /// The contrast ratio; `None` if one of them is no colour.
    pub ratio: Option<f64>,
}

impl ContrastCheck {
    /// What it satisfies. A pair without a ratio fails.
    pub fn level(&self, size: TextSize) -> ContrastLevel {
        self.ratio.map_or(ContrastLevel::Fail, |ratio| contrast_level(ratio, size))
    }

    /// The ratio as people write it.
    pub fn ratio_text(&self) -> String {
        // Cut, not rounded: 4.496 is not 4.5.
        self.ratio.map_or_else(
            || "no colour".to_owned(),
            |ratio| format!("{}:1", format_number((ratio * 100.0).floor() / 100.0)),
        )
    }
}

/// Measures pairs without a mode and in every mode: the first [`MAX_CONTRAST_PAIRS`] of them. [`unmeasured_pairs_warning`] tells of the others.
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

/// Says so if [`check_contrast`] does not measure all of some pairs.
pub fn unmeasured_pairs_warning(pairs: &[ContrastPair]) -> Option<TokenFinding> {
    let left_out = pairs.len().checked_sub(MAX_CONTRAST_PAIRS).filter(|count| *count > 0)?;
    // So many suggestions are not all that there are.
    let at_least = if pairs.len() >= MAX_SUGGESTED_PAIRS { "at least " } else { "" };
    let message = format!(
        "{at_least}{left_out} pairs were not measured, for {MAX_CONTRAST_PAIRS} are measured at once; name those that matter"
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

/// Groups whose colours are for text, and groups whose colours are behind it.
const TEXT_GROUPS: [&str; 4] = ["text", "foreground", "fg", "content"];
const BACKGROUND_GROUPS: [&str; 4] = ["background", "bg", "surface", "backgrounds"];
/// Words of colours that need no contrast, or have a partner of their own.
const EXEMPT_WORDS: [&str; 4] = ["disabled", "inverse", "placeholder", "overlay"];
/// How many pairs are suggested at most. Not all of them are measured at once, but whoever asks can tell how many there are.
const MAX_SUGGESTED_PAIRS: usize = 10_000;

/// The pairs that names suggest.
///
/// `on-brand` is on `brand` beside it, and so are `brand-text` and `brand-foreground`. Otherwise every colour in a group
/// `text`, `foreground`, `fg` or `content` is on every colour in a group `background`, `bg` or `surface` beside it. Colours
/// named disabled, inverse, placeholder or overlay are left out.
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

/// The group that a role's group is in, if a path goes through one of that role.
fn role_parent_group(path: &str, words: &[&str]) -> Option<String> {
    let names: Vec<_> = path.split('.').collect();
    let at = names.iter().position(|name| words.contains(&name.to_lowercase().as_str()))?;
    Some(names[..at].join("."))
}

/// The background that a text is named after.
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
