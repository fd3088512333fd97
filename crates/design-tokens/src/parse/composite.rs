//! Composite values.

use super::ValueParser;
use crate::json::{Json, JsonMap};
use crate::kind::TokenKind;
use crate::value::{Border, GradientStop, LineHeight, Shadow, Transition, Typography, ValueOrRef};

type PartParser<T> = fn(&mut ValueParser, &Json, &str) -> Option<T>;

impl ValueParser {
    /// A named part of a value. Callers parse all parts before failing, so that every problem is reported.
    fn member<T>(
        &mut self,
        map: &JsonMap,
        name: &str,
        at: &str,
        kinds: &'static [TokenKind],
        read: PartParser<T>,
    ) -> Option<ValueOrRef<T>> {
        self.value_or_ref(map.get(name)?, &format!("{at}/{name}"), kinds, read)
    }

    pub(super) fn border(&mut self, json: &Json) -> Option<Border> {
        let map = self.expect_members(json, "", "border", &["color", "width", "style"], &[])?;
        let color = self.member(map, "color", "", &[TokenKind::Color], Self::color);
        let width = self.member(map, "width", "", &[TokenKind::Dimension], Self::dimension);
        let style = self.member(map, "style", "", &[TokenKind::StrokeStyle], Self::stroke_style);
        Some(Border { color: color?, width: width?, style: style? })
    }

    pub(super) fn transition(&mut self, json: &Json) -> Option<Transition> {
        let map =
            self.expect_members(json, "", "transition", &["duration", "delay", "timingFunction"], &[])?;
        let duration = self.member(map, "duration", "", &[TokenKind::Duration], Self::duration);
        let delay = self.member(map, "delay", "", &[TokenKind::Duration], Self::duration);
        let timing = self.member(map, "timingFunction", "", &[TokenKind::CubicBezier], Self::cubic_bezier);
        Some(Transition { duration: duration?, delay: delay?, timing: timing? })
    }

    pub(super) fn shadows(&mut self, json: &Json) -> Option<Vec<ValueOrRef<Shadow>>> {
        let Some(items) = json.as_array() else {
            return Some(vec![ValueOrRef::Literal(self.shadow(json, "")?)]);
        };
        self.list(items, "", &[TokenKind::Shadow], Self::shadow)
    }

    fn shadow(&mut self, json: &Json, at: &str) -> Option<Shadow> {
        const NAMES: &[&str] = &["color", "offsetX", "offsetY", "blur", "spread"];
        const LENGTH: &[TokenKind] = &[TokenKind::Dimension];
        let map = self.expect_members(json, at, "shadow", NAMES, &["inset"])?;
        let inset = match map.get("inset") {
            None | Some(Json::Bool(false)) => Some(false),
            Some(Json::Bool(true)) => Some(true),
            Some(other) => self.type_error(&format!("{at}/inset"), other, "boolean"),
        };
        let color = self.member(map, "color", at, &[TokenKind::Color], Self::color);
        let offset_x = self.member(map, "offsetX", at, LENGTH, Self::dimension);
        let offset_y = self.member(map, "offsetY", at, LENGTH, Self::dimension);
        let blur = self.member(map, "blur", at, LENGTH, Self::dimension);
        let spread = self.member(map, "spread", at, LENGTH, Self::dimension);
        Some(Shadow {
            color: color?,
            offset_x: offset_x?,
            offset_y: offset_y?,
            blur: blur?,
            spread: spread?,
            inset: inset?,
        })
    }

    pub(super) fn gradient(&mut self, json: &Json) -> Option<Vec<ValueOrRef<GradientStop>>> {
        let Some(items) = json.as_array() else {
            return self.type_error("", json, "gradient; use an array of stops");
        };
        self.list(items, "", &[TokenKind::Gradient], Self::stop)
    }

    fn stop(&mut self, json: &Json, at: &str) -> Option<GradientStop> {
        let map = self.expect_members(json, at, "gradient stop", &["color", "position"], &[])?;
        let color = self.member(map, "color", at, &[TokenKind::Color], Self::color);
        let position = self.member(map, "position", at, &[TokenKind::Number], |reader, json, part| {
            let position = reader.number(json, part)?;
            if !(0.0..=1.0).contains(&position) {
                reader.warn(part, format!("{json} is outside 0 to 1 and is clamped"));
            }
            Some(position.clamp(0.0, 1.0))
        });
        Some(GradientStop { color: color?, position: position? })
    }

    /// A list of values and references. A resolved reference to a list is a nested list, which is flattened.
    fn list<T>(
        &mut self,
        items: &[Json],
        at: &str,
        kinds: &'static [TokenKind],
        read: PartParser<T>,
    ) -> Option<Vec<ValueOrRef<T>>> {
        if items.is_empty() {
            return self.error(at, "the list is empty; it needs at least one item");
        }
        let mut list = Vec::new();
        let mut whole = true;
        for (nth, item) in items.iter().enumerate() {
            let at = format!("{at}/{nth}");
            let read = match item.as_array() {
                Some(inner) => self.list(inner, &at, kinds, read),
                None => self.value_or_ref(item, &at, kinds, read).map(|part| vec![part]),
            };
            match read {
                Some(parts) => list.extend(parts),
                None => whole = false,
            }
        }
        whole.then_some(list)
    }

    pub(super) fn typography(&mut self, json: &Json) -> Option<Typography> {
        const NAMES: &[&str] = &["fontFamily", "fontSize", "fontWeight", "letterSpacing", "lineHeight"];
        let map = self.expect_members(json, "", "typography", NAMES, &[])?;
        let font_family = self.member(map, "fontFamily", "", &[TokenKind::FontFamily], Self::font_family);
        let font_size = self.member(map, "fontSize", "", &[TokenKind::Dimension], Self::dimension);
        let font_weight = self.member(map, "fontWeight", "", &[TokenKind::FontWeight], Self::font_weight);
        let letter_spacing = self.member(map, "letterSpacing", "", &[TokenKind::Dimension], Self::dimension);
        // The format requires a number, but lengths are so common that they are accepted with a warning.
        let line_height =
            self.member(map, "lineHeight", "", &[TokenKind::Number, TokenKind::Dimension], Self::line_height);
        Some(Typography {
            font_family: font_family?,
            font_size: font_size?,
            font_weight: font_weight?,
            letter_spacing: letter_spacing?,
            line_height: line_height?,
        })
    }

    fn line_height(&mut self, json: &Json, part: &str) -> Option<LineHeight> {
        let number = json.as_str().is_some_and(|text| text.trim().parse::<f64>().is_ok());
        if number || matches!(json, Json::Number(_)) {
            return self.number(json, part).map(LineHeight::Multiple);
        }
        let length = self.dimension(json, part)?;
        self.warn(part, "in 2025.10 a line height is a multiple of the font size, not a length");
        Some(LineHeight::Length(length))
    }
}
