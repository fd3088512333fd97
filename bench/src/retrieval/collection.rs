//! A judged collection: documents, questions, and which document answers which question how well.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde_json::Value;
use server::knowledge::Page;

use crate::Outcome;

pub(super) struct Collection {
    pub(super) pages: Vec<Page>,
    /// Page, title, headings, text: the passages as they came.
    pub(super) passages: Vec<[String; 4]>,
    /// Id and text.
    pub(super) queries: Vec<(String, String)>,
    /// Grades by query and page.
    pub(super) judged: HashMap<String, HashMap<String, f64>>,
}

impl Collection {
    pub(super) fn read(folder: &Path) -> Outcome<Self> {
        let passages: Vec<[String; 4]> = rows(&folder.join("corpus.jsonl"))?.iter().map(passage).collect();
        let queries = rows(&folder.join("queries.jsonl"))?;
        let queries = queries.iter().map(|row| (text(row, "_id"), text(row, "text"))).collect();
        let judged = judgements(&std::fs::read_to_string(folder.join("qrels.tsv"))?);
        Ok(Self { pages: pages(&passages), passages, queries, judged })
    }
}

fn rows(path: &Path) -> Outcome<Vec<Value>> {
    let lines = std::fs::read_to_string(path)?;
    Ok(lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

fn text(row: &Value, key: &str) -> String {
    row[key].as_str().unwrap_or_default().to_owned()
}

/// A document without passages is a page of one.
fn passage(row: &Value) -> [String; 4] {
    let page = row["doc"].as_str().map_or_else(|| text(row, "_id"), str::to_owned);
    [page, text(row, "title"), text(row, "heading"), text(row, "text")]
}

/// Passages of one page come together again.
fn pages(passages: &[[String; 4]]) -> Vec<Page> {
    let mut pages: BTreeMap<&str, Vec<&[String; 4]>> = BTreeMap::new();
    for passage in passages {
        pages.entry(&passage[0]).or_default().push(passage);
    }
    let headings = |path: &str| -> Vec<String> {
        path.split(" > ").filter(|heading| !heading.is_empty()).map(str::to_owned).collect()
    };
    let page = |(path, passages): (&str, Vec<&[String; 4]>)| {
        let title = passages[0][1].clone();
        Page::from_passages(
            path,
            title,
            passages.iter().map(|[_, _, path, text]| (headings(path), text.as_str())),
        )
    };
    pages.into_iter().map(page).collect()
}

fn judgements(rows: &str) -> HashMap<String, HashMap<String, f64>> {
    let mut judged: HashMap<String, HashMap<String, f64>> = HashMap::new();
    for row in rows.lines().skip(1) {
        let fields: Vec<&str> = row.split('\t').map(str::trim).collect();
        if let [query, document, grade] = fields[..] {
            let grades = judged.entry(query.to_owned()).or_default();
            grades.insert(document.to_owned(), grade.parse().unwrap_or(0.0));
        }
    }
    judged
}
