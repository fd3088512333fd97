use proptest::prelude::*;

use super::*;

/// A page as text: its title, then for each chunk its lines, its headings and the words in it.
fn render(path: &str, source: &str) -> String {
    let page = Document::parse(path, source);
    let chunk = |chunk: &Chunk| {
        let words: Vec<_> = chunk.text.split_whitespace().collect();
        format!("\n{}-{} {}: {}", chunk.lines.0, chunk.lines.1, chunk.headings.join(" > "), words.join(" "))
    };
    page.title.clone() + &page.chunks.iter().map(chunk).collect::<String>()
}

fn check(path: &str, source: &str, expected: &str) {
    assert_eq!(render(path, source), expected, "{source}");
}

const LONG_PARAGRAPH: &str = "This section says enough about itself to be a passage of its own, for it has more than a hundred characters.";

#[test]
fn sections_become_chunks_under_their_headings() {
    let source = format!(
        "# Guide\n\n{LONG_PARAGRAPH}\n\n## Install\n\n{LONG_PARAGRAPH}\n\n### Linux\n\n{LONG_PARAGRAPH}\n\n## Run\n\n{LONG_PARAGRAPH}\n"
    );
    let expected = format!(
        "Guide\n3-3 : {LONG_PARAGRAPH}\n7-7 Install: {LONG_PARAGRAPH}\n11-11 Install > Linux: {LONG_PARAGRAPH}\n15-15 Run: {LONG_PARAGRAPH}"
    );
    check("guide.md", &source, &expected);
}

#[test]
fn titles_come_from_front_matter_then_heading_then_file() {
    let title = |path, source| Document::parse(path, source).title;
    assert_eq!(title("a.md", "---\ntitle: \"From above\"\n---\n# Other\n"), "From above");
    assert_eq!(title("a.md", "+++\ntitle = 'TOML'\n+++\ntext"), "TOML");
    assert_eq!(title("a.md", "# With `code` and [link](http://x)\n"), "With code and link");
    assert_eq!(title("docs/first-steps.md", "text"), "first steps");
    assert_eq!(title("docs/setup/index.md", "text"), "setup");
    assert_eq!(title("README.md", "text"), "README");
    assert_eq!(Document::parse("a.md", "---\nversion: 2.1\n---\n").version.as_deref(), Some("2.1"));
}

#[test]
fn markup_is_not_searched() {
    check("a.md", "---\ntitle: T\ntags: secret\n---\nText.", "T\n5-5 : Text.");
    check(
        "a.md",
        "See [the guide](https://example.com/path) and ![image](a.png).",
        "a\n1-1 : See the guide and image.",
    );
    check("a.md", "Before <!-- hidden --> after.\n\n<!--\nhidden\n\nhidden\n-->\n", "a\n1-1 : Before after.");
    check("a.md", "Use [text][ref] here.\n\n[ref]: https://example.com\n", "a\n1-1 : Use text here.");
    check(
        "a.mdx",
        "import Tabs from '@theme/Tabs';\n\n<Tabs values={[{label: 'x'}]}>\n\nShown.\n\n</Tabs>\n\n{/* hidden */}\n",
        "a\n5-5 : Shown.",
    );
    check("a.md", "A `Vec<T>` of <b>bold</b> things.", "a\n1-1 : A Vec<T> of bold things.");
    check("a.md", ":::tip\n\nAdvice.\n\n:::\n", "a\n3-3 : Advice.");
    check("a.md", "| a | b |\n|---|---|\n| c | d |\n", "a\n1-3 : a b c d");
}

#[test]
fn heading_in_fence_is_code() {
    check("a.md", "Run:\n\n```sh\n# not a heading\nmake\n```\n", "a\n1-6 : Run: # not a heading make");
}

#[test]
fn windows_line_endings_parse_the_same() {
    let source = "---\ntitle: T\n---\n\n## One\n\nText.\n\n```\ncode\n```\n";
    let windows = format!("\u{feff}{}", source.replace('\n', "\r\n"));
    assert_eq!(render("a.md", &windows), render("a.md", source));
}

#[test]
fn indented_code_keeps_its_indentation() {
    let page = Document::parse("a.md", "Run:\n\n    first\n    second\n");
    let code = &page.chunks[0].blocks[1];
    assert_eq!(
        (code.kind, &page.source[code.bytes.clone()]),
        (DocumentBlockKind::Code, "    first\n    second")
    );
}

#[test]
fn empty_heading_has_no_chunk_but_nests_others() {
    check("a.md", "## Empty\n\n## Outer\n\n### Inner\n\nText.\n", "a\n7-7 Outer > Inner: Text.");
}

#[test]
fn short_introduction_joins_first_subsection() {
    check(
        "a.md",
        "## Ways\n\nThere are two:\n\n### First\n\nOne.\n",
        "a\n3-7 Ways > First: There are two: One.",
    );
    check("a.md", "## A\n\nOne.\n\n## B\n\nTwo.\n", "a\n3-3 A: One.\n7-7 B: Two.");
    let alone = "This sentence can be quoted alone.";
    check(
        "a.md",
        &format!("## A\n\n{alone}\n\n### B\n\nTwo.\n"),
        &format!("a\n3-3 A: {alone}\n7-7 A > B: Two."),
    );
}

#[test]
fn long_sections_are_cut_between_blocks() {
    let paragraph = "word ".repeat(150);
    let source = format!("## Long\n\n{paragraph}\n\n{paragraph}\n\nThe end.\n");
    let page = Document::parse("a.md", source);
    let lines: Vec<_> = page.chunks.iter().map(|chunk| chunk.lines).collect();
    // The scrap at the end is no chunk of its own.
    assert_eq!(lines, [(3, 3), (5, 7)]);
}

#[test]
fn code_stays_whole_and_lists_are_cut_between_items() {
    let code = format!("```\n{}```", "line of code\n".repeat(200));
    let page = Document::parse("a.md", format!("{LONG_PARAGRAPH}\n\n{code}\n"));
    assert_eq!(page.chunks.len(), 2);
    assert_eq!(&page.source[page.chunks[1].blocks[0].bytes.clone()], code);

    let huge = format!("```\n{}```", "line of code\n".repeat(500));
    let page = Document::parse("a.md", huge.as_str());
    let blocks = page.chunks.iter().flat_map(|chunk| &chunk.blocks);
    let mut lines = 0;
    for block in blocks {
        assert_eq!(block.kind, DocumentBlockKind::CodeLines);
        assert!(page.source[block.bytes.clone()].lines().all(|line| line == "line of code"));
        lines += page.source[block.bytes.clone()].lines().count();
    }
    assert_eq!(lines, 500, "none is lost");

    let list = format!("- an item of {}\n", "words ".repeat(50)).repeat(10);
    let page = Document::parse("a.md", list);
    assert!(page.chunks.len() > 1);
    for chunk in &page.chunks {
        assert_eq!(chunk.blocks.len(), 1, "items come together again");
        assert!(page.source[chunk.bytes.clone()].starts_with("- an item"));
    }
}

#[test]
fn restructured_text_has_headings_and_indented_blocks() {
    let source = "=====\nGuide\n=====\n\n.. a comment\n\nAn introduction of several words.\n\nInstall\n-------\nRun::\n\n    pip install\n\nSee `here <x>`_.\n";
    check(
        "a.rst",
        source,
        "Guide\n7-7 : An introduction of several words.\n11-15 Install: Run:: pip install See `here `_.",
    );
}

#[test]
fn plain_text_is_cut_into_paragraphs() {
    check("notes.txt", "# One\nline.\n\n\nTwo.\n", "notes\n1-5 : # One line. Two.");
}

#[test]
fn given_passages_keep_their_lines() {
    let page = Document::from_passages("p", "T", [(vec!["H".to_owned()], "one\ntwo"), (Vec::new(), "three")]);
    let chunks: Vec<_> =
        page.chunks.iter().map(|chunk| (&page.source[chunk.bytes.clone()], chunk.lines)).collect();
    assert_eq!(chunks, [("one\ntwo", (1, 2)), ("three", (3, 3))]);
}

/// Texts that look like documents, and like accidents.
fn sources() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "\\PC{0,40}",
        "#{1,4} [a-z ]{0,10}",
        "[-*] [a-z ]{0,20}",
        Just("```".to_owned()),
        Just("---".to_owned()),
        Just("| a | b |\n|--|--|".to_owned()),
        Just("<Tag x={`".to_owned()),
        Just("====".to_owned()),
        "    [a-z]{0,10}",
        Just(String::new()),
        "([a-z]{1,8} ){0,400}",
    ];
    prop::collection::vec(line, 0..30).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn any_text_has_chunks_in_order_and_in_bounds(source in sources(), path in "a\\.(md|mdx|rst|txt)") {
        let page = Document::parse(path, source.as_str());
        let mut end = 0;
        for chunk in &page.chunks {
            prop_assert!(source.get(chunk.bytes.clone()).is_some() && end <= chunk.bytes.start);
            end = chunk.bytes.end;
            let line = |at: usize| source[..at].matches('\n').count() + 1;
            prop_assert_eq!(chunk.lines, (line(chunk.bytes.start), line(chunk.bytes.end)));
            prop_assert!(!chunk.blocks.is_empty());
            for block in &chunk.blocks {
                prop_assert!(chunk.bytes.start <= block.bytes.start && block.bytes.end <= chunk.bytes.end);
                prop_assert!(source.get(block.bytes.clone()).is_some_and(|text| !text.trim().is_empty()));
            }
        }
    }
}
