//! A minimal design system to start from.

use super::document::TokenDocument;

/// Colours for light and dark, space, type, corners, shadows and motion; small, valid and readable.
///
/// The base values are light; the only mode is `dark`.
pub fn starter_document() -> TokenDocument {
    // A test parses it, so this never falls back to the empty document.
    TokenDocument::parse(include_str!("starter.tokens.json")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContrastLevel, TextSize, check_contrast, resolve, suggest_pairs, validate};

    #[test]
    fn starter_is_valid() {
        let starter = starter_document();
        assert_eq!(validate(&starter), []);
        assert_eq!(starter.modes(), ["dark"]);
        let resolved = resolve(&starter, Some("dark"));
        assert!(resolved.tokens().len() > 80 && resolved.findings.is_empty());
        assert!(resolved.tokens().iter().all(|token| token.typed_value().is_some()));
    }

    #[test]
    fn starter_text_has_aa_contrast_in_every_mode() {
        let starter = starter_document();
        let pairs = suggest_pairs(&starter);
        assert_eq!(pairs.len(), 4 + 3 * 3, "{pairs:?}");
        for checked in check_contrast(&starter, &pairs) {
            assert!(checked.level(TextSize::Normal) >= ContrastLevel::Aa, "{checked:?}");
        }
    }
}
