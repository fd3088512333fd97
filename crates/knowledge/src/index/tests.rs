use proptest::prelude::*;
use tree::Tree;

use super::*;
use crate::encoder::tests::spelling_encoder;
use crate::search::{Library, Query};

fn sample_documents() -> Vec<Document> {
    vec![
        Document::parse(
            "b/run.md",
            "# Run\n\nStart the program with `run --yes`.\n\n## Fast\n\nUse two cores: 빠른 실행.\n",
        ),
        Document::parse(
            "a/install.md",
            "---\nversion: 3\n---\n# Install\n\nRun the installer.\n\n```sh\nmake\n```\n",
        ),
    ]
}

fn query_everything(index: &Index) {
    let encoder = spelling_encoder();
    if let Ok(library) = Library::new(&encoder, vec![index]) {
        let query = Query { text: "run the installer fast", hints: &["install"], top: 5 };
        library.answer(&query).unwrap();
    }
    for page in index.documents() {
        let _ = index.document(page.path);
    }
}

#[test]
fn built_index_can_be_reopened() {
    let built = Index::build(&sample_documents(), &spelling_encoder()).unwrap();
    let index = Index::open(built.bytes().to_vec()).unwrap();
    let paths: Vec<_> = index.documents().map(|page| (page.path, page.title, page.version)).collect();
    assert_eq!(paths, [("a/install.md", "Install", Some("3")), ("b/run.md", "Run", None)]);
    assert_eq!(index.document("b/run.md").unwrap().source, sample_documents()[0].source);
    assert_eq!(index.document("b"), None);
    assert_eq!((index.document_chunks(0), index.document_chunks(1)), (0..1, 1..3));
    let chunk = index.chunk_at(2);
    assert_eq!((chunk.document, chunk.lines), (1, (7, 7)));
    assert_eq!(chunk.headings().collect::<Vec<_>>(), ["Fast"]);
    let kinds: Vec<_> = index.chunk_blocks(0).map(|block| block.kind).collect();
    assert_eq!(kinds, [DocumentBlockKind::Prose, DocumentBlockKind::Code]);
}

#[test]
fn terms_are_weighted_by_field() {
    let index = Index::build(&sample_documents(), &spelling_encoder()).unwrap();
    let check = |term: &str, expected: &[[u32; 2]]| {
        assert_eq!(index.postings(term).iter().collect::<Vec<_>>(), expected, "{term}");
    };
    // In a text; as a title and twice in a text; as a title.
    check("run", &[[0, 1], [1, 4], [2, 3]]);
    check("fast", &[[2, 2]]);
    check("--yes", &[[1, 1]]);
    check("실행", &[[2, 1]]);
    check("absent", &[]);
    for chunk in 0..index.chunk_count() {
        let length: u32 = index.chunk_terms(chunk).iter().map(|[_, frequency]| frequency).sum();
        assert_eq!(index.lengths().get(chunk), [length]);
    }
}

#[test]
fn incremental_build_equals_full_build() {
    let encoder = spelling_encoder();
    let old = Index::build(&sample_documents(), &encoder).unwrap();
    let mut changed = sample_documents();
    changed[0] = Document::parse(
        "b/run.md",
        "# Run\n\nStart the program in another way.\n\n## Fast\n\nUse two cores: 빠른 실행.\n",
    );
    let again = Index::build_from(&old, &changed, &encoder).unwrap();
    assert_eq!(again.bytes(), Index::build(&changed, &encoder).unwrap().bytes());
    assert_ne!(again.bytes(), old.bytes());
}

#[test]
fn foreign_files_and_formats_are_rejected() {
    let whole = Index::build(&sample_documents(), &spelling_encoder()).unwrap().bytes().to_vec();
    let error = |bytes: &[u8]| Index::open(bytes.to_vec()).err();
    assert_eq!(error(b"PK"), Some(IndexError::NotAnIndex));
    assert_eq!(error(&whole[..100]), Some(IndexError::Damaged("it is cut off")));
    let mut newer = whole;
    newer[8] = 9;
    assert_eq!(error(&newer), Some(IndexError::OtherFormat { found: 9 }));
}

#[test]
fn save_replaces_index_atomically() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Tree::open(folder.path()).unwrap();
    let encoder = spelling_encoder();
    let old = Index::build(&sample_documents()[..1], &encoder).unwrap();
    let new = Index::build(&sample_documents(), &encoder).unwrap();
    old.save(&open(), "docs.index").unwrap();
    for step in 0.. {
        let tree = open().failing_at(step);
        let saved = new.save(&tree, "docs.index").is_ok();
        let found = Index::load(&open(), "docs.index").unwrap();
        assert!([old.bytes(), new.bytes()].contains(&found.bytes()), "step {step}");
        if !tree.has_failed() {
            assert!(step > 3 && saved && found.bytes() == new.bytes(), "{step} operations");
            break;
        }
    }
    let error = Index::load(&open(), "missing.index").unwrap_err().to_string();
    assert!(error.contains("`missing.index`"), "{error}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "tests look for themselves")]
fn only_leftover_index_files_are_removed() {
    let index = Index::build(&sample_documents(), &spelling_encoder()).unwrap();
    for (left, is_ours) in
        [(&b""[..], true), (b"FXIN", true), (index.bytes(), true), (b"FXINDEX2", false), (b"mine", false)]
    {
        let folder = tempfile::tempdir().unwrap();
        let aside = folder.path().join("docs.index.new");
        std::fs::write(&aside, left).unwrap();
        let saved = index.save(&Tree::open(folder.path()).unwrap(), "docs.index");
        assert_eq!(saved.is_ok(), is_ours, "{left:?}");
        assert_eq!(folder.path().join("docs.index").exists(), is_ours);
        let kept = std::fs::read(&aside).ok();
        assert_eq!(kept.as_deref(), (!is_ours).then_some(left));
    }
}

proptest! {
    #[test]
    fn corrupted_or_truncated_file_is_rejected(at: prop::sample::Index, bit in 0_u8..8, cut: prop::sample::Index) {
        let mut bytes = Index::build(&sample_documents(), &spelling_encoder()).unwrap().bytes().to_vec();
        prop_assert!(Index::open(bytes[..cut.index(bytes.len())].to_vec()).is_err());
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        prop_assert!(Index::open(bytes).is_err());
    }

    #[test]
    fn forged_index_does_not_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut bytes = Index::build(&sample_documents(), &spelling_encoder()).unwrap().bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        format::write_checksum(&mut bytes);
        if let Ok(index) = Index::open(bytes) {
            query_everything(&index);
        }
    }
}
