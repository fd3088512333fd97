//! Reading the documents of a folder.

use std::collections::BTreeSet;

use tree::{Budget, Cut, FileEntry, Limits, Skipped, Tree, Visitor};

use crate::document::Page;

const ENDINGS: [&str; 5] = ["md", "mdx", "markdown", "rst", "txt"];
/// Text files that are no documents.
const NOT_PROSE: [&str; 3] = ["CMakeLists.txt", "requirements.txt", "robots.txt"];

/// The documents of a folder.
pub struct Folder {
    /// By path.
    pub pages: Vec<Page>,
    /// Documents that could not be read, or are not UTF-8.
    pub skipped: Vec<Skipped>,
    /// Which limits ended the reading early, if any did.
    pub cuts: BTreeSet<Cut>,
}

impl Folder {
    /// Reads every document beneath a root that is not ignored, vendored or generated.
    pub fn read(tree: &Tree, limits: Limits, budget: &Budget) -> Self {
        let walked = tree.walk(limits, budget, Reader::default);
        let mut pages = Vec::new();
        let mut skipped = walked.skipped;
        for reader in walked.visitors {
            pages.extend(reader.pages);
            skipped.extend(reader.skipped);
        }
        pages.sort_by(|a, b| a.path.cmp(&b.path));
        skipped.sort();
        Self { pages, skipped, cuts: walked.cuts }
    }
}

#[derive(Default)]
struct Reader {
    pages: Vec<Page>,
    skipped: Vec<Skipped>,
    bytes: Vec<u8>,
}

impl Visitor for Reader {
    fn visit(&mut self, file: &FileEntry<'_>) {
        if !is_document(file.name()) || !file.read(&mut self.bytes) {
            return;
        }
        match str::from_utf8(&self.bytes) {
            Ok(source) => self.pages.push(Page::parse(file.path, source)),
            Err(_) => {
                self.skipped.push(Skipped { path: file.path.to_owned(), reason: tree::Reason::Unreadable });
            }
        }
    }
}

fn is_document(name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known)) && !NOT_PROSE.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_known_by_their_names() {
        let check = |name, expected| assert_eq!(is_document(name), expected, "{name}");
        check("README.md", true);
        check("page.MDX", true);
        check("notes.txt", true);
        check("requirements.txt", false);
        check("main.rs", false);
        check("md", false);
    }
}
