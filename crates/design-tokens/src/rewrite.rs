//! Updates references to moved tokens.

use super::document::join_path;
use super::json::{Json, JsonMap};
use super::reference::TokenReference;

/// Maps an old path to a new one, if it has moved.
pub(super) type PathMapping<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Rewrites all references in a group, and records the tokens and groups that contained some.
pub(super) fn rewrite_group(map: &mut JsonMap, at: &str, new: PathMapping<'_>, touched: &mut Vec<String>) {
    let mut hit = false;
    for name in ["$extends", "$ref"] {
        if let Some(Json::String(text)) = map.get_mut(name) {
            let old =
                TokenReference::parse_braces(text).unwrap_or_else(|| TokenReference::parse_pointer(text));
            hit |= old.is_ok_and(|old| rewrite_reference(text, &old, new));
        }
    }
    for name in ["$value", "$extensions"] {
        hit |= map.get_mut(name).is_some_and(|value| rewrite_value(value, new));
    }
    if hit {
        touched.push(at.to_owned());
    }
    for (name, value) in map.iter_mut() {
        let child = name == "$root" || !name.starts_with('$');
        if let Some(map) = value.as_object_mut().filter(|_| child) {
            rewrite_group(map, &join_path(at, name), new, touched);
        }
    }
}

/// Rewrites the references in a value. Returns whether there were any.
pub(super) fn rewrite_value(value: &mut Json, new: PathMapping<'_>) -> bool {
    match value {
        Json::String(text) => match TokenReference::parse_braces(text) {
            Some(Ok(old)) => rewrite_reference(text, &old, new),
            _ => false,
        },
        Json::Array(items) => items.iter_mut().fold(false, |hit, item| rewrite_value(item, new) | hit),
        Json::Object(map) => {
            if let Some(Json::String(text)) = map.get_mut("$ref") {
                return TokenReference::parse_pointer(text)
                    .is_ok_and(|old| rewrite_reference(text, &old, new));
            }
            map.iter_mut().fold(false, |hit, (_, value)| rewrite_value(value, new) | hit)
        }
        _ => false,
    }
}

fn rewrite_reference(text: &mut String, old: &TokenReference, new: PathMapping<'_>) -> bool {
    let moved = match old {
        TokenReference::Path(path) => new(path).map(TokenReference::Path),
        // The longest prefix that is a token or has moved; the rest is a path inside it.
        TokenReference::Pointer(segments) => (1..=segments.len()).rev().find_map(|end| {
            let path = new(&segments[..end].join("."))?;
            let names = path.split('.').map(str::to_owned);
            Some(TokenReference::Pointer(names.chain(segments[end..].iter().cloned()).collect()))
        }),
    };
    if let Some(moved) = &moved {
        *text = moved.to_text();
    }
    moved.is_some()
}
