//! Typed token values. Parts of composite values may be references.

use super::color::Color;
use super::kind::TokenKind;

/// A part of a value: a literal, or the path of a token.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueOrRef<T> {
    Literal(T),
    Ref(String),
}

/// The value of a token.
#[derive(Clone, Debug, PartialEq)]
pub enum TokenValue {
    Color(Color),
    Dimension(Dimension),
    /// In order of preference.
    FontFamily(Vec<ValueOrRef<String>>),
    /// 1 to 1000.
    FontWeight(f64),
    Duration(Duration),
    /// x and y of two control points.
    CubicBezier([f64; 4]),
    Number(f64),
    StrokeStyle(StrokeStyle),
    Border(Border),
    Transition(Transition),
    /// Topmost first.
    Shadow(Vec<ValueOrRef<Shadow>>),
    Gradient(Vec<ValueOrRef<GradientStop>>),
    Typography(Typography),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dimension {
    pub value: f64,
    pub unit: LengthUnit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthUnit {
    /// CSS pixels.
    Px,
    /// Multiples of the root font size.
    Rem,
}

impl LengthUnit {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Px => "px",
            Self::Rem => "rem",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Duration {
    pub value: f64,
    pub unit: TimeUnit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl TimeUnit {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ms => "ms",
            Self::S => "s",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum StrokeStyle {
    /// One of `LINE_STYLES`.
    Named(&'static str),
    /// Dashes and gaps.
    Dashed {
        /// Alternating lengths of dashes and gaps.
        dash_array: Vec<ValueOrRef<Dimension>>,
        /// One of `LINE_CAPS`.
        line_cap: &'static str,
    },
}

/// The named line styles.
pub(super) const LINE_STYLES: [&str; 8] =
    ["solid", "dashed", "dotted", "double", "groove", "ridge", "outset", "inset"];

/// The line caps.
pub(super) const LINE_CAPS: [&str; 3] = ["round", "butt", "square"];

/// The named font weights.
pub(super) const FONT_WEIGHTS: [(&str, f64); 18] = [
    ("thin", 100.0),
    ("hairline", 100.0),
    ("extra-light", 200.0),
    ("ultra-light", 200.0),
    ("light", 300.0),
    ("normal", 400.0),
    ("regular", 400.0),
    ("book", 400.0),
    ("medium", 500.0),
    ("semi-bold", 600.0),
    ("demi-bold", 600.0),
    ("bold", 700.0),
    ("extra-bold", 800.0),
    ("ultra-bold", 800.0),
    ("black", 900.0),
    ("heavy", 900.0),
    ("extra-black", 950.0),
    ("ultra-black", 950.0),
];

#[derive(Clone, Debug, PartialEq)]
pub struct Border {
    pub color: ValueOrRef<Color>,
    pub width: ValueOrRef<Dimension>,
    pub style: ValueOrRef<StrokeStyle>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Transition {
    pub duration: ValueOrRef<Duration>,
    pub delay: ValueOrRef<Duration>,
    /// Control points of the timing curve.
    pub timing: ValueOrRef<[f64; 4]>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Shadow {
    pub color: ValueOrRef<Color>,
    /// Positive is right.
    pub offset_x: ValueOrRef<Dimension>,
    /// Positive is down.
    pub offset_y: ValueOrRef<Dimension>,
    pub blur: ValueOrRef<Dimension>,
    /// Growth relative to the element.
    pub spread: ValueOrRef<Dimension>,
    pub inset: bool,
}

/// A colour stop of a gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct GradientStop {
    pub color: ValueOrRef<Color>,
    /// From 0 to 1.
    pub position: ValueOrRef<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Typography {
    pub font_family: ValueOrRef<Vec<ValueOrRef<String>>>,
    pub font_size: ValueOrRef<Dimension>,
    pub font_weight: ValueOrRef<f64>,
    pub letter_spacing: ValueOrRef<Dimension>,
    pub line_height: ValueOrRef<LineHeight>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LineHeight {
    /// Multiple of the font size, as the format requires.
    Multiple(f64),
    /// A length, as in many files.
    Length(Dimension),
}

impl TokenValue {
    pub const fn kind(&self) -> TokenKind {
        match self {
            Self::Color(_) => TokenKind::Color,
            Self::Dimension(_) => TokenKind::Dimension,
            Self::FontFamily(_) => TokenKind::FontFamily,
            Self::FontWeight(_) => TokenKind::FontWeight,
            Self::Duration(_) => TokenKind::Duration,
            Self::CubicBezier(_) => TokenKind::CubicBezier,
            Self::Number(_) => TokenKind::Number,
            Self::StrokeStyle(_) => TokenKind::StrokeStyle,
            Self::Border(_) => TokenKind::Border,
            Self::Transition(_) => TokenKind::Transition,
            Self::Shadow(_) => TokenKind::Shadow,
            Self::Gradient(_) => TokenKind::Gradient,
            Self::Typography(_) => TokenKind::Typography,
        }
    }
}
