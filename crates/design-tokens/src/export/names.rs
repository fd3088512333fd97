//! Unique names for tokens in an export.

use std::collections::HashMap;

use super::escape::identifier;

/// Names of tokens, by path.
///
/// The prefix is stored once and prepended on lookup: it is the same for all names, so it cannot cause
/// conflicts.
#[derive(Debug, Default)]
pub(super) struct NameTable {
    names: HashMap<String, String>,
    /// Taken names, each with the last number appended to it.
    taken: HashMap<String, usize>,
    prefix: String,
}

impl NameTable {
    pub(super) fn new(prefix: &str) -> Self {
        let prefix = if prefix.is_empty() { String::new() } else { format!("{}-", identifier(prefix)) };
        Self { prefix, ..Self::default() }
    }

    /// Assigns the wanted name to a path, with a number appended if it is taken.
    pub(super) fn claim(&mut self, path: &str, wanted: &str) {
        // Sass treats `-` and `_` as equal.
        let plain = |name: &str| name.replace('_', "-");
        let mut name = wanted.to_owned();
        if let Some(mut count) = self.taken.get(&plain(wanted)).copied() {
            while self.taken.contains_key(&plain(&name)) {
                count += 1;
                name = format!("{wanted}-{count}");
            }
            self.taken.insert(plain(wanted), count);
        }
        self.taken.insert(plain(&name), 1);
        self.names.insert(path.to_owned(), name);
    }

    /// Assigns a name derived from the path.
    pub(super) fn claim_path(&mut self, path: &str) {
        self.claim(path, &identifier(path));
    }

    /// The name of a path. Falls back to the derived name.
    pub(super) fn name(&self, path: &str) -> String {
        match self.names.get(path) {
            Some(name) => format!("{}{name}", self.prefix),
            None => format!("{}{}", self.prefix, identifier(path)),
        }
    }

    /// Key for a part of a token. Cannot collide with a path, because of the brace.
    pub(super) fn part_key(path: &str, part: &str) -> String {
        format!("{path}{{{part}}}")
    }
}
