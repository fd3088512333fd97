//! Encodes values as text, identically for both databases. Decoding returns `None` for anything this program
//! never wrote.

use std::collections::BTreeSet;

use ::projects::{AllowedChildren, Asset, Block, Digest};
use serde_json::{Map, Value};

/// Encodes a JSON object to exactly the bytes that [`Block::props_len`] counts.
pub(crate) fn encode_map(map: &Map<String, Value>) -> String {
    // Cannot fail: there are only strings, numbers and maps with string keys.
    serde_json::to_string(map).unwrap_or_default()
}

pub(crate) fn decode_map(text: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(text).ok()
}

pub(crate) fn encode_json(value: &Value) -> String {
    value.to_string()
}

pub(crate) fn decode_json(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

/// Encodes the allowed child types as a list of names; `None` allows any.
pub(crate) fn encode_children(children: &AllowedChildren) -> Option<String> {
    children.to_names().map(|names| Value::from(names).to_string())
}

pub(crate) fn decode_children(text: Option<&str>) -> Option<AllowedChildren> {
    let names = text.map(serde_json::from_str).transpose().ok()?;
    Some(AllowedChildren::from_names(names))
}

/// The indexed form of a page path. A draft may contain a path that is too long for an index.
pub(crate) fn path_digest(path: &str) -> [u8; 32] {
    Digest::from_content(path.as_bytes()).0
}

/// The indexed path of a block, if it is a page.
pub(crate) fn page_path_digest(block: &Block) -> Option<[u8; 32]> {
    block.path().map(path_digest)
}

pub(crate) fn unique_digests(assets: &[Asset]) -> BTreeSet<Digest> {
    assets.iter().map(|asset| asset.digest).collect()
}
