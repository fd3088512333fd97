//! The types that a token can have.

use std::fmt;
use std::str::FromStr;

use super::finding::excerpt;

/// The type of a token: what its value must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TokenKind {
    /// A colour in one of 14 spaces.
    Color,
    /// A length in px or rem.
    Dimension,
    /// One font name or several, the preferred first.
    FontFamily,
    /// 1 to 1000, or a name for one of them.
    FontWeight,
    /// A time in ms or s.
    Duration,
    /// Two control points of a timing curve.
    CubicBezier,
    /// A plain number.
    Number,
    /// How a line is drawn.
    StrokeStyle,
    /// Colour, width and style of a line around something.
    Border,
    /// Duration, delay and timing of a change.
    Transition,
    /// One shadow or several.
    Shadow,
    /// Colours along an axis.
    Gradient,
    /// Font, size, weight, spacing and line height.
    Typography,
}

impl TokenKind {
    /// All of them, as the format lists them.
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

    /// Its name in `$type`.
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

/// A `$type` that the format does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no type `{}`; there are color, dimension, fontFamily, fontWeight, duration, cubicBezier, number, \
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
