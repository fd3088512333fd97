//! A collection: documents, and questions about them.

use std::collections::BTreeMap;
use std::path::Path;

use knowledge::Document;
use serde_json::Value;
use tree::Tree;

pub(crate) struct CalibrationCollection {
    pub(crate) documents: Vec<Document>,
    pub(crate) queries: Vec<String>,
}

impl CalibrationCollection {
    pub(crate) fn read(folder: &Path) -> Self {
        let data = Tree::open(folder).unwrap();
        Self { documents: read_documents(&data), queries: read_queries(&data) }
    }
}

fn read_json_lines(data: &Tree, name: &str) -> Vec<Value> {
    let text = String::from_utf8(data.read(name, 2 << 30).unwrap()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Passages of one page come together again. A document without passages is a page of one.
fn read_documents(data: &Tree) -> Vec<Document> {
    let rows = read_json_lines(data, "corpus.jsonl");
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
        Document::from_passages(path, text(rows[0], "title"), passages)
    };
    pages.into_iter().map(page).collect()
}

fn read_queries(data: &Tree) -> Vec<String> {
    read_json_lines(data, "queries.jsonl").iter().map(|row| text(row, "text").to_owned()).collect()
}
