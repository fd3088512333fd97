//! The files of an experiment for readers: named, bounded, without secrets.

use std::io::Read;

use serde::Serialize;
use serde_json::Value;
use tree::{FolderEntryKind, ReadError, Tree, WorkBudget};

use super::file::join_path;
use super::redact::redact;
use super::secret_patterns::redact_text;
use super::warning::{FileWarnings, read_error_reason};
use super::{FluxloopProjects, jsonl, limits};

/// A file that can be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExperimentDocument {
    /// Its name in the folder of the experiment: `summary.json`, `evaluation/report.md` …
    pub name: String,
    /// Its size on the disk.
    pub bytes: u64,
    /// What it is.
    pub mime: &'static str,
}

/// What stands in a document, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExperimentDocumentText {
    /// The text.
    pub text: String,
    /// What it is.
    pub mime: &'static str,
    /// The document goes on.
    pub is_cut: bool,
}

/// Why a document is not shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExperimentDocumentError {
    /// There is no such experiment, or no such document of it.
    #[error("there is no document `{name}` of `{experiment}`")]
    Missing {
        /// The experiment that was asked for.
        experiment: String,
        /// The document.
        name: String,
    },
    /// It cannot be shown without showing what may be secret in it.
    #[error("`{file}`: {what}")]
    Broken {
        /// The file.
        file: String,
        /// What is wrong with it.
        what: String,
    },
}

/// The folders of an experiment in which documents are.
const DOCUMENT_FOLDERS: [&str; 3] = ["", "evaluation", "per_trace_analysis"];

fn mime_type(name: &str) -> Option<&'static str> {
    match name.rsplit_once('.')?.1 {
        "json" => Some("application/json"),
        "jsonl" => Some("application/jsonl"),
        "md" => Some("text/markdown"),
        _ => None,
    }
}

impl FluxloopProjects {
    /// The documents of an experiment, by name. None if there is no such experiment.
    pub fn documents(&self, tree: &Tree, experiment: &str) -> Vec<ExperimentDocument> {
        let mut found = Vec::new();
        for folder in DOCUMENT_FOLDERS.into_iter().filter(|_| self.is_experiment_path(experiment)) {
            for entry in tree
                .entries(&join_path(experiment, folder).replace("//", "/"), limits::MAX_FOLDER_ENTRIES)
                .unwrap_or_default()
            {
                let name = join_path(folder, &entry.name);
                let Some(mime) = mime_type(&name).filter(|_| entry.kind == FolderEntryKind::File) else {
                    continue;
                };
                let size =
                    tree.metadata(&join_path(experiment, &name)).ok().flatten().map_or(0, |found| found.size);
                found.push(ExperimentDocument { name, bytes: size, mime });
            }
        }
        found.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        found
    }

    /// A document of an experiment, up to a megabyte of it.
    pub fn document(
        &self,
        tree: &Tree,
        experiment: &str,
        name: &str,
        budget: &WorkBudget,
    ) -> Result<ExperimentDocumentText, ExperimentDocumentError> {
        let missing =
            || ExperimentDocumentError::Missing { experiment: experiment.to_owned(), name: name.to_owned() };
        let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
        let mime = mime_type(file).filter(|_| {
            DOCUMENT_FOLDERS.contains(&folder)
                && !file.starts_with('.')
                && self.is_experiment_path(experiment)
        });
        let mime = mime.ok_or_else(missing)?;
        let path = join_path(experiment, name);
        // Not through a link: it could lead to a file of another kind.
        tree.metadata(&path).ok().flatten().filter(|found| found.is_file).ok_or_else(missing)?;
        let (text, is_cut) = match mime {
            "application/json" => read_redacted_json(tree, &path)?,
            "application/jsonl" => read_redacted_lines(tree, &path, budget)?,
            _ => read_redacted_text(tree, &path)?,
        };
        let end = text.floor_char_boundary(
            usize::try_from(limits::MAX_DOCUMENT_BYTES).unwrap_or(usize::MAX).min(text.len()),
        );
        Ok(ExperimentDocumentText { is_cut: is_cut || end < text.len(), text: text[..end].to_owned(), mime })
    }
}

fn unreadable_document(tree: &Tree, path: &str, error: &ReadError) -> ExperimentDocumentError {
    let what = read_error_reason(tree, path, error).unwrap_or_else(|| "it is gone".to_owned());
    ExperimentDocumentError::Broken { file: path.to_owned(), what }
}

fn read_redacted_json(tree: &Tree, path: &str) -> Result<(String, bool), ExperimentDocumentError> {
    let bytes =
        tree.read(path, limits::MAX_JSON_BYTES).map_err(|error| unreadable_document(tree, path, &error))?;
    let shown = serde_json::from_slice::<Value>(&bytes)
        .map(redact)
        .and_then(|value| serde_json::to_string_pretty(&value));
    let what = |error: serde_json::Error| {
        format!("no whole JSON (line {}), so secrets in it cannot be found", error.line())
    };
    shown
        .map(|text| (text, false))
        .map_err(|error| ExperimentDocumentError::Broken { file: path.to_owned(), what: what(error) })
}

/// Line by line, without those that are no JSON.
fn read_redacted_lines(
    tree: &Tree,
    path: &str,
    budget: &WorkBudget,
) -> Result<(String, bool), ExperimentDocumentError> {
    let (mut text, mut is_cut, mut warnings) = (String::new(), false, FileWarnings::default());
    let read = jsonl::for_each_line(tree, path, budget, &mut warnings, |line| {
        if is_cut || text.len() as u64 > limits::MAX_DOCUMENT_BYTES {
            is_cut = true;
            return Ok(());
        }
        let value = jsonl::parse_object::<Value>(line)?;
        text.push_str(&redact(value).to_string());
        text.push('\n');
        Ok(())
    });
    let what = || warnings.into_list().into_iter().next().map(|warning| warning.what).unwrap_or_default();
    match read {
        None => Err(ExperimentDocumentError::Broken { file: path.to_owned(), what: what() }),
        Some(read) => Ok((text, is_cut || read.broken > 0)),
    }
}

fn read_redacted_text(tree: &Tree, path: &str) -> Result<(String, bool), ExperimentDocumentError> {
    let stream = tree
        .stream(path, limits::MAX_JSONL_BYTES)
        .map_err(|error| unreadable_document(tree, path, &error))?;
    let mut bytes = Vec::new();
    let read = stream.take(limits::MAX_DOCUMENT_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| unreadable_document(tree, path, &error.into()))?;
    let is_cut = bytes.len() as u64 > limits::MAX_DOCUMENT_BYTES;
    Ok((redact_text(&String::from_utf8_lossy(&bytes)).into_owned(), is_cut))
}
