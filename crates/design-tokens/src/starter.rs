//! A design system to begin with.

use super::document::Document;

/// Colours for light and dark, space, type, corners, shadows and motion; small, valid and readable.
///
/// Without a mode it is light; its one mode is `dark`.
pub fn starter() -> Document {
    // A test reads it, so that it never is the empty document.
    Document::parse(include_str!("starter.tokens.json")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, TextSize, check_contrast, resolve, suggest_pairs, validate};

    #[test]
    fn it_is_valid() {
        let starter = starter();
        assert_eq!(validate(&starter), []);
        assert_eq!(starter.modes(), ["dark"]);
        let resolved = resolve(&starter, Some("dark"));
        assert!(resolved.tokens().len() > 80 && resolved.findings.is_empty());
        assert!(resolved.tokens().iter().all(|token| token.typed().is_some()));
    }

    #[test]
    fn its_text_can_be_read_in_every_mode() {
        let starter = starter();
        let pairs = suggest_pairs(&starter);
        assert_eq!(pairs.len(), 4 + 3 * 3, "{pairs:?}");
        for checked in check_contrast(&starter, &pairs) {
            assert!(checked.level(TextSize::Normal) >= Level::Aa, "{checked:?}");
        }
    }
}
