use proptest::prelude::*;

use super::*;
use crate::document::Document;
use crate::document::DocumentBlockKind::{Code, CodeLines, List, Prose, Table};
use crate::encoder::Encoder;
use crate::encoder::tests::{empty_encoder, spelling_encoder};
use crate::index::Index;

const PAGES: &[(&str, &str)] = &[
    (
        "docs/retries.md",
        "# Retries\n\nA call that fails is repeated.\n\n## Configure\n\nSet `max_retries` in the file:\n\n```yaml\nmax_retries: 3\n```\n\n\
         Each retry waits twice as long as the one before it, so that a busy server can recover in time.\n",
    ),
    (
        "docs/limits.md",
        "# Limits\n\n## Timeouts\n\nA call ends after `timeout_seconds`, and max_retries does not change that.\n",
    ),
    (
        "docs/colors.md",
        "# Colors\n\nTerminals show colors.\n\n| name | code |\n|---|---|\n| red | 31 |\n| green | 32 |\n",
    ),
];

fn answer(question: &str) -> Answer {
    answer_with(&spelling_encoder(), question)
}

fn answer_with(encoder: &Encoder, question: &str) -> Answer {
    let pages: Vec<_> = PAGES.iter().map(|(path, source)| Document::parse(*path, *source)).collect();
    let index = Index::build(&pages, encoder).unwrap();
    let library = Library::new(encoder, vec![&index]).unwrap();
    library.answer(&Query { text: question, hints: &[], top: 5 }).unwrap()
}

#[test]
fn best_passage_is_quoted_literally() {
    let answer = answer("How do I configure max_retries?");
    let expected = "## Configure\n\nSet `max_retries` in the file: [1]\n\n```yaml\nmax_retries: 3\n```\n\n[1]\n\n\
                    Each retry waits twice as long as the one before it, so that a busy server can recover in time. [1]";
    assert!(answer.text.starts_with(expected), "{}", answer.text);
    let Citation { path, section, lines, .. } = &answer.citations[0];
    assert_eq!((path.as_str(), section.as_str(), *lines), ("docs/retries.md", "Configure", (7, 13)));
    assert_eq!(answer.modes, [SearchMethod::Bm25, SearchMethod::StaticEmbedding]);
    assert_eq!(answer.chunks_used, answer.citations.len());
    assert!(answer.score > MIN_GOOD_SCORE && answer.score <= 1.0);
}

#[test]
fn short_passage_is_extended_with_following() {
    let encoder = empty_encoder();
    let long =
        "The kettle whistles when the water boils, and then it has to be taken off the stove. ".repeat(5);
    let source =
        format!("# Tea\n\n## Making tea\n\nUse loose leaves.\n\n## Water\n\n{long}\n\n## Cups\n\nTwo.\n");
    let pages = [
        Document::parse("tea.md", source),
        Document::parse("walk.md", "# Walking\n\nOne foot after the other.\n"),
    ];
    let index = Index::build(&pages, &encoder).unwrap();
    let library = Library::new(&encoder, vec![&index]).unwrap();
    let answer = library.answer(&Query { text: "making tea with loose leaves", hints: &[], top: 5 }).unwrap();
    assert!(
        answer.text.starts_with("## Making tea\n\nUse loose leaves. [1]\n\n### Water\n\nThe kettle"),
        "{}",
        answer.text
    );
    // Enough is enough.
    assert!(!answer.text.contains("Cups"), "{}", answer.text);
    assert_eq!((answer.citations.len(), answer.citations[0].lines, answer.chunks_used), (1, (5, 9), 2));
}

#[test]
fn second_document_is_quoted_only_for_additions() {
    let both = answer("how a retry waits for a busy server to recover in time, and timeouts");
    let paths: Vec<_> = both.citations.iter().map(|citation| citation.path.as_str()).collect();
    assert_eq!(paths, ["docs/retries.md", "docs/limits.md"]);
    let added =
        "### Timeouts\n\nA call ends after `timeout_seconds`, and max_retries does not change that. [2]";
    assert!(both.text.contains(added), "{}", both.text);
    let one = answer("configure max_retries in the file");
    assert_eq!(one.citations.len(), 1, "{}", one.text);
    assert!(one.text.contains("### Related Topics\n- Limits: Timeouts (docs/limits.md)"), "{}", one.text);
    assert_eq!(one.related[0], "docs/limits.md");
}

#[test]
fn citation_mark_stays_out_of_tables_and_fences() {
    assert!(answer("which code has the color red").text.contains("| green | 32 |\n\n[1]"));
    let check = |kind, text, expected: &str| assert_eq!(quote::render_quote(kind, text, 2), expected);
    check(Prose, "Text.", "Text. [2]\n\n");
    check(Table, "| a |", "| a |\n\n[2]\n\n");
    check(Code, "```\nx\n```", "```\nx\n```\n\n[2]\n\n");
    check(Code, "~~~~\nnot closed", "~~~~\nnot closed\n~~~~\n\n[2]\n\n");
    check(CodeLines, "x ``` y", "````\nx ``` y\n````\n\n[2]\n\n");
    check(List, "- a\n  ```\n  x\n  ```", "- a\n  ```\n  x\n  ```\n\n[2]\n\n");
    check(Prose, ":::tip\nx\n:::", ":::tip\nx\n:::\n\n[2]\n\n");
}

#[test]
fn unrelated_question_is_not_answered() {
    let answer = answer_with(&empty_encoder(), "what is the boiling point of water on mars");
    assert!(answer.text.starts_with("No good match in the indexed documentation"), "{}", answer.text);
    assert_eq!((answer.citations.len(), answer.chunks_used, answer.related.len()), (0, 0, 0));
    assert!(answer.weak.is_empty() && answer.score < MIN_GOOD_SCORE);
    let near = answer_with(
        &empty_encoder(),
        "which server boils water on mars in time for colors and codes of planets",
    );
    assert_eq!(near.weak, ["Colors", "Retries: Configure"]);
    assert!(near.text.ends_with("weak matches only:\n- Colors\n- Retries: Configure"), "{}", near.text);
    assert_eq!((near.modes, near.citations.len()), (vec![SearchMethod::Bm25], 0));
}

proptest! {
    /// Whatever is left of an answer without its headings, marks and list of pages stands literally in a source.
    #[test]
    fn every_quote_is_literal(question in "(configure|max_retries|colors|table|code|timeout|retry|server| ){1,12}") {
        let text = answer(&question).text;
        let quoted = text.split("### Related Topics").next().unwrap();
        if quoted.starts_with(NO_MATCH) {
            return Ok(());
        }
        let is_ours = |block: &&str| block.starts_with('#') || (block.starts_with('[') && block.len() == 3);
        for block in quoted.split("\n\n").filter(|block| !is_ours(block)) {
            let block = ["[1]", "[2]", "[3]"].iter().fold(block, |block, mark| block.trim_end_matches(mark)).trim_end();
            prop_assert!(PAGES.iter().any(|(_, source)| source.contains(block)), "{block}");
        }
    }
}
