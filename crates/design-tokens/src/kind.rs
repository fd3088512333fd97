//! The types of tokens.

use std::fmt;
use std::str::FromStr;

use super::finding::excerpt;

/// The type of a token, which determines the form of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TokenKind {
    /// A colour in one of 14 spaces.
    Color,
    /// A length in px or rem.
    Dimension,
    /// One or several font names, in order of preference.
    FontFamily,
    /// 1 to 1000, or a named weight.
    FontWeight,
    /// A time in ms or s.
    Duration,
    /// Two control points of a timing curve.
    CubicBezier,
    /// A plain number.
    Number,
    /// A line style.
    StrokeStyle,
    /// Colour, width and style of a line.
    Border,
    /// Duration, delay and timing function.
    Transition,
    /// One or several shadows.
    Shadow,
    /// Colours along an axis.
    Gradient,
    /// Font, size, weight, spacing and line height.
    Typography,
}

impl TokenKind {
    /// All types, in the order of the specification.
    pub const ALL: [Self; 13] = [
        Self::Color,
        Self::Dimension,
        Self::FontFamily,
        Self::FontWeight,
        Self::Duration,
        Self::CubicBezier,
        Self::Number,
        Self::StrokeStyle,
        Self::Border,
        Self::Transition,
        Self::Shadow,
        Self::Gradient,
        Self::Typography,
    ];

    /// The name in `$type`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Color => "color",
            Self::Dimension => "dimension",
            Self::FontFamily => "fontFamily",
            Self::FontWeight => "fontWeight",
            Self::Duration => "duration",
            Self::CubicBezier => "cubicBezier",
            Self::Number => "number",
            Self::StrokeStyle => "strokeStyle",
            Self::Border => "border",
            Self::Transition => "transition",
            Self::Shadow => "shadow",
            Self::Gradient => "gradient",
            Self::Typography => "typography",
        }
    }
}

impl fmt::Display for TokenKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A `$type` that the format does not define.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown type `{}`; supported types are color, dimension, fontFamily, fontWeight, duration, cubicBezier, number, \
         strokeStyle, border, transition, shadow, gradient, typography",
    excerpt(.0)
)]
pub struct UnknownTokenKind(pub String);

impl FromStr for TokenKind {
    type Err = UnknownTokenKind;
    fn from_str(name: &str) -> Result<Self, UnknownTokenKind> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str() == name)
            .ok_or_else(|| UnknownTokenKind(name.to_owned()))
    }
}
