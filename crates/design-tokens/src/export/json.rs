//! JSON exports: the DTCG format itself, and resolved values by path.

use super::ExportOutput;
use super::writer::BoundedWriter;
use crate::document::TokenDocument;
use crate::json::{Json, JsonMap};
use crate::parse::parse_value;
use crate::resolve::resolve;
use crate::validate::normalise;

/// The document in the DTCG format, with legacy values normalised. Unchanged if normalising would make it too
/// large.
pub fn dtcg_json(document: &TokenDocument) -> ExportOutput {
    let renewed = normalise(document).within_limits();
    let text = renewed.map_or_else(|_| document.to_pretty_string(), |renewed| renewed.to_pretty_string());
    ExportOutput { text, findings: Vec::new() }
}

/// Every token by path, with its type and resolved value in a mode or without one.
pub fn resolved_json(document: &TokenDocument, mode: Option<&str>) -> ExportOutput {
    let modes = if mode.is_none() { document.modes() } else { Vec::new() };
    let resolved = resolve(document, mode);
    let mut paper = BoundedWriter::new();
    let mut members = JsonMap::new();
    for token in resolved.tokens() {
        if paper.is_full() {
            break;
        }
        let mut map = JsonMap::new();
        if let Some(kind) = token.kind {
            map.set("$type", kind.as_str());
        }
        let value = token.kind.and_then(|kind| parse_value(kind, &token.value));
        map.set("$value", value.map_or_else(|| token.value.clone(), |value| value.to_json()));
        if let Some(description) = &token.description {
            map.set("$description", description.as_str());
        }
        if let Some(why) = &token.deprecated {
            map.set("$deprecated", if why.is_empty() { Json::Bool(true) } else { why.as_str().into() });
        }
        // Line breaks and indentation roughly double its size.
        if paper.reserve(2 * map.encoded_len(), &token.path) {
            members.set(token.path.clone(), map);
        }
    }
    paper.text = Json::Object(members).to_pretty_string();
    paper.finish(resolved.findings).warn_if_modes_ignored(&modes)
}
