//! Values as text and back, the same in both databases. `None`: something that this program never wrote.

use std::collections::BTreeSet;

use ::projects::{AllowedChildren, Asset, Block, Digest};
use serde_json::{Map, Value};

/// A JSON object as text: the bytes that [`Block::props_len`] counts.
pub(crate) fn encode_map(map: &Map<String, Value>) -> String {
    // Strings, numbers and maps with text for names: nothing in it can fail.
    serde_json::to_string(map).unwrap_or_default()
}

/// Takes an object back.
pub(crate) fn decode_map(text: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(text).ok()
}

/// Any JSON as text.
pub(crate) fn encode_json(value: &Value) -> String {
    value.to_string()
}

/// Takes JSON back.
pub(crate) fn decode_json(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

/// Which blocks may be inside of one, as a list of names; nothing for any.
pub(crate) fn encode_children(children: &AllowedChildren) -> Option<String> {
    children.to_names().map(|names| Value::from(names).to_string())
}

/// Takes them back.
pub(crate) fn decode_children(text: Option<&str>) -> Option<AllowedChildren> {
    let names = text.map(serde_json::from_str).transpose().ok()?;
    Some(AllowedChildren::from_names(names))
}

/// What the path of a page is kept and sought by. A draft may hold one that is too long for an index.
pub(crate) fn path_digest(path: &str) -> [u8; 32] {
    Digest::from_content(path.as_bytes()).0
}

/// The same for a block, if it is a page.
pub(crate) fn page_path_digest(block: &Block) -> Option<[u8; 32]> {
    block.path().map(path_digest)
}

/// The digests of assets, each once.
pub(crate) fn unique_digests(assets: &[Asset]) -> BTreeSet<Digest> {
    assets.iter().map(|asset| asset.digest).collect()
}
