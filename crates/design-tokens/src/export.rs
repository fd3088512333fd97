//! Documents as other tools want them: CSS, SCSS, Tailwind, JSON.
//!
//! Names and texts of a document are not to be trusted. Names become identifiers of letters, digits, `-` and `_`; every
//! other character of a text is escaped by its number; comments lose what could end them. So nothing in a document can
//! leave the place where it is printed.

mod css;
mod escape;
mod json;
mod names;
mod scss;
mod stylesheet;
mod tailwind;
#[cfg(test)]
mod tests;
mod writer;

use std::borrow::Cow;

use super::finding::{TokenFinding, excerpt};

pub use css::css;
pub use json::{dtcg_json, resolved_json};
pub use scss::scss;
pub use tailwind::{tailwind_v3, tailwind_v4};

/// Bytes of a prefix. It stands before every name, so a long one would make a huge sheet of a small document.
pub const MAX_PREFIX_BYTES: usize = 64;

/// How to export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportOptions {
    /// What every name begins with, such as `acme`. What is longer than [`MAX_PREFIX_BYTES`] is cut.
    pub prefix: String,
    /// Leave out the comments: descriptions, and what is deprecated.
    pub omit_comments: bool,
}

/// What came out, and what could not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportOutput {
    /// The text.
    pub text: String,
    /// The tokens that are not in it, and why.
    pub findings: Vec<TokenFinding>,
}

impl ExportOptions {
    /// The prefix as it may be, and what is to be said if that is not how it was given.
    fn truncated_prefix(&self) -> (&str, Option<TokenFinding>) {
        let prefix = &self.prefix[..self.prefix.floor_char_boundary(MAX_PREFIX_BYTES)];
        let bytes = self.prefix.len();
        let message = || {
            format!(
                "the prefix has {bytes} bytes and may have {MAX_PREFIX_BYTES}; names begin with `{prefix}`"
            )
        };
        (prefix, (bytes > MAX_PREFIX_BYTES).then(|| TokenFinding::warning("", message())))
    }
}

impl ExportOutput {
    /// Says so if a prefix was wanted. Not all formats have a place for one: what they call a thing is what makes it work.
    #[must_use]
    pub fn warn_if_prefix_ignored(mut self, options: &ExportOptions) -> Self {
        if !options.prefix.is_empty() {
            let prefix = excerpt(&options.prefix);
            let message = format!("this format has no prefix: `{prefix}` is left out; css and scss have one");
            self.findings.push(TokenFinding::warning("", message));
        }
        self
    }

    /// Says so if there are modes. Not all formats have a place for them.
    fn warn_if_modes_ignored(mut self, modes: &[String]) -> Self {
        if !modes.is_empty() {
            let names: Vec<Cow<'_, str>> = modes.iter().map(|mode| excerpt(mode)).collect();
            let message = format!(
                "this format has no modes: all values are those without one; left out is what is different in {}",
                names.join(", ")
            );
            self.findings.push(TokenFinding::warning("", message));
        }
        self
    }
}
