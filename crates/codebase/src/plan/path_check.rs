//! Which paths an edit may name.

use std::io;

use tree::{Protection, Tree};

use super::finding::{PlanFinding, quote};
use crate::invisible_chars::find_invisible_chars;

/// What is wrong with a path as such.
pub(crate) fn find_path_problem(path: &str) -> Option<&'static str> {
    let bytes = path.as_bytes();
    if path.is_empty() {
        Some("it is empty")
    } else if path.len() > 1024 {
        Some("it is longer than 1024 bytes")
    } else if find_invisible_chars(path).next().is_some() {
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
pub(crate) fn check_path(tree: &Tree, path: &str, consent: &[String]) -> Result<(), PlanFinding> {
    if let Some(problem) = find_path_problem(path) {
        return Err(PlanFinding::blocking(
            "bad_path",
            format!("the path {} is refused: {problem}", quote(path)),
        )
        .with_fix("name a file inside the repository, from its root"));
    }
    let guard = tree.protection(path).map_err(|error| {
        PlanFinding::blocking("unreadable_file", format!("{} cannot be looked at: {error}", quote(path)))
    })?;
    match guard {
        Some(Protection::NeverWritable(why)) => {
            let says = format!("{} is never written to: {why}", quote(path));
            return Err(PlanFinding::blocking("protected_path", says));
        }
        Some(Protection::RequiresConsent(what)) if !consent.iter().any(|allowed| allowed == path) => {
            let says = format!("{} is protected: it is {what}", quote(path));
            return Err(PlanFinding::blocking("protected_path", says)
                .with_fix("leave it out, or name this very path in `allow` if the user agrees"));
        }
        _ => {}
    }
    let found = tree.metadata(path).map_err(|error| {
        PlanFinding::blocking("bad_path", format!("the path {} is refused: {error}", quote(path)))
    })?;
    match found {
        Some(found) if !found.is_file => {
            Err(PlanFinding::blocking("not_a_file", format!("{} is not a regular file", quote(path))))
        }
        Some(found) if found.hard_links > 1 => {
            let says = format!(
                "{} has {} hard links; writing to one would part them",
                quote(path),
                found.hard_links
            );
            Err(PlanFinding::blocking("hard_link", says))
        }
        _ => Ok(()),
    }
}

/// Whether nothing is ever written there. Which paths are guarded, and why, is in `guard.rs` of the crate `tree`.
pub(crate) fn is_never_writable(tree: &Tree, path: &str) -> io::Result<bool> {
    Ok(matches!(tree.protection(path)?, Some(Protection::NeverWritable(_))))
}
