//! JSON: the format itself, and final values by path.

use super::Exported;
use super::paper::Paper;
use crate::document::Document;
use crate::json::{Json, Map};
use crate::read::read;
use crate::resolve::resolve;
use crate::validate::normalise;

/// The document in the format, with old forms brought up to date. If it would grow too large by that, it stays as it is.
pub fn plain(document: &Document) -> Exported {
    let renewed = normalise(document).within_limits();
    let text = renewed.map_or_else(|_| document.pretty(), |renewed| renewed.pretty());
    Exported { text, findings: Vec::new() }
}

/// Every token by its path, with its type and its final value in a mode or in none.
pub fn flat(document: &Document, mode: Option<&str>) -> Exported {
    let modes = if mode.is_none() { document.modes() } else { Vec::new() };
    let resolved = resolve(document, mode);
    let mut paper = Paper::new();
    let mut members = Map::new();
    for token in resolved.tokens() {
        if paper.is_full() {
            break;
        }
        let mut map = Map::new();
        if let Some(kind) = token.kind {
            map.set("$type", kind.as_str());
        }
        let value = token.kind.and_then(|kind| read(kind, &token.value));
        map.set("$value", value.map_or_else(|| token.value.clone(), |value| value.to_json()));
        if let Some(description) = &token.description {
            map.set("$description", description.as_str());
        }
        if let Some(why) = &token.deprecated {
            map.set("$deprecated", if why.is_empty() { Json::Bool(true) } else { why.as_str().into() });
        }
        // With its lines and indents it is about twice as long.
        if paper.has_room(2 * map.bytes(), &token.path) {
            members.set(token.path.clone(), map);
        }
    }
    paper.text = Json::Object(members).pretty();
    paper.done(resolved.findings).without_modes(&modes)
}
