//! Intersection of two lists of folders.

#![expect(clippy::disallowed_methods, reason = "links are resolved before folders are compared")]

use std::path::{Path, PathBuf};

/// The folders covered by both lists; for nested folders, the inner one. The first list must be canonical;
/// missing folders in the second list are ignored.
pub fn intersect_roots(allowed: &[PathBuf], wanted: &[PathBuf]) -> Vec<PathBuf> {
    let mut both: Vec<PathBuf> = Vec::new();
    for wanted in wanted.iter().filter_map(|path| path.canonicalize().ok()).filter(|path| path.is_dir()) {
        for allowed in allowed {
            let inner = inner_path(allowed, &wanted);
            both.extend(
                inner.filter(|inner| !both.iter().any(|known| known == inner)).map(Path::to_path_buf),
            );
        }
    }
    both
}

fn inner_path<'a>(one: &'a Path, other: &'a Path) -> Option<&'a Path> {
    if one.starts_with(other) { Some(one) } else { other.starts_with(one).then_some(other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intersection_is_the_inner_folder() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for name in ["a/b", "ab", "c"] {
            std::fs::create_dir_all(base.join(name)).unwrap();
        }
        std::os::unix::fs::symlink(base.join("a/b"), base.join("link")).unwrap();
        std::fs::write(base.join("file"), "").unwrap();
        for (allowed, wanted, both) in [
            (vec!["a"], vec!["a/b"], vec!["a/b"]),
            (vec!["a/b"], vec!["a"], vec!["a/b"]),
            (vec!["a", "c"], vec!["."], vec!["a", "c"]),
            (vec!["."], vec!["c", "a", "c"], vec!["c", "a"]),
            // A common name prefix does not make it the same folder.
            (vec!["a"], vec!["ab"], vec![]),
            (vec!["a"], vec!["link"], vec!["a/b"]),
            (vec!["a"], vec!["a/../c", "gone", "file"], vec![]),
            (vec!["a"], vec![], vec![]),
            (vec![], vec!["a"], vec![]),
        ] {
            let paths = |names: &[&str]| {
                names
                    .iter()
                    .map(|name| if *name == "." { base.clone() } else { base.join(name) })
                    .collect::<Vec<_>>()
            };
            assert_eq!(
                intersect_roots(&paths(&allowed), &paths(&wanted)),
                paths(&both),
                "{allowed:?} {wanted:?}"
            );
        }
    }
}
