//! Import of foreign documents: design-token JSON, and CSS custom properties.

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

/// An imported document with its findings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportedDocument {
    pub document: TokenDocument,
    /// What was omitted or changed by the import, and problems with the rest.
    pub findings: Vec<TokenFinding>,
}

/// Why an import failed.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The document cannot be parsed.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The resolver file is invalid.
    #[error(transparent)]
    Resolver(#[from] ResolverError),
    /// The stylesheet contains no tokens. Rejected so that it does not replace an existing document.
    #[error(
        "no custom properties found that can be tokens; expected a stylesheet such as \
         `:root {{ --color-brand: #0a7; }}`{}", first_finding(.0)
    )]
    NoProperties(
        /// What was omitted.
        Vec<TokenFinding>,
    ),
    /// The file contains no tokens.
    #[error(
        "no tokens found; expected a design-token file such as \
         `{{\"color\": {{\"brand\": {{\"$type\": \"color\", \"$value\": \"#0a7\"}}}}}}`, \
         or a file of Tokens Studio or Style Dictionary"
    )]
    NoTokens,
}

/// The first finding, formatted to follow a sentence.
fn first_finding(findings: &[TokenFinding]) -> String {
    findings.first().map(|finding| format!(" ({finding})")).unwrap_or_default()
}

impl ImportedDocument {
    fn has_tokens(&self) -> bool {
        !FlatTokens::from_document(&self.document).tokens.is_empty()
    }
}

/// Imports the custom properties of a stylesheet like [`css`], but rejects one without tokens.
pub fn stylesheet(text: &str) -> Result<ImportedDocument, ImportError> {
    let imported = css_allow_empty(text)?;
    if imported.has_tokens() { Ok(imported) } else { Err(ImportError::NoProperties(imported.findings)) }
}

/// Imports design-token JSON: a token file, a resolver file with embedded tokens, or a file of Tokens Studio
/// or Style Dictionary. Legacy values are normalised, which is reported in the findings. A file without
/// tokens is rejected.
pub fn json(text: &str) -> Result<ImportedDocument, ImportError> {
    let mut document = TokenDocument::parse(text)?;
    // A group may have this name as well.
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
            "{names} names contained `{{`, `}}` or `.`, which are reserved for references; replaced by `_`"
        );
        findings.push(TokenFinding::warning("", message));
    }
    let (document, values) = normalise_counting(&document);
    if values > 0 {
        findings.push(TokenFinding::warning(
            "",
            format!("{values} tokens had values in a legacy format, which were converted"),
        ));
    }
    findings.extend(validate(&document));
    let imported = ImportedDocument { document: document.within_limits()?, findings };
    if imported.has_tokens() { Ok(imported) } else { Err(ImportError::NoTokens) }
}
