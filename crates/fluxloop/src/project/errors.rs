//! `errors.json`: a list of failed runs in 0.2 and 0.3, where such runs have no trace; a mapping in 0.4, where they have.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;
use tree::Tree;

use super::experiment::{Failure, NO_PERSONA};
use super::file::{self, join};
use super::limits;
use super::redact::told;
use super::warning::Warnings;

/// What the file says.
pub(super) enum Told {
    /// It is not there, or cannot be used.
    Nothing,
    /// 0.2 and 0.3.
    List(Vec<Failure>),
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
enum File {
    List(Vec<Value>),
    Mapping { failure_count: Option<u64>, failures: Vec<Value> },
}

impl Told {
    pub(super) fn messages(&self) -> HashMap<String, String> {
        if let Self::Mapping { messages, .. } = self { messages.clone() } else { HashMap::new() }
    }
}

pub(super) fn read(tree: &Tree, id: &str, warnings: &mut Warnings) -> Told {
    let path = join(id, "errors.json");
    let Some(value) = file::json::<Value>(tree, &path, warnings) else { return Told::Nothing };
    match serde_json::from_value::<File>(value) {
        Ok(File::List(rows)) => Told::List(rows.iter().map(failure).collect()),
        Ok(File::Mapping { failure_count, failures }) => {
            let message = |row: &Value| {
                let id = row.get("run_id")?.as_str()?.to_owned();
                Some((id, told(row.get("error")?.get("message")?.as_str()?, limits::TEXT)))
            };
            Told::Mapping { count: failure_count, messages: failures.iter().filter_map(message).collect() }
        }
        Err(_) => {
            let what = "neither a list of errors nor a mapping with `failures`; what went wrong is unknown";
            warnings.add(&path, None, what);
            Told::Nothing
        }
    }
}

fn failure(row: &Value) -> Failure {
    let text = |key: &str| row.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    Failure {
        input: told(text("input").unwrap_or_default(), limits::TEXT),
        persona: text("persona").unwrap_or(NO_PERSONA).to_owned(),
        iteration: row.get("iteration").and_then(Value::as_u64),
        error: told(text("error").unwrap_or("Unknown error"), limits::TEXT),
    }
}
