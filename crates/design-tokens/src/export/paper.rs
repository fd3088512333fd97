//! The text of an export, which is not longer than it may be.

use super::Exported;
use crate::budget::Budget;
use crate::finding::{Finding, shown};
use crate::limits::MAX_EXPORT;

/// A text that takes pieces while there is room for them.
pub(super) struct Paper {
    pub(super) text: String,
    room: Budget,
    /// The first that found no room.
    cut: Option<String>,
}

impl Paper {
    pub(super) fn new() -> Self {
        Self { text: String::new(), room: Budget::of(MAX_EXPORT), cut: None }
    }

    /// Whether there is room for so many bytes about a token or a mode. If not, there is none for all that follow.
    pub(super) fn has_room(&mut self, bytes: usize, about: &str) -> bool {
        if self.cut.is_none() && self.room.take(bytes).is_none() {
            self.cut = Some(shown(about).into_owned());
        }
        self.cut.is_none()
    }

    /// Whether nothing more has room. Whoever asks first need not make what would be thrown away.
    pub(super) const fn is_full(&self) -> bool {
        self.cut.is_some()
    }

    /// Adds a piece about a token or a mode, if there is room.
    pub(super) fn add(&mut self, piece: &str, about: &str) {
        if self.has_room(piece.len(), about) {
            self.text.push_str(piece);
        }
    }

    /// What came out, with what was found on the way.
    pub(super) fn done(self, mut findings: Vec<Finding>) -> Exported {
        if let Some(about) = self.cut {
            let message =
                format!("the export may have {MAX_EXPORT} bytes; it lacks `{about}` and all that follows");
            findings.push(Finding::error("", message));
        }
        Exported { text: self.text, findings }
    }
}
