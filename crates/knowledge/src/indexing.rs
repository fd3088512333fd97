//! Making an index file of a folder.

use std::path::Path;

use tree::{Limits, RootError, Tree, WorkBudget};

use crate::index_file::check_replaceable;
use crate::{Document, DocumentFolder, Encoder, Index, IndexError, IndexFileError, IndexedDocument};

/// Documentation is written by people: a larger file is a log or a dump.
const MAX_DOCUMENT_BYTES: u64 = 4 * 1024 * 1024;

/// What came of it.
#[derive(Debug)]
pub struct IndexingReport {
    /// Documents.
    pub documents: usize,
    /// Passages that they were cut into.
    pub chunks: usize,
    /// Documents that were in the index before, as they are now.
    pub unchanged: usize,
    /// What was left out, and why.
    pub skipped: Vec<String>,
}

/// Why there is no index.
#[derive(Debug, thiserror::Error)]
pub enum IndexingError {
    /// A folder cannot be read.
    #[error(transparent)]
    Folder(#[from] RootError),
    /// The index cannot be written.
    #[error(transparent)]
    File(#[from] IndexFileError),
    /// The documents cannot be indexed.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// There is nothing to index.
    #[error("there are no documents in {0}: nothing ends with .md, .mdx, .markdown, .rst or .txt")]
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
    budget: &WorkBudget,
) -> Result<IndexingReport, IndexingError> {
    let (home, name) = split_output_path(out)?;
    // Before all the work, and again after it.
    check_replaceable(&home, name)?;
    let limits = Limits { file_bytes: MAX_DOCUMENT_BYTES, ..Limits::default() };
    let DocumentFolder { documents: pages, skipped, cuts } =
        DocumentFolder::read(&Tree::open(folder)?, limits, budget);
    if pages.is_empty() {
        return Err(IndexingError::Empty(folder.display().to_string()));
    }
    // One that cannot be read saves nothing, and is replaced.
    let before = Index::load(&home, name).ok();
    let index = match &before {
        Some(before) => Index::build_from(before, &pages, encoder)?,
        None => Index::build(&pages, encoder)?,
    };
    index.save(&home, name)?;
    let kept = |page: &Document| before.as_ref().and_then(|before| before.document(&page.path));
    let is_unchanged =
        |page: &&Document| kept(page).is_some_and(|kept: IndexedDocument<'_>| kept.source == page.source);
    let skipped = skipped.iter().map(|file| format!("{} {}", file.path, file.reason.message()));
    Ok(IndexingReport {
        documents: pages.len(),
        chunks: index.chunk_count(),
        unchanged: pages.iter().filter(is_unchanged).count(),
        skipped: cuts.iter().map(|cut| cut.name().to_owned()).chain(skipped).collect(),
    })
}

/// The folder that an index lies in, and its name there.
fn split_output_path(out: &Path) -> Result<(Tree, &str), IndexingError> {
    let nameless = || IndexingError::Name(out.display().to_string());
    let name = out.file_name().and_then(|name| name.to_str()).ok_or_else(nameless)?;
    let home = out.parent().filter(|home| !home.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((Tree::open(home)?, name))
}
