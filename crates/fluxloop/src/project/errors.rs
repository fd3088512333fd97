//! `errors.json`: a list of failed runs in 0.2 and 0.3, where such runs have no trace; a mapping in 0.4, where they have.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;
use tree::Tree;

use super::experiment::{FailedRun, NO_PERSONA};
use super::file::{self, join_path};
use super::limits;
use super::redact::redact_and_truncate;
use super::warning::FileWarnings;

/// What the file says.
pub(super) enum ErrorsReport {
    /// It is not there, or cannot be used.
    Unavailable,
    /// 0.2 and 0.3.
    List(Vec<FailedRun>),
    /// 0.4: the number, and the messages by run.
    Mapping {
        /// `failure_count`.
        count: Option<u64>,
        /// What went wrong, by the ids of runs.
        messages: HashMap<String, String>,
    },
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ErrorsFile {
    List(Vec<Value>),
    Mapping { failure_count: Option<u64>, failures: Vec<Value> },
}

impl ErrorsReport {
    pub(super) fn messages(&self) -> HashMap<String, String> {
        if let Self::Mapping { messages, .. } = self { messages.clone() } else { HashMap::new() }
    }
}

pub(super) fn read(tree: &Tree, id: &str, warnings: &mut FileWarnings) -> ErrorsReport {
    let path = join_path(id, "errors.json");
    let Some(value) = file::read_json::<Value>(tree, &path, warnings) else {
        return ErrorsReport::Unavailable;
    };
    match serde_json::from_value::<ErrorsFile>(value) {
        Ok(ErrorsFile::List(rows)) => ErrorsReport::List(rows.iter().map(parse_failed_run).collect()),
        Ok(ErrorsFile::Mapping { failure_count, failures }) => {
            let message = |row: &Value| {
                let id = row.get("run_id")?.as_str()?.to_owned();
                Some((
                    id,
                    redact_and_truncate(row.get("error")?.get("message")?.as_str()?, limits::MAX_TEXT_CHARS),
                ))
            };
            ErrorsReport::Mapping {
                count: failure_count,
                messages: failures.iter().filter_map(message).collect(),
            }
        }
        Err(_) => {
            let what = "neither a list of errors nor a mapping with `failures`; what went wrong is unknown";
            warnings.add(&path, None, what);
            ErrorsReport::Unavailable
        }
    }
}

fn parse_failed_run(row: &Value) -> FailedRun {
    let text = |key: &str| row.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    FailedRun {
        input: redact_and_truncate(text("input").unwrap_or_default(), limits::MAX_TEXT_CHARS),
        persona: text("persona").unwrap_or(NO_PERSONA).to_owned(),
        iteration: row.get("iteration").and_then(Value::as_u64),
        error: redact_and_truncate(text("error").unwrap_or("Unknown error"), limits::MAX_TEXT_CHARS),
    }
}
