//! Making an index of a folder.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use tree::{Budget, FileEntry, Limits, RootError, Tree, Visitor};

use crate::{Encoder, FileError, Index, IndexError, Page};

/// What documents end with.
const ENDINGS: [&str; 6] = [".md", ".mdx", ".markdown", ".rst", ".txt", ".adoc"];

/// Documentation is written by people: a larger file is a log or a dump.
const LARGEST: u64 = 4 * 1024 * 1024;

/// How far the work is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// So many documents are done.
    pub done: u64,
    /// Of so many, if that is known.
    pub total: Option<u64>,
    /// What is being done.
    pub what: &'a str,
}

/// What came of it.
#[derive(Debug)]
pub struct Made {
    /// Documents.
    pub pages: usize,
    /// Passages that they were cut into.
    pub chunks: usize,
    /// Documents that were in the index before, as they are now.
    pub unchanged: usize,
    /// What was left out, and why.
    pub skipped: Vec<String>,
}

/// Why there is no index.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The folder cannot be read.
    #[error("{0}")]
    Folder(#[from] RootError),
    /// The index cannot be written.
    #[error("{0}")]
    File(#[from] FileError),
    /// The documents cannot be indexed.
    #[error("{0}")]
    Index(#[from] IndexError),
    /// There is nothing to index.
    #[error("there are no documents in {0}: nothing ends with .md, .mdx, .markdown, .rst, .adoc or .txt")]
    Empty(String),
    /// The file is named like a folder, or like nothing.
    #[error("{0} cannot be the name of an index")]
    Name(String),
}

/// Indexes the documents in a folder, and writes the index to a file. An index that is there already saves work.
pub fn index_folder(
    folder: &Path,
    out: &Path,
    encoder: &Encoder,
    tell: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<Made, FolderError> {
    let (home, name) = place(out)?;
    let (mut pages, skipped) = read(&Tree::open(folder)?, tell);
    if pages.is_empty() {
        return Err(FolderError::Empty(folder.display().to_string()));
    }
    pages.sort_by(|one, other| one.path.cmp(&other.path));
    tell(Progress { done: pages.len() as u64, total: Some(pages.len() as u64), what: "making the index" });
    // One that cannot be read saves nothing, and is replaced.
    let before = Index::load(&home, name).ok();
    let index = match &before {
        Some(before) => Index::build_from(before, &pages, encoder)?,
        None => Index::build(&pages, encoder)?,
    };
    let is_unchanged = |page: &&Page| {
        let before = before.as_ref().and_then(|before| before.page(&page.path));
        before.is_some_and(|before| before.source == page.source)
    };
    let unchanged = pages.iter().filter(is_unchanged).count();
    index.save(&home, name)?;
    Ok(Made { pages: pages.len(), chunks: index.chunk_count(), unchanged, skipped })
}

/// The folder that an index lies in, and its name there.
fn place(out: &Path) -> Result<(Tree, &str), FolderError> {
    let nameless = || FolderError::Name(out.display().to_string());
    let name = out.file_name().and_then(|name| name.to_str()).ok_or_else(nameless)?;
    let home = out.parent().filter(|home| !home.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((Tree::open(home)?, name))
}

/// Every document, and what was left out.
fn read(tree: &Tree, tell: &(dyn Fn(Progress<'_>) + Sync)) -> (Vec<Page>, Vec<String>) {
    let done = AtomicU64::new(0);
    let limits = Limits { file_bytes: LARGEST, ..Limits::default() };
    let reader = || Reader { pages: Vec::new(), skipped: Vec::new(), bytes: Vec::new(), done: &done, tell };
    let walked = tree.walk(limits, &Budget::unlimited(), reader);
    let mut pages = Vec::new();
    let mut skipped: Vec<String> = walked.cuts.iter().map(|cut| cut.text().to_owned()).collect();
    skipped.extend(walked.skipped.iter().map(|file| format!("{} {}", file.path, file.reason.text())));
    for reader in walked.visitors {
        pages.extend(reader.pages);
        skipped.extend(reader.skipped);
    }
    skipped.sort();
    (pages, skipped)
}

struct Reader<'a> {
    pages: Vec<Page>,
    skipped: Vec<String>,
    bytes: Vec<u8>,
    done: &'a AtomicU64,
    tell: &'a (dyn Fn(Progress<'_>) + Sync),
}

impl Visitor for Reader<'_> {
    fn visit(&mut self, file: &FileEntry<'_>) {
        let name = file.name().to_ascii_lowercase();
        if !ENDINGS.iter().any(|ending| name.ends_with(ending)) || !file.read(&mut self.bytes) {
            return;
        }
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        (self.tell)(Progress { done, total: None, what: file.path });
        match std::str::from_utf8(&self.bytes) {
            Ok(text) => self.pages.push(Page::parse(file.path, text)),
            Err(_) => self.skipped.push(format!("{} is not UTF-8", file.path)),
        }
    }
}
