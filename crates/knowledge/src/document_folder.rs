//! Reading the documents of a folder.

use std::collections::BTreeSet;

use tree::{FileEntry, LimitHit, Limits, SkippedPath, Tree, Visitor, WorkBudget};

use crate::document::Document;

const DOCUMENT_EXTENSIONS: [&str; 5] = ["md", "mdx", "markdown", "rst", "txt"];
/// Text files that are no documents.
const EXCLUDED_FILES: [&str; 3] = ["CMakeLists.txt", "requirements.txt", "robots.txt"];

/// The documents of a folder.
pub struct DocumentFolder {
    /// By path.
    pub documents: Vec<Document>,
    /// Documents that could not be read, or are not UTF-8.
    pub skipped: Vec<SkippedPath>,
    /// Which limits ended the reading early, if any did.
    pub cuts: BTreeSet<LimitHit>,
}

impl DocumentFolder {
    /// Reads every document beneath a root that is not ignored, vendored or generated.
    pub fn read(tree: &Tree, limits: Limits, budget: &WorkBudget) -> Self {
        let walked = tree.walk(limits, budget, DocumentReader::default);
        let mut documents = Vec::new();
        let mut skipped = walked.skipped;
        for reader in walked.visitors {
            documents.extend(reader.documents);
            skipped.extend(reader.skipped);
        }
        documents.sort_by(|a, b| a.path.cmp(&b.path));
        skipped.sort();
        Self { documents, skipped, cuts: walked.limits_hit }
    }
}

#[derive(Default)]
struct DocumentReader {
    documents: Vec<Document>,
    skipped: Vec<SkippedPath>,
    bytes: Vec<u8>,
}

impl Visitor for DocumentReader {
    fn visit(&mut self, file: &FileEntry<'_>) {
        if !is_document(file.name()) || !file.read(&mut self.bytes) {
            return;
        }
        match str::from_utf8(&self.bytes) {
            Ok(source) => self.documents.push(Document::parse(file.path, source)),
            Err(_) => {
                self.skipped
                    .push(SkippedPath { path: file.path.to_owned(), reason: tree::SkipReason::Unreadable });
            }
        }
    }
}

fn is_document(name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    DOCUMENT_EXTENSIONS.iter().any(|known| ending.eq_ignore_ascii_case(known))
        && !EXCLUDED_FILES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_recognized_by_file_name() {
        let check = |name, expected| assert_eq!(is_document(name), expected, "{name}");
        check("README.md", true);
        check("page.MDX", true);
        check("notes.txt", true);
        check("requirements.txt", false);
        check("main.rs", false);
        check("md", false);
    }
}
