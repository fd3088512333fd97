//! References that follow what has moved.

use super::document::join;
use super::json::{Json, Map};
use super::reference::Reference;

/// The new path of what was at a path, if it has moved.
pub(super) type NewPath<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Rewrites all references in a group, and says in which tokens and groups there were some.
pub(super) fn in_group(map: &mut Map, at: &str, new: NewPath<'_>, touched: &mut Vec<String>) {
    let mut hit = false;
    for name in ["$extends", "$ref"] {
        if let Some(Json::String(text)) = map.get_mut(name) {
            let old = Reference::in_text(text).unwrap_or_else(|| Reference::in_pointer(text));
            hit |= old.is_ok_and(|old| replace(text, &old, new));
        }
    }
    for name in ["$value", "$extensions"] {
        hit |= map.get_mut(name).is_some_and(|value| in_value(value, new));
    }
    if hit {
        touched.push(at.to_owned());
    }
    for (name, value) in map.iter_mut() {
        let child = name == "$root" || !name.starts_with('$');
        if let Some(map) = value.as_object_mut().filter(|_| child) {
            in_group(map, &join(at, name), new, touched);
        }
    }
}

/// Rewrites the references in a value, and says whether there were some.
pub(super) fn in_value(value: &mut Json, new: NewPath<'_>) -> bool {
    match value {
        Json::String(text) => match Reference::in_text(text) {
            Some(Ok(old)) => replace(text, &old, new),
            _ => false,
        },
        Json::Array(items) => items.iter_mut().fold(false, |hit, item| in_value(item, new) | hit),
        Json::Object(map) => {
            if let Some(Json::String(text)) = map.get_mut("$ref") {
                return Reference::in_pointer(text).is_ok_and(|old| replace(text, &old, new));
            }
            map.iter_mut().fold(false, |hit, (_, value)| in_value(value, new) | hit)
        }
        _ => false,
    }
}

fn replace(text: &mut String, old: &Reference, new: NewPath<'_>) -> bool {
    let moved = match old {
        Reference::Path(path) => new(path).map(Reference::Path),
        // The longest beginning that is a token or moves by itself; what follows is inside it.
        Reference::Pointer(segments) => (1..=segments.len()).rev().find_map(|end| {
            let path = new(&segments[..end].join("."))?;
            let names = path.split('.').map(str::to_owned);
            Some(Reference::Pointer(names.chain(segments[end..].iter().cloned()).collect()))
        }),
    };
    if let Some(moved) = &moved {
        *text = moved.text();
    }
    moved.is_some()
}
