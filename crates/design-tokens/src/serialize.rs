//! Serialization of values in the 2025.10 format.

use super::json::{Json, JsonMap};
use super::value::{
    Dimension, Duration, GradientStop, LineHeight, Shadow, StrokeStyle, TokenValue, ValueOrRef,
};

impl TokenValue {
    /// The value in the format. References are kept.
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
                ("color", value_or_ref(&border.color, super::color::Color::to_json)),
                ("width", value_or_ref(&border.width, dimension)),
                ("style", value_or_ref(&border.style, stroke)),
            ]),
            Self::Transition(transition) => object([
                ("duration", value_or_ref(&transition.duration, duration)),
                ("delay", value_or_ref(&transition.delay, duration)),
                ("timingFunction", value_or_ref(&transition.timing, bezier)),
            ]),
            Self::Shadow(shadows) => match shadows.as_slice() {
                [ValueOrRef::Literal(one)] => shadow(one),
                several => Json::Array(several.iter().map(|one| value_or_ref(one, shadow)).collect()),
            },
            Self::Gradient(stops) => Json::Array(stops.iter().map(|one| value_or_ref(one, stop)).collect()),
            Self::Typography(text) => object([
                ("fontFamily", value_or_ref(&text.font_family, |names| family(names))),
                ("fontSize", value_or_ref(&text.font_size, dimension)),
                ("fontWeight", value_or_ref(&text.font_weight, |weight| Json::number(*weight))),
                ("letterSpacing", value_or_ref(&text.letter_spacing, dimension)),
                ("lineHeight", value_or_ref(&text.line_height, line_height)),
            ]),
        }
    }
}

fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    members.into_iter().collect::<JsonMap>().into()
}

fn value_or_ref<T>(part: &ValueOrRef<T>, write: impl Fn(&T) -> Json) -> Json {
    match part {
        ValueOrRef::Literal(value) => write(value),
        ValueOrRef::Ref(path) => Json::String(format!("{{{path}}}")),
    }
}

fn dimension(length: &Dimension) -> Json {
    object([("value", length.value.into()), ("unit", length.unit.as_str().into())])
}

fn duration(time: &Duration) -> Json {
    object([("value", time.value.into()), ("unit", time.unit.as_str().into())])
}

fn family(names: &[ValueOrRef<String>]) -> Json {
    match names {
        // A name with a comma would be split if written as a plain string.
        [one] if !matches!(one, ValueOrRef::Literal(name) if name.contains(',')) => {
            value_or_ref(one, |name| name.as_str().into())
        }
        several => {
            Json::Array(several.iter().map(|one| value_or_ref(one, |name| name.as_str().into())).collect())
        }
    }
}

fn bezier(curve: &[f64; 4]) -> Json {
    Json::Array(curve.map(Json::number).to_vec())
}

fn stroke(style: &StrokeStyle) -> Json {
    match style {
        StrokeStyle::Named(name) => (*name).into(),
        StrokeStyle::Dashed { dash_array, line_cap } => object([
            ("dashArray", Json::Array(dash_array.iter().map(|one| value_or_ref(one, dimension)).collect())),
            ("lineCap", (*line_cap).into()),
        ]),
    }
}

fn shadow(shadow: &Shadow) -> Json {
    let mut map = JsonMap::new();
    map.set("color", value_or_ref(&shadow.color, super::color::Color::to_json));
    map.set("offsetX", value_or_ref(&shadow.offset_x, dimension));
    map.set("offsetY", value_or_ref(&shadow.offset_y, dimension));
    map.set("blur", value_or_ref(&shadow.blur, dimension));
    map.set("spread", value_or_ref(&shadow.spread, dimension));
    if shadow.inset {
        map.set("inset", true);
    }
    map.into()
}

fn stop(stop: &GradientStop) -> Json {
    object([
        ("color", value_or_ref(&stop.color, super::color::Color::to_json)),
        ("position", value_or_ref(&stop.position, |position| Json::number(*position))),
    ])
}

fn line_height(height: &LineHeight) -> Json {
    match height {
        LineHeight::Multiple(times) => Json::number(*times),
        LineHeight::Length(length) => dimension(length),
    }
}
