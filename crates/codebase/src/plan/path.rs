//! Which paths an edit may name.

use std::io;

use tree::{Guard, Tree};

use super::finding::{Finding, quoted};
use crate::invisible::invisible;

/// What is wrong with a path as such.
pub(crate) fn problem(path: &str) -> Option<&'static str> {
    let bytes = path.as_bytes();
    if path.is_empty() {
        Some("it is empty")
    } else if path.len() > 1024 {
        Some("it is longer than 1024 bytes")
    } else if invisible(path).next().is_some() {
        Some("it has characters in it that are not seen")
    } else if path.contains('\\') {
        Some("it has backslashes in it; write it with `/`")
    } else if path.starts_with(['/', '~']) || bytes.get(1) == Some(&b':') {
        Some("it is absolute; write it from the root of the repository")
    } else if path.split('/').any(|part| part == "..") {
        Some("it climbs out by `..`")
    } else if path.split('/').any(|part| part.is_empty() || part == ".") {
        Some("it has empty parts or `.` in it; write it in its shortest form")
    } else {
        None
    }
}

/// Whether a path may be written to at all.
pub(crate) fn admit(tree: &Tree, path: &str, consent: &[String]) -> Result<(), Finding> {
    if let Some(problem) = problem(path) {
        return Err(Finding::blocks("bad_path", format!("the path {} is refused: {problem}", quoted(path)))
            .fix("name a file inside the repository, from its root"));
    }
    let guard = tree.guard(path).map_err(|error| {
        Finding::blocks("unreadable_file", format!("{} cannot be looked at: {error}", quoted(path)))
    })?;
    match guard {
        Some(Guard::Never(why)) => {
            let says = format!("{} is never written to: {why}", quoted(path));
            return Err(Finding::blocks("protected_path", says));
        }
        Some(Guard::Consent(what)) if !consent.iter().any(|allowed| allowed == path) => {
            let says = format!("{} is protected: it is {what}", quoted(path));
            return Err(Finding::blocks("protected_path", says)
                .fix("leave it out, or name this very path in `allow` if the user agrees"));
        }
        _ => {}
    }
    let found = tree.find(path).map_err(|error| {
        Finding::blocks("bad_path", format!("the path {} is refused: {error}", quoted(path)))
    })?;
    match found {
        Some(found) if !found.is_file => {
            Err(Finding::blocks("not_a_file", format!("{} is not a regular file", quoted(path))))
        }
        Some(found) if found.names > 1 => {
            let says =
                format!("{} has {} hard links; writing to one would part them", quoted(path), found.names);
            Err(Finding::blocks("hard_link", says))
        }
        _ => Ok(()),
    }
}

/// Whether nothing is ever written there. Which paths are guarded, and why, is in `guard.rs` of the crate `tree`.
pub(crate) fn is_never(tree: &Tree, path: &str) -> io::Result<bool> {
    Ok(matches!(tree.guard(path)?, Some(Guard::Never(_))))
}
