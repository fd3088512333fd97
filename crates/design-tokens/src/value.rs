//! Values of tokens with types. Parts of composite values may be references.

use super::color::Color;
use super::kind::TokenKind;

/// A part of a value: itself, or the path of a token that has it.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueOrRef<T> {
    /// The value.
    Literal(T),
    /// The token whose value it is.
    Ref(String),
}

/// The value of a token.
#[derive(Clone, Debug, PartialEq)]
pub enum TokenValue {
    /// A colour.
    Color(Color),
    /// A length.
    Dimension(Dimension),
    /// Font names, the preferred first.
    FontFamily(Vec<ValueOrRef<String>>),
    /// 1 to 1000.
    FontWeight(f64),
    /// A time.
    Duration(Duration),
    /// x and y of two control points.
    CubicBezier([f64; 4]),
    /// A number.
    Number(f64),
    /// How a line is drawn.
    StrokeStyle(StrokeStyle),
    /// A border.
    Border(Border),
    /// A transition.
    Transition(Transition),
    /// Shadows, the topmost first.
    Shadow(Vec<ValueOrRef<Shadow>>),
    /// Stops of a gradient.
    Gradient(Vec<ValueOrRef<GradientStop>>),
    /// A way to set text.
    Typography(Typography),
}

/// A length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dimension {
    /// How many units.
    pub value: f64,
    /// The unit.
    pub unit: LengthUnit,
}

/// A unit of length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthUnit {
    /// Pixels as CSS has them.
    Px,
    /// Sizes of the root's font.
    Rem,
}

impl LengthUnit {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Px => "px",
            Self::Rem => "rem",
        }
    }
}

/// A time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Duration {
    /// How many units.
    pub value: f64,
    /// The unit.
    pub unit: TimeUnit,
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl TimeUnit {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ms => "ms",
            Self::S => "s",
        }
    }
}

/// How a line is drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum StrokeStyle {
    /// One of `LINE_STYLES`.
    Named(&'static str),
    /// Dashes and gaps.
    Dashed {
        /// Lengths of dashes and gaps in turn.
        dash_array: Vec<ValueOrRef<Dimension>>,
        /// One of `LINE_CAPS`.
        line_cap: &'static str,
    },
}

/// The styles of lines that have names.
pub(super) const LINE_STYLES: [&str; 8] =
    ["solid", "dashed", "dotted", "double", "groove", "ridge", "outset", "inset"];

/// The ways that a dash can end.
pub(super) const LINE_CAPS: [&str; 3] = ["round", "butt", "square"];

/// The names of font weights.
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

/// A border.
#[derive(Clone, Debug, PartialEq)]
pub struct Border {
    /// Its colour.
    pub color: ValueOrRef<Color>,
    /// How wide it is.
    pub width: ValueOrRef<Dimension>,
    /// How it is drawn.
    pub style: ValueOrRef<StrokeStyle>,
}

/// A change over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Transition {
    /// How long it takes.
    pub duration: ValueOrRef<Duration>,
    /// How long before it begins.
    pub delay: ValueOrRef<Duration>,
    /// How it goes on.
    pub timing: ValueOrRef<[f64; 4]>,
}

/// A shadow.
#[derive(Clone, Debug, PartialEq)]
pub struct Shadow {
    /// Its colour.
    pub color: ValueOrRef<Color>,
    /// How far to the right.
    pub offset_x: ValueOrRef<Dimension>,
    /// How far down.
    pub offset_y: ValueOrRef<Dimension>,
    /// How soft.
    pub blur: ValueOrRef<Dimension>,
    /// How much larger than what throws it.
    pub spread: ValueOrRef<Dimension>,
    /// Whether it falls inside.
    pub inset: bool,
}

/// A colour on the axis of a gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct GradientStop {
    /// The colour.
    pub color: ValueOrRef<Color>,
    /// Where, from 0 to 1.
    pub position: ValueOrRef<f64>,
}

/// A way to set text.
#[derive(Clone, Debug, PartialEq)]
pub struct Typography {
    /// The font.
    pub font_family: ValueOrRef<Vec<ValueOrRef<String>>>,
    /// The size.
    pub font_size: ValueOrRef<Dimension>,
    /// The weight.
    pub font_weight: ValueOrRef<f64>,
    /// The space between letters.
    pub letter_spacing: ValueOrRef<Dimension>,
    /// The height of a line.
    pub line_height: ValueOrRef<LineHeight>,
}

/// The height of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LineHeight {
    /// In sizes of the font, as the format wants it.
    Multiple(f64),
    /// As a length, as many files have it.
    Length(Dimension),
}

impl TokenValue {
    /// The type that it is of.
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
