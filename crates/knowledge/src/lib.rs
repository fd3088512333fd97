//! Documents in, ranked passages and cited answers out.
//!
//! ```
//! use knowledge::{Index, Library, Page, Query, shipped};
//!
//! let page = Page::parse("docs/retries.md", "# Retries\n\nSet `max_retries` to say how often a call is repeated.\n");
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
//! A [`Page`] is cut into passages under their headings (`document`). An [`Index`] holds their terms (`words`), their vectors
//! (`encoder`) and their text in one slice of bytes. A [`Library`] searches one or more of them (`search`), and makes answers
//! of what it found that quote literally and cite by line (`answer`). [`shipped`] is the documentation of this program.
//!
//! Nothing here panics on any input, reads a file but through `tree`, or keeps state between questions.

mod answer;
mod bytes;
mod document;
mod encoder;
mod file;
mod folder;
mod index;
mod make;
mod search;
pub mod shipped;
mod words;

pub use answer::{Answer, Citation};
pub use document::{Block, BlockKind, Chunk, Page};
pub use encoder::{Encoder, TableError};
pub use file::FileError;
pub use folder::Folder;
pub use index::{Index, IndexError, IndexedPage};
pub use make::{Made, MakeError, index_folder};
pub use search::{Evidence, Found, GOOD, Hit, Library, Mode, Query, QueryError, Tuning};
pub use tree::Budget;
