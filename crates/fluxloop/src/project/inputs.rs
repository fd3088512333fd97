//! The inputs that a run would take.

use std::collections::BTreeMap;

use codebase::NameKind;
use serde::Serialize;
use serde_json::Value;
use tree::Tree;

use super::NO_PERSONA;
use super::fields::{Fields, scalar};
use super::file::{self, join, resolve};
use super::limits;
use super::merged::Merged;
use super::node::{Data, Node};
use super::place::{Place, is_there};
use super::redact::told;
use super::settings::Names;
use super::warning::Warnings;
use crate::Line;

/// The inputs that a run would take.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Inputs {
    /// Where they come from.
    pub source: Source,
    /// The file they are in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// How many there are.
    pub count: u64,
    /// How many each persona has; `(none)` for those without.
    pub by_persona: BTreeMap<String, u64>,
    /// How many each strategy made; `(none)` for those without.
    pub by_strategy: BTreeMap<String, u64>,
    /// Each of them.
    pub items: Vec<Input>,
}

/// Where inputs come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Nothing says it, or nothing readable.
    #[default]
    Unknown,
    /// The file that `inputs_file` names.
    File,
    /// The settings themselves.
    Inline,
    /// Pulled from a workspace on the web.
    Pulled,
}

/// An input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Input {
    /// The text.
    pub text: String,
    /// Who says it: the name, or an id that belongs to no persona we know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    /// How it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// What it was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_input: Option<String>,
}

impl Inputs {
    pub(super) fn read(
        tree: &Tree,
        place: &Place,
        merged: &Merged,
        names: &Names,
        warnings: &mut Warnings,
    ) -> Self {
        let settings = Fields(Some(&merged.node));
        // What was begun with 0.3 may go on with 0.4.
        let is_in_settings = settings.get("inputs_file").is_none() && settings.get("input").is_some();
        let mut inputs = match place.line {
            Line::V02 | Line::V03 if !is_in_settings => from_file(tree, place, settings, warnings),
            _ => from_settings(tree, place, settings, warnings),
        };
        for persona in inputs.items.iter_mut().filter_map(|item| item.persona.as_mut()) {
            if let Some(name) = names.get(persona) {
                persona.clone_from(name);
            }
        }
        Self::of(inputs.source, inputs.file, inputs.items)
    }

    fn of(source: Source, file: Option<String>, items: Vec<Input>) -> Self {
        let count = |of: fn(&Input) -> Option<&String>| {
            let mut counts = BTreeMap::new();
            for item in &items {
                *counts.entry(of(item).map_or(NO_PERSONA, String::as_str).to_owned()).or_default() += 1;
            }
            counts
        };
        let by_persona = count(|item| item.persona.as_ref());
        let by_strategy = count(|item| item.strategy.as_ref());
        Self { source, file, count: items.len() as u64, by_persona, by_strategy, items }
    }
}

/// 0.2 and 0.3: a file, from the folder of the project.
fn from_file(tree: &Tree, place: &Place, settings: Fields<'_>, warnings: &mut Warnings) -> Inputs {
    let Some(name) = settings.text("inputs_file", warnings) else { return Inputs::default() };
    let (at, line) =
        settings.get("inputs_file").map(|node| (node.file.clone(), node.line())).unwrap_or_default();
    let Some(path) = resolve(tree, &place.folder, &name) else {
        warnings.add(&at, line, "`inputs_file` leads out of the repository; it is not read");
        return Inputs::default();
    };
    if !is_there(tree, &path) {
        let named = warnings.name(NameKind::File, &path, &at, line);
        warnings.add(&at, line, format!("`inputs_file` names `{named}`, which is not there"));
    }
    let document = file::document(tree, &path, limits::INPUTS, warnings);
    let items = document.map(|document| rows(&document, warnings)).unwrap_or_default();
    Inputs::of(Source::File, Some(path), items)
}

/// A list of rows, or a mapping with one.
fn rows(document: &Node, warnings: &mut Warnings) -> Vec<Input> {
    let items = match &document.data {
        Data::List(items) => items.as_slice(),
        _ => Fields(Some(document)).list("inputs", warnings),
    };
    items.iter().filter_map(|row| input(row, "input", warnings)).collect()
}

/// 0.4: in the settings, or in a file that was pulled.
fn from_settings(tree: &Tree, place: &Place, settings: Fields<'_>, warnings: &mut Warnings) -> Inputs {
    let section = settings.mapping("input", warnings);
    let source = section.text("source", warnings).unwrap_or_else(|| "inline".to_owned());
    let pulled = join(&place.folder, "pulled/inputs.json");
    if source != "inline" && is_there(tree, &pulled) {
        let items = match file::json::<Value>(tree, &pulled, warnings) {
            Some(value) => pulled_rows(&Node::from_json(&pulled.as_str().into(), value), warnings),
            None => Vec::new(),
        };
        return Inputs::of(Source::Pulled, Some(pulled), items);
    }
    let items: Vec<_> =
        section.list("items", warnings).iter().filter_map(|row| input(row, "text", warnings)).collect();
    if source != "inline" && items.is_empty() {
        let (file, line) =
            section.get("source").map(|node| (node.file.clone(), node.line())).unwrap_or_default();
        let source = warnings.name(NameKind::Setting, &source, &file, line);
        let pulled = warnings.path(&pulled);
        warnings.add(&file, line, format!("inputs are `{source}`, and `{pulled}` is not there"));
    }
    if section.0.is_none() {
        return Inputs::default();
    }
    Inputs::of(Source::Inline, section.get("items").map(|node| node.file.to_string()), items)
}

/// Rows with `text`, `content` or the first of their messages.
fn pulled_rows(document: &Node, warnings: &mut Warnings) -> Vec<Input> {
    let items = match &document.data {
        Data::List(items) => items.as_slice(),
        _ => Fields(Some(document)).list("inputs", warnings),
    };
    let row = |row: &Node| {
        let fields = Fields(Some(row));
        let first = || match &row.get("messages")?.data {
            Data::List(messages) => messages.first()?.get("content").and_then(scalar),
            _ => None,
        };
        let text =
            ["text", "content"].into_iter().find_map(|key| fields.get(key).and_then(scalar)).or_else(first);
        if text.is_none() {
            warnings.add(&row.file, row.line(), "a row without `text`; it is left out");
        }
        Some(about(told(&text?, limits::TEXT), row))
    };
    items.iter().filter_map(row).collect()
}

/// A row with a text under `key`. Without `metadata` the row itself tells of itself.
fn input(row: &Node, key: &str, warnings: &mut Warnings) -> Option<Input> {
    let mut wrong = |what: String| warnings.add(&row.file, row.line(), what);
    if !matches!(row.data, Data::Map(_)) {
        wrong(format!("a row is {}, not a mapping with `{key}`; it is left out", row.kind()));
        return None;
    }
    let text = match row.get(key).map(|node| (&node.data, node.kind())) {
        Some((Data::Text(text), _)) => told(text, limits::TEXT),
        Some((_, kind)) => {
            wrong(format!("`{key}` is {kind}, not a text; the row is left out"));
            return None;
        }
        None => {
            wrong(format!("a row without `{key}`; it is left out"));
            return None;
        }
    };
    match row.get("metadata") {
        None => Some(about(text, row)),
        Some(metadata) => {
            if !matches!(metadata.data, Data::Map(_)) {
                wrong(format!("`metadata` is {}, not a mapping", metadata.kind()));
            }
            Some(about(text, metadata))
        }
    }
}

fn about(text: String, metadata: &Node) -> Input {
    let word = |key: &str| metadata.get(key).and_then(scalar).filter(|word| !word.is_empty());
    let persona = word("persona").or_else(|| word("persona_id"));
    Input { text, persona, strategy: word("strategy"), base_input: word("base_input") }
}
