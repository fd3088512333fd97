//! Making an index file of a folder.

use std::path::Path;

use tree::{Budget, Limits, RootError, Tree};

use crate::file::check_replaceable;
use crate::{Encoder, FileError, Folder, Index, IndexError, IndexedPage, Page};

/// Documentation is written by people: a larger file is a log or a dump.
const LARGEST: u64 = 4 * 1024 * 1024;

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
pub enum MakeError {
    /// A folder cannot be read.
    #[error(transparent)]
    Folder(#[from] RootError),
    /// The index cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
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
    budget: &Budget,
) -> Result<Made, MakeError> {
    let (home, name) = place(out)?;
    // Before all the work, and again after it.
    check_replaceable(&home, name)?;
    let limits = Limits { file_bytes: LARGEST, ..Limits::default() };
    let Folder { pages, skipped, cuts } = Folder::read(&Tree::open(folder)?, limits, budget);
    if pages.is_empty() {
        return Err(MakeError::Empty(folder.display().to_string()));
    }
    // One that cannot be read saves nothing, and is replaced.
    let before = Index::load(&home, name).ok();
    let index = match &before {
        Some(before) => Index::build_from(before, &pages, encoder)?,
        None => Index::build(&pages, encoder)?,
    };
    index.save(&home, name)?;
    let kept = |page: &Page| before.as_ref().and_then(|before| before.page(&page.path));
    let is_unchanged =
        |page: &&Page| kept(page).is_some_and(|kept: IndexedPage<'_>| kept.source == page.source);
    let skipped = skipped.iter().map(|file| format!("{} {}", file.path, file.reason.text()));
    Ok(Made {
        pages: pages.len(),
        chunks: index.chunk_count(),
        unchanged: pages.iter().filter(is_unchanged).count(),
        skipped: cuts.iter().map(|cut| cut.name().to_owned()).chain(skipped).collect(),
    })
}

/// The folder that an index lies in, and its name there.
fn place(out: &Path) -> Result<(Tree, &str), MakeError> {
    let nameless = || MakeError::Name(out.display().to_string());
    let name = out.file_name().and_then(|name| name.to_str()).ok_or_else(nameless)?;
    let home = out.parent().filter(|home| !home.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((Tree::open(home)?, name))
}
