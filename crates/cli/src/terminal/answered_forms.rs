//! The forms that were answered before the open one: what Esc can return to.

use serde_json::Value;

use super::PromptOutcome;

#[derive(Default)]
pub(super) struct AnsweredForms {
    /// Their schemas, in order.
    schemas: Vec<Value>,
    /// The form that the user has just gone back from.
    left: Option<Value>,
}

impl AnsweredForms {
    /// Whether there is a form to return to from this one, which is about to be asked.
    pub(super) fn precede(&mut self, schema: &Value) -> bool {
        if self.left.take().as_ref() == Some(schema) {
            // The tool asks it again: it does not go further back, as after it has written files.
            self.schemas.clear();
        }
        if self.schemas.last() == Some(schema) {
            // Its answer was rejected.
            self.schemas.pop();
        }
        !self.schemas.is_empty()
    }

    pub(super) fn record(&mut self, schema: &Value, outcome: &PromptOutcome) {
        match outcome {
            PromptOutcome::Filled(_) => self.schemas.push(schema.clone()),
            PromptOutcome::Back => {
                self.schemas.pop();
                self.left = Some(schema.clone());
            }
            PromptOutcome::EndOfInput | PromptOutcome::Stopped => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    #[test]
    fn only_answered_forms_can_be_returned_to() {
        // The forms as they are asked, each with whether the user goes back from it.
        for (asked, expected) in [
            (&[("a", false), ("b", false), ("c", false)][..], &[false, true, true][..]),
            (&[("a", false), ("a", false), ("b", false)], &[false, false, true]),
            (&[("a", false), ("b", true), ("a", false), ("b", false)], &[false, true, false, true]),
            (&[("a", false), ("b", true), ("b", false), ("c", false)], &[false, true, false, true]),
        ] {
            let mut forms = AnsweredForms::default();
            let mut found = Vec::new();
            for (name, goes_back) in asked {
                let schema = json!(name);
                found.push(forms.precede(&schema));
                let outcome =
                    if *goes_back { PromptOutcome::Back } else { PromptOutcome::Filled(Map::new()) };
                forms.record(&schema, &outcome);
            }
            assert_eq!(found, expected, "{asked:?}");
        }
    }
}
