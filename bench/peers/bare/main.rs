//! The floor: a synchronous loop that parses a line, answers it, and knows nothing else.
//!
//! It answers `initialize`, `tools/call` of `echo`, and plays the five questions of `booking` without checking an
//! answer. Whatever a server does beyond this costs something.

use std::io::{BufReader, Read, Write, stdin, stdout};

use serde_json::{Value, json};

const QUESTIONS: [&str; 5] = ["destination", "departure", "travellers", "class", "confirm"];

fn main() -> std::io::Result<()> {
    let mut input = BufReader::with_capacity(64 * 1024, stdin().lock());
    let mut buffer: Vec<u8> = Vec::new();
    let mut output: Vec<u8> = Vec::new();
    let mut chunk = vec![0; 64 * 1024];
    let mut booking = Booking::default();
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
            if let Some(answer) = booking.answer(&message) {
                serde_json::to_writer(&mut output, &answer)?;
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

#[derive(Default)]
struct Booking {
    call: Value,
    answers: Vec<Value>,
}

impl Booking {
    fn answer(&mut self, message: &Value) -> Option<Value> {
        let id = message.get("id")?;
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "bare", "version": "1" },
            }),
            Some("tools/call") if message["params"]["name"] == "booking" => {
                self.call = id.clone();
                self.answers.clear();
                return Some(self.ask());
            }
            Some("tools/call") => {
                let text = json!({ "text": message["params"]["arguments"]["text"] });
                json!({ "content": [{ "type": "text", "text": text.to_string() }], "structuredContent": text })
            }
            Some(_) => json!({}),
            None => {
                self.answers.push(message["result"]["content"].clone());
                if self.answers.len() < QUESTIONS.len() {
                    return Some(self.ask());
                }
                let booked = json!({ "answers": self.answers });
                let result = json!({ "content": [{ "type": "text", "text": booked.to_string() }], "structuredContent": booked });
                return Some(json!({ "jsonrpc": "2.0", "id": self.call, "result": result }));
            }
        };
        Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }

    fn ask(&self) -> Value {
        let field = QUESTIONS[self.answers.len()];
        let schema =
            json!({ "type": "object", "properties": { field: { "type": "string" } }, "required": [field] });
        let params = json!({ "mode": "form", "message": field, "requestedSchema": schema });
        json!({ "jsonrpc": "2.0", "id": self.answers.len(), "method": "elicitation/create", "params": params })
    }
}
