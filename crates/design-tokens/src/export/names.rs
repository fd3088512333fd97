//! The names of tokens in an export. No two are the same.

use std::collections::HashMap;

use super::escape::identifier;

/// The name of each token, by its path.
///
/// The prefix is kept once and put before a name when it is asked for: it is the same for all, so it makes no two names
/// meet.
#[derive(Debug, Default)]
pub(super) struct NameTable {
    names: HashMap<String, String>,
    /// The names that are taken, and the last number that was put behind each.
    taken: HashMap<String, usize>,
    prefix: String,
}

impl NameTable {
    pub(super) fn new(prefix: &str) -> Self {
        let prefix = if prefix.is_empty() { String::new() } else { format!("{}-", identifier(prefix)) };
        Self { prefix, ..Self::default() }
    }

    /// Gives a path the wanted name, or the wanted name with a number if it is taken.
    pub(super) fn claim(&mut self, path: &str, wanted: &str) {
        // For Sass `-` and `_` are the same.
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

    /// Gives a path the name that is made of it.
    pub(super) fn claim_path(&mut self, path: &str) {
        self.claim(path, &identifier(path));
    }

    /// The name of a path. A path without one gets what it would have got.
    pub(super) fn name(&self, path: &str) -> String {
        match self.names.get(path) {
            Some(name) => format!("{}{name}", self.prefix),
            None => format!("{}{}", self.prefix, identifier(path)),
        }
    }

    /// The path by which a part of a token is known here. No token has it, for it has a brace.
    pub(super) fn part_key(path: &str, part: &str) -> String {
        format!("{path}{{{part}}}")
    }
}
