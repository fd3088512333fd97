//! Parses values from JSON and reports every problem.
//!
//! Legacy forms are accepted with a warning: a colour as CSS, a length as `"16px"`, a time as `"200ms"`, a
//! number as a string, several fonts in one string. Parsing continues after an invalid part, so that all
//! problems are reported at once.

mod color;
mod composite;

use super::finding::{TokenSeverity, excerpt};
use super::json::{Json, JsonMap};
use super::kind::TokenKind;
use super::reference::TokenReference;
use super::value::{
    Dimension, Duration, FONT_WEIGHTS, LINE_CAPS, LINE_STYLES, LengthUnit, StrokeStyle, TimeUnit, TokenValue,
    ValueOrRef,
};

/// A problem with a part of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ValueProblem {
    /// Empty, or `/` and the path inside the value.
    pub(super) part: String,
    pub(super) severity: TokenSeverity,
    pub(super) message: String,
}

/// A reference inside a value, and the types it may refer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReferenceUse {
    pub(super) part: String,
    pub(super) path: String,
    pub(super) kinds: &'static [TokenKind],
}

#[derive(Debug, Default)]
pub(super) struct ValueParser {
    pub(super) problems: Vec<ValueProblem>,
    pub(super) uses: Vec<ReferenceUse>,
    /// Whether a legacy form was found.
    pub(super) has_legacy_form: bool,
}

/// Parses a value whose references are resolved. `None` if it is invalid.
pub(super) fn parse_value(kind: TokenKind, json: &Json) -> Option<TokenValue> {
    ValueParser::default().parse(kind, json)
}

impl ValueParser {
    pub(super) fn parse(&mut self, kind: TokenKind, json: &Json) -> Option<TokenValue> {
        Some(match kind {
            TokenKind::Color => TokenValue::Color(self.color(json, "")?),
            TokenKind::Dimension => TokenValue::Dimension(self.dimension(json, "")?),
            TokenKind::FontFamily => TokenValue::FontFamily(self.font_family(json, "")?),
            TokenKind::FontWeight => TokenValue::FontWeight(self.font_weight(json, "")?),
            TokenKind::Duration => TokenValue::Duration(self.duration(json, "")?),
            TokenKind::CubicBezier => TokenValue::CubicBezier(self.cubic_bezier(json, "")?),
            TokenKind::Number => TokenValue::Number(self.number(json, "")?),
            TokenKind::StrokeStyle => TokenValue::StrokeStyle(self.stroke_style(json, "")?),
            TokenKind::Border => TokenValue::Border(self.border(json)?),
            TokenKind::Transition => TokenValue::Transition(self.transition(json)?),
            TokenKind::Shadow => TokenValue::Shadow(self.shadows(json)?),
            TokenKind::Gradient => TokenValue::Gradient(self.gradient(json)?),
            TokenKind::Typography => TokenValue::Typography(self.typography(json)?),
        })
    }

    pub(super) fn has_errors(&self) -> bool {
        self.problems.iter().any(|problem| problem.severity == TokenSeverity::Error)
    }

    fn error<T>(&mut self, part: &str, message: impl Into<String>) -> Option<T> {
        self.problems.push(ValueProblem {
            part: part.to_owned(),
            severity: TokenSeverity::Error,
            message: message.into(),
        });
        None
    }

    fn warn(&mut self, part: &str, message: impl Into<String>) {
        self.problems.push(ValueProblem {
            part: part.to_owned(),
            severity: TokenSeverity::Warning,
            message: message.into(),
        });
    }

    fn warn_legacy_form(&mut self, part: &str, now: &str) {
        self.has_legacy_form = true;
        self.warn(part, format!("this is a legacy form; 2025.10 uses {now}"));
    }

    fn type_error<T>(&mut self, part: &str, json: &Json, wanted: &str) -> Option<T> {
        let shown = json.to_string();
        let shown = if shown.len() > 60 { json.type_name().to_owned() } else { shown };
        self.error(part, format!("{shown} is not a valid {wanted}"))
    }

    /// Parses a part that may be a reference.
    fn value_or_ref<T>(
        &mut self,
        json: &Json,
        part: &str,
        kinds: &'static [TokenKind],
        read: fn(&mut Self, &Json, &str) -> Option<T>,
    ) -> Option<ValueOrRef<T>> {
        match json.as_str().and_then(TokenReference::parse_braces) {
            Some(Ok(TokenReference::Path(path))) => {
                self.uses.push(ReferenceUse { part: part.to_owned(), path: path.clone(), kinds });
                Some(ValueOrRef::Ref(path))
            }
            Some(_) => None, // Already reported when references were resolved.
            None => read(self, json, part).map(ValueOrRef::Literal),
        }
    }

    /// The members of a value. Reports missing and unknown ones.
    fn expect_members<'a>(
        &mut self,
        json: &'a Json,
        part: &str,
        wanted: &str,
        names: &[&str],
        more: &[&str],
    ) -> Option<&'a JsonMap> {
        let Some(map) = json.as_object() else { return self.type_error(part, json, wanted) };
        for (name, _) in map.iter().filter(|(name, _)| !names.contains(name) && !more.contains(name)) {
            let name = excerpt(name);
            self.error::<()>(part, format!("a {wanted} has no member `{name}`; it has {}", names.join(", ")));
        }
        let missing: Vec<_> = names.iter().copied().filter(|name| !map.contains(name)).collect();
        if missing.is_empty() {
            return Some(map);
        }
        self.error(part, format!("the {wanted} is missing {}", missing.join(", ")))
    }

    /// A number with a unit, as an object or as a string.
    fn number_with_unit<U: Copy>(
        &mut self,
        json: &Json,
        part: &str,
        wanted: &str,
        units: &[(&str, U)],
    ) -> Option<(f64, U)> {
        let known = || units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" or ");
        let unit = |name: &str| units.iter().find(|(known, _)| *known == name).map(|(_, unit)| *unit);
        if let Some(text) = json.as_str() {
            let text = text.trim();
            let digits =
                text.trim_end_matches(|decoded: char| decoded.is_ascii_alphabetic() || decoded == '%');
            let name = &text[digits.len()..];
            let Some(value) = digits.trim().parse().ok().filter(|value: &f64| value.is_finite()) else {
                return self.type_error(part, json, wanted);
            };
            let found = if name.is_empty() && value == 0.0 {
                units.first().map(|(_, unit)| *unit)
            } else {
                unit(name)
            };
            let Some(unit) = found else {
                let text = excerpt(text);
                return self.error(
                    part,
                    format!("\"{text}\" is not a valid {wanted}: the unit must be {}", known()),
                );
            };
            self.warn_legacy_form(part, r#"{"value": …, "unit": …}"#);
            return Some((value, unit));
        }
        if let (Some(0.0), Some((_, unit))) = (json.as_f64(), units.first()) {
            self.warn_legacy_form(part, r#"{"value": …, "unit": …}"#);
            return Some((0.0, *unit));
        }
        let map = self.expect_members(json, part, wanted, &["value", "unit"], &[])?;
        let value = map.get("value").and_then(Json::as_f64);
        let unit = map.get("unit").and_then(Json::as_str).and_then(unit);
        match (value, unit) {
            (Some(value), Some(unit)) => Some((value, unit)),
            (None, _) => {
                self.error(&format!("{part}/value"), format!("the `value` of a {wanted} must be a number"))
            }
            (_, None) => {
                self.error(&format!("{part}/unit"), format!("the `unit` of a {wanted} must be {}", known()))
            }
        }
    }

    fn dimension(&mut self, json: &Json, part: &str) -> Option<Dimension> {
        let units = [("px", LengthUnit::Px), ("rem", LengthUnit::Rem)];
        self.number_with_unit(json, part, "dimension", &units).map(|(value, unit)| Dimension { value, unit })
    }

    fn duration(&mut self, json: &Json, part: &str) -> Option<Duration> {
        let units = [("ms", TimeUnit::Ms), ("s", TimeUnit::S)];
        self.number_with_unit(json, part, "duration", &units).map(|(value, unit)| Duration { value, unit })
    }

    fn number(&mut self, json: &Json, part: &str) -> Option<f64> {
        let Some(text) = json.as_str() else {
            return json.as_f64().or_else(|| self.type_error(part, json, "number"));
        };
        let Some(value) = text.trim().parse().ok().filter(|value: &f64| value.is_finite()) else {
            return self.type_error(part, json, "number");
        };
        self.warn_legacy_form(part, "a JSON number");
        Some(value)
    }

    fn font_family(&mut self, json: &Json, part: &str) -> Option<Vec<ValueOrRef<String>>> {
        const KINDS: &[TokenKind] = &[TokenKind::FontFamily];
        let name = |reader: &mut Self, json: &Json, part: &str| match json.as_str() {
            Some(name) if !name.trim().is_empty() => Some(name.to_owned()),
            _ => reader.type_error(part, json, "font name"),
        };
        let Some(items) = json.as_array() else {
            if let Some(names) = json.as_str().and_then(split_font_list) {
                self.warn_legacy_form(part, "a list of font names");
                return Some(names.into_iter().map(|name| ValueOrRef::Literal(name.to_owned())).collect());
            }
            return Some(vec![self.value_or_ref(json, part, KINDS, name)?]);
        };
        if items.is_empty() {
            return self.error(part, "the list of fonts is empty");
        }
        let mut names = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let part = format!("{part}/{at}");
            match item.as_array() {
                // A resolved reference to a list of fonts, which is flattened.
                Some(_) => names.extend(self.font_family(item, &part)?),
                None => names.push(self.value_or_ref(item, &part, KINDS, name)?),
            }
        }
        Some(names)
    }

    fn font_weight(&mut self, json: &Json, part: &str) -> Option<f64> {
        const WANTED: &str = "font weight; use 1 to 1000 or a name such as \"bold\"";
        let named = json.as_str().and_then(|name| FONT_WEIGHTS.into_iter().find(|(known, _)| *known == name));
        if let Some((_, weight)) = named {
            return Some(weight);
        }
        let written = json.as_str().and_then(|text| text.trim().parse().ok());
        match json.as_f64().or(written) {
            Some(weight) if (1.0..=1000.0).contains(&weight) => {
                if written.is_some() {
                    self.warn_legacy_form(part, "a JSON number");
                }
                Some(weight)
            }
            _ => self.type_error(part, json, WANTED),
        }
    }

    fn cubic_bezier(&mut self, json: &Json, part: &str) -> Option<[f64; 4]> {
        let numbers: Option<Vec<_>> =
            json.as_array().and_then(|items| items.iter().map(Json::as_f64).collect());
        match numbers.as_deref() {
            Some(&[x1, y1, x2, y2]) if [x1, x2].iter().all(|x| (0.0..=1.0).contains(x)) => {
                Some([x1, y1, x2, y2])
            }
            Some([_, _, _, _]) => {
                self.error(part, "the first and third number of a curve must be from 0 to 1")
            }
            _ => self.type_error(part, json, "curve; use an array of four numbers"),
        }
    }

    fn stroke_style(&mut self, json: &Json, part: &str) -> Option<StrokeStyle> {
        if let Some(name) = json.as_str() {
            let known = LINE_STYLES.into_iter().find(|known| *known == name).map(StrokeStyle::Named);
            return known.or_else(|| {
                self.type_error(part, json, &format!("line style; use one of {}", LINE_STYLES.join(", ")))
            });
        }
        let map = self.expect_members(json, part, "strokeStyle", &["dashArray", "lineCap"], &[])?;
        let cap = map.get("lineCap").and_then(Json::as_str);
        let Some(line_cap) = LINE_CAPS.into_iter().find(|known| Some(*known) == cap) else {
            return self.error(&format!("{part}/lineCap"), "`lineCap` must be round, butt or square");
        };
        let Some(items) = map.get("dashArray").and_then(Json::as_array) else {
            return self.error(&format!("{part}/dashArray"), "`dashArray` must be an array of dimensions");
        };
        if items.is_empty() {
            return self
                .error(&format!("{part}/dashArray"), "`dashArray` is empty; it needs at least one length");
        }
        let mut dash_array = Vec::new();
        for (at, item) in items.iter().enumerate() {
            dash_array.push(self.value_or_ref(
                item,
                &format!("{part}/dashArray/{at}"),
                &[TokenKind::Dimension],
                Self::dimension,
            )?);
        }
        Some(StrokeStyle::Dashed { dash_array, line_cap })
    }
}

/// Splits a CSS list of fonts. A comma in quotes belongs to a name.
fn split_font_list(text: &str) -> Option<Vec<&str>> {
    if text.contains('{') {
        return None; // A reference, or an attempt at one.
    }
    let mut names = Vec::new();
    let mut rest = Some(text);
    while let Some(text) = rest {
        let text = text.trim_start();
        let (name, after) = match text.chars().next()? {
            quote @ ('"' | '\'') => text[1..].split_once(quote)?,
            _ => text.split_at(text.find(',').unwrap_or(text.len())),
        };
        if name.trim().is_empty() {
            return None;
        }
        names.push(name.trim());
        let after = after.trim_start();
        rest = after.strip_prefix(',');
        if rest.is_none() && !after.is_empty() {
            return None;
        }
    }
    Some(names).filter(|names| names.len() > 1)
}
