use proptest::prelude::*;

use super::*;
use crate::document::Document;
use crate::encoder::tests::spelling_encoder;

const PAGES: &[(&str, &str)] = &[
    ("a.md", "# Install\n\nInstall the command line with pip.\n\n## Upgrade\n\nUpgrade it with pip too.\n"),
    ("b.md", "# FastAPI\n\nAdd the middleware to the application.\n"),
    ("c.md", "# Flask\n\nAdd the middleware to the application.\n"),
    ("d.md", "# 설치\n\n명령줄 도구를 설치합니다.\n"),
    ("e.md", "# Twin\n\nThe same words.\n"),
    ("f.md", "# Twin\n\nThe same words.\n"),
];

#[test]
fn document_titled_like_the_question_ranks_first() {
    let encoder = spelling_encoder();
    let about = [(Vec::new(), "A tool."), (vec!["More".to_owned()], "and of flux no more")];
    let pages = [
        Document::parse("a.md", "# Import flux\n\nflux flux flux\n"),
        Document::from_passages("b.md", "What is Flux?", about),
    ];
    let index = Index::build(&pages, &encoder).unwrap();
    let library = Library::new(&encoder, vec![&index]).unwrap();
    assert_eq!(search_paths(&library, "flux", &[], 1), ["a.md"]);
    let found = library.search(&Query { text: "what is flux", hints: &[], top: 1 }).unwrap();
    let Hit { document: page, headings, .. } = &found.hits[0];
    assert_eq!(
        (page.path, headings.as_slice()),
        ("b.md", &[][..] as &[&str]),
        "and answers at its beginning"
    );
}

fn sample_documents(range: std::ops::Range<usize>) -> Vec<Document> {
    PAGES[range].iter().map(|(path, source)| Document::parse(*path, *source)).collect()
}

fn sample_index(range: std::ops::Range<usize>, encoder: &Encoder) -> Index {
    Index::build(&sample_documents(range), encoder).unwrap()
}

fn search_paths<'a>(library: &Library<'a>, text: &str, hints: &[&str], top: usize) -> Vec<&'a str> {
    let found = library.search(&Query { text, hints, top }).unwrap();
    found.hits.iter().map(|hit| hit.document.path).collect()
}

#[test]
fn document_with_query_words_ranks_first() {
    let encoder = spelling_encoder();
    let index = sample_index(0..6, &encoder);
    let library = Library::new(&encoder, vec![&index]).unwrap();
    let check = |text, expected| assert_eq!(search_paths(&library, text, &[], 1), [expected], "{text}");
    check("how to upgrade", "a.md");
    check("FLASK", "c.md");
    check("installing with pip", "a.md");
    check("설치", "d.md");
    // Equals stay in the order of their paths.
    assert_eq!(search_paths(&library, "twin words", &[], 2), ["e.md", "f.md"]);
}

#[test]
fn hits_report_headings_and_lines() {
    let encoder = spelling_encoder();
    let index = sample_index(0..6, &encoder);
    let library = Library::new(&encoder, vec![&index]).unwrap();
    let found = library.search(&Query { text: "upgrade pip", hints: &[], top: 1 }).unwrap();
    let Hit { headings, lines, score, evidence, .. } = &found.hits[0];
    assert_eq!((headings.as_slice(), *lines), (&["Upgrade"][..], (7, 7)));
    assert!((evidence.coverage - 1.0).abs() < 1e-6 && *score > 0.0 && *score < 1.0);
}

#[test]
fn hints_boost_but_never_exclude() {
    let encoder = spelling_encoder();
    let index = sample_index(0..6, &encoder);
    let library = Library::new(&encoder, vec![&index]).unwrap();
    let text = "add the middleware";
    assert_eq!(search_paths(&library, text, &["flask"], 1), ["c.md"]);
    assert_eq!(search_paths(&library, text, &["fastapi"], 1), ["b.md"]);
    let all = |hints: &[&str]| {
        let mut paths = search_paths(&library, text, hints, 10);
        paths.sort_unstable();
        paths
    };
    assert_eq!(all(&["fastapi"]), all(&[]));
}

#[test]
fn unknown_language_is_searched_by_bm25_only() {
    let encoder = spelling_encoder();
    let index = sample_index(0..6, &encoder);
    let library = Library::new(&encoder, vec![&index]).unwrap();
    let modes = |text| library.search(&Query { text, hints: &[], top: 1 }).unwrap().modes;
    assert_eq!(modes("명령줄 도구"), [SearchMethod::Bm25]);
    assert_eq!(modes("command line"), [SearchMethod::Bm25, SearchMethod::StaticEmbedding]);
}

#[test]
fn several_indexes_are_searched_as_one() {
    let encoder = spelling_encoder();
    let (first, second, both) =
        (sample_index(0..2, &encoder), sample_index(2..6, &encoder), sample_index(0..6, &encoder));
    // Expansion takes terms from where it finds them, and counts these by index.
    let tuning = Tuning { expansion: 0.0, ..Tuning::default() };
    let apart = Library::new(&encoder, vec![&first, &second]).unwrap().with_tuning(tuning);
    let together = Library::new(&encoder, vec![&both]).unwrap().with_tuning(tuning);
    for text in ["install pip", "add the middleware", "twin", "설치", "nothing of this"] {
        let scores = |library: &Library<'_>| {
            let hits = library.search(&Query { text, hints: &[], top: 10 }).unwrap().hits;
            hits.into_iter()
                .map(|hit| (hit.document.path.to_owned(), hit.score.to_bits()))
                .collect::<Vec<_>>()
        };
        assert_eq!(scores(&apart), scores(&together), "{text}");
    }
}

#[test]
fn foreign_index_and_long_query_are_rejected() {
    let encoder = spelling_encoder();
    let other = Index::build(&sample_documents(0..1), &Encoder::new(one_token_table()).unwrap()).unwrap();
    assert_eq!(Library::new(&encoder, vec![&other]).err(), Some(IndexError::OtherTable));
    let library = Library::new(&encoder, Vec::new()).unwrap();
    let text = "a".repeat(4001);
    let refused = library.search(&Query { text: &text, hints: &[], top: 5 }).err();
    assert_eq!(refused, Some(QueryError::TooLong { found: 4001 }));
    assert!(library.search(&Query { text: "anything", hints: &[], top: 5 }).unwrap().hits.is_empty());
}

/// A table of nothing but `a`.
fn one_token_table() -> Vec<u8> {
    let mut bytes = b"FXTOKEN1".to_vec();
    crate::bytes::append_u32s(&mut bytes, &[1, 4, 1, 0, 0, 1]);
    bytes.extend(b"a\0\0\0");
    crate::bytes::append_u32s(&mut bytes, &[1.0_f32.to_bits(), 1]);
    bytes
}

proptest! {
    #[test]
    fn smaller_top_is_prefix_of_larger(text in "(pip|add|twin|words|install|the|설치|x| ){0,10}", top in 0_usize..7) {
        let encoder = spelling_encoder();
        let index = sample_index(0..6, &encoder);
        let library = Library::new(&encoder, vec![&index]).unwrap();
        let all = search_paths(&library, &text, &["flask"], 10);
        prop_assert_eq!(&search_paths(&library, &text, &["flask"], top)[..], &all[..top.min(all.len())]);
    }

    #[test]
    fn arbitrary_query_does_not_panic(text in "\\PC{0,200}", hint in "\\PC{0,20}", top in 0_usize..30) {
        let encoder = spelling_encoder();
        let index = sample_index(0..6, &encoder);
        let library = Library::new(&encoder, vec![&index]).unwrap();
        let found = library.search(&Query { text: &text, hints: &[&hint], top }).unwrap();
        prop_assert!(found.hits.len() <= top);
        prop_assert!(found.hits.iter().all(|hit| (0.0..=1.0).contains(&hit.score)));
    }
}
