//! Regular expressions, compiled once: a plan tries the same ones on each candidate.

use std::cell::RefCell;
use std::collections::HashMap;

use regex::Regex;

/// Expressions that contain a name of the repository come and go.
const MAX_KEPT: usize = 2000;

thread_local! {
    static KEPT: RefCell<HashMap<String, Regex>> = RefCell::default();
}

/// The compiled form of a pattern.
pub(crate) fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    if let Some(known) = KEPT.with_borrow(|kept| kept.get(pattern).cloned()) {
        return Ok(known);
    }
    let made = Regex::new(pattern)?;
    KEPT.with_borrow_mut(|kept| {
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(pattern.to_owned(), made.clone());
    });
    Ok(made)
}
