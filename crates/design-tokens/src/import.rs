//! Documents from what others wrote: design-token JSON, and CSS custom properties.

mod component;
mod css;
mod css_values;
mod legacy;
mod name_sanitizer;
#[cfg(test)]
mod tests;
mod token_path;
mod tokenizer;

use super::document::{ParseError, TokenDocument};
use super::finding::TokenFinding;
use super::flatten::FlatTokens;
use super::resolver::{self, ResolverError};
use super::validate::{normalise_counting, validate};

pub use css::css_allow_empty;

/// A document that came in, and what is to be said about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportedDocument {
    /// The document.
    pub document: TokenDocument,
    /// What was left out or changed on the way, and what is wrong with the rest.
    pub findings: Vec<TokenFinding>,
}

/// Why nothing came in.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// No document.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// A resolver file that cannot be used.
    #[error(transparent)]
    Resolver(#[from] ResolverError),
    /// A stylesheet without tokens. What is there already is worth more than nothing.
    #[error(
        "no custom properties were found that can be tokens; expected is a stylesheet such as \
         `:root {{ --color-brand: #0a7; }}`{}", first_finding(.0)
    )]
    NoProperties(
        /// What was left out.
        Vec<TokenFinding>,
    ),
    /// A file without tokens.
    #[error(
        "no tokens were found; expected is a design-token file such as \
         `{{\"color\": {{\"brand\": {{\"$type\": \"color\", \"$value\": \"#0a7\"}}}}}}`, \
         or one of Tokens Studio or Style Dictionary"
    )]
    NoTokens,
}

/// The first of some findings, behind a sentence.
fn first_finding(findings: &[TokenFinding]) -> String {
    findings.first().map(|finding| format!(" ({finding})")).unwrap_or_default()
}

impl ImportedDocument {
    fn has_tokens(&self) -> bool {
        !FlatTokens::from_document(&self.document).tokens.is_empty()
    }
}

/// Takes the custom properties of a stylesheet, as [`css`] does, and refuses one that no token comes of.
pub fn stylesheet(text: &str) -> Result<ImportedDocument, ImportError> {
    let imported = css_allow_empty(text)?;
    if imported.has_tokens() { Ok(imported) } else { Err(ImportError::NoProperties(imported.findings)) }
}

/// Takes design-token JSON: a token file, a resolver file with its tokens in it, or a file of Tokens Studio or Style
/// Dictionary. Old forms are brought up to date; the findings tell of them too. A file without tokens is refused.
pub fn json(text: &str) -> Result<ImportedDocument, ImportError> {
    let mut document = TokenDocument::parse(text)?;
    // A group may have that name, too.
    if document.root().get("resolutionOrder").is_some_and(|order| order.as_array().is_some()) {
        document = resolver::to_document(document.root())?;
    }
    let mut findings = Vec::new();
    if let Some((root, changes)) = legacy::convert_legacy(document.root()) {
        document = TokenDocument::from_map(root)?;
        findings = changes;
    }
    let names = name_sanitizer::sanitize_names(document.root_mut());
    if names > 0 {
        let message = format!(
            "{names} names had a `{{`, `}}` or `.`, which references are written with; it is `_` now"
        );
        findings.push(TokenFinding::warning("", message));
    }
    let (document, values) = normalise_counting(&document);
    if values > 0 {
        findings.push(TokenFinding::warning(
            "",
            format!("{values} tokens had values in an old form; they were renewed"),
        ));
    }
    findings.extend(validate(&document));
    let imported = ImportedDocument { document: document.within_limits()?, findings };
    if imported.has_tokens() { Ok(imported) } else { Err(ImportError::NoTokens) }
}
