//! Documents in, ranked passages and cited answers out.

mod bytes;
mod document;
mod encoder;
mod index;
mod search;
mod words;

pub use document::{Block, BlockKind, Chunk, Page};
pub use encoder::{Encoder, TableError};
pub use index::{FileError, Index, IndexError, IndexedPage};
pub use search::{Evidence, Found, Hit, Library, Mode, Query, QueryError, Tuning};
