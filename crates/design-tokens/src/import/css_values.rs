//! CSS values as token values, typed by their shape.

mod gradient;

use std::collections::{HashMap, HashSet};

use self::gradient::is_direction;
use super::component::{CssComponent, parse_components};
use super::tokenizer::tokenize;
use crate::color::Color;
use crate::finding::excerpt;
use crate::json::Json;
use crate::kind::TokenKind;
use crate::value::{
    Border, Dimension, Duration, LINE_STYLES, LengthUnit, Shadow, StrokeStyle, TimeUnit, TokenValue,
    Transition, ValueOrRef,
};

/// The named curves of CSS.
const NAMED_CURVES: [(&str, [f64; 4]); 5] = [
    ("linear", [0.0, 0.0, 1.0, 1.0]),
    ("ease", [0.25, 0.1, 0.25, 1.0]),
    ("ease-in", [0.42, 0.0, 1.0, 1.0]),
    ("ease-out", [0.0, 0.0, 0.58, 1.0]),
    ("ease-in-out", [0.42, 0.0, 0.58, 1.0]),
];
/// Words in names for which a bare 0 is a length.
const LENGTH_WORDS: [&str; 8] = ["space", "spacing", "radius", "size", "gap", "width", "height", "tracking"];

/// The value of a property.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PropertyValue {
    /// A reference to another property.
    Alias(String),
    Value(TokenValue),
}

impl PropertyValue {
    pub(super) fn kind(&self) -> Option<TokenKind> {
        if let Self::Value(value) = self { Some(value.kind()) } else { None }
    }

    pub(super) fn to_json(&self) -> Json {
        match self {
            Self::Alias(path) => Json::String(format!("{{{path}}}")),
            Self::Value(value) => value.to_json(),
        }
    }
}

/// Parses a CSS value without references. The name helps to tell ambiguous shapes apart.
pub(super) fn parse_css_value(text: &str, name: &str) -> Option<TokenValue> {
    if text.contains("var(") {
        return None;
    }
    let nothing = HashSet::new();
    let shapes =
        PropertyReader { paths: &HashMap::new(), declared: &nothing, name, line_style_properties: &nothing };
    match shapes.read(&parse_components(&tokenize(text), text)) {
        Ok((PropertyValue::Value(value), _)) => Some(value),
        _ => None,
    }
}

/// Generic font names of CSS.
const GENERIC_FONTS: [&str; 8] =
    ["serif", "sans-serif", "monospace", "cursive", "fantasy", "system-ui", "ui-sans-serif", "ui-monospace"];
/// Keywords that are never fonts. The last four are values of `font-display`.
const NON_FONT_KEYWORDS: [&str; 13] = [
    "auto", "inherit", "initial", "italic", "none", "normal", "oblique", "revert", "unset", "block", "swap",
    "fallback", "optional",
];
/// Words in names that relate to fonts, but not to font families. `display` is missing on purpose: many
/// design systems use it for the font of large titles.
const NON_FAMILY_WORDS: [&str; 11] = [
    "size",
    "weight",
    "style",
    "feature",
    "variation",
    "smoothing",
    "stretch",
    "variant",
    "kerning",
    "synthesis",
    "optical",
];
/// Reported for a gradient with a direction.
const DIRECTION_DROPPED_MESSAGE: &str =
    "its direction is dropped, because gradients of design tokens have none";

pub(super) struct PropertyReader<'a> {
    /// Paths of all remaining properties.
    pub(super) paths: &'a HashMap<&'a str, String>,
    /// All properties in the stylesheet, including those that cannot be tokens.
    pub(super) declared: &'a HashSet<&'a str>,
    /// The name of this property.
    pub(super) name: &'a str,
    /// Properties whose value is a line style.
    pub(super) line_style_properties: &'a HashSet<&'a str>,
}

impl PropertyReader<'_> {
    /// Reads the value, with a note about what was lost, or returns why it cannot be a token.
    pub(super) fn read(
        &self,
        items: &[CssComponent],
    ) -> Result<(PropertyValue, Option<&'static str>), String> {
        let items = self.substitute_fallbacks(items)?;
        let held = match items.as_slice() {
            [] => return Err("it is empty".to_owned()),
            [CssComponent::Var(name, _)] if name == self.name => return Err("it refers to itself".to_owned()),
            [CssComponent::Var(name, _)] => PropertyValue::Alias(self.token_path(name)),
            [CssComponent::Dimension(_, unit)] if !["px", "rem", "ms", "s"].contains(&unit.as_str()) => {
                return Err(format!(
                    "design tokens do not support the unit `{}`, only px, rem, ms and s",
                    excerpt(unit)
                ));
            }
            [CssComponent::Percent(_)] => return Err("design tokens do not support percentages".to_owned()),
            [one] => PropertyValue::Value(self.read_single(one).ok_or_else(unknown_shape_message)?),
            several => PropertyValue::Value(self.read_list(several).ok_or_else(unknown_shape_message)?),
        };
        let is_directed = |item: &CssComponent| matches!(item, CssComponent::Function(_, arguments, _) if arguments.split(is_comma).next().is_some_and(is_direction));
        let is_gradient = held.kind() == Some(TokenKind::Gradient);
        Ok((held, (is_gradient && items.iter().any(is_directed)).then_some(DIRECTION_DROPPED_MESSAGE)))
    }

    /// Replaces references to undeclared properties by their fallback. A declared but omitted property has a
    /// value, so its fallback does not apply.
    fn substitute_fallbacks(&self, items: &[CssComponent]) -> Result<Vec<CssComponent>, String> {
        let mut settled = Vec::with_capacity(items.len());
        for item in items {
            match item {
                CssComponent::Var(name, fallback) if !self.paths.contains_key(name.as_str()) => {
                    let name_shown = excerpt(name);
                    if self.declared.contains(name.as_str()) {
                        return Err(format!("it refers to `--{name_shown}`, which is omitted"));
                    }
                    if fallback.is_empty() {
                        return Err(format!("it refers to `--{name_shown}`, which is not declared"));
                    }
                    settled.extend(self.substitute_fallbacks(fallback)?);
                }
                CssComponent::Function(name, arguments, text) => {
                    // The direction of a gradient is dropped, so references in it need not be resolved.
                    let first = arguments.split(is_comma).next().filter(|part| is_direction(part));
                    let (direction, rest) = arguments.split_at(first.map_or(0, <[CssComponent]>::len));
                    let arguments = [direction, &self.substitute_fallbacks(rest)?].concat();
                    settled.push(CssComponent::Function(name.clone(), arguments, text.clone()));
                }
                other => settled.push(other.clone()),
            }
        }
        Ok(settled)
    }

    /// The path of a remaining property.
    fn token_path(&self, name: &str) -> String {
        self.paths.get(name).cloned().unwrap_or_default()
    }

    fn name_contains(&self, words: &[&str]) -> bool {
        let name = self.name.to_lowercase();
        words.iter().any(|word| name.contains(word))
    }

    fn read_single(&self, item: &CssComponent) -> Option<TokenValue> {
        if let Some(color) = parse_color(item) {
            return Some(TokenValue::Color(color));
        }
        match item {
            CssComponent::Number(value)
                if self.name_contains(&["weight"]) && (1.0..=1000.0).contains(value) =>
            {
                Some(TokenValue::FontWeight(*value))
            }
            CssComponent::Number(0.0) if self.name_contains(&LENGTH_WORDS) => {
                parse_length(item).map(TokenValue::Dimension)
            }
            CssComponent::Number(value) => Some(TokenValue::Number(*value)),
            CssComponent::Dimension(..) => parse_length(item)
                .map(TokenValue::Dimension)
                .or_else(|| parse_duration(item).map(TokenValue::Duration)),
            CssComponent::Word(word)
                if word == "bold" || (word == "normal" && self.name_contains(&["weight"])) =>
            {
                Some(TokenValue::FontWeight(if word == "bold" { 700.0 } else { 400.0 }))
            }
            CssComponent::Word(word) => parse_line_style(word)
                .map(TokenValue::StrokeStyle)
                .or_else(|| parse_curve(item).map(TokenValue::CubicBezier))
                .or_else(|| self.fonts(std::slice::from_ref(item))),
            CssComponent::Text(_) => self.fonts(std::slice::from_ref(item)),
            CssComponent::Function(name, arguments, _) if name == "linear-gradient" => {
                self.gradient(arguments)
            }
            CssComponent::Function(..) => parse_curve(item).map(TokenValue::CubicBezier),
            _ => None,
        }
    }

    fn read_list(&self, items: &[CssComponent]) -> Option<TokenValue> {
        self.border(items)
            .or_else(|| self.transition(items))
            .or_else(|| self.shadows(items))
            .or_else(|| self.fonts(items))
    }

    fn read_part<T>(
        &self,
        item: &CssComponent,
        read: impl Fn(&CssComponent) -> Option<T>,
    ) -> Option<ValueOrRef<T>> {
        match item {
            CssComponent::Var(name, _) => Some(ValueOrRef::Ref(self.token_path(name))),
            other => read(other).map(ValueOrRef::Literal),
        }
    }

    /// Font names, if the name of the property suggests it or the last one is generic. Most other words and
    /// strings are something else.
    fn fonts(&self, items: &[CssComponent]) -> Option<TokenValue> {
        let is_generic =
            matches!(items.last(), Some(CssComponent::Word(last)) if GENERIC_FONTS.contains(&last.as_str()));
        let is_no_font =
            matches!(items, [CssComponent::Word(word)] if NON_FONT_KEYWORDS.contains(&word.as_str()));
        let is_named = self.name_contains(&["family"])
            || (self.name_contains(&["font"]) && !self.name_contains(&NON_FAMILY_WORDS));
        if is_no_font || !(is_generic || is_named) {
            return None;
        }
        let mut fonts = Vec::new();
        for words in items.split(|item| *item == CssComponent::Comma) {
            fonts.push(match words {
                [CssComponent::Text(name)] => ValueOrRef::Literal(name.clone()),
                [CssComponent::Var(name, _)] => ValueOrRef::Ref(self.token_path(name)),
                words => {
                    let words: Option<Vec<_>> = words
                        .iter()
                        .map(
                            |item| {
                                if let CssComponent::Word(word) = item { Some(word.as_str()) } else { None }
                            },
                        )
                        .collect();
                    ValueOrRef::Literal(words.filter(|words| !words.is_empty())?.join(" "))
                }
            });
        }
        let blank = |font: &ValueOrRef<String>| matches!(font, ValueOrRef::Literal(name) if name.trim().is_empty() || name.contains('{'));
        (!fonts.iter().any(blank)).then_some(TokenValue::FontFamily(fonts))
    }

    fn border(&self, items: &[CssComponent]) -> Option<TokenValue> {
        let [width, style, tint] = items else { return None };
        let style = match style {
            CssComponent::Word(word) => ValueOrRef::Literal(parse_line_style(word)?),
            CssComponent::Var(name, _) if self.line_style_properties.contains(name.as_str()) => {
                ValueOrRef::Ref(self.token_path(name))
            }
            _ => return None,
        };
        Some(TokenValue::Border(Border {
            color: self.read_part(tint, parse_color)?,
            width: self.read_part(width, parse_length)?,
            style,
        }))
    }

    fn transition(&self, items: &[CssComponent]) -> Option<TokenValue> {
        let none = CssComponent::Dimension(0.0, "ms".to_owned());
        let (duration, timing, delay) = match items {
            [duration, timing] => (duration, timing, &none),
            [duration, timing, delay] => (duration, timing, delay),
            _ => return None,
        };
        if parse_duration(duration).is_none()
            && parse_curve(timing).is_none()
            && (items.len() < 3 || parse_duration(delay).is_none())
        {
            return None;
        }
        Some(TokenValue::Transition(Transition {
            duration: self.read_part(duration, parse_duration)?,
            delay: self.read_part(delay, parse_duration)?,
            timing: self.read_part(timing, parse_curve)?,
        }))
    }

    fn shadows(&self, items: &[CssComponent]) -> Option<TokenValue> {
        let shadows: Option<Vec<_>> =
            items.split(|item| *item == CssComponent::Comma).map(|items| self.shadow(items)).collect();
        let shadows = shadows?;
        // Only references: this could be a list of anything.
        shadows
            .iter()
            .any(|shadow| matches!(shadow, ValueOrRef::Literal(_)))
            .then_some(TokenValue::Shadow(shadows))
    }

    fn shadow(&self, items: &[CssComponent]) -> Option<ValueOrRef<Shadow>> {
        if let [CssComponent::Var(name, _)] = items {
            return Some(ValueOrRef::Ref(self.token_path(name)));
        }
        let inset = CssComponent::Word("inset".to_owned());
        let rest: Vec<_> = items.iter().filter(|item| **item != inset).collect();
        let (tint, lengths) = match rest.split_last()? {
            (last, lengths) if parse_color(last).is_some() => (*last, lengths),
            (last, lengths) => match rest.split_first() {
                Some((first, lengths)) if parse_color(first).is_some() => (*first, lengths),
                _ if matches!(last, CssComponent::Var(..)) => (*last, lengths),
                _ => return None,
            },
        };
        let zero = CssComponent::Number(0.0);
        let at = |nth: usize| self.read_part(lengths.get(nth).copied().unwrap_or(&zero), parse_length);
        if !(2..=4).contains(&lengths.len()) || lengths.iter().all(|item| parse_length(item).is_none()) {
            return None;
        }
        Some(ValueOrRef::Literal(Shadow {
            color: self.read_part(tint, parse_color)?,
            offset_x: at(0)?,
            offset_y: at(1)?,
            blur: at(2)?,
            spread: at(3)?,
            inset: items.len() > rest.len(),
        }))
    }
}

fn is_comma(item: &CssComponent) -> bool {
    *item == CssComponent::Comma
}

fn unknown_shape_message() -> String {
    "it matches no token type".to_owned()
}

fn parse_color(item: &CssComponent) -> Option<Color> {
    match item {
        CssComponent::Hash(text) | CssComponent::Word(text) => Color::from_css(text),
        CssComponent::Function(_, arguments, text)
            if !arguments.iter().any(|item| matches!(item, CssComponent::Var(..))) =>
        {
            Color::from_css(text)
        }
        _ => None,
    }
}

fn parse_length(item: &CssComponent) -> Option<Dimension> {
    match item {
        CssComponent::Number(0.0) => Some(Dimension { value: 0.0, unit: LengthUnit::Px }),
        CssComponent::Dimension(value, unit) => {
            let unit = [LengthUnit::Px, LengthUnit::Rem].into_iter().find(|known| known.as_str() == unit)?;
            Some(Dimension { value: *value, unit })
        }
        _ => None,
    }
}

fn parse_duration(item: &CssComponent) -> Option<Duration> {
    let CssComponent::Dimension(value, unit) = item else { return None };
    let unit = [TimeUnit::Ms, TimeUnit::S].into_iter().find(|known| known.as_str() == unit)?;
    Some(Duration { value: *value, unit })
}

fn parse_curve(item: &CssComponent) -> Option<[f64; 4]> {
    match item {
        CssComponent::Word(word) => {
            NAMED_CURVES.into_iter().find(|(known, _)| known == word).map(|(_, curve)| curve)
        }
        CssComponent::Function(name, arguments, _) if name == "cubic-bezier" => match arguments.as_slice() {
            [
                CssComponent::Number(x1),
                CssComponent::Comma,
                CssComponent::Number(y1),
                CssComponent::Comma,
                CssComponent::Number(x2),
                CssComponent::Comma,
                CssComponent::Number(y2),
            ] if [x1, x2].iter().all(|x| (0.0..=1.0).contains(*x)) => Some([*x1, *y1, *x2, *y2]),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn parse_line_style(word: &str) -> Option<StrokeStyle> {
    LINE_STYLES.into_iter().find(|known| *known == word).map(StrokeStyle::Named)
}
