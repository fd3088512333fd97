//! Reading one file: its bytes, its text, its YAML or JSON. Whatever goes wrong becomes a warning and no value.

use serde::de::DeserializeOwned;
use tree::Tree;

use super::config_node::{ConfigNode, ConfigValue};
use super::limits;
use super::warning::{FileWarnings, read_error_reason};
use super::yaml;

/// The text of a file, if there is one.
pub(super) fn read_text(tree: &Tree, path: &str, limit: u64, warnings: &mut FileWarnings) -> Option<String> {
    let bytes = match tree.read(path, limit) {
        Ok(bytes) => bytes,
        Err(error) => {
            if let Some(what) = read_error_reason(tree, path, &error) {
                warnings.add(path, None, what);
            }
            return None;
        }
    };
    match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) => {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = good.split(|byte| *byte == b'\n').count();
            warnings.add(path, line, "not UTF-8; the file is left out");
            None
        }
    }
}

/// A YAML file whose document is a mapping.
pub(super) fn read_mapping(tree: &Tree, path: &str, warnings: &mut FileWarnings) -> Option<ConfigNode> {
    let node = read_yaml(tree, path, limits::MAX_YAML_BYTES, warnings)?;
    if matches!(node.data, ConfigValue::Map(_)) {
        return Some(node);
    }
    warnings.add(path, node.line(), format!("the file is {}, not a mapping; it is left out", node.kind()));
    None
}

/// A YAML file.
pub(super) fn read_yaml(
    tree: &Tree,
    path: &str,
    limit: u64,
    warnings: &mut FileWarnings,
) -> Option<ConfigNode> {
    let text = read_text(tree, path, limit, warnings)?;
    let parsed = yaml::parse(path, &text);
    parsed
        .map_err(|broken| warnings.add(path, broken.line, format!("{}; the file is left out", broken.what)))
        .ok()
}

/// A JSON file.
pub(super) fn read_json<T: DeserializeOwned>(
    tree: &Tree,
    path: &str,
    warnings: &mut FileWarnings,
) -> Option<T> {
    let text = read_text(tree, path, limits::MAX_JSON_BYTES, warnings)?;
    if text.trim().is_empty() {
        warnings.add(path, None, "the file is empty");
        return None;
    }
    let parsed = serde_json::from_str(text.trim_start_matches('\u{feff}'));
    parsed.map_err(|error| warnings.add(path, error.line(), json_error_message(&error))).ok()
}

/// What the parser says, without the place: that stands beside it.
pub(super) fn json_error_message(error: &serde_json::Error) -> String {
    let words = error.to_string();
    let words = words.rsplit_once(" at line ").map_or(words.as_str(), |(words, _)| words);
    match error.classify() {
        serde_json::error::Category::Eof => "ends in the middle".to_owned(),
        _ if words.starts_with("recursion limit") => "nested too deeply".to_owned(),
        // The value itself may be a secret; what should have been there is none.
        serde_json::error::Category::Data => match words.rsplit_once(", expected ") {
            Some((_, wanted)) => format!("a value is not {}", wanted.chars().take(100).collect::<String>()),
            None => "a value is not what it should be".to_owned(),
        },
        _ => format!("no JSON: {}", words.chars().take(200).collect::<String>()),
    }
}

/// A path of a project, from the root of the tree: `None` if it leads out.
pub(super) fn resolve_path(tree: &Tree, folder: &str, path: &str) -> Option<String> {
    let (folder, path) = match path.strip_prefix('/') {
        None => (folder, path),
        // An absolute path may still mean a file in here.
        Some(_) => ("", path.strip_prefix(tree.path().to_str()?)?.strip_prefix('/')?),
    };
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// A path in a folder; the root is `""`.
pub(super) fn join_path(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
