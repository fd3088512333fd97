//! The documentation that is part of this program, indexed when it was built (`build.rs`).

use std::sync::LazyLock;

use crate::encoder::Encoder;
use crate::index::{Index, IndexedPage};
use crate::search::Library;

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/shipped.index"));
    #[expect(clippy::expect_used, reason = "the build wrote it, and a test opens it")]
    Index::embedded(bytes).expect("the shipped index is sound")
});

static ENCODER: LazyLock<Encoder> = LazyLock::new(|| {
    let table: &'static [u8] = include_bytes!(env!("TOKEN_TABLE"));
    #[expect(clippy::expect_used, reason = "the build used it, and a test opens it")]
    Encoder::new(table).expect("the shipped token table is sound")
});

/// The shipped pages, ready to be searched.
pub fn index() -> &'static Index {
    &INDEX
}

/// The encoder that the shipped index was made with. Indexes of other documents are to be made with it too.
pub fn encoder() -> &'static Encoder {
    &ENCODER
}

/// The shipped pages by path.
pub fn pages() -> impl ExactSizeIterator<Item = IndexedPage<'static>> {
    index().pages()
}

/// The shipped page at a path.
pub fn page(path: &str) -> Option<IndexedPage<'static>> {
    index().page(path)
}

/// A library of the shipped pages alone.
pub fn library() -> Library<'static> {
    #[expect(clippy::expect_used, reason = "the build made the index with this encoder, and a test asks it")]
    Library::new(encoder(), vec![index()]).expect("index and table belong together")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Query;

    #[test]
    fn what_is_shipped_can_be_opened_and_asked() {
        assert!(Index::open(index().bytes()).is_ok(), "its checksum is right");
        library().answer(&Query { text: "How is FastAPI integrated?", hints: &[], top: 5 }).unwrap();
        for shipped in pages() {
            assert_eq!(page(shipped.path), Some(shipped));
        }
        assert_eq!(page("no such page"), None);
    }
}
