//! What is wrong with the files, for the people who wrote them. A warning never stops the reading of anything else.

use std::collections::BTreeMap;

use codebase::{NameKind, NameRedactor, RedactedName};
use serde::Serialize;
use tree::{ReadError, Tree};

use super::limits;
use super::secret_patterns::redact_text;

/// Something that could not be read as it should.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct FileWarning {
    /// The file or folder, from the root of the tree.
    pub file: String,
    /// Its line, where there is one to name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// What is wrong, and what that means for the answer.
    pub what: String,
    /// What of the files that sentence does not repeat.
    #[serde(skip)]
    pub texts: Vec<RedactedName>,
}

/// Collects warnings: a bounded number for each file, and in all.
#[derive(Debug, Default)]
pub(super) struct FileWarnings {
    list: Vec<FileWarning>,
    count_by_file: BTreeMap<String, usize>,
    left_out: usize,
    redactor: NameRedactor,
}

impl FileWarnings {
    pub(super) fn add(&mut self, file: &str, line: impl Into<Option<usize>>, what: impl Into<String>) {
        // The words of a parser may repeat what stands in the file.
        let what = redact_text(&what.into()).into_owned();
        let mut texts = self.redactor.redacted_in([what.as_str()]);
        for text in &mut texts {
            text.text = redact_text(&text.text).into_owned();
        }
        self.push(FileWarning { file: file.to_owned(), line: line.into(), what, texts });
    }

    /// A name or value from a file, in the words of a warning.
    pub(super) fn display_name(
        &self,
        kind: NameKind,
        name: &str,
        file: &str,
        line: impl Into<Option<usize>>,
    ) -> String {
        let line = line.into().and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
        self.redactor.name(kind, name, file, line).into_owned()
    }

    /// A file in the words of a warning.
    pub(super) fn display_path(&self, path: &str) -> String {
        self.redactor.file(path).into_owned()
    }

    /// A folder in the words of a warning.
    pub(super) fn display_folder(&self, path: &str) -> String {
        self.redactor.folder(path).into_owned()
    }

    fn push(&mut self, warning: FileWarning) {
        let count = self.count_by_file.entry(warning.file.clone()).or_default();
        *count += 1;
        if *count > limits::MAX_WARNINGS_PER_FILE || self.list.len() >= limits::MAX_WARNINGS {
            self.left_out += 1;
            return;
        }
        self.list.push(warning);
    }

    pub(super) fn extend(&mut self, others: Self) {
        self.left_out += others.left_out;
        others.list.into_iter().for_each(|warning| self.push(warning));
    }

    /// Sorted by file and line. What was too much is counted in a last one.
    pub(super) fn into_list(mut self) -> Vec<FileWarning> {
        self.list.sort();
        self.list.dedup();
        if self.left_out > 0 {
            let what = format!("{} more warnings are left out", self.left_out);
            self.list.push(FileWarning { file: ".".to_owned(), line: None, what, texts: Vec::new() });
        }
        self.list
    }
}

/// Why a file could not be read, with both sizes if it is too large. `None` if there is no such file.
pub(super) fn read_error_reason(tree: &Tree, path: &str, error: &ReadError) -> Option<String> {
    match error {
        ReadError::Io(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        ReadError::Io(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            // The kernel says the same of a link that leads out of the tree.
            let is_link =
                tree.metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::InvalidInput);
            let what =
                if is_link { "a symbolic link that leads out; not followed" } else { "permission denied" };
            Some(what.to_owned())
        }
        ReadError::Io(error) => Some(format!("cannot be read: {error}")),
        ReadError::NotAFile => Some("not a regular file".to_owned()),
        ReadError::TooLarge { limit } => {
            let size = tree.metadata(path).ok().flatten().map_or(0, |found| found.size);
            Some(format!("too large: {size} bytes, and at most {limit} are read"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_per_file_are_bounded() {
        let mut warnings = FileWarnings::default();
        for line in 0..1000 {
            warnings.add("a.jsonl", line, "no JSON");
        }
        warnings.add("b.yaml", 3, "api_key: hunter2-hunter2 is not a list");
        let list = warnings.into_list();
        assert_eq!(list.len(), limits::MAX_WARNINGS_PER_FILE + 2);
        let of_b = list.iter().find(|warning| warning.file == "b.yaml").unwrap();
        assert_eq!((of_b.line, of_b.what.contains("hunter2")), (Some(3), false));
        assert_eq!(list.last().unwrap().what, "980 more warnings are left out");
    }
}
