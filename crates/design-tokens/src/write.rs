//! Values to JSON, in the forms of 2025.10.

use super::json::{Json, Map};
use super::value::{Dimension, Duration, LineHeight, Part, Shadow, Stop, StrokeStyle, Value};

impl Value {
    /// The value as the format writes it. References stay references.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Color(color) => color.to_json(),
            Self::Dimension(length) => dimension(length),
            Self::FontFamily(names) => family(names),
            Self::FontWeight(number) | Self::Number(number) => Json::number(*number),
            Self::Duration(time) => duration(time),
            Self::CubicBezier(curve) => bezier(curve),
            Self::StrokeStyle(style) => stroke(style),
            Self::Border(border) => object([
                ("color", part(&border.color, super::color::Color::to_json)),
                ("width", part(&border.width, dimension)),
                ("style", part(&border.style, stroke)),
            ]),
            Self::Transition(transition) => object([
                ("duration", part(&transition.duration, duration)),
                ("delay", part(&transition.delay, duration)),
                ("timingFunction", part(&transition.timing, bezier)),
            ]),
            Self::Shadow(shadows) => match shadows.as_slice() {
                [Part::Is(one)] => shadow(one),
                several => Json::Array(several.iter().map(|one| part(one, shadow)).collect()),
            },
            Self::Gradient(stops) => Json::Array(stops.iter().map(|one| part(one, stop)).collect()),
            Self::Typography(text) => object([
                ("fontFamily", part(&text.font_family, |names| family(names))),
                ("fontSize", part(&text.font_size, dimension)),
                ("fontWeight", part(&text.font_weight, |weight| Json::number(*weight))),
                ("letterSpacing", part(&text.letter_spacing, dimension)),
                ("lineHeight", part(&text.line_height, line_height)),
            ]),
        }
    }
}

fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    members.into_iter().collect::<Map>().into()
}

fn part<T>(part: &Part<T>, write: impl Fn(&T) -> Json) -> Json {
    match part {
        Part::Is(value) => write(value),
        Part::Of(path) => Json::String(format!("{{{path}}}")),
    }
}

fn dimension(length: &Dimension) -> Json {
    object([("value", length.value.into()), ("unit", length.unit.as_str().into())])
}

fn duration(time: &Duration) -> Json {
    object([("value", time.value.into()), ("unit", time.unit.as_str().into())])
}

fn family(names: &[Part<String>]) -> Json {
    match names {
        // In a text of its own a comma would divide it.
        [one] if !matches!(one, Part::Is(name) if name.contains(',')) => {
            part(one, |name| name.as_str().into())
        }
        several => Json::Array(several.iter().map(|one| part(one, |name| name.as_str().into())).collect()),
    }
}

fn bezier(curve: &[f64; 4]) -> Json {
    Json::Array(curve.map(Json::number).to_vec())
}

fn stroke(style: &StrokeStyle) -> Json {
    match style {
        StrokeStyle::Named(name) => (*name).into(),
        StrokeStyle::Dashed { dash_array, line_cap } => object([
            ("dashArray", Json::Array(dash_array.iter().map(|one| part(one, dimension)).collect())),
            ("lineCap", (*line_cap).into()),
        ]),
    }
}

fn shadow(shadow: &Shadow) -> Json {
    let mut map = Map::new();
    map.set("color", part(&shadow.color, super::color::Color::to_json));
    map.set("offsetX", part(&shadow.offset_x, dimension));
    map.set("offsetY", part(&shadow.offset_y, dimension));
    map.set("blur", part(&shadow.blur, dimension));
    map.set("spread", part(&shadow.spread, dimension));
    if shadow.inset {
        map.set("inset", true);
    }
    map.into()
}

fn stop(stop: &Stop) -> Json {
    object([
        ("color", part(&stop.color, super::color::Color::to_json)),
        ("position", part(&stop.position, |position| Json::number(*position))),
    ])
}

fn line_height(height: &LineHeight) -> Json {
    match height {
        LineHeight::Times(times) => Json::number(*times),
        LineHeight::Length(length) => dimension(length),
    }
}
