//! What is wrong with names and members, before any value is looked at.

use std::collections::HashMap;

use crate::document::{Document, is_token, join};
use crate::finding::{Finding, shown};
use crate::json::{Json, Map};
use crate::kind::Kind;
use crate::limits::{MAX_NAME, MAX_REMARK};
use crate::reference::Reference;

/// The members that tokens and groups may have.
const KNOWN: [&str; 9] =
    ["$value", "$type", "$description", "$extensions", "$deprecated", "$extends", "$ref", "$root", "$schema"];

pub(super) fn findings(document: &Document, tell: &mut dyn FnMut(Finding)) {
    if is_token(document.root()) {
        tell(Finding::error("", "the document itself cannot be a token; give the token a name"));
    }
    group(document.root(), "", tell);
}

/// Why a text cannot be the name of a token or group.
pub(crate) fn bad_name(name: &str) -> Option<String> {
    if name.is_empty() {
        Some("a name is empty".to_owned())
    } else if name.starts_with('$') {
        Some(format!("the name `{}` begins with `$`, which is kept for the format", shown(name)))
    } else if let Some(letter) = name.chars().find(|letter| "{}.".contains(*letter)) {
        Some(format!("the name `{}` has a `{letter}`, which references are written with", shown(name)))
    } else if name.len() > MAX_NAME {
        Some(format!("a name has {} bytes and may have {MAX_NAME}", name.len()))
    } else {
        None
    }
}

/// Tells what is wrong in a token or a group.
pub(crate) fn group(map: &Map, path: &str, tell: &mut dyn FnMut(Finding)) {
    let mut spellings: HashMap<String, &str> = HashMap::new();
    for (name, value) in map.iter() {
        if name.starts_with('$') && name != "$root" {
            member(name, value, path, is_token(map), tell);
            continue;
        }
        let at = join(path, name);
        if let Some(message) = bad_name(name).filter(|_| name != "$root") {
            tell(Finding::error(&at, message));
        }
        if is_token(map) {
            let message =
                format!("a token cannot contain others, and this one has `$value` and `{}`", shown(name));
            tell(Finding::error(path, message));
            continue;
        }
        if let Some(other) = spellings.insert(name.to_lowercase(), name) {
            let message =
                format!("`{other}` and `{name}` differ only in case and will clash in many exports");
            tell(Finding::warning(&at, message));
        }
        let Some(child) = value.as_object() else {
            let message = format!("a group holds objects, and this is {}", value.noun());
            tell(Finding::error(&at, message));
            continue;
        };
        if name == "$root" && !is_token(child) && !child.contains("$ref") {
            tell(Finding::error(&at, "`$root` must be a token: give it a `$value`"));
        }
        if is_token(child) && child.contains("$ref") {
            tell(Finding::error(&at, "a token has `$value` or `$ref`, not both"));
        }
        incomplete(child, &at, tell);
        group(child, &at, tell);
    }
}

/// Tells of an object that was probably meant to be a token.
fn incomplete(map: &Map, path: &str, tell: &mut dyn FnMut(Finding)) {
    if is_token(map) || map.contains("$ref") {
        return;
    }
    if map.contains("value") && map.get("value").is_some_and(|value| value.as_object().is_none()) {
        let message = "this looks like a token of another format; DTCG writes `$value` and `$type`";
        tell(Finding::error(path, message));
    } else if map.len() == 1 && map.contains("$type") {
        tell(Finding::warning(path, "this is an empty group; a token would need a `$value`"));
    }
}

fn member(name: &str, value: &Json, path: &str, token: bool, tell: &mut dyn FnMut(Finding)) {
    let wrong = match name {
        "$type" => match value.as_str() {
            Some(kind) => kind.parse::<Kind>().err().map(|unknown| unknown.to_string()),
            None => Some("`$type` must be a string".to_owned()),
        },
        "$description" | "$schema" if value.as_str().is_none() => Some(format!("`{name}` must be a string")),
        "$extensions" if value.as_object().is_none() => Some("`$extensions` must be an object".to_owned()),
        "$deprecated" if !matches!(value, Json::Bool(_) | Json::String(_)) => {
            Some("`$deprecated` must be true, false or a reason".to_owned())
        }
        "$extends" if token => Some("only a group can have `$extends`".to_owned()),
        "$extends" => Reference::in_extends(value).err().map(|malformed| format!("`$extends`: {malformed}")),
        _ => None,
    };
    if let Some(message) = wrong {
        tell(Finding::error(path, message));
    }
    let is_remark = matches!(name, "$description" | "$deprecated");
    if is_remark && value.as_str().is_some_and(|text| text.len() > MAX_REMARK) {
        let message = format!("`{name}` is long; of what tokens inherit only {MAX_REMARK} bytes are shown");
        tell(Finding::warning(path, message));
    }
    if !KNOWN.contains(&name) {
        let message = format!("the format has no `{}`; it is kept, but means nothing", shown(name));
        tell(Finding::warning(path, message));
    }
}
