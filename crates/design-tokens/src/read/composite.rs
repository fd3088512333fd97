//! Values that consist of others.

use super::Reader;
use crate::json::{Json, Map};
use crate::kind::Kind;
use crate::value::{Border, LineHeight, Part, Shadow, Stop, Transition, Typography};

type Read<T> = fn(&mut Reader, &Json, &str) -> Option<T>;

impl Reader {
    /// A named part of a value. All parts are read before one that is wrong ends it, so that each is told.
    fn of<T>(
        &mut self,
        map: &Map,
        name: &str,
        at: &str,
        kinds: &'static [Kind],
        read: Read<T>,
    ) -> Option<Part<T>> {
        self.part(map.get(name)?, &format!("{at}/{name}"), kinds, read)
    }

    pub(super) fn border(&mut self, json: &Json) -> Option<Border> {
        let map = self.members(json, "", "border", &["color", "width", "style"], &[])?;
        let color = self.of(map, "color", "", &[Kind::Color], Self::color);
        let width = self.of(map, "width", "", &[Kind::Dimension], Self::dimension);
        let style = self.of(map, "style", "", &[Kind::StrokeStyle], Self::stroke_style);
        Some(Border { color: color?, width: width?, style: style? })
    }

    pub(super) fn transition(&mut self, json: &Json) -> Option<Transition> {
        let map = self.members(json, "", "transition", &["duration", "delay", "timingFunction"], &[])?;
        let duration = self.of(map, "duration", "", &[Kind::Duration], Self::duration);
        let delay = self.of(map, "delay", "", &[Kind::Duration], Self::duration);
        let timing = self.of(map, "timingFunction", "", &[Kind::CubicBezier], Self::cubic_bezier);
        Some(Transition { duration: duration?, delay: delay?, timing: timing? })
    }

    pub(super) fn shadows(&mut self, json: &Json) -> Option<Vec<Part<Shadow>>> {
        let Some(items) = json.as_array() else { return Some(vec![Part::Is(self.shadow(json, "")?)]) };
        self.list(items, "", &[Kind::Shadow], Self::shadow)
    }

    fn shadow(&mut self, json: &Json, at: &str) -> Option<Shadow> {
        const NAMES: &[&str] = &["color", "offsetX", "offsetY", "blur", "spread"];
        const LENGTH: &[Kind] = &[Kind::Dimension];
        let map = self.members(json, at, "shadow", NAMES, &["inset"])?;
        let inset = match map.get("inset") {
            None | Some(Json::Bool(false)) => Some(false),
            Some(Json::Bool(true)) => Some(true),
            Some(other) => self.wrong(&format!("{at}/inset"), other, "boolean"),
        };
        let color = self.of(map, "color", at, &[Kind::Color], Self::color);
        let offset_x = self.of(map, "offsetX", at, LENGTH, Self::dimension);
        let offset_y = self.of(map, "offsetY", at, LENGTH, Self::dimension);
        let blur = self.of(map, "blur", at, LENGTH, Self::dimension);
        let spread = self.of(map, "spread", at, LENGTH, Self::dimension);
        Some(Shadow {
            color: color?,
            offset_x: offset_x?,
            offset_y: offset_y?,
            blur: blur?,
            spread: spread?,
            inset: inset?,
        })
    }

    pub(super) fn gradient(&mut self, json: &Json) -> Option<Vec<Part<Stop>>> {
        let Some(items) = json.as_array() else {
            return self.wrong("", json, "gradient; it is an array of stops");
        };
        self.list(items, "", &[Kind::Gradient], Self::stop)
    }

    fn stop(&mut self, json: &Json, at: &str) -> Option<Stop> {
        let map = self.members(json, at, "gradient stop", &["color", "position"], &[])?;
        let color = self.of(map, "color", at, &[Kind::Color], Self::color);
        let position = self.of(map, "position", at, &[Kind::Number], |reader, json, part| {
            let position = reader.number(json, part)?;
            if !(0.0..=1.0).contains(&position) {
                reader.warn(part, format!("{json} is outside 0 to 1 and counts as the nearer end"));
            }
            Some(position.clamp(0.0, 1.0))
        });
        Some(Stop { color: color?, position: position? })
    }

    /// A list of values and references. A reference to a list, followed, is a list in the list: its items are meant.
    fn list<T>(
        &mut self,
        items: &[Json],
        at: &str,
        kinds: &'static [Kind],
        read: Read<T>,
    ) -> Option<Vec<Part<T>>> {
        if items.is_empty() {
            return self.error(at, "the list is empty; it needs one item at least");
        }
        let mut list = Vec::new();
        let mut whole = true;
        for (nth, item) in items.iter().enumerate() {
            let at = format!("{at}/{nth}");
            let read = match item.as_array() {
                Some(inner) => self.list(inner, &at, kinds, read),
                None => self.part(item, &at, kinds, read).map(|part| vec![part]),
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
        let map = self.members(json, "", "typography", NAMES, &[])?;
        let font_family = self.of(map, "fontFamily", "", &[Kind::FontFamily], Self::font_family);
        let font_size = self.of(map, "fontSize", "", &[Kind::Dimension], Self::dimension);
        let font_weight = self.of(map, "fontWeight", "", &[Kind::FontWeight], Self::font_weight);
        let letter_spacing = self.of(map, "letterSpacing", "", &[Kind::Dimension], Self::dimension);
        // The format wants a number. Lengths are so common that they are taken, with a warning.
        let line_height = self.of(map, "lineHeight", "", &[Kind::Number, Kind::Dimension], Self::line_height);
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
            return self.number(json, part).map(LineHeight::Times);
        }
        let length = self.dimension(json, part)?;
        self.warn(part, "a line height is a number of font sizes in 2025.10, not a length");
        Some(LineHeight::Length(length))
    }
}
