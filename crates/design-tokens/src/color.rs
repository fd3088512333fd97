//! Colours: 14 spaces, CSS syntax, and conversion to sRGB.
//!
//! The mathematics comes from the `color` crate (Linebender; all spaces of CSS Color 4, no dependencies). It
//! works in 32-bit floats, which is far more precise than a screen or a contrast ratio needs.

#[cfg(test)]
mod tests;

use color::ColorSpaceTag;

use super::json::{Json, JsonMap};

/// A colour space of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorSpace {
    Srgb,
    SrgbLinear,
    Hsl,
    Hwb,
    Lab,
    Lch,
    Oklab,
    Oklch,
    DisplayP3,
    A98Rgb,
    ProphotoRgb,
    Rec2020,
    XyzD65,
    XyzD50,
}

/// The allowed range of a colour component.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ComponentRange {
    /// From 0 to this.
    ZeroTo(f64),
    /// An angle, from 0 up to but not including 360.
    Hue,
    /// 0 or more.
    Positive,
    Any,
}

impl ComponentRange {
    pub(super) fn contains(self, value: f64) -> bool {
        match self {
            Self::ZeroTo(end) => (0.0..=end).contains(&value),
            Self::Hue => (0.0..360.0).contains(&value),
            Self::Positive => value >= 0.0,
            Self::Any => true,
        }
    }

    /// The nearest value in the range; angles wrap around.
    fn clamp(self, value: f64) -> f64 {
        match self {
            Self::ZeroTo(end) => value.clamp(0.0, end),
            Self::Hue => value.rem_euclid(360.0) % 360.0, // Rounding may yield 360 for tiny negative values.
            Self::Positive => value.max(0.0),
            Self::Any => value,
        }
    }

    pub(super) fn describe(self) -> String {
        match self {
            Self::ZeroTo(end) => format!("from 0 to {end}"),
            Self::Hue => "from 0 up to, but not including, 360".to_owned(),
            Self::Positive => "0 or more".to_owned(),
            Self::Any => "any number".to_owned(),
        }
    }
}

impl ColorSpace {
    pub const ALL: [Self; 14] = [
        Self::Srgb,
        Self::SrgbLinear,
        Self::Hsl,
        Self::Hwb,
        Self::Lab,
        Self::Lch,
        Self::Oklab,
        Self::Oklch,
        Self::DisplayP3,
        Self::A98Rgb,
        Self::ProphotoRgb,
        Self::Rec2020,
        Self::XyzD65,
        Self::XyzD50,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Srgb => "srgb",
            Self::SrgbLinear => "srgb-linear",
            Self::Hsl => "hsl",
            Self::Hwb => "hwb",
            Self::Lab => "lab",
            Self::Lch => "lch",
            Self::Oklab => "oklab",
            Self::Oklch => "oklch",
            Self::DisplayP3 => "display-p3",
            Self::A98Rgb => "a98-rgb",
            Self::ProphotoRgb => "prophoto-rgb",
            Self::Rec2020 => "rec2020",
            Self::XyzD65 => "xyz-d65",
            Self::XyzD50 => "xyz-d50",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|space| space.as_str() == name)
    }

    pub(super) const fn ranges(self) -> [ComponentRange; 3] {
        match self {
            Self::Hsl | Self::Hwb => {
                [ComponentRange::Hue, ComponentRange::ZeroTo(100.0), ComponentRange::ZeroTo(100.0)]
            }
            Self::Lab => [ComponentRange::ZeroTo(100.0), ComponentRange::Any, ComponentRange::Any],
            Self::Lch => [ComponentRange::ZeroTo(100.0), ComponentRange::Positive, ComponentRange::Hue],
            Self::Oklab => [ComponentRange::ZeroTo(1.0), ComponentRange::Any, ComponentRange::Any],
            Self::Oklch => [ComponentRange::ZeroTo(1.0), ComponentRange::Positive, ComponentRange::Hue],
            _ => [ComponentRange::ZeroTo(1.0); 3],
        }
    }

    const fn tag(self) -> ColorSpaceTag {
        match self {
            Self::Srgb => ColorSpaceTag::Srgb,
            Self::SrgbLinear => ColorSpaceTag::LinearSrgb,
            Self::Hsl => ColorSpaceTag::Hsl,
            Self::Hwb => ColorSpaceTag::Hwb,
            Self::Lab => ColorSpaceTag::Lab,
            Self::Lch => ColorSpaceTag::Lch,
            Self::Oklab => ColorSpaceTag::Oklab,
            Self::Oklch => ColorSpaceTag::Oklch,
            Self::DisplayP3 => ColorSpaceTag::DisplayP3,
            Self::A98Rgb => ColorSpaceTag::A98Rgb,
            Self::ProphotoRgb => ColorSpaceTag::ProphotoRgb,
            Self::Rec2020 => ColorSpaceTag::Rec2020,
            Self::XyzD65 => ColorSpaceTag::XyzD65,
            Self::XyzD50 => ColorSpaceTag::XyzD50,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Color {
    pub space: ColorSpace,
    /// `None` where the file says `none`.
    pub components: [Option<f64>; 3],
    /// From 0 (invisible) to 1.
    pub alpha: f64,
    /// The nearest `#rrggbb`, for tools that support no other space.
    pub hex: Option<String>,
}

impl Color {
    /// Parses a CSS colour: `#0af`, `rebeccapurple`, `oklch(0.7 0.1 200 / 50%)`. Components out of range are
    /// clamped to the range of the format.
    pub fn from_css(text: &str) -> Option<Self> {
        let parsed = color::parse_color(text.trim()).ok()?;
        let space = ColorSpace::ALL.into_iter().find(|space| space.tag() == parsed.cs)?;
        let missing = parsed.flags.missing();
        let ranges = space.ranges();
        let component = |at: usize| {
            (!missing.contains(at)).then(|| ranges[at].clamp(shortest_decimal(parsed.components[at])))
        };
        let mut color = Self {
            space,
            components: [component(0), component(1), component(2)],
            alpha: if missing.contains(3) {
                0.0
            } else {
                shortest_decimal(parsed.components[3]).clamp(0.0, 1.0)
            },
            hex: None,
        };
        if let Some(bytes) = color.to_rgb8() {
            // The value was meant with eight bits per component; more digits would be noise.
            color.components = bytes.map(|byte| Some(round(f64::from(byte) / 255.0, 4)));
            color.hex = Some(format_hex(bytes));
            color.alpha = round(color.alpha, 4);
        }
        Some(color)
    }

    /// Red, green and blue in sRGB, from 0 to 1. Out-of-gamut values are clipped.
    pub(super) fn to_srgb(&self) -> [f64; 3] {
        if self.space == ColorSpace::Srgb {
            return self.components.map(|value| value.unwrap_or(0.0).clamp(0.0, 1.0));
        }
        #[expect(clippy::cast_possible_truncation, reason = "the conversion works in 32 bits")]
        let components = self.components.map(|value| value.unwrap_or(0.0) as f32);
        let srgb = self.space.tag().convert(ColorSpaceTag::Srgb, components);
        srgb.map(|value| if value.is_finite() { f64::from(value).clamp(0.0, 1.0) } else { 0.0 })
    }

    /// The colour as CSS.
    pub fn to_css(&self) -> String {
        if let Some(bytes) = self.to_rgb8() {
            let [red, green, blue] = bytes;
            return if self.alpha >= 1.0 {
                format_hex(bytes)
            } else {
                format!("rgb({red} {green} {blue} / {})", format_number(self.alpha))
            };
        }
        let percent = matches!(self.space, ColorSpace::Hsl | ColorSpace::Hwb);
        let component = |at: usize| match self.components[at] {
            None => "none".to_owned(),
            Some(value) if percent && at > 0 => format!("{}%", format_number(value)),
            Some(value) => format_number(value),
        };
        let components = format!("{} {} {}", component(0), component(1), component(2));
        let alpha =
            if self.alpha < 1.0 { format!(" / {}", format_number(self.alpha)) } else { String::new() };
        let name = self.space.as_str();
        match self.space {
            ColorSpace::Hsl
            | ColorSpace::Hwb
            | ColorSpace::Lab
            | ColorSpace::Lch
            | ColorSpace::Oklab
            | ColorSpace::Oklch => {
                format!("{name}({components}{alpha})")
            }
            _ => format!("color({name} {components}{alpha})"),
        }
    }

    /// The value as written in the format.
    pub fn to_json(&self) -> Json {
        let component = |value: Option<f64>| value.map_or_else(|| Json::from("none"), Json::number);
        let mut map = JsonMap::new();
        map.set("colorSpace", self.space.as_str());
        map.set("components", Json::Array(self.components.map(component).to_vec()));
        if self.alpha < 1.0 {
            map.set("alpha", self.alpha);
        }
        if let Some(hex) = &self.hex {
            map.set("hex", hex.as_str());
        }
        map.into()
    }

    /// The components in eight bits each, if this is an sRGB colour without loss of precision.
    fn to_rgb8(&self) -> Option<[u8; 3]> {
        // Values rounded to three decimals are within 0.13 of a step.
        let whole = |value: Option<f64>| {
            let scaled = value? * 255.0;
            ((scaled - scaled.round()).abs() < 0.13 && (-0.2..255.2).contains(&scaled))
                .then(|| to_byte(value.unwrap_or(0.0)))
        };
        let [red, green, blue] = self.components;
        if self.space == ColorSpace::Srgb { Some([whole(red)?, whole(green)?, whole(blue)?]) } else { None }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to a byte")]
fn to_byte(value: f64) -> u8 {
    (value.clamp(0.0, 1.0) * 255.0).round() as u8
}

fn format_hex([red, green, blue]: [u8; 3]) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// The shortest decimal of a 32-bit float, without the digits that widening would add.
fn shortest_decimal(value: f32) -> f64 {
    value.to_string().parse().ok().filter(|value: &f64| value.is_finite()).unwrap_or(0.0)
}

pub(super) fn round(value: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    let rounded = (value * scale).round() / scale;
    if rounded.is_finite() { rounded + 0.0 } else { value }
}

/// Formats a number for CSS: at most six decimals (twelve for tiny values), no exponent.
pub(super) fn format_number(value: f64) -> String {
    let value = round(value, if value.abs() < 0.001 { 12 } else { 6 });
    if value == 0.0 { "0".to_owned() } else { value.to_string() }
}
