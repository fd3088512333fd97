//! The documentation that is part of this program, indexed when it was built (`build.rs`).

use std::sync::LazyLock;

use crate::encoder::Encoder;
use crate::index::{Index, IndexedDocument};
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
    Index::from_static(bytes).expect("a sound index")
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
pub fn documents() -> impl ExactSizeIterator<Item = IndexedDocument<'static>> {
    index().documents()
}

/// The shipped page at a path.
pub fn document(path: &str) -> Option<IndexedDocument<'static>> {
    index().document(path)
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
    fn shipped_index_opens_and_answers() {
        assert!(Index::open(index().bytes()).is_ok(), "its checksum is right");
        library().answer(&Query { text: "How is FastAPI integrated?", hints: &[], top: 5 }).unwrap();
        for shipped in documents() {
            assert_eq!(document(shipped.path), Some(shipped));
        }
        assert_eq!(document("no such page"), None);
    }
}
