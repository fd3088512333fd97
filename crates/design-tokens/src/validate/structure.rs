//! Validation of names and members, independent of values.

use std::collections::HashMap;

use crate::document::{TokenDocument, is_token, join_path};
use crate::finding::{TokenFinding, excerpt};
use crate::json::{Json, JsonMap};
use crate::kind::TokenKind;
use crate::limits::{MAX_INHERITED_TEXT_BYTES, MAX_NAME_BYTES};
use crate::reference::TokenReference;

/// The members allowed in tokens and groups.
const KNOWN_MEMBERS: [&str; 9] =
    ["$value", "$type", "$description", "$extensions", "$deprecated", "$extends", "$ref", "$root", "$schema"];

pub(super) fn check_structure(document: &TokenDocument, tell: &mut dyn FnMut(TokenFinding)) {
    if is_token(document.root()) {
        tell(TokenFinding::error("", "the document itself cannot be a token; give the token a name"));
    }
    check_group(document.root(), "", tell);
}

/// Why a string is not a valid name for a token or group.
pub(crate) fn name_problem(name: &str) -> Option<String> {
    if name.is_empty() {
        Some("a name is empty".to_owned())
    } else if name.starts_with('$') {
        Some(format!("the name `{}` starts with `$`, which is reserved for the format", excerpt(name)))
    } else if let Some(decoded) = name.chars().find(|decoded| "{}.".contains(*decoded)) {
        Some(format!("the name `{}` contains `{decoded}`, which is reserved for references", excerpt(name)))
    } else if name.len() > MAX_NAME_BYTES {
        Some(format!("a name has {} bytes, but the limit is {MAX_NAME_BYTES}", name.len()))
    } else {
        None
    }
}

/// Reports problems of a token or group.
pub(crate) fn check_group(map: &JsonMap, path: &str, tell: &mut dyn FnMut(TokenFinding)) {
    let mut spellings: HashMap<String, &str> = HashMap::new();
    for (name, value) in map.iter() {
        if name.starts_with('$') && name != "$root" {
            check_member(name, value, path, is_token(map), tell);
            continue;
        }
        let at = join_path(path, name);
        if let Some(message) = name_problem(name).filter(|_| name != "$root") {
            tell(TokenFinding::error(&at, message));
        }
        if is_token(map) {
            let message = format!(
                "a token cannot contain other tokens, but this one has `$value` and `{}`",
                excerpt(name)
            );
            tell(TokenFinding::error(path, message));
            continue;
        }
        if let Some(other) = spellings.insert(name.to_lowercase(), name) {
            let message =
                format!("`{other}` and `{name}` differ only in case and will clash in many exports");
            tell(TokenFinding::warning(&at, message));
        }
        let Some(child) = value.as_object() else {
            let message =
                format!("the members of a group must be objects, but this is {}", value.type_name());
            tell(TokenFinding::error(&at, message));
            continue;
        };
        if name == "$root" && !is_token(child) && !child.contains("$ref") {
            tell(TokenFinding::error(&at, "`$root` must be a token: give it a `$value`"));
        }
        if is_token(child) && child.contains("$ref") {
            tell(TokenFinding::error(&at, "a token must have either `$value` or `$ref`, not both"));
        }
        check_incomplete_token(child, &at, tell);
        check_group(child, &at, tell);
    }
}

/// Reports an object that was probably meant as a token.
fn check_incomplete_token(map: &JsonMap, path: &str, tell: &mut dyn FnMut(TokenFinding)) {
    if is_token(map) || map.contains("$ref") {
        return;
    }
    if map.contains("value") && map.get("value").is_some_and(|value| value.as_object().is_none()) {
        let message = "this looks like a token in another format; DTCG uses `$value` and `$type`";
        tell(TokenFinding::error(path, message));
    } else if map.len() == 1 && map.contains("$type") {
        tell(TokenFinding::warning(path, "this is an empty group; a token needs a `$value`"));
    }
}

fn check_member(name: &str, value: &Json, path: &str, token: bool, tell: &mut dyn FnMut(TokenFinding)) {
    let wrong = match name {
        "$type" => match value.as_str() {
            Some(kind) => kind.parse::<TokenKind>().err().map(|unknown| unknown.to_string()),
            None => Some("`$type` must be a string".to_owned()),
        },
        "$description" | "$schema" if value.as_str().is_none() => Some(format!("`{name}` must be a string")),
        "$extensions" if value.as_object().is_none() => Some("`$extensions` must be an object".to_owned()),
        "$deprecated" if !matches!(value, Json::Bool(_) | Json::String(_)) => {
            Some("`$deprecated` must be true, false or a reason".to_owned())
        }
        "$extends" if token => Some("only a group can have `$extends`".to_owned()),
        "$extends" => {
            TokenReference::parse_extends(value).err().map(|malformed| format!("`$extends`: {malformed}"))
        }
        _ => None,
    };
    if let Some(message) = wrong {
        tell(TokenFinding::error(path, message));
    }
    let is_remark = matches!(name, "$description" | "$deprecated");
    if is_remark && value.as_str().is_some_and(|text| text.len() > MAX_INHERITED_TEXT_BYTES) {
        let message =
            format!("`{name}` is long; only {MAX_INHERITED_TEXT_BYTES} bytes are shown for inherited tokens");
        tell(TokenFinding::warning(path, message));
    }
    if !KNOWN_MEMBERS.contains(&name) {
        let message = format!("the format does not define `{}`; it is kept, but ignored", excerpt(name));
        tell(TokenFinding::warning(path, message));
    }
}
