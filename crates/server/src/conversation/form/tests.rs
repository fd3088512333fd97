use flow::{Field, TypedPrompt, choice, choices, confirm, custom, date, file, integer, number, text};
use protocol::Revision;
use serde_json::{Value, json};

use super::*;

/// The whole table Prompt × Revision, as it goes over the wire.
#[test]
fn every_kind_of_question_has_a_form_in_every_revision_that_asks() {
    fn prompt<K>(ask: TypedPrompt<K>) -> Prompt {
        ask.into()
    }
    let options = [("a", "Option A"), ("b", "Option B")];
    let cases: [(Prompt, Value, Value); 9] = [
        (
            prompt(text("?").length(2..=4).default("xy").placeholder("two to four")),
            json!({"type":"string","minLength":2,"maxLength":4,"title":"?","description":"two to four"}),
            json!({"type":"string","minLength":2,"maxLength":4,"title":"?","description":"two to four","default":"xy"}),
        ),
        (
            prompt(choice("?", options)),
            json!({"type":"string","enum":["a","b"],"enumNames":["Option A","Option B"],"title":"?"}),
            json!({"type":"string","oneOf":[{"const":"a","title":"Option A"},{"const":"b","title":"Option B"}],"title":"?"}),
        ),
        (
            prompt(choices("?", options)),
            json!({"type":"string","title":"?"}),
            json!({"type":"array","items":{"anyOf":[{"const":"a","title":"Option A"},{"const":"b","title":"Option B"}]},"title":"?"}),
        ),
        (
            prompt(confirm("?").default(false)),
            json!({"type":"boolean","title":"?","default":false}),
            json!({"type":"boolean","title":"?","default":false}),
        ),
        (
            prompt(number("?").within(0.5..=2.0)),
            json!({"type":"number","minimum":0.5,"maximum":2.0,"title":"?"}),
            json!({"type":"number","minimum":0.5,"maximum":2.0,"title":"?"}),
        ),
        (
            prompt(integer("?").within(1..=9)),
            json!({"type":"integer","minimum":1,"maximum":9,"title":"?"}),
            json!({"type":"integer","minimum":1,"maximum":9,"title":"?"}),
        ),
        (
            prompt(date("?")),
            json!({"type":"string","format":"date","title":"?"}),
            json!({"type":"string","format":"date","title":"?"}),
        ),
        (prompt(file("?")), json!({"type":"string","title":"?"}), json!({"type":"string","title":"?"})),
        (
            prompt(custom("?", json!({}))),
            json!({"type":"string","title":"?"}),
            json!({"type":"string","title":"?"}),
        ),
    ];
    for (prompt, plain, rich) in cases {
        let question =
            Question { message: "?".to_owned(), fields: vec![Field { name: "f".to_owned(), prompt }] };
        for (revision, expected) in
            [(Revision::V2025_06_18, &plain), (Revision::V2025_11_25, &rich), (Revision::V2026_07_28, &rich)]
        {
            assert_eq!(&form_schema(&question, revision).properties[0].1, expected, "{revision}");
        }
    }
}
