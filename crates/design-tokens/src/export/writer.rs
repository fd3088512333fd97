//! The text of an export, which is not longer than it may be.

use super::ExportOutput;
use crate::budget::CostBudget;
use crate::finding::{TokenFinding, excerpt};
use crate::limits::MAX_EXPORT_BYTES;

/// A text that takes pieces while there is room for them.
pub(super) struct BoundedWriter {
    pub(super) text: String,
    budget: CostBudget,
    /// The first that found no room.
    truncated_at: Option<String>,
}

impl BoundedWriter {
    pub(super) fn new() -> Self {
        Self { text: String::new(), budget: CostBudget::new(MAX_EXPORT_BYTES), truncated_at: None }
    }

    /// Whether there is room for so many bytes about a token or a mode. If not, there is none for all that follow.
    pub(super) fn reserve(&mut self, bytes: usize, about: &str) -> bool {
        if self.truncated_at.is_none() && self.budget.spend(bytes).is_none() {
            self.truncated_at = Some(excerpt(about).into_owned());
        }
        self.truncated_at.is_none()
    }

    /// Whether nothing more has room. Whoever asks first need not make what would be thrown away.
    pub(super) const fn is_full(&self) -> bool {
        self.truncated_at.is_some()
    }

    /// Adds a piece about a token or a mode, if there is room.
    pub(super) fn append(&mut self, piece: &str, about: &str) {
        if self.reserve(piece.len(), about) {
            self.text.push_str(piece);
        }
    }

    /// What came out, with what was found on the way.
    pub(super) fn finish(self, mut findings: Vec<TokenFinding>) -> ExportOutput {
        if let Some(about) = self.truncated_at {
            let message = format!(
                "the export may have {MAX_EXPORT_BYTES} bytes; it lacks `{about}` and all that follows"
            );
            findings.push(TokenFinding::error("", message));
        }
        ExportOutput { text: self.text, findings }
    }
}
