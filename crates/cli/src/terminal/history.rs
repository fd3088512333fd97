//! Earlier answers: a question that is asked again starts with the last one.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::form::{PromptField, PromptFieldKind, PromptForm};
use super::prompt::FieldAnswer;

/// Answers by the name of their question and its text: under the same name something else may be asked later.
#[derive(Default)]
pub(super) struct AnswerHistory(HashMap<(String, String), Value>);

impl AnswerHistory {
    pub(super) fn last_answer(&self, field: &PromptField) -> Option<FieldAnswer> {
        let value = self.0.get(&field_key(field))?.clone();
        Some(FieldAnswer { value: Some(value), display_text: String::new() })
    }

    pub(super) fn record(&mut self, form: &PromptForm, content: &Map<String, Value>) {
        // A yes counts once.
        for field in form.fields.iter().filter(|field| field.kind != PromptFieldKind::Confirm) {
            match content.get(&field.name) {
                Some(value) => self.0.insert(field_key(field), value.clone()),
                None => self.0.remove(&field_key(field)),
            };
        }
    }
}

fn field_key(field: &PromptField) -> (String, String) {
    (field.name.clone(), field.title.clone())
}
