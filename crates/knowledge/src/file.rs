//! Keeping an index in a file.

use tree::{ReadError, Tree};

use crate::index::{Index, IndexError};

/// A larger file is not read into memory.
const LARGEST: u64 = 4 << 30;

/// Why an index could not be kept or fetched.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
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
    /// It is not an index, or not one that can be used.
    #[error("`{path}`: {source}")]
    Index {
        /// The file.
        path: String,
        /// Why.
        source: IndexError,
    },
}

impl Index {
    /// Writes the index to a file, which holds either the old one or the new one at any time.
    pub fn save(&self, tree: &Tree, path: &str) -> Result<(), FileError> {
        let failed = |source| FileError::Write { path: path.to_owned(), source };
        // A killed process may have left one.
        let aside = format!("{path}.new");
        tree.remove(&aside).map_err(failed)?;
        tree.replace(path, &aside, self.bytes(), 0o644).map_err(failed)
    }

    /// Reads an index from a file.
    pub fn load(tree: &Tree, path: &str) -> Result<Self, FileError> {
        let bytes =
            tree.read(path, LARGEST).map_err(|source| FileError::Read { path: path.to_owned(), source })?;
        Self::open(bytes).map_err(|source| FileError::Index { path: path.to_owned(), source })
    }
}
