//! Earlier answers: a question that is asked again starts with the last one.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::form::{Field, Form, Kind};
use super::prompt::Given;

/// Answers by the name of their question and its text: under the same name something else may be asked later.
#[derive(Default)]
pub(super) struct Memory(HashMap<(String, String), Value>);

impl Memory {
    pub(super) fn recall(&self, field: &Field) -> Option<Given> {
        let value = self.0.get(&key(field))?.clone();
        Some(Given { value: Some(value), shown: String::new() })
    }

    pub(super) fn keep(&mut self, form: &Form, content: &Map<String, Value>) {
        // A yes counts once.
        for field in form.fields.iter().filter(|field| field.kind != Kind::Confirm) {
            match content.get(&field.name) {
                Some(value) => self.0.insert(key(field), value.clone()),
                None => self.0.remove(&key(field)),
            };
        }
    }
}

fn key(field: &Field) -> (String, String) {
    (field.name.clone(), field.title.clone())
}
