//! Decides which paths an edit may write to.

use std::io;

use tree::{Protection, Tree};

use super::finding::{PlanFinding, quote};
use crate::invisible_chars::find_invisible_chars;

/// What makes a path invalid, regardless of the tree.
pub(crate) fn find_path_problem(path: &str) -> Option<&'static str> {
    let bytes = path.as_bytes();
    if path.is_empty() {
        Some("it is empty")
    } else if path.len() > 1024 {
        Some("it is longer than 1024 bytes")
    } else if find_invisible_chars(path).next().is_some() {
        Some("it contains invisible characters")
    } else if path.contains('\\') {
        Some("it contains backslashes; use `/`")
    } else if path.starts_with(['/', '~']) || bytes.get(1) == Some(&b':') {
        Some("it is absolute; use a path relative to the repository root")
    } else if path.split('/').any(|part| part == "..") {
        Some("it contains `..`")
    } else if path.split('/').any(|part| part.is_empty() || part == ".") {
        Some("it contains empty or `.` components; write it in its shortest form")
    } else {
        None
    }
}

pub(crate) fn check_path(tree: &Tree, path: &str, consent: &[String]) -> Result<(), PlanFinding> {
    if let Some(problem) = find_path_problem(path) {
        return Err(PlanFinding::blocking(
            "bad_path",
            format!("the path {} is invalid: {problem}", quote(path)),
        )
        .with_fix("use a path inside the repository, relative to its root"));
    }
    let guard = tree.protection(path).map_err(|error| {
        PlanFinding::blocking("unreadable_file", format!("{} cannot be inspected: {error}", quote(path)))
    })?;
    match guard {
        Some(Protection::NeverWritable(why)) => {
            let says = format!("{} is never written to: {why}", quote(path));
            return Err(PlanFinding::blocking("protected_path", says));
        }
        Some(Protection::RequiresConsent(what)) if !consent.iter().any(|allowed| allowed == path) => {
            let says = format!("{} is protected: it is {what}", quote(path));
            return Err(PlanFinding::blocking("protected_path", says)
                .with_fix("remove the edit, or add this exact path to `allow` if the user agrees"));
        }
        _ => {}
    }
    let found = tree.metadata(path).map_err(|error| {
        PlanFinding::blocking("bad_path", format!("the path {} cannot be used: {error}", quote(path)))
    })?;
    match found {
        Some(found) if !found.is_file => {
            Err(PlanFinding::blocking("not_a_file", format!("{} is not a regular file", quote(path))))
        }
        Some(found) if found.hard_links > 1 => {
            let says = format!(
                "{} has {} hard links; writing to it would break them",
                quote(path),
                found.hard_links
            );
            Err(PlanFinding::blocking("hard_link", says))
        }
        _ => Ok(()),
    }
}

/// Whether the path can never be written to. The rules are in `protection.rs` of the `tree` crate.
pub(crate) fn is_never_writable(tree: &Tree, path: &str) -> io::Result<bool> {
    Ok(matches!(tree.protection(path)?, Some(Protection::NeverWritable(_))))
}
