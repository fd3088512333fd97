//! The record of a conversation so far.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The recorded answers and effects of a conversation. Replaying its code against the journal restores its
/// state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Journal {
    pub(crate) entries: Vec<JournalEntry>,
}

impl Journal {
    /// Maximum number of entries in a journal.
    pub const MAX_ENTRIES: usize = 1000;
    /// Maximum total size of the recorded values, in bytes.
    pub const MAX_BYTES: usize = 1024 * 1024;

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The number of answered questions.
    pub fn answer_count(&self) -> usize {
        self.entries.iter().filter(|entry| entry.is_answer()).count()
    }

    /// Removes the last answer and everything recorded after it. Returns `false`, and changes nothing, if
    /// there is no answer or if an effect that must not be repeated was started after it.
    pub fn undo_last_answer(&mut self) -> bool {
        let is_final =
            |entry: &JournalEntry| matches!(entry.mark.act, JournalEvent::Started | JournalEvent::Finished);
        let last = self.entries.iter().rposition(JournalEntry::is_answer);
        match last.filter(|last| !self.entries[*last..].iter().any(is_final)) {
            Some(last) => {
                self.entries.truncate(last);
                true
            }
            None => false,
        }
    }

    pub(crate) fn has_room(&self) -> bool {
        let bytes = |entry: &JournalEntry| {
            entry.mark.key.len() + entry.value.as_ref().map_or(0, approximate_json_bytes)
        };
        self.entries.len() < Self::MAX_ENTRIES
            && self.entries.iter().map(bytes).sum::<usize>() < Self::MAX_BYTES
    }
}

/// The approximate size of the value in bytes, without serializing it.
pub(crate) fn approximate_json_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len() + 8,
        Value::Array(items) => items.iter().map(approximate_json_bytes).sum::<usize>() + 8,
        Value::Object(map) => {
            map.iter().map(|(key, value)| key.len() + approximate_json_bytes(value)).sum::<usize>() + 8
        }
    }
}

/// One recorded event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct JournalEntry {
    #[serde(rename = "m")]
    pub(crate) mark: JournalKey,
    #[serde(rename = "v", default, skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<Value>,
}

impl JournalEntry {
    pub(crate) fn is_answer(&self) -> bool {
        matches!(self.mark.act, JournalEvent::Answer(_))
    }
}

/// Identifies an event. The wording of a question is not part of it, so messages may change while a
/// conversation is in progress.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct JournalKey {
    #[serde(rename = "a")]
    pub(crate) act: JournalEvent,
    #[serde(rename = "k")]
    pub(crate) key: String,
    /// Counts events of the same kind and key, to tell apart questions asked in a loop.
    #[serde(rename = "n", default, skip_serializing_if = "is_zero")]
    pub(crate) occurrence: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "required by serde's `skip_serializing_if`")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// The kind of an event.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum JournalEvent {
    /// A question was answered; contains the kind of answer.
    Answer(String),
    /// A value was computed; only its digest is recorded.
    Derived,
    /// A repeatable effect was performed.
    Step,
    /// An effect that must not be repeated was started …
    Started,
    /// … and finished.
    Finished,
    /// The clock was read.
    Now,
    /// A random number was generated.
    Random,
}
