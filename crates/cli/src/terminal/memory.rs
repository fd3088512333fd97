//! What was answered before. Who goes back, or is asked again, finds it there and mends it.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::form::{Field, Form, Kind};
use super::prompt::Given;

/// Answers by the name of their question and its words: under the same name something else may be asked later.
#[derive(Default)]
pub(crate) struct Memory(HashMap<(String, String), Value>);

impl Memory {
    pub(super) fn recall(&self, field: &Field) -> Option<Given> {
        let value = self.0.get(&key(field))?.clone();
        Some(Given { value: Some(value), shown: String::new() })
    }

    pub(super) fn keep(&mut self, form: &Form, content: &Map<String, Value>) {
        // Who said yes once has not said it again.
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
