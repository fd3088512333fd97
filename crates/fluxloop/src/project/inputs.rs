//! The inputs that a run would take.

use std::collections::BTreeMap;

use codebase::NameKind;
use serde::Serialize;
use serde_json::Value;
use tree::Tree;

use super::NO_PERSONA;
use super::config_node::{ConfigNode, ConfigValue};
use super::fields::{ConfigFields, scalar_text};
use super::file::{self, join_path, resolve_path};
use super::limits;
use super::location::{FluxloopLocation, exists};
use super::merged_settings::MergedSettings;
use super::redact::redact_and_truncate;
use super::settings::PersonaNames;
use super::warning::FileWarnings;
use crate::ReleaseLine;

/// The inputs that a run would take.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ProjectInputs {
    /// Where they come from.
    pub source: InputSource,
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
    pub items: Vec<ProjectInput>,
}

/// Where inputs come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InputSource {
    /// Nothing says it, or nothing readable.
    #[default]
    Unknown,
    /// The file that `find_inputs_file` names.
    File,
    /// The settings themselves.
    Inline,
    /// Pulled from a workspace on the web.
    Pulled,
}

/// An input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProjectInput {
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

impl ProjectInputs {
    pub(super) fn read(
        tree: &Tree,
        location: &FluxloopLocation,
        merged: &MergedSettings,
        names: &PersonaNames,
        warnings: &mut FileWarnings,
    ) -> Self {
        let settings = ConfigFields(Some(&merged.node));
        // What was begun with 0.3 may go on with 0.4.
        let is_in_settings = settings.get("inputs_file").is_none() && settings.get("input").is_some();
        let mut inputs = match location.release_line {
            ReleaseLine::V02 | ReleaseLine::V03 if !is_in_settings => {
                from_file(tree, location, settings, warnings)
            }
            _ => from_settings(tree, location, settings, warnings),
        };
        for persona in inputs.items.iter_mut().filter_map(|item| item.persona.as_mut()) {
            if let Some(name) = names.get(persona) {
                persona.clone_from(name);
            }
        }
        Self::from_items(inputs.source, inputs.file, inputs.items)
    }

    fn from_items(source: InputSource, file: Option<String>, items: Vec<ProjectInput>) -> Self {
        let count = |of: fn(&ProjectInput) -> Option<&String>| {
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
fn from_file(
    tree: &Tree,
    location: &FluxloopLocation,
    settings: ConfigFields<'_>,
    warnings: &mut FileWarnings,
) -> ProjectInputs {
    let Some(name) = settings.text("inputs_file", warnings) else { return ProjectInputs::default() };
    let (at, line) =
        settings.get("inputs_file").map(|node| (node.file.clone(), node.line())).unwrap_or_default();
    let Some(path) = resolve_path(tree, &location.folder, &name) else {
        warnings.add(&at, line, "`inputs_file` leads out of the repository; it is not read");
        return ProjectInputs::default();
    };
    if !exists(tree, &path) {
        let named = warnings.display_name(NameKind::File, &path, &at, line);
        warnings.add(&at, line, format!("`inputs_file` names `{named}`, which is not there"));
    }
    let document = file::read_yaml(tree, &path, limits::MAX_INPUTS_BYTES, warnings);
    let items = document.map(|document| parse_rows(&document, warnings)).unwrap_or_default();
    ProjectInputs::from_items(InputSource::File, Some(path), items)
}

/// A list of rows, or a mapping with one.
fn parse_rows(document: &ConfigNode, warnings: &mut FileWarnings) -> Vec<ProjectInput> {
    let items = match &document.data {
        ConfigValue::List(items) => items.as_slice(),
        _ => ConfigFields(Some(document)).list("inputs", warnings),
    };
    items.iter().filter_map(|row| parse_input(row, "input", warnings)).collect()
}

/// 0.4: in the settings, or in a file that was pulled.
fn from_settings(
    tree: &Tree,
    location: &FluxloopLocation,
    settings: ConfigFields<'_>,
    warnings: &mut FileWarnings,
) -> ProjectInputs {
    let section = settings.mapping("input", warnings);
    let source = section.text("source", warnings).unwrap_or_else(|| "inline".to_owned());
    let pulled = join_path(&location.folder, "pulled/inputs.json");
    if source != "inline" && exists(tree, &pulled) {
        let items = match file::read_json::<Value>(tree, &pulled, warnings) {
            Some(value) => {
                parse_pulled_rows(&ConfigNode::from_json(&pulled.as_str().into(), value), warnings)
            }
            None => Vec::new(),
        };
        return ProjectInputs::from_items(InputSource::Pulled, Some(pulled), items);
    }
    let items: Vec<_> =
        section.list("items", warnings).iter().filter_map(|row| parse_input(row, "text", warnings)).collect();
    if source != "inline" && items.is_empty() {
        let (file, line) =
            section.get("source").map(|node| (node.file.clone(), node.line())).unwrap_or_default();
        let source = warnings.display_name(NameKind::Setting, &source, &file, line);
        let pulled = warnings.display_path(&pulled);
        warnings.add(&file, line, format!("inputs are `{source}`, and `{pulled}` is not there"));
    }
    if section.0.is_none() {
        return ProjectInputs::default();
    }
    ProjectInputs::from_items(
        InputSource::Inline,
        section.get("items").map(|node| node.file.to_string()),
        items,
    )
}

/// Rows with `text`, `content` or the first of their messages.
fn parse_pulled_rows(document: &ConfigNode, warnings: &mut FileWarnings) -> Vec<ProjectInput> {
    let items = match &document.data {
        ConfigValue::List(items) => items.as_slice(),
        _ => ConfigFields(Some(document)).list("inputs", warnings),
    };
    let row = |row: &ConfigNode| {
        let fields = ConfigFields(Some(row));
        let first = || match &row.get("messages")?.data {
            ConfigValue::List(messages) => messages.first()?.get("content").and_then(scalar_text),
            _ => None,
        };
        let text = ["text", "content"]
            .into_iter()
            .find_map(|key| fields.get(key).and_then(scalar_text))
            .or_else(first);
        if text.is_none() {
            warnings.add(&row.file, row.line(), "a row without `text`; it is left out");
        }
        Some(input_with_metadata(redact_and_truncate(&text?, limits::MAX_TEXT_CHARS), row))
    };
    items.iter().filter_map(row).collect()
}

/// A row with a text under `key`. Without `metadata` the row itself tells of itself.
fn parse_input(row: &ConfigNode, key: &str, warnings: &mut FileWarnings) -> Option<ProjectInput> {
    let mut wrong = |what: String| warnings.add(&row.file, row.line(), what);
    if !matches!(row.data, ConfigValue::Map(_)) {
        wrong(format!("a row is {}, not a mapping with `{key}`; it is left out", row.kind()));
        return None;
    }
    let text = match row.get(key).map(|node| (&node.data, node.kind())) {
        Some((ConfigValue::Text(text), _)) => redact_and_truncate(text, limits::MAX_TEXT_CHARS),
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
        None => Some(input_with_metadata(text, row)),
        Some(metadata) => {
            if !matches!(metadata.data, ConfigValue::Map(_)) {
                wrong(format!("`metadata` is {}, not a mapping", metadata.kind()));
            }
            Some(input_with_metadata(text, metadata))
        }
    }
}

fn input_with_metadata(text: String, metadata: &ConfigNode) -> ProjectInput {
    let word = |key: &str| metadata.get(key).and_then(scalar_text).filter(|word| !word.is_empty());
    let persona = word("persona").or_else(|| word("persona_id"));
    ProjectInput { text, persona, strategy: word("strategy"), base_input: word("base_input") }
}
