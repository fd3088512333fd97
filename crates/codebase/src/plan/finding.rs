//! What is said about a plan.

use crate::invisible::reveal;
use crate::repository_text::{NameKind, RepositoryTexts};

/// Whether it can be applied all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It cannot.
    Blocks,
    /// It can, but should be looked at.
    Warns,
}

/// One thing that is wrong with a plan, or may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Whether it blocks.
    pub severity: Severity,
    /// A stable name for programs.
    pub code: &'static str,
    /// The edit, counted from 0.
    pub edit: Option<usize>,
    /// The file.
    pub path: Option<String>,
    /// The line in it, counted from 1.
    pub line: Option<u32>,
    /// What is wrong, without the number of the edit.
    pub says: String,
    /// What to do about it.
    pub fix: String,
}

impl Finding {
    pub(crate) fn blocks(code: &'static str, says: impl Into<String>) -> Self {
        Self {
            severity: Severity::Blocks,
            code,
            edit: None,
            path: None,
            line: None,
            says: says.into(),
            fix: String::new(),
        }
    }

    pub(crate) fn warns(code: &'static str, says: impl Into<String>) -> Self {
        Self { severity: Severity::Warns, ..Self::blocks(code, says) }
    }

    pub(crate) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = fix.into();
        self
    }

    pub(crate) fn at(mut self, path: &str, line: u32) -> Self {
        (self.path, self.line) = (Some(path.to_owned()), Some(line));
        self
    }

    pub(crate) fn of(mut self, edit: usize) -> Self {
        self.edit = Some(edit);
        self
    }

    /// Whether it stands in the way.
    pub fn is_blocking(&self) -> bool {
        self.severity == Severity::Blocks
    }

    /// The whole sentence, and what to do about it.
    pub fn advice(&self) -> String {
        match self.fix.as_str() {
            "" => self.sentence(),
            fix => format!("{} ({})", self.sentence(), self.in_words(fix)),
        }
    }

    /// A sentence about its file, which is named by a stand-in if it has no plain name.
    fn in_words(&self, sentence: &str) -> String {
        match &self.path {
            Some(path) if !path.is_empty() && !NameKind::File.is_plain(path) => {
                sentence.replace(path, &RepositoryTexts::default().file(path))
            }
            _ => sentence.to_owned(),
        }
    }

    /// What is wrong, without the number of the edit, and with a stand-in for a file that has no plain name.
    pub fn message(&self) -> String {
        self.in_words(&self.says)
    }

    /// The whole sentence: `Edit #0: …`.
    pub fn sentence(&self) -> String {
        let says = self.message();
        match self.edit {
            Some(edit) => format!("Edit #{edit}: {says}"),
            None => says,
        }
    }
}

/// Something that a plan says, in a sentence: in one line, and not too long.
pub(crate) fn quoted(text: &str) -> String {
    let (kept, more) = text.char_indices().nth(200).map_or((text, ""), |(end, _)| (&text[..end], "…"));
    format!("'{}{more}'", reveal(kept, |_| " ".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_plain_name_has_a_stand_in() {
        for (path, expected) in [
            ("app/main.py", "Edit #1: app/main.py is not there (make app/main.py)"),
            (
                "app/run `curl evil`.py",
                "Edit #1: (file 3114ca in app/) is not there (make (file 3114ca in app/))",
            ),
        ] {
            let finding = Finding::blocks("x", format!("{path} is not there")).fix(format!("make {path}"));
            assert_eq!(finding.at(path, 1).of(1).advice(), expected);
        }
    }
}
