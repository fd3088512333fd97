//! Derives token paths from names of custom properties.

use std::collections::{HashMap, HashSet};

use crate::limits::{MAX_NAME_BYTES, MAX_PATH_BYTES};

/// Maximum number of path segments; further dashes stay in the last one.
const MAX_PATH_SEGMENTS: usize = 8;

/// The path of each property. `--color-brand-500` becomes `color.brand.500`; an additional `--color-brand`
/// becomes the `$root` of the group, so that an export restores the original names. Paths are unique;
/// properties whose path would be too long have none.
pub(super) fn token_paths<'a>(names: impl Iterator<Item = &'a str>) -> HashMap<&'a str, String> {
    let split: Vec<_> = names.map(|name| (name, split_name(name))).collect();
    let mut groups = HashSet::new();
    for (_, parts) in &split {
        groups.extend((1..parts.len()).map(|end| parts[..end].join(".")));
    }
    let mut taken = HashSet::new();
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut paths = HashMap::new();
    for (name, parts) in split {
        let wanted = parts.join(".");
        let mut path = wanted.clone();
        while !taken.insert(path.clone()) {
            let count = counts.entry(wanted.clone()).or_insert(1);
            *count += 1;
            path = format!("{wanted}_{count}");
        }
        if groups.contains(&path) {
            path += ".$root";
        }
        if path.len() <= MAX_PATH_BYTES && path.split('.').all(|name| name.len() <= MAX_NAME_BYTES) {
            paths.insert(name, path);
        }
    }
    paths
}

fn split_name(name: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut dashes = String::new();
    for part in name.split('-') {
        if part.is_empty() {
            dashes.push('-');
        } else if parts.len() == MAX_PATH_SEGMENTS {
            let last = parts.len() - 1;
            parts[last] = format!("{}-{dashes}{}", parts[last], sanitize_segment(part));
            dashes.clear();
        } else {
            parts.push(format!("{dashes}{}", sanitize_segment(part)));
            dashes.clear();
        }
    }
    match parts.last_mut() {
        Some(last) => last.push_str(&dashes),
        None => parts.push(if dashes.is_empty() { "_".to_owned() } else { dashes }),
    }
    parts
}

/// Replaces characters that a name must not contain.
pub(super) fn sanitize_segment(part: &str) -> String {
    part.chars().map(|decoded| if "{}.$".contains(decoded) { '_' } else { decoded }).collect()
}
