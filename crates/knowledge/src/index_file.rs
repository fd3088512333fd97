//! Keeping an index in a file.

use std::io::{self, Read};

use tree::{ReadError, Tree};

use crate::index::{Index, IndexError};

/// A larger file is not read into memory.
const MAX_INDEX_BYTES: u64 = 4 << 30;

/// Why an index could not be kept or fetched.
#[derive(Debug, thiserror::Error)]
pub enum IndexFileError {
    /// The file could not be read.
    #[error("cannot read the index `{path}`: {source}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: ReadError,
    },
    /// The file could not be written. What stood there stands there still.
    #[error("cannot write the index `{path}`: {source}")]
    Write {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// Something else has its name, and is not touched.
    #[error(
        "`{path}` is {what}, not an index of documents; nothing was changed: move it away, or choose another name"
    )]
    NotReplaceable {
        /// The file.
        path: String,
        /// What it is.
        what: String,
    },
    /// It is not an index, or not one that can be used.
    #[error("`{path}`: {source}")]
    Index {
        /// The file.
        path: String,
        /// Why.
        source: IndexError,
    },
}

/// Refuses to replace what is not an index: a folder, a device, a link, a file of something else.
pub(crate) fn check_replaceable(tree: &Tree, path: &str) -> Result<(), IndexFileError> {
    check_existing(tree, path, |begin| begin == Index::MAGIC)
}

/// What a killed process may have left: an index, or the beginning of one.
fn check_leftover(tree: &Tree, path: &str) -> Result<(), IndexFileError> {
    check_existing(tree, path, |begin| Index::MAGIC.starts_with(begin))
}

fn check_existing(tree: &Tree, path: &str, is_ours: fn(&[u8]) -> bool) -> Result<(), IndexFileError> {
    let taken =
        |what: &str| Err(IndexFileError::NotReplaceable { path: path.to_owned(), what: what.to_owned() });
    match tree.metadata(path) {
        Ok(None) => return Ok(()),
        Ok(Some(found)) if found.is_file => {}
        Ok(Some(found)) if found.is_folder => return taken("a folder"),
        Ok(Some(_)) => return taken("a device, a pipe or a socket"),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => return taken("a symbolic link"),
        Err(source) => return Err(IndexFileError::Write { path: path.to_owned(), source }),
    }
    let mut begin = Vec::new();
    let read = tree.stream(path, u64::MAX).and_then(|file| {
        file.take(Index::MAGIC.len() as u64).read_to_end(&mut begin)?;
        Ok(())
    });
    match read {
        Ok(()) if is_ours(&begin) => Ok(()),
        Ok(()) => taken("a file of another kind"),
        Err(error) => taken(&format!("a file that cannot be looked into ({error})")),
    }
}

impl Index {
    /// Writes the index to a file, which holds either the old one or the new one at any time. Nothing but an index is replaced.
    pub fn save(&self, tree: &Tree, path: &str) -> Result<(), IndexFileError> {
        let failed = |source| IndexFileError::Write { path: path.to_owned(), source };
        let aside = format!("{path}.new");
        check_leftover(tree, &aside)?;
        tree.remove(&aside).map_err(failed)?;
        tree.create_file(&aside, self.bytes(), 0o644).map_err(failed)?;
        // As late as possible: something else may have come there meanwhile.
        let renamed = check_replaceable(tree, path).and_then(|()| tree.rename(&aside, path).map_err(failed));
        renamed.inspect_err(|_| drop(tree.remove(&aside)))
    }

    /// Reads an index from a file.
    pub fn load(tree: &Tree, path: &str) -> Result<Self, IndexFileError> {
        let bytes = tree
            .read(path, MAX_INDEX_BYTES)
            .map_err(|source| IndexFileError::Read { path: path.to_owned(), source })?;
        Self::open(bytes).map_err(|source| IndexFileError::Index { path: path.to_owned(), source })
    }
}
