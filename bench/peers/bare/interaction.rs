//! `interaction.*` at its barest: the messages that fluxway would send, and no rule about anything in them.

use std::collections::HashMap;

use serde_json::{Value, json};

/// The five questions of `booking` when the number of travellers is known: name, kind, text.
const QUESTIONS: [(&str, &str, &str); 5] = [
    ("destination", "text", "Where would you like to go?"),
    ("departure", "date", "First day"),
    ("return", "date", "Last day, empty for one way"),
    ("class", "choice", "Where would you like to sit?"),
    ("confirm", "confirm", "2 to Lisbon on 2099-05-01 for 1440 euros. Shall I book?"),
];

/// Conversations under way, by the ids of their sessions.
#[derive(Default)]
pub(crate) struct BareSessions {
    answers: HashMap<String, Vec<Value>>,
    started: u64,
}

impl BareSessions {
    /// What a request is answered with.
    pub(crate) fn answer(&mut self, message: &Value) -> Option<Value> {
        let params = &message["params"];
        let mut result = if message["method"] == "interaction.start" {
            self.started += 1;
            let session = format!("session_{:032}", self.started);
            self.answers.insert(session.clone(), Vec::new());
            json!({ "sessionId": session, "state": "idle", "initialPrompt": prompt(0), "progress": progress(0) })
        } else {
            self.respond(params["sessionId"].as_str()?, &params["response"]["value"])?
        };
        result["expiresAt"] = json!(4_081_276_800_000_u64);
        Some(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))
    }

    fn respond(&mut self, session: &str, value: &Value) -> Option<Value> {
        let answers = self.answers.get_mut(session)?;
        answers.push(value.clone());
        let next = answers.len();
        let mut result = json!({ "sessionId": session, "accepted": true, "validation": { "valid": true } });
        if next < QUESTIONS.len() {
            result["state"] = json!("waiting_user");
            result["nextPrompt"] = prompt(next);
            result["progress"] = progress(next);
        } else {
            result["state"] = json!("completed");
            result["result"] =
                json!({ "success": true, "data": { "answers": self.answers.remove(session)? } });
            result["summary"] = json!("Booked Lisbon for 2, 1440 euros, reference ABCDEF.");
        }
        Some(result)
    }
}

fn prompt(number: usize) -> Value {
    let (name, kind, message) = QUESTIONS[number];
    let id = format!("prompt_{}", number + 1);
    let mut shown = json!({ "type": kind, "message": message, "name": name, "promptId": id, "validation": { "required": true } });
    if kind == "choice" {
        shown["choices"] = json!([
            { "value": "economy", "label": "Economy" },
            { "value": "business", "label": "Business" },
            { "value": "first", "label": "First class" },
        ]);
    }
    shown
}

fn progress(number: usize) -> Value {
    json!({ "current": number + 1, "total": QUESTIONS.len(), "message": QUESTIONS[number].0 })
}
