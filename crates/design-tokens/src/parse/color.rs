//! Colours.

use super::ValueParser;
use crate::color::{Color, ColorSpace};
use crate::finding::excerpt;
use crate::json::{Json, JsonMap};

impl ValueParser {
    pub(super) fn color(&mut self, json: &Json, part: &str) -> Option<Color> {
        if let Some(text) = json.as_str() {
            let Some(color) = Color::from_css(text) else { return self.type_error(part, json, "color") };
            self.warn_legacy_form(part, "an object with `colorSpace` and `components`");
            return Some(color);
        }
        let map =
            self.expect_members(json, part, "color", &["colorSpace", "components"], &["alpha", "hex"])?;
        let name = map.get("colorSpace").and_then(Json::as_str).unwrap_or_default();
        let Some(space) = ColorSpace::from_name(name) else {
            let known = ColorSpace::ALL.map(ColorSpace::as_str).join(", ");
            return self
                .error(part, format!("unknown colour space `{}`; supported are {known}", excerpt(name)));
        };
        let Some([one, two, three]) = map.get("components").and_then(Json::as_array) else {
            return self.error(part, "`components` must be an array of three numbers");
        };
        let mut components = [None; 3];
        for (at, (json, range)) in [one, two, three].into_iter().zip(space.ranges()).enumerate() {
            let part = format!("{part}/components/{at}");
            match json {
                Json::String(none) if none == "none" => {}
                Json::Number(_) => {
                    let value = json.as_f64().unwrap_or(0.0);
                    if !range.contains(value) {
                        self.error::<()>(
                            &part,
                            format!("{json} is out of range in {name}; expected {}", range.describe()),
                        );
                    }
                    components[at] = Some(value);
                }
                _ => return self.type_error(&part, json, "component; use a number or \"none\""),
            }
        }
        let alpha = self.alpha(map, part)?;
        let hex = map.get("hex").and_then(Json::as_str).filter(|hex| is_hex(hex)).map(str::to_owned);
        if let (Some(given), None) = (map.get("hex"), &hex) {
            self.type_error::<()>(
                &format!("{part}/hex"),
                given,
                "fallback; use six digits such as \"#00aaff\"",
            );
        }
        Some(Color { space, components, alpha, hex })
    }

    fn alpha(&mut self, map: &JsonMap, part: &str) -> Option<f64> {
        let Some(json) = map.get("alpha") else { return Some(1.0) };
        match json.as_f64() {
            Some(alpha) if (0.0..=1.0).contains(&alpha) => Some(alpha),
            _ => self.type_error(&format!("{part}/alpha"), json, "alpha; use a number from 0 to 1"),
        }
    }
}

fn is_hex(text: &str) -> bool {
    text.len() == 7 && text.starts_with('#') && text[1..].bytes().all(|byte| byte.is_ascii_hexdigit())
}
