//! Names with what the format keeps for references: `{`, `}` and `.`.

use std::collections::{HashMap, HashSet};

use crate::document::join;
use crate::json::{Json, Map};
use crate::rewrite;

/// Replaces in names what no name may have, and lets references follow. Says how many names that were.
pub(super) fn replace(root: &mut Map) -> usize {
    let mut moves = Moves::default();
    moves.group(root, "", "");
    if moves.count > 0 {
        // A path that others really have is theirs.
        let new = |path: &str| moves.to.get(path).filter(|_| !moves.stay.contains(path)).cloned();
        rewrite::in_group(root, "", &new, &mut Vec::new());
    }
    moves.count
}

/// Where tokens and groups go, by their paths as references name them.
#[derive(Default)]
struct Moves {
    to: HashMap<String, String>,
    stay: HashSet<String>,
    count: usize,
}

impl Moves {
    fn group(&mut self, map: &mut Map, old_path: &str, new_path: &str) {
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
            let (old_path, new_path) = (join(old_path, &name), join(new_path, &new));
            if let Some(child) = map.get_mut(&new).and_then(Json::as_object_mut) {
                self.group(child, &old_path, &new_path);
            }
            if old_path == new_path {
                self.stay.insert(old_path);
            } else {
                self.to.insert(old_path, new_path);
            }
        }
    }
}
