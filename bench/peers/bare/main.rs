//! The floor: a synchronous loop that parses a line, answers it, and knows nothing else.
//!
//! It answers `initialize`, `tools/call` of `echo`, and plays the five questions of `booking` without checking an
//! answer, through elicitation and through `interaction.*`. Whatever a server does beyond this costs something.

mod interaction;

use std::collections::HashMap;
use std::io::{BufReader, Read, Write, stdin, stdout};

use serde_json::{Value, json};

const QUESTIONS: [&str; 5] = ["destination", "departure", "travellers", "class", "confirm"];

fn main() -> std::io::Result<()> {
    let mut input = BufReader::with_capacity(64 * 1024, stdin().lock());
    let mut buffer: Vec<u8> = Vec::new();
    let mut output: Vec<u8> = Vec::new();
    let mut chunk = vec![0; 64 * 1024];
    let mut booking = BareServer::default();
    // Of `interaction.*`, only answers.
    let is_quiet = std::env::args().any(|arg| arg == "quiet");
    loop {
        let read = input.read(&mut chunk)?;
        if read == 0 {
            return Ok(());
        }
        buffer.extend_from_slice(&chunk[..read]);
        let mut start = 0;
        while let Some(end) = memchr::memchr(b'\n', &buffer[start..]) {
            let message: Value = serde_json::from_slice(&buffer[start..start + end]).unwrap_or_default();
            start += end + 1;
            let Some(answer) = booking.answer(&message) else { continue };
            let pushed = if is_quiet { None } else { booking.push(&answer) };
            for said in [Some(answer), pushed].into_iter().flatten() {
                serde_json::to_writer(&mut output, &said)?;
                output.push(b'\n');
            }
        }
        buffer.drain(..start);
        let mut stdout = stdout().lock();
        stdout.write_all(&output)?;
        stdout.flush()?;
        output.clear();
    }
}

/// Conversations under way, by the id of their call.
#[derive(Default)]
struct BareServer {
    sessions: interaction::BareSessions,
    pushed: u64,
    answers: HashMap<String, Vec<Value>>,
}

impl BareServer {
    fn answer(&mut self, message: &Value) -> Option<Value> {
        let id = message.get("id")?;
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "bare", "version": "1" },
            }),
            Some("tools/call") if message["params"]["name"] == "booking" => {
                let call = id.as_str()?;
                self.answers.insert(call.to_owned(), Vec::new());
                return Some(elicitation_message(call, 0));
            }
            Some("tools/call") => {
                let text = json!({ "text": message["params"]["arguments"]["text"] });
                json!({ "content": [{ "type": "text", "text": text.to_string() }], "structuredContent": text })
            }
            Some(method) if method.starts_with("interaction.") => return self.sessions.answer(message),
            Some(_) => json!({}),
            None => return self.continue_booking(id.as_str()?, &message["result"]),
        };
        Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }

    /// What fluxway says after the answer to an `interaction.respond`: the same once more, as a request.
    fn push(&mut self, answer: &Value) -> Option<Value> {
        let result = &answer["result"];
        result.get("accepted")?;
        self.pushed += 1;
        let session = &result["sessionId"];
        let (method, params) = match result.get("nextPrompt") {
            Some(prompt) => (
                "interaction.prompt",
                json!({ "sessionId": session, "prompt": prompt, "progress": result["progress"] }),
            ),
            None => (
                "interaction.complete",
                json!({ "sessionId": session, "result": result["result"], "summary": result["summary"] }),
            ),
        };
        Some(
            json!({ "jsonrpc": "2.0", "id": format!("bare-{}", self.pushed), "method": method, "params": params }),
        )
    }

    fn continue_booking(&mut self, question: &str, result: &Value) -> Option<Value> {
        let (call, _) = question.rsplit_once('/')?;
        let answers = self.answers.get_mut(call)?;
        answers.push(result["content"].clone());
        if answers.len() < QUESTIONS.len() {
            return Some(elicitation_message(call, answers.len()));
        }
        let booked = json!({ "answers": self.answers.remove(call)? });
        let result = json!({ "content": [{ "type": "text", "text": booked.to_string() }], "structuredContent": booked });
        Some(json!({ "jsonrpc": "2.0", "id": call, "result": result }))
    }
}

fn elicitation_message(call: &str, question: usize) -> Value {
    let field = QUESTIONS[question];
    let schema =
        json!({ "type": "object", "properties": { field: { "type": "string" } }, "required": [field] });
    let params = json!({ "mode": "form", "message": field, "requestedSchema": schema });
    json!({ "jsonrpc": "2.0", "id": format!("{call}/{question}"), "method": "elicitation/create", "params": params })
}
