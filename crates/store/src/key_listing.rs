//! Key listings, from the rows of a join.

use access::{KeyListing, KeyRecord};
use jiff::Timestamp;

/// A key and one of its secrets.
pub(crate) struct KeyRow {
    pub(crate) key: KeyRecord,
    pub(crate) last_used: Option<Timestamp>,
    pub(crate) prefix: Option<String>,
}

/// Builds one listing per key. Rows of the same key must be adjacent.
pub(crate) fn group_by_key(rows: impl IntoIterator<Item = KeyRow>) -> Vec<KeyListing> {
    let mut listings: Vec<KeyListing> = Vec::new();
    for KeyRow { key, last_used, prefix } in rows {
        match listings.last_mut().filter(|last| last.key.id == key.id) {
            Some(last) => last.prefixes.extend(prefix),
            None => listings.push(KeyListing { key, prefixes: prefix.into_iter().collect(), last_used }),
        }
    }
    listings
}
