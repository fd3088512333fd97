//! A judged collection: documents, questions, and which document answers which question how well.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde_json::Value;
use server::knowledge::Document;

use crate::BenchResult;

pub(super) struct JudgedCollection {
    pub(super) pages: Vec<Document>,
    /// Page, title, headings, text: the passages as they came.
    pub(super) passages: Vec<[String; 4]>,
    /// Id and text.
    pub(super) queries: Vec<(String, String)>,
    /// Grades by query and page.
    pub(super) grades: HashMap<String, HashMap<String, f64>>,
}

impl JudgedCollection {
    pub(super) fn read(folder: &Path) -> BenchResult<Self> {
        let passages: Vec<[String; 4]> =
            read_jsonl(&folder.join("corpus.jsonl"))?.iter().map(parse_passage).collect();
        let queries = read_jsonl(&folder.join("queries.jsonl"))?;
        let queries =
            queries.iter().map(|row| (string_field(row, "_id"), string_field(row, "text"))).collect();
        let judged = parse_judgements(&std::fs::read_to_string(folder.join("qrels.tsv"))?);
        Ok(Self { pages: group_pages(&passages), passages, queries, grades: judged })
    }
}

fn read_jsonl(path: &Path) -> BenchResult<Vec<Value>> {
    let lines = std::fs::read_to_string(path)?;
    Ok(lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

fn string_field(row: &Value, key: &str) -> String {
    row[key].as_str().unwrap_or_default().to_owned()
}

/// A document without passages is a page of one.
fn parse_passage(row: &Value) -> [String; 4] {
    let page = row["doc"].as_str().map_or_else(|| string_field(row, "_id"), str::to_owned);
    [page, string_field(row, "title"), string_field(row, "heading"), string_field(row, "text")]
}

/// Passages of one page come together again.
fn group_pages(passages: &[[String; 4]]) -> Vec<Document> {
    let mut pages: BTreeMap<&str, Vec<&[String; 4]>> = BTreeMap::new();
    for passage in passages {
        pages.entry(&passage[0]).or_default().push(passage);
    }
    let headings = |path: &str| -> Vec<String> {
        path.split(" > ").filter(|heading| !heading.is_empty()).map(str::to_owned).collect()
    };
    let page = |(path, passages): (&str, Vec<&[String; 4]>)| {
        let title = passages[0][1].clone();
        Document::from_passages(
            path,
            title,
            passages.iter().map(|[_, _, path, text]| (headings(path), text.as_str())),
        )
    };
    pages.into_iter().map(page).collect()
}

fn parse_judgements(rows: &str) -> HashMap<String, HashMap<String, f64>> {
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
