//! Values of tokens with types. Parts of composite values may be references.

use super::color::Color;
use super::kind::Kind;

/// A part of a value: itself, or the path of a token that has it.
#[derive(Clone, Debug, PartialEq)]
pub enum Part<T> {
    /// The value.
    Is(T),
    /// The token whose value it is.
    Of(String),
}

/// The value of a token.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A colour.
    Color(Color),
    /// A length.
    Dimension(Dimension),
    /// Font names, the preferred first.
    FontFamily(Vec<Part<String>>),
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
    Shadow(Vec<Part<Shadow>>),
    /// Stops of a gradient.
    Gradient(Vec<Part<Stop>>),
    /// A way to set text.
    Typography(Typography),
}

/// A length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dimension {
    /// How many units.
    pub value: f64,
    /// The unit.
    pub unit: Length,
}

/// A unit of length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Pixels as CSS has them.
    Px,
    /// Sizes of the root's font.
    Rem,
}

impl Length {
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
    pub unit: Time,
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl Time {
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
        dash_array: Vec<Part<Dimension>>,
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
    pub color: Part<Color>,
    /// How wide it is.
    pub width: Part<Dimension>,
    /// How it is drawn.
    pub style: Part<StrokeStyle>,
}

/// A change over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Transition {
    /// How long it takes.
    pub duration: Part<Duration>,
    /// How long before it begins.
    pub delay: Part<Duration>,
    /// How it goes on.
    pub timing: Part<[f64; 4]>,
}

/// A shadow.
#[derive(Clone, Debug, PartialEq)]
pub struct Shadow {
    /// Its colour.
    pub color: Part<Color>,
    /// How far to the right.
    pub offset_x: Part<Dimension>,
    /// How far down.
    pub offset_y: Part<Dimension>,
    /// How soft.
    pub blur: Part<Dimension>,
    /// How much larger than what throws it.
    pub spread: Part<Dimension>,
    /// Whether it falls inside.
    pub inset: bool,
}

/// A colour on the axis of a gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    /// The colour.
    pub color: Part<Color>,
    /// Where, from 0 to 1.
    pub position: Part<f64>,
}

/// A way to set text.
#[derive(Clone, Debug, PartialEq)]
pub struct Typography {
    /// The font.
    pub font_family: Part<Vec<Part<String>>>,
    /// The size.
    pub font_size: Part<Dimension>,
    /// The weight.
    pub font_weight: Part<f64>,
    /// The space between letters.
    pub letter_spacing: Part<Dimension>,
    /// The height of a line.
    pub line_height: Part<LineHeight>,
}

/// The height of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LineHeight {
    /// In sizes of the font, as the format wants it.
    Times(f64),
    /// As a length, as many files have it.
    Length(Dimension),
}

impl Value {
    /// The type that it is of.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Color(_) => Kind::Color,
            Self::Dimension(_) => Kind::Dimension,
            Self::FontFamily(_) => Kind::FontFamily,
            Self::FontWeight(_) => Kind::FontWeight,
            Self::Duration(_) => Kind::Duration,
            Self::CubicBezier(_) => Kind::CubicBezier,
            Self::Number(_) => Kind::Number,
            Self::StrokeStyle(_) => Kind::StrokeStyle,
            Self::Border(_) => Kind::Border,
            Self::Transition(_) => Kind::Transition,
            Self::Shadow(_) => Kind::Shadow,
            Self::Gradient(_) => Kind::Gradient,
            Self::Typography(_) => Kind::Typography,
        }
    }
}
