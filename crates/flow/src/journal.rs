//! What happened in a conversation so far.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The recorded half of a conversation. Replaying its code against this gives the same state again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Journal {
    pub(crate) entries: Vec<JournalEntry>,
}

impl Journal {
    /// The most entries that a journal takes.
    pub const MAX_ENTRIES: usize = 1000;
    /// The most bytes that recorded values take together.
    pub const MAX_BYTES: usize = 1024 * 1024;

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// How many questions have been answered.
    pub fn answer_count(&self) -> usize {
        self.entries.iter().filter(|entry| entry.is_answer()).count()
    }

    /// Goes back to before the last answer, as if it had not been given. `false` if there is none, or if something has
    /// happened since that must not happen twice.
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

/// About as many bytes as the value takes, without writing it down.
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

/// One thing that happened.
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

/// What identifies a thing that happened. Wording is not part of it, so texts may change under a live conversation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct JournalKey {
    #[serde(rename = "a")]
    pub(crate) act: JournalEvent,
    #[serde(rename = "k")]
    pub(crate) key: String,
    /// The how-manieth of this act and key, for questions in loops.
    #[serde(rename = "n", default, skip_serializing_if = "is_zero")]
    pub(crate) occurrence: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// The kind of thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum JournalEvent {
    /// A question was answered; the kind of answer.
    Answer(String),
    /// Something was computed; its digest is kept.
    Derived,
    /// Something was done that may be done again.
    Step,
    /// Something that must not be done twice was begun …
    Started,
    /// … and came to its end.
    Finished,
    /// The clock was read.
    Now,
    /// A random number was drawn.
    Random,
}
