//! What users ask, and the page that answers it.

use knowledge::{Query, shipped};

const QUESTIONS: &str = include_str!("../corpus/questions.tsv");

/// Of a hundred questions: how many have the right page first, and how many among the first three.
const MIN_FIRST_PERCENT: usize = 85;
const MIN_TOP_THREE_PERCENT: usize = 95;

#[test]
fn questions_find_their_documents() {
    let (mut asked, mut first, mut among_three, mut missed) = (0, 0, 0, Vec::new());
    for line in QUESTIONS.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let mut columns = line.split('\t');
        let question = columns.next().unwrap_or_default();
        let right: Vec<&str> = columns.collect();
        for path in &right {
            assert!(shipped::document(path).is_some(), "{question}: there is no page {path}");
        }
        let found = shipped::library().search(&Query { text: question, hints: &[], top: 3 }).unwrap();
        let place = found.hits.iter().position(|hit| right.contains(&hit.document.path));
        asked += 1;
        first += usize::from(place == Some(0));
        among_three += usize::from(place.is_some());
        if place != Some(0) {
            missed.push(format!("{question}: {:?}", found.hits.first().map(|hit| hit.document.path)));
        }
    }
    let missed = missed.join("\n");
    println!("{asked} questions: {first} first, {among_three} among three\n{missed}");
    assert!(asked >= 60);
    assert!(first * 100 >= asked * MIN_FIRST_PERCENT, "{first} of {asked}\n{missed}");
    assert!(among_three * 100 >= asked * MIN_TOP_THREE_PERCENT, "{among_three} of {asked}\n{missed}");
}
