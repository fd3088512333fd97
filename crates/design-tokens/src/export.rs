//! Documents as other tools want them: CSS, SCSS, Tailwind, JSON.
//!
//! Names and texts of a document are not to be trusted. Names become identifiers of letters, digits, `-` and `_`; every
//! other character of a text is escaped by its number; comments lose what could end them. So nothing in a document can
//! leave the place where it is printed.

mod css;
mod escape;
mod json;
mod names;
mod paper;
mod scss;
mod sheet;
mod tailwind;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use super::finding::{Finding, shown};

pub use css::css;
pub use json::{flat, plain};
pub use scss::scss;
pub use tailwind::{tailwind_v3, tailwind_v4};

/// Bytes of a prefix. It stands before every name, so a long one would make a huge sheet of a small document.
pub const MAX_PREFIX: usize = 64;

/// How to export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// What every name begins with, such as `acme`. What is longer than [`MAX_PREFIX`] is cut.
    pub prefix: String,
    /// Leave out the comments: descriptions, and what is deprecated.
    pub bare: bool,
}

/// What came out, and what could not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// The text.
    pub text: String,
    /// The tokens that are not in it, and why.
    pub findings: Vec<Finding>,
}

impl Options {
    /// The prefix as it may be, and what is to be said if that is not how it was given.
    fn cut_prefix(&self) -> (&str, Option<Finding>) {
        let prefix = &self.prefix[..self.prefix.floor_char_boundary(MAX_PREFIX)];
        let bytes = self.prefix.len();
        let message =
            || format!("the prefix has {bytes} bytes and may have {MAX_PREFIX}; names begin with `{prefix}`");
        (prefix, (bytes > MAX_PREFIX).then(|| Finding::warning("", message())))
    }
}

impl Exported {
    /// Says so if a prefix was wanted. Not all formats have a place for one: what they call a thing is what makes it work.
    #[must_use]
    pub fn without_prefix(mut self, options: &Options) -> Self {
        if !options.prefix.is_empty() {
            let prefix = shown(&options.prefix);
            let message = format!("this format has no prefix: `{prefix}` is left out; css and scss have one");
            self.findings.push(Finding::warning("", message));
        }
        self
    }

    /// Says so if there are modes. Not all formats have a place for them.
    fn without_modes(mut self, modes: &[String]) -> Self {
        if !modes.is_empty() {
            let names: Vec<Cow<'_, str>> = modes.iter().map(|mode| shown(mode)).collect();
            let message = format!(
                "this format has no modes: all values are those without one; left out is what is different in {}",
                names.join(", ")
            );
            self.findings.push(Finding::warning("", message));
        }
        self
    }
}
