//! Findings: problems with a plan, as reported to the user.

use crate::invisible_chars::replace_invisible_chars;
use crate::name_redaction::{NameKind, NameRedactor};

const ALREADY_PRESENT: &str = "already_present";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlanSeverity {
    /// The plan cannot be applied.
    Blocking,
    /// The plan can be applied, but should be reviewed.
    Warning,
}

/// An actual or possible problem with a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanFinding {
    pub severity: PlanSeverity,
    /// A stable, machine-readable code.
    pub code: &'static str,
    /// The number of the edit, counted from 0.
    pub edit: Option<usize>,
    pub path: Option<String>,
    /// Counted from 1.
    pub line: Option<u32>,
    /// The problem, without the number of the edit.
    pub text: String,
    /// How to resolve it; may be empty.
    pub fix: String,
}

impl PlanFinding {
    pub(crate) fn blocking(code: &'static str, says: impl Into<String>) -> Self {
        Self {
            severity: PlanSeverity::Blocking,
            code,
            edit: None,
            path: None,
            line: None,
            text: says.into(),
            fix: String::new(),
        }
    }

    pub(crate) fn warning(code: &'static str, says: impl Into<String>) -> Self {
        Self { severity: PlanSeverity::Warning, ..Self::blocking(code, says) }
    }

    /// The edit changes nothing because the file already contains what it would write.
    pub(crate) fn already_present(says: impl Into<String>) -> Self {
        Self::warning(ALREADY_PRESENT, says)
    }

    /// Whether it only reports that an edit is already in place.
    pub fn is_already_present(&self) -> bool {
        self.code == ALREADY_PRESENT
    }

    pub(crate) fn with_fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = fix.into();
        self
    }

    pub(crate) fn with_location(mut self, path: &str, line: u32) -> Self {
        (self.path, self.line) = (Some(path.to_owned()), Some(line));
        self
    }

    pub(crate) fn for_edit(mut self, edit: usize) -> Self {
        self.edit = Some(edit);
        self
    }

    pub fn is_blocking(&self) -> bool {
        self.severity == PlanSeverity::Blocking
    }

    /// [`Self::sentence`], followed by the fix in parentheses.
    pub fn sentence_with_fix(&self) -> String {
        match self.fix.as_str() {
            "" => self.sentence(),
            fix => format!("{} ({})", self.sentence(), self.redact_path(fix)),
        }
    }

    /// Replaces the path by a placeholder if it is not a safe name to show.
    fn redact_path(&self, sentence: &str) -> String {
        match &self.path {
            Some(path) if !path.is_empty() && !NameKind::File.is_safe_name(path) => {
                sentence.replace(path, &NameRedactor::default().file(path))
            }
            _ => sentence.to_owned(),
        }
    }

    /// The problem without the number of the edit, and with a placeholder for an unsafe file name.
    pub fn message(&self) -> String {
        self.redact_path(&self.text)
    }

    /// The problem with the number of the edit: `Edit #0: …`.
    pub fn sentence(&self) -> String {
        let says = self.message();
        match self.edit {
            Some(edit) => format!("Edit #{edit}: {says}"),
            None => says,
        }
    }
}

/// Quotes a string from a plan for a message: on one line, and truncated.
pub(crate) fn quote(text: &str) -> String {
    let (kept, more) = text.char_indices().nth(200).map_or((text, ""), |(end, _)| (&text[..end], "…"));
    format!("'{}{more}'", replace_invisible_chars(kept, |_| " ".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_file_name_is_replaced_by_a_placeholder() {
        for (path, expected) in [
            ("app/main.py", "Edit #1: app/main.py is not there (make app/main.py)"),
            (
                "app/run `curl evil`.py",
                "Edit #1: (file 3114ca in app/) is not there (make (file 3114ca in app/))",
            ),
        ] {
            let finding =
                PlanFinding::blocking("x", format!("{path} is not there")).with_fix(format!("make {path}"));
            assert_eq!(finding.with_location(path, 1).for_edit(1).sentence_with_fix(), expected);
        }
    }
}
