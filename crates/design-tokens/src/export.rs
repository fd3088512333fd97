//! Exports of documents: CSS, SCSS, Tailwind, JSON.
//!
//! Names and strings of a document are untrusted. Names become identifiers of letters, digits, `-` and `_`;
//! any unsafe character of a string is escaped by its code point; comments are stripped of anything that
//! could end them. So content of a document cannot break out of its context in the output.

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

/// Maximum size of a prefix. It is repeated before every name, so a long one would inflate a small document.
pub const MAX_PREFIX_BYTES: usize = 64;

/// Export settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportOptions {
    /// Prefix of every name, such as `acme`. Truncated to [`MAX_PREFIX_BYTES`].
    pub prefix: String,
    /// Omit comments with descriptions and deprecations.
    pub omit_comments: bool,
}

/// The exported text, and findings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportOutput {
    pub text: String,
    /// Tokens that were not exported, and why.
    pub findings: Vec<TokenFinding>,
}

impl ExportOptions {
    /// The prefix, truncated to its limit, and a warning if that changed it.
    fn truncated_prefix(&self) -> (&str, Option<TokenFinding>) {
        let prefix = &self.prefix[..self.prefix.floor_char_boundary(MAX_PREFIX_BYTES)];
        let bytes = self.prefix.len();
        let message = || {
            format!(
                "the prefix has {bytes} bytes, but the limit is {MAX_PREFIX_BYTES}; names start with `{prefix}`"
            )
        };
        (prefix, (bytes > MAX_PREFIX_BYTES).then(|| TokenFinding::warning("", message())))
    }
}

impl ExportOutput {
    /// Warns if a prefix was requested. Formats with predefined names cannot have one.
    #[must_use]
    pub fn warn_if_prefix_ignored(mut self, options: &ExportOptions) -> Self {
        if !options.prefix.is_empty() {
            let prefix = excerpt(&options.prefix);
            let message =
                format!("this format has no prefix, so `{prefix}` is ignored; use css or scss for one");
            self.findings.push(TokenFinding::warning("", message));
        }
        self
    }

    /// Warns if there are modes, for formats that do not support them.
    fn warn_if_modes_ignored(mut self, modes: &[String]) -> Self {
        if !modes.is_empty() {
            let names: Vec<Cow<'_, str>> = modes.iter().map(|mode| excerpt(mode)).collect();
            let message = format!(
                "this format has no modes: only base values are exported, without the overrides for {}",
                names.join(", ")
            );
            self.findings.push(TokenFinding::warning("", message));
        }
        self
    }
}
