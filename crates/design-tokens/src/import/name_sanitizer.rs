//! Replaces characters in names that are reserved for references: `{`, `}` and `.`.

use std::collections::{HashMap, HashSet};

use crate::document::join_path;
use crate::json::{Json, JsonMap};
use crate::rewrite;

/// Replaces reserved characters in names and updates references. Returns the number of changed names.
pub(super) fn sanitize_names(root: &mut JsonMap) -> usize {
    let mut moves = NameReplacements::default();
    moves.sanitize_group(root, "", "");
    if moves.count > 0 {
        // An unchanged path takes precedence.
        let new =
            |path: &str| moves.new_paths.get(path).filter(|_| !moves.unchanged_paths.contains(path)).cloned();
        rewrite::rewrite_group(root, "", &new, &mut Vec::new());
    }
    moves.count
}

/// New paths of tokens and groups, by their old paths.
#[derive(Default)]
struct NameReplacements {
    new_paths: HashMap<String, String>,
    unchanged_paths: HashSet<String>,
    count: usize,
}

impl NameReplacements {
    fn sanitize_group(&mut self, map: &mut JsonMap, old_path: &str, new_path: &str) {
        let is_child = |(name, value): &(&str, &Json)| {
            value.as_object().is_some() && (*name == "$root" || !name.starts_with('$'))
        };
        let names: Vec<String> = map.iter().filter(is_child).map(|(name, _)| name.to_owned()).collect();
        let mut counts: HashMap<String, usize> = HashMap::new();
        for name in names {
            let wanted = name.replace(['{', '}', '.'], "_");
            let mut new = wanted.clone();
            while new != name && map.contains(&new) {
                let count = counts.entry(wanted.clone()).or_insert(1);
                *count += 1;
                new = format!("{wanted}_{count}");
            }
            if new != name {
                self.count += 1;
                map.rename(&name, &new);
            }
            let (old_path, new_path) = (join_path(old_path, &name), join_path(new_path, &new));
            if let Some(child) = map.get_mut(&new).and_then(Json::as_object_mut) {
                self.sanitize_group(child, &old_path, &new_path);
            }
            if old_path == new_path {
                self.unchanged_paths.insert(old_path);
            } else {
                self.new_paths.insert(old_path, new_path);
            }
        }
    }
}
