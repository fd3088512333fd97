use proptest::prelude::*;
use tree::Tree;

use super::*;
use crate::encoder::tests::speller;
use crate::search::{Library, Query};

fn pages() -> Vec<Page> {
    vec![
        Page::parse(
            "b/run.md",
            "# Run\n\nStart the program with `run --yes`.\n\n## Fast\n\nUse two cores: 빠른 실행.\n",
        ),
        Page::parse(
            "a/install.md",
            "---\nversion: 3\n---\n# Install\n\nRun the installer.\n\n```sh\nmake\n```\n",
        ),
    ]
}

fn ask(index: &Index) {
    let encoder = speller();
    if let Ok(library) = Library::new(&encoder, vec![index]) {
        let query = Query { text: "run the installer fast", hints: &["install"], top: 5 };
        library.answer(&query).unwrap();
    }
    for page in index.pages() {
        let _ = index.page(page.path);
    }
}

#[test]
fn everything_can_be_read_again() {
    let built = Index::build(&pages(), &speller()).unwrap();
    let index = Index::open(built.bytes().to_vec()).unwrap();
    let paths: Vec<_> = index.pages().map(|page| (page.path, page.title, page.version)).collect();
    assert_eq!(paths, [("a/install.md", "Install", Some("3")), ("b/run.md", "Run", None)]);
    assert_eq!(index.page("b/run.md").unwrap().source, pages()[0].source);
    assert_eq!(index.page("b"), None);
    assert_eq!((index.chunks_of(0), index.chunks_of(1)), (0..1, 1..3));
    let chunk = index.chunk_at(2);
    assert_eq!((chunk.page, chunk.lines), (1, (7, 7)));
    assert_eq!(chunk.headings().collect::<Vec<_>>(), ["Fast"]);
    let kinds: Vec<_> = index.blocks_of(0).map(|block| block.kind).collect();
    assert_eq!(kinds, [BlockKind::Prose, BlockKind::Code]);
}

#[test]
fn terms_count_by_where_they_stand() {
    let index = Index::build(&pages(), &speller()).unwrap();
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
        let length: u32 = index.contents_of(chunk).iter().map(|[_, frequency]| frequency).sum();
        assert_eq!(index.lengths().get(chunk), [length]);
    }
}

#[test]
fn what_is_unchanged_keeps_its_vector_and_nothing_else_changes() {
    let encoder = speller();
    let old = Index::build(&pages(), &encoder).unwrap();
    let mut changed = pages();
    changed[0] = Page::parse(
        "b/run.md",
        "# Run\n\nStart the program in another way.\n\n## Fast\n\nUse two cores: 빠른 실행.\n",
    );
    let again = Index::build_from(&old, &changed, &encoder).unwrap();
    assert_eq!(again.bytes(), Index::build(&changed, &encoder).unwrap().bytes());
    assert_ne!(again.bytes(), old.bytes());
}

#[test]
fn other_files_and_other_formats_are_refused() {
    let whole = Index::build(&pages(), &speller()).unwrap().bytes().to_vec();
    let error = |bytes: &[u8]| Index::open(bytes.to_vec()).err();
    assert_eq!(error(b"PK"), Some(IndexError::NotAnIndex));
    assert_eq!(error(&whole[..100]), Some(IndexError::Damaged("it is cut off")));
    let mut newer = whole;
    newer[8] = 9;
    assert_eq!(error(&newer), Some(IndexError::OtherFormat { found: 9 }));
}

#[test]
fn a_file_holds_the_old_index_or_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Tree::open(folder.path()).unwrap();
    let encoder = speller();
    let old = Index::build(&pages()[..1], &encoder).unwrap();
    let new = Index::build(&pages(), &encoder).unwrap();
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
fn only_what_a_killed_process_left_is_cleared_away() {
    let index = Index::build(&pages(), &speller()).unwrap();
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
    fn a_changed_or_cut_file_is_refused(at: prop::sample::Index, bit in 0_u8..8, cut: prop::sample::Index) {
        let mut bytes = Index::build(&pages(), &speller()).unwrap().bytes().to_vec();
        prop_assert!(Index::open(bytes[..cut.index(bytes.len())].to_vec()).is_err());
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        prop_assert!(Index::open(bytes).is_err());
    }

    #[test]
    fn a_forged_file_does_no_harm(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut bytes = Index::build(&pages(), &speller()).unwrap().bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        format::write_checksum(&mut bytes);
        if let Ok(index) = Index::open(bytes) {
            ask(&index);
        }
    }
}
