//! Documents in, ranked passages and cited answers out.
//!
//! ```
//! use knowledge::{Index, Library, Document, Query, shipped};
//!
//! let page = Document::parse("docs/retries.md", "# Retries\n\nSet `max_retries` to say how often a call is repeated.\n");
//! let index = Index::build(&[page], shipped::encoder())?;
//! let library = Library::new(shipped::encoder(), vec![&index])?;
//!
//! let answer = library.answer(&Query { text: "How often is a call repeated?", hints: &[], top: 5 })?;
//! assert_eq!(answer.citations[0].path, "docs/retries.md");
//! assert_eq!(answer.citations[0].lines, (3, 3));
//! assert!(answer.text.contains("Set `max_retries` to say how often a call is repeated. [1]"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Document`] is cut into passages under their headings (`document`). An [`Index`] holds their terms (`words`), their vectors
//! (`encoder`) and their text in one slice of bytes. A [`Library`] searches one or more of them (`search`), and makes answers
//! of what it found that quote literally and cite by line (`answer`). [`shipped`] is the documentation of this program.
//!
//! Nothing here panics on any input, reads a file but through `tree`, or keeps state between questions.

mod answer;
mod bytes;
mod document;
mod document_folder;
mod encoder;
mod index;
mod index_file;
mod indexing;
mod search;
pub mod shipped;
mod words;

pub use answer::{Answer, Citation};
pub use document::{Chunk, Document, DocumentBlock, DocumentBlockKind};
pub use document_folder::DocumentFolder;
pub use encoder::{Encoder, TokenTableError};
pub use index::{Index, IndexError, IndexedDocument};
pub use index_file::IndexFileError;
pub use indexing::{IndexingError, IndexingReport, index_folder};
pub use search::{
    Hit, HitEvidence, Library, MIN_GOOD_SCORE, Query, QueryError, SearchMethod, SearchResults, Tuning,
};
pub use tree::WorkBudget;
