//! The text of an export, limited in size.

use super::ExportOutput;
use crate::budget::CostBudget;
use crate::finding::{TokenFinding, excerpt};
use crate::limits::MAX_EXPORT_BYTES;

/// A text that accepts pieces as long as there is room.
pub(super) struct BoundedWriter {
    pub(super) text: String,
    budget: CostBudget,
    /// The first token or mode that did not fit.
    truncated_at: Option<String>,
}

impl BoundedWriter {
    pub(super) fn new() -> Self {
        Self { text: String::new(), budget: CostBudget::new(MAX_EXPORT_BYTES), truncated_at: None }
    }

    /// Reserves bytes for a token or mode. Once that fails, everything that follows is dropped as well.
    pub(super) fn reserve(&mut self, bytes: usize, about: &str) -> bool {
        if self.truncated_at.is_none() && self.budget.spend(bytes).is_none() {
            self.truncated_at = Some(excerpt(about).into_owned());
        }
        self.truncated_at.is_none()
    }

    /// Whether the text is full, so that callers can skip work that would be dropped.
    pub(super) const fn is_full(&self) -> bool {
        self.truncated_at.is_some()
    }

    /// Appends a piece for a token or mode, if there is room.
    pub(super) fn append(&mut self, piece: &str, about: &str) {
        if self.reserve(piece.len(), about) {
            self.text.push_str(piece);
        }
    }

    /// The output, with its findings.
    pub(super) fn finish(self, mut findings: Vec<TokenFinding>) -> ExportOutput {
        if let Some(about) = self.truncated_at {
            let message = format!(
                "the export exceeds {MAX_EXPORT_BYTES} bytes; `{about}` and everything after it are missing"
            );
            findings.push(TokenFinding::error("", message));
        }
        ExportOutput { text: self.text, findings }
    }
}
