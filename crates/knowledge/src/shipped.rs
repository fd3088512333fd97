//! The documentation that is part of this program, indexed when it was built (`build.rs`).

use std::sync::LazyLock;

use crate::encoder::Encoder;
use crate::index::{Index, IndexedPage};
use crate::search::Library;

// The build made all three, and a test opens them.
static ENCODER: LazyLock<Encoder> = LazyLock::new(|| {
    let table = include_bytes!(env!("TOKEN_TABLE")).as_slice();
    #[expect(clippy::expect_used, reason = "part of the program, as its code is")]
    Encoder::new(table).expect("a sound token table")
});
static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/shipped.index"));
    #[expect(clippy::expect_used, reason = "part of the program, as its code is")]
    Index::embedded(bytes).expect("a sound index")
});
static LIBRARY: LazyLock<Library<'static>> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "part of the program, as its code is")]
    Library::new(&ENCODER, vec![&INDEX]).expect("an index of this table")
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
pub fn library() -> &'static Library<'static> {
    &LIBRARY
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
