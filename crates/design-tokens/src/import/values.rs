//! Values of CSS as values of tokens, typed by their shape.

mod gradient;

use std::collections::{HashMap, HashSet};

use self::gradient::is_direction;
use super::item::{Item, items};
use super::tokenizer::tokenize;
use crate::color::Color;
use crate::finding::shown;
use crate::json::Json;
use crate::kind::Kind;
use crate::value::{
    Border, Dimension, Duration, LINE_STYLES, Length, Part, Shadow, StrokeStyle, Time, Transition, Value,
};

/// The curves that CSS has names for.
const CURVES: [(&str, [f64; 4]); 5] = [
    ("linear", [0.0, 0.0, 1.0, 1.0]),
    ("ease", [0.25, 0.1, 0.25, 1.0]),
    ("ease-in", [0.42, 0.0, 1.0, 1.0]),
    ("ease-out", [0.0, 0.0, 0.58, 1.0]),
    ("ease-in-out", [0.42, 0.0, 0.58, 1.0]),
];
/// Words in names that say that a bare 0 is a length.
const LENGTHS: [&str; 8] = ["space", "spacing", "radius", "size", "gap", "width", "height", "tracking"];

/// What a property holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Held {
    /// The same as another property.
    Alias(String),
    /// A value.
    Value(Value),
}

impl Held {
    pub(super) fn kind(&self) -> Option<Kind> {
        if let Self::Value(value) = self { Some(value.kind()) } else { None }
    }

    pub(super) fn to_json(&self) -> Json {
        match self {
            Self::Alias(path) => Json::String(format!("{{{path}}}")),
            Self::Value(value) => value.to_json(),
        }
    }
}

/// The value that a text is in CSS, if there is no other property in it. Its name helps where shapes are alike.
pub(super) fn of_text(text: &str, name: &str) -> Option<Value> {
    if text.contains("var(") {
        return None;
    }
    let nothing = HashSet::new();
    let shapes = Shapes { paths: &HashMap::new(), declared: &nothing, name, lines: &nothing };
    match shapes.read(&items(&tokenize(text), text)) {
        Ok((Held::Value(value), _)) => Some(value),
        _ => None,
    }
}

/// Words that fonts may be called by in CSS where no font is installed.
const GENERIC_FONTS: [&str; 8] =
    ["serif", "sans-serif", "monospace", "cursive", "fantasy", "system-ui", "ui-sans-serif", "ui-monospace"];
/// Words that are no fonts, whatever the name of the property. The last four say when a font is shown (`font-display`).
const NO_FONTS: [&str; 13] = [
    "auto", "inherit", "initial", "italic", "none", "normal", "oblique", "revert", "unset", "block", "swap",
    "fallback", "optional",
];
/// Words in names that say that it is about fonts, but none of them. `display` is not here: many call their font for large
/// titles so.
const BESIDE_FONTS: [&str; 11] = [
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
/// What is said of a gradient that had a direction.
const DIRECTION_LEFT_OUT: &str = "its direction is left out, for gradients of design tokens have none";

/// Reads the value of a property.
pub(super) struct Shapes<'a> {
    /// The paths of all properties that are there.
    pub(super) paths: &'a HashMap<&'a str, String>,
    /// The properties that the sheet has, also those that can be no tokens.
    pub(super) declared: &'a HashSet<&'a str>,
    /// The name of this one.
    pub(super) name: &'a str,
    /// The properties that hold the style of a line.
    pub(super) lines: &'a HashSet<&'a str>,
}

impl Shapes<'_> {
    /// What the property holds and what was lost on the way, or why it cannot be a token.
    pub(super) fn read(&self, items: &[Item]) -> Result<(Held, Option<&'static str>), String> {
        let items = self.settled(items)?;
        let held = match items.as_slice() {
            [] => return Err("it is empty".to_owned()),
            [Item::Var(name, _)] if name == self.name => return Err("it refers to itself".to_owned()),
            [Item::Var(name, _)] => Held::Alias(self.path(name)),
            [Item::Dimension(_, unit)] if !["px", "rem", "ms", "s"].contains(&unit.as_str()) => {
                return Err(format!("design tokens have no unit `{}`, only px, rem, ms and s", shown(unit)));
            }
            [Item::Percent(_)] => return Err("design tokens have no percentages".to_owned()),
            [one] => Held::Value(self.single(one).ok_or_else(unknown)?),
            several => Held::Value(self.several(several).ok_or_else(unknown)?),
        };
        let is_directed = |item: &Item| matches!(item, Item::Function(_, arguments, _) if arguments.split(is_comma).next().is_some_and(is_direction));
        let is_gradient = held.kind() == Some(Kind::Gradient);
        Ok((held, (is_gradient && items.iter().any(is_directed)).then_some(DIRECTION_LEFT_OUT)))
    }

    /// The items with those that count instead of properties that are not there. What is there and was left out has a value,
    /// which nothing can stand in for.
    fn settled(&self, items: &[Item]) -> Result<Vec<Item>, String> {
        let mut settled = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Item::Var(name, fallback) if !self.paths.contains_key(name.as_str()) => {
                    let name_shown = shown(name);
                    if self.declared.contains(name.as_str()) {
                        return Err(format!("it refers to `--{name_shown}`, which is left out"));
                    }
                    if fallback.is_empty() {
                        return Err(format!("it refers to `--{name_shown}`, which is not here"));
                    }
                    settled.extend(self.settled(fallback)?);
                }
                Item::Function(name, arguments, text) => {
                    // Nothing is taken from the direction of a gradient, so nothing has to be known of what it names.
                    let first = arguments.split(is_comma).next().filter(|part| is_direction(part));
                    let (direction, rest) = arguments.split_at(first.map_or(0, <[Item]>::len));
                    let arguments = [direction, &self.settled(rest)?].concat();
                    settled.push(Item::Function(name.clone(), arguments, text.clone()));
                }
                other => settled.push(other.clone()),
            }
        }
        Ok(settled)
    }

    /// The path of a property that is there.
    fn path(&self, name: &str) -> String {
        self.paths.get(name).cloned().unwrap_or_default()
    }

    fn named(&self, words: &[&str]) -> bool {
        let name = self.name.to_lowercase();
        words.iter().any(|word| name.contains(word))
    }

    fn single(&self, item: &Item) -> Option<Value> {
        if let Some(color) = color(item) {
            return Some(Value::Color(color));
        }
        match item {
            Item::Number(value) if self.named(&["weight"]) && (1.0..=1000.0).contains(value) => {
                Some(Value::FontWeight(*value))
            }
            Item::Number(0.0) if self.named(&LENGTHS) => length(item).map(Value::Dimension),
            Item::Number(value) => Some(Value::Number(*value)),
            Item::Dimension(..) => {
                length(item).map(Value::Dimension).or_else(|| time(item).map(Value::Duration))
            }
            Item::Word(word) if word == "bold" || (word == "normal" && self.named(&["weight"])) => {
                Some(Value::FontWeight(if word == "bold" { 700.0 } else { 400.0 }))
            }
            Item::Word(word) => line_style(word)
                .map(Value::StrokeStyle)
                .or_else(|| curve(item).map(Value::CubicBezier))
                .or_else(|| self.fonts(std::slice::from_ref(item))),
            Item::Text(_) => self.fonts(std::slice::from_ref(item)),
            Item::Function(name, arguments, _) if name == "linear-gradient" => self.gradient(arguments),
            Item::Function(..) => curve(item).map(Value::CubicBezier),
            _ => None,
        }
    }

    fn several(&self, items: &[Item]) -> Option<Value> {
        self.border(items)
            .or_else(|| self.transition(items))
            .or_else(|| self.shadows(items))
            .or_else(|| self.fonts(items))
    }

    fn part<T>(&self, item: &Item, read: impl Fn(&Item) -> Option<T>) -> Option<Part<T>> {
        match item {
            Item::Var(name, _) => Some(Part::Of(self.path(name))),
            other => read(other).map(Part::Is),
        }
    }

    /// Names of fonts: where the name of the property says so, or the last of them is one that everybody has. Most words
    /// and texts are something else.
    fn fonts(&self, items: &[Item]) -> Option<Value> {
        let is_generic =
            matches!(items.last(), Some(Item::Word(last)) if GENERIC_FONTS.contains(&last.as_str()));
        let is_no_font = matches!(items, [Item::Word(word)] if NO_FONTS.contains(&word.as_str()));
        let is_named = self.named(&["family"]) || (self.named(&["font"]) && !self.named(&BESIDE_FONTS));
        if is_no_font || !(is_generic || is_named) {
            return None;
        }
        let mut fonts = Vec::new();
        for words in items.split(|item| *item == Item::Comma) {
            fonts.push(match words {
                [Item::Text(name)] => Part::Is(name.clone()),
                [Item::Var(name, _)] => Part::Of(self.path(name)),
                words => {
                    let words: Option<Vec<_>> = words
                        .iter()
                        .map(|item| if let Item::Word(word) = item { Some(word.as_str()) } else { None })
                        .collect();
                    Part::Is(words.filter(|words| !words.is_empty())?.join(" "))
                }
            });
        }
        let blank = |font: &Part<String>| matches!(font, Part::Is(name) if name.trim().is_empty() || name.contains('{'));
        (!fonts.iter().any(blank)).then_some(Value::FontFamily(fonts))
    }

    fn border(&self, items: &[Item]) -> Option<Value> {
        let [width, style, tint] = items else { return None };
        let style = match style {
            Item::Word(word) => Part::Is(line_style(word)?),
            Item::Var(name, _) if self.lines.contains(name.as_str()) => Part::Of(self.path(name)),
            _ => return None,
        };
        Some(Value::Border(Border {
            color: self.part(tint, color)?,
            width: self.part(width, length)?,
            style,
        }))
    }

    fn transition(&self, items: &[Item]) -> Option<Value> {
        let none = Item::Dimension(0.0, "ms".to_owned());
        let (duration, timing, delay) = match items {
            [duration, timing] => (duration, timing, &none),
            [duration, timing, delay] => (duration, timing, delay),
            _ => return None,
        };
        if time(duration).is_none() && curve(timing).is_none() && (items.len() < 3 || time(delay).is_none()) {
            return None;
        }
        Some(Value::Transition(Transition {
            duration: self.part(duration, time)?,
            delay: self.part(delay, time)?,
            timing: self.part(timing, curve)?,
        }))
    }

    fn shadows(&self, items: &[Item]) -> Option<Value> {
        let shadows: Option<Vec<_>> =
            items.split(|item| *item == Item::Comma).map(|items| self.shadow(items)).collect();
        let shadows = shadows?;
        // Only references: that could be a list of anything.
        shadows.iter().any(|shadow| matches!(shadow, Part::Is(_))).then_some(Value::Shadow(shadows))
    }

    fn shadow(&self, items: &[Item]) -> Option<Part<Shadow>> {
        if let [Item::Var(name, _)] = items {
            return Some(Part::Of(self.path(name)));
        }
        let inset = Item::Word("inset".to_owned());
        let rest: Vec<_> = items.iter().filter(|item| **item != inset).collect();
        let (tint, lengths) = match rest.split_last()? {
            (last, lengths) if color(last).is_some() => (*last, lengths),
            (last, lengths) => match rest.split_first() {
                Some((first, lengths)) if color(first).is_some() => (*first, lengths),
                _ if matches!(last, Item::Var(..)) => (*last, lengths),
                _ => return None,
            },
        };
        let zero = Item::Number(0.0);
        let at = |nth: usize| self.part(lengths.get(nth).copied().unwrap_or(&zero), length);
        if !(2..=4).contains(&lengths.len()) || lengths.iter().all(|item| length(item).is_none()) {
            return None;
        }
        Some(Part::Is(Shadow {
            color: self.part(tint, color)?,
            offset_x: at(0)?,
            offset_y: at(1)?,
            blur: at(2)?,
            spread: at(3)?,
            inset: items.len() > rest.len(),
        }))
    }
}

fn is_comma(item: &Item) -> bool {
    *item == Item::Comma
}

fn unknown() -> String {
    "it has the shape of no type of token".to_owned()
}

fn color(item: &Item) -> Option<Color> {
    match item {
        Item::Hash(text) | Item::Word(text) => Color::from_css(text),
        Item::Function(_, arguments, text) if !arguments.iter().any(|item| matches!(item, Item::Var(..))) => {
            Color::from_css(text)
        }
        _ => None,
    }
}

fn length(item: &Item) -> Option<Dimension> {
    match item {
        Item::Number(0.0) => Some(Dimension { value: 0.0, unit: Length::Px }),
        Item::Dimension(value, unit) => {
            let unit = [Length::Px, Length::Rem].into_iter().find(|known| known.as_str() == unit)?;
            Some(Dimension { value: *value, unit })
        }
        _ => None,
    }
}

fn time(item: &Item) -> Option<Duration> {
    let Item::Dimension(value, unit) = item else { return None };
    let unit = [Time::Ms, Time::S].into_iter().find(|known| known.as_str() == unit)?;
    Some(Duration { value: *value, unit })
}

fn curve(item: &Item) -> Option<[f64; 4]> {
    match item {
        Item::Word(word) => CURVES.into_iter().find(|(known, _)| known == word).map(|(_, curve)| curve),
        Item::Function(name, arguments, _) if name == "cubic-bezier" => match arguments.as_slice() {
            [
                Item::Number(x1),
                Item::Comma,
                Item::Number(y1),
                Item::Comma,
                Item::Number(x2),
                Item::Comma,
                Item::Number(y2),
            ] if [x1, x2].iter().all(|x| (0.0..=1.0).contains(*x)) => Some([*x1, *y1, *x2, *y2]),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn line_style(word: &str) -> Option<StrokeStyle> {
    LINE_STYLES.into_iter().find(|known| *known == word).map(StrokeStyle::Named)
}
