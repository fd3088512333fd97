//! Finds the routes that the repository's own client calls: those are what its users reach.

use regex::Regex;
use tree::{Tree, WorkBudget};

use crate::inventory::FileInventory;
use crate::path_role;
use crate::profile::{Evidence, Route};

const MAX_FILES: usize = 3000;
const MAX_FILE_BYTES: u64 = 200 * 1024;
const CLIENT_ENDINGS: &[&str] =
    &["js", "jsx", "ts", "tsx", "mjs", "vue", "svelte", "astro", "html", "dart", "py", "swift", "kt"];

/// Notes for each route the first place outside the server's files that names its path.
pub(crate) fn note_clients(
    tree: &Tree,
    inventory: &FileInventory,
    routes: &mut [Route],
    others: &mut [Route],
    budget: &WorkBudget,
) {
    let all = || routes.iter().chain(others.iter());
    let mut tails: Vec<&str> = all().filter_map(|route| literal_tail(&route.path)).collect();
    tails.sort_by_key(|tail| std::cmp::Reverse(tail.len()));
    tails.dedup();
    // With one route there is nothing to choose.
    if tails.len() < 2 {
        return;
    }
    let words = tails.iter().map(|tail| regex::escape(tail)).collect::<Vec<_>>().join("|");
    // As the end of a path in a string: another path does not begin with it.
    let Ok(pattern) = Regex::new(&format!(r"(?:^|[/\x22'`])({words})/?(?:[\x22'`?#\s]|\$\{{|$)")) else {
        return;
    };
    let is_server = |path: &str| all().any(|route| route.file == path);
    let is_client = |path: &str| {
        path.rsplit('.').next().is_some_and(|ending| CLIENT_ENDINGS.contains(&ending))
            && !path_role::is_test(path)
            && !is_server(path)
    };
    let files: Vec<&str> =
        inventory.files.iter().map(|file| file.path.as_str()).filter(|path| is_client(path)).collect();
    let mut found: Vec<(String, Evidence)> = Vec::new();
    for path in files.into_iter().take(MAX_FILES) {
        if budget.is_expired() || budget.is_cancelled() || found.len() == tails.len() {
            break;
        }
        let Ok(bytes) = tree.read(path, MAX_FILE_BYTES) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        for hit in pattern.captures_iter(&text) {
            let Some(tail) = hit.get(1) else { continue };
            if found.iter().any(|(known, _)| known == tail.as_str()) {
                continue;
            }
            let line = memchr::memchr_iter(b'\n', &text.as_bytes()[..tail.start()]).count() + 1;
            let line = u32::try_from(line).unwrap_or(u32::MAX);
            found.push((tail.as_str().to_owned(), Evidence::new(path, line, "calls it")));
        }
    }
    for route in routes.iter_mut().chain(others.iter_mut()) {
        let tail = literal_tail(&route.path).unwrap_or_default();
        route.client = found.iter().find(|(known, _)| known == tail).map(|(_, evidence)| evidence.clone());
    }
}

/// The last two parts of a path, without parameters, as a client writes them; `None` if they say too little.
fn literal_tail(path: &str) -> Option<&str> {
    let path = path.trim_matches('/');
    let literal = path.split(['{', '<', ':', '[', '*']).next().unwrap_or_default().trim_end_matches('/');
    let start = literal.rmatch_indices('/').nth(1).map_or(0, |(at, _)| at + 1);
    let tail = &literal[start..];
    (tail.len() >= 3).then_some(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_the_literal_ends_of_paths() {
        for (path, expected) in [
            ("/api/v1/chat/stream", Some("chat/stream")),
            ("/chat", Some("chat")),
            ("/chat/", Some("chat")),
            ("/sessions/{id}/messages", Some("sessions")),
            ("/{id}", None),
            ("/q", None),
        ] {
            assert_eq!(literal_tail(path), expected, "{path}");
        }
    }
}
