//! Files that predate the format or extend it: `value` without `$`, other types, CSS values, build output in
//! tokens, several sets in one file.

mod sets;
#[cfg(test)]
mod tests;
mod values;

use std::str::FromStr;

use crate::document::{is_token, join_path};
use crate::finding::TokenFinding;
use crate::json::{Json, JsonMap};
use crate::kind::TokenKind;
use crate::reference::TokenReference;

/// The file converted to the format, and findings about the conversion.
pub(super) fn convert_legacy(root: &JsonMap) -> Option<(JsonMap, Vec<TokenFinding>)> {
    let mut root = root.clone();
    let mut renewal = LegacyConverter::default();
    renewal.convert_group(&mut root, "");
    if renewal.undollared > 0 {
        let known = root.clone();
        shorten_references(&mut root, &known);
    }
    let mut findings = Vec::new();
    if let Some((merged, has_modes)) = sets::merge_sets(&root) {
        root = merged;
        let themes = if has_modes { ", and its themes were converted to modes" } else { "" };
        let message = format!("the sets of Tokens Studio were merged in their order{themes}");
        findings.push(TokenFinding::warning("", message));
    }
    findings.extend(renewal.findings());
    (!findings.is_empty()).then_some((root, findings))
}

/// Reported for colours with a `modify` of Tokens Studio.
const MODIFY_IGNORED_MESSAGE: &str = "tokens have a `modify` of Tokens Studio (lighten, darken, mix, alpha), which is not applied; they \
                        keep their unmodified value";

/// Counts of conversions.
#[derive(Default)]
struct LegacyConverter {
    undollared: usize,
    foreign_types: usize,
    css_values: usize,
    untyped: usize,
    build_outputs: usize,
    unitless: usize,
    modified: usize,
}

impl LegacyConverter {
    fn findings(&self) -> impl Iterator<Item = TokenFinding> {
        [
            (self.undollared, "tokens had `value` instead of `$value`; converted"),
            (self.foreign_types, "types were specific to another tool; converted"),
            (self.css_values, "values were written as CSS or with other names; converted"),
            (self.untyped, "tokens had no type; inferred from their values"),
            (self.build_outputs, "tokens contained build output; moved to their `$extensions`"),
            (self.unitless, "tokens had lengths without a unit; px is assumed"),
            (self.modified, MODIFY_IGNORED_MESSAGE),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| TokenFinding::warning("", format!("{count} {what}")))
    }

    fn convert_group(&mut self, map: &mut JsonMap, path: &str) {
        let is_older = is_legacy_token(map);
        if is_older {
            self.undollared += 1;
            rename_members(map);
            move_to_extensions(map);
        } else if is_token(map) && has_build_output(map) {
            self.build_outputs += 1;
            move_to_extensions(map);
        }
        let is_renamed = self.convert_type(map);
        if is_token(map) {
            self.modified += usize::from(has_modify(map));
            self.convert_value(
                map,
                path,
                LegacyOrigin { is_legacy: is_older, is_foreign: is_older || is_renamed },
            );
        }
        for (name, value) in map.iter_mut() {
            if let Some(map) = value.as_object_mut().filter(|_| name == "$root" || !name.starts_with('$')) {
                self.convert_group(map, &join_path(path, name));
            }
        }
    }

    /// Converts the type of a token or group. Returns whether it was specific to another tool.
    fn convert_type(&mut self, map: &mut JsonMap) -> bool {
        let Some(new) = map.get("$type").and_then(Json::as_str).and_then(values::convert_type_name) else {
            return false;
        };
        map.set("$type", new);
        self.foreign_types += 1;
        if new == TokenKind::Number.as_str() {
            values::convert_number_with_unit(map);
        }
        true
    }

    fn convert_value(&mut self, token: &mut JsonMap, path: &str, from: LegacyOrigin) {
        let Some(value) = token.get("$value").cloned() else { return };
        if value.as_str().is_some_and(|text| text.contains('{')) {
            return; // An alias has the type of its target.
        }
        let Some(kind) = token.get("$type").and_then(Json::as_str) else {
            let found = values::infer_value(path, &value).filter(|_| from.is_legacy);
            if let Some(found) = found {
                self.untyped += 1;
                token.set("$type", found.kind().as_str());
                if let Some(renewed) = values::convert_text_value(found.kind(), &value) {
                    token.set("$value", renewed);
                }
            }
            return;
        };
        let Ok(kind) = TokenKind::from_str(kind) else { return };
        if let Some(renewed) = values::convert_text_value(kind, &value) {
            self.css_values += 1;
            token.set("$value", renewed);
        }
        match (kind, token.get_mut("$value")) {
            (TokenKind::Shadow, Some(value)) => values::convert_shadow(value),
            (TokenKind::Typography, Some(Json::Object(text)))
                if from.is_legacy || values::has_extra_members(text) =>
            {
                self.unitless += usize::from(values::add_pixel_units(text, &["fontSize", "letterSpacing"]));
                for (name, value) in values::convert_typography(text) {
                    origin_extensions(token).set(name, value);
                }
            }
            (TokenKind::Border, Some(Json::Object(border))) if from.is_foreign => {
                self.unitless += usize::from(values::add_pixel_units(border, &["width"]));
            }
            (TokenKind::Dimension, _) if from.is_foreign => {
                self.unitless += usize::from(values::add_pixel_units(token, &["$value"]));
            }
            _ => {}
        }
    }
}

/// The form of a token before conversion.
#[derive(Clone, Copy)]
struct LegacyOrigin {
    /// It had `value` without `$`.
    is_legacy: bool,
    /// Legacy, or with a type of another tool.
    is_foreign: bool,
}

/// Whether Tokens Studio would modify the value of a token.
fn has_modify(token: &JsonMap) -> bool {
    let studio =
        token.get("$extensions").and_then(|more| more.as_object()?.get("studio.tokens")?.as_object());
    studio.is_some_and(|studio| studio.contains("modify"))
}

/// Whether an object is a token in the form of Style Dictionary or Tokens Studio.
fn is_legacy_token(map: &JsonMap) -> bool {
    let Some(value) = map.get("value").filter(|_| !is_token(map)) else { return false };
    let is_typed = map.get("type").is_some_and(|kind| kind.as_str().is_some());
    // A group may contain a token named `value`, which is an object with its own value. A dimension also is,
    // but has a unit.
    value.as_object().is_none_or(|value| {
        is_typed && !is_token(value) && (!value.contains("value") || value.contains("unit"))
    })
}

/// Whether a token contains build output of Style Dictionary.
fn has_build_output(token: &JsonMap) -> bool {
    let is_text = |name| token.get(name).is_some_and(|value| value.as_str().is_some());
    let is_list = |name| token.get(name).is_some_and(|value| value.as_array().is_some());
    is_text("filePath") || (is_text("name") && is_list("path"))
}

fn rename_members(token: &mut JsonMap) {
    for (old, new) in
        [("value", "$value"), ("type", "$type"), ("description", "$description"), ("comment", "$description")]
    {
        if !token.contains(new) {
            token.rename(old, new);
        }
    }
}

/// Moves other members to the extensions; otherwise they would be read as nested tokens.
fn move_to_extensions(token: &mut JsonMap) {
    let others = token.extract_if(|name| !name.starts_with('$'));
    if !others.is_empty() {
        let origin = origin_extensions(token);
        for (name, value) in others {
            origin.set(name, value);
        }
    }
}

/// Where members are kept that the format does not define.
fn origin_extensions(token: &mut JsonMap) -> &mut JsonMap {
    token.object_entry("$extensions").object_entry("origin")
}

/// Older Style Dictionary files use `{a.b.value}` for `{a.b}`.
fn shorten_references(map: &mut JsonMap, root: &JsonMap) {
    for (_, value) in map.iter_mut().filter(|(name, _)| *name != "$extensions") {
        shorten_references_in(value, root);
    }
}

fn shorten_references_in(value: &mut Json, root: &JsonMap) {
    match value {
        Json::String(text) => {
            if let Some(path) = shorten_reference(text, root) {
                *text = format!("{{{path}}}");
            }
        }
        Json::Object(map) => shorten_references(map, root),
        Json::Array(items) => items.iter_mut().for_each(|item| shorten_references_in(item, root)),
        _ => {}
    }
}

fn shorten_reference(text: &str, root: &JsonMap) -> Option<String> {
    let Some(Ok(TokenReference::Path(path))) = TokenReference::parse_braces(text) else { return None };
    let short = path.strip_suffix(".value")?;
    let find = |path: &str| path.split('.').try_fold(root, |map, name| map.get(name)?.as_object());
    find(short).filter(|target| is_token(target) && find(&path).is_none()).map(|_| short.to_owned())
}
