//! Files from before the format was settled, and files of tools that add to it: `value` without `$`, other types, values
//! as CSS, what a build leaves beside a token, several sets in one file.

mod sets;
#[cfg(test)]
mod tests;
mod values;

use std::str::FromStr;

use crate::document::{is_token, join};
use crate::finding::Finding;
use crate::json::{Json, Map};
use crate::kind::Kind;
use crate::reference::Reference;

/// The file in the words of the format, and what had to be changed for that.
pub(super) fn renew(root: &Map) -> Option<(Map, Vec<Finding>)> {
    let mut root = root.clone();
    let mut renewal = Renewal::default();
    renewal.group(&mut root, "");
    if renewal.names > 0 {
        let known = root.clone();
        shorten_references(&mut root, &known);
    }
    let mut findings = Vec::new();
    if let Some((merged, has_modes)) = sets::merged(&root) {
        root = merged;
        let themes = if has_modes { ", and its themes made modes" } else { "" };
        let message = format!("the sets of Tokens Studio were put together in their order{themes}");
        findings.push(Finding::warning("", message));
    }
    findings.extend(renewal.findings());
    (!findings.is_empty()).then_some((root, findings))
}

/// What is said of colours that Tokens Studio would change once more.
const MODIFIED: &str = "tokens are changed by `modify` of Tokens Studio (lighten, darken, mix, alpha), which is not done \
                        here; they have the value from before it";

/// How much had to be changed.
#[derive(Default)]
struct Renewal {
    names: usize,
    types: usize,
    texts: usize,
    untyped: usize,
    built: usize,
    unitless: usize,
    modified: usize,
}

impl Renewal {
    fn findings(&self) -> impl Iterator<Item = Finding> {
        [
            (self.names, "tokens had `value` instead of `$value`; they were renewed"),
            (self.types, "types were those of another tool; they were renewed"),
            (self.texts, "values were written as CSS or by other names; they were renewed"),
            (self.untyped, "tokens had no type; they got the one that their values have"),
            (self.built, "tokens carried what a build adds; it was put into their `$extensions`"),
            (self.unitless, "tokens had lengths without a unit; they are in px now"),
            (self.modified, MODIFIED),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| Finding::warning("", format!("{count} {what}")))
    }

    fn group(&mut self, map: &mut Map, path: &str) {
        let is_older = is_older(map);
        if is_older {
            self.names += 1;
            rename(map);
            put_aside(map);
        } else if is_token(map) && is_built(map) {
            self.built += 1;
            put_aside(map);
        }
        let is_renamed = self.kind(map);
        if is_token(map) {
            self.modified += usize::from(is_modified(map));
            self.value(map, path, Origin { is_older, is_foreign: is_older || is_renamed });
        }
        for (name, value) in map.iter_mut() {
            if let Some(map) = value.as_object_mut().filter(|_| name == "$root" || !name.starts_with('$')) {
                self.group(map, &join(path, name));
            }
        }
    }

    /// Renews the type of a token or group. Says whether it was that of another tool.
    fn kind(&mut self, map: &mut Map) -> bool {
        let Some(new) = map.get("$type").and_then(Json::as_str).and_then(values::renewed_type) else {
            return false;
        };
        map.set("$type", new);
        self.types += 1;
        if new == Kind::Number.as_str() {
            values::renew_measured_number(map);
        }
        true
    }

    fn value(&mut self, token: &mut Map, path: &str, from: Origin) {
        let Some(value) = token.get("$value").cloned() else { return };
        if value.as_str().is_some_and(|text| text.contains('{')) {
            return; // An alias has the type of what it names.
        }
        let Some(kind) = token.get("$type").and_then(Json::as_str) else {
            let found = values::by_shape(path, &value).filter(|_| from.is_older);
            if let Some(found) = found {
                self.untyped += 1;
                token.set("$type", found.kind().as_str());
                if let Some(renewed) = values::renewed_text(found.kind(), &value) {
                    token.set("$value", renewed);
                }
            }
            return;
        };
        let Ok(kind) = Kind::from_str(kind) else { return };
        if let Some(renewed) = values::renewed_text(kind, &value) {
            self.texts += 1;
            token.set("$value", renewed);
        }
        match (kind, token.get_mut("$value")) {
            (Kind::Shadow, Some(value)) => values::renew_shadow(value),
            (Kind::Typography, Some(Json::Object(text))) if from.is_older || values::says_more(text) => {
                self.unitless += usize::from(values::measure(text, &["fontSize", "letterSpacing"]));
                for (name, value) in values::renew_typography(text) {
                    origin(token).set(name, value);
                }
            }
            (Kind::Border, Some(Json::Object(border))) if from.is_foreign => {
                self.unitless += usize::from(values::measure(border, &["width"]));
            }
            (Kind::Dimension, _) if from.is_foreign => {
                self.unitless += usize::from(values::measure(token, &["$value"]));
            }
            _ => {}
        }
    }
}

/// What a token was before it was renewed.
#[derive(Clone, Copy)]
struct Origin {
    /// It had `value` without `$`.
    is_older: bool,
    /// That, or a type of another tool.
    is_foreign: bool,
}

/// Whether Tokens Studio would change the value of a token once more.
fn is_modified(token: &Map) -> bool {
    let studio =
        token.get("$extensions").and_then(|more| more.as_object()?.get("studio.tokens")?.as_object());
    studio.is_some_and(|studio| studio.contains("modify"))
}

/// Whether an object is a token as Style Dictionary and Tokens Studio wrote them.
fn is_older(map: &Map) -> bool {
    let Some(value) = map.get("value").filter(|_| !is_token(map)) else { return false };
    let is_typed = map.get("type").is_some_and(|kind| kind.as_str().is_some());
    // A group may have a token `value`; that one is an object with a value of its own. So is a measure, but with a unit.
    value.as_object().is_none_or(|value| {
        is_typed && !is_token(value) && (!value.contains("value") || value.contains("unit"))
    })
}

/// Whether a token carries what Style Dictionary writes beside it.
fn is_built(token: &Map) -> bool {
    let is_text = |name| token.get(name).is_some_and(|value| value.as_str().is_some());
    let is_list = |name| token.get(name).is_some_and(|value| value.as_array().is_some());
    is_text("filePath") || (is_text("name") && is_list("path"))
}

fn rename(token: &mut Map) {
    for (old, new) in
        [("value", "$value"), ("type", "$type"), ("description", "$description"), ("comment", "$description")]
    {
        if !token.contains(new) {
            token.rename(old, new);
        }
    }
}

/// Keeps what else a token carries out of the way: it would be taken for tokens inside it.
fn put_aside(token: &mut Map) {
    let others = token.take_out(|name| !name.starts_with('$'));
    if !others.is_empty() {
        let origin = origin(token);
        for (name, value) in others {
            origin.set(name, value);
        }
    }
}

/// Where what the format has no word for is kept.
fn origin(token: &mut Map) -> &mut Map {
    token.object_mut("$extensions").object_mut("origin")
}

/// Style Dictionary once wanted `{a.b.value}` where the format has `{a.b}`.
fn shorten_references(map: &mut Map, root: &Map) {
    for (_, value) in map.iter_mut().filter(|(name, _)| *name != "$extensions") {
        shorten_references_in(value, root);
    }
}

fn shorten_references_in(value: &mut Json, root: &Map) {
    match value {
        Json::String(text) => {
            if let Some(path) = shortened(text, root) {
                *text = format!("{{{path}}}");
            }
        }
        Json::Object(map) => shorten_references(map, root),
        Json::Array(items) => items.iter_mut().for_each(|item| shorten_references_in(item, root)),
        _ => {}
    }
}

fn shortened(text: &str, root: &Map) -> Option<String> {
    let Some(Ok(Reference::Path(path))) = Reference::in_text(text) else { return None };
    let short = path.strip_suffix(".value")?;
    let find = |path: &str| path.split('.').try_fold(root, |map, name| map.get(name)?.as_object());
    find(short).filter(|target| is_token(target) && find(&path).is_none()).map(|_| short.to_owned())
}
