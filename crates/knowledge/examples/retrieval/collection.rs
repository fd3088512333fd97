//! A judged collection: documents, questions, and which document answers which question how well.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use knowledge::Page;
use serde_json::Value;
use tree::Tree;

pub(crate) struct Collection {
    pub(crate) pages: Vec<Page>,
    /// Id and text.
    pub(crate) queries: Vec<(String, String)>,
    /// Grades by query and page.
    pub(crate) judged: HashMap<String, HashMap<String, f64>>,
}

impl Collection {
    pub(crate) fn read(folder: &Path) -> Self {
        let data = Tree::open(folder).unwrap();
        Self { pages: pages(&data), queries: queries(&data), judged: judgements(&data) }
    }

    /// Takes every page so many times, each time at another path.
    pub(crate) fn repeat(&mut self, times: usize) {
        let copy =
            |page: &Page, number: usize| Page { path: format!("{number}/{}", page.path), ..page.clone() };
        let copies = (1..times).flat_map(|number| self.pages.iter().map(move |page| copy(page, number)));
        self.pages = self.pages.iter().cloned().chain(copies).collect();
    }
}

/// The bytes of a file.
pub(crate) fn read(path: &Path) -> Vec<u8> {
    let folder = Tree::open(path.parent().unwrap()).unwrap();
    folder.read(path.file_name().unwrap().to_str().unwrap(), 64 << 20).unwrap()
}

fn lines(data: &Tree, name: &str) -> Vec<Value> {
    let text = String::from_utf8(data.read(name, 2 << 30).unwrap()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Passages of one page come together again. A document without passages is a page of one.
fn pages(data: &Tree) -> Vec<Page> {
    let rows = lines(data, "corpus.jsonl");
    let mut pages: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for row in &rows {
        let page = row["doc"].as_str().unwrap_or(text(row, "_id"));
        pages.entry(page).or_default().push(row);
    }
    let passage = |row: &&'_ Value| -> Vec<String> {
        text(row, "heading").split(" > ").filter(|heading| !heading.is_empty()).map(str::to_owned).collect()
    };
    let page = |(path, rows): (&str, Vec<&Value>)| {
        let passages: Vec<_> = rows.iter().map(|row| (passage(row), text(row, "text"))).collect();
        Page::from_passages(path, text(rows[0], "title"), passages)
    };
    pages.into_iter().map(page).collect()
}

fn queries(data: &Tree) -> Vec<(String, String)> {
    let rows = lines(data, "queries.jsonl");
    rows.iter().map(|row| (text(row, "_id").to_owned(), text(row, "text").to_owned())).collect()
}

fn judgements(data: &Tree) -> HashMap<String, HashMap<String, f64>> {
    let rows = String::from_utf8(data.read("qrels.tsv", 64 << 20).unwrap()).unwrap();
    let mut judged: HashMap<String, HashMap<String, f64>> = HashMap::new();
    for row in rows.lines().skip(1) {
        let mut fields = row.split('\t');
        let (query, document, grade) =
            (fields.next().unwrap(), fields.next().unwrap(), fields.next().unwrap());
        judged
            .entry(query.to_owned())
            .or_default()
            .insert(document.to_owned(), grade.trim().parse().unwrap());
    }
    judged
}
