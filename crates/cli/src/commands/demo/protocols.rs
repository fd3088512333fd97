//! The rest: tools, errors, and the protocols that one server speaks on one pipe.

use std::io;

use serde_json::json;

use super::story::show_question;
use super::{Demo, answer_form, print_heading, print_line, str_or_empty};

impl Demo {
    pub(super) fn show_protocols(&mut self) -> io::Result<()> {
        self.list_tools()?;
        self.call_with_invalid_arguments()?;
        self.answer_elicitation()?;
        self.answer_input_required()?;
        self.send_envelope_messages()
    }

    fn list_tools(&mut self) -> io::Result<()> {
        print_heading("5. The tools that an MCP client sees (revision 2025-11-25)")?;
        let tools = self.request("tools/list", json!({}))?;
        for tool in tools["tools"].as_array().into_iter().flatten() {
            let description = str_or_empty(&tool["description"]);
            let sentence = description.split_once(". ").map_or(description, |(first, _)| first);
            print_line(&format!("  {}: {}", str_or_empty(&tool["name"]), sentence.trim_end_matches('.')))?;
        }
        Ok(())
    }

    fn call_with_invalid_arguments(&mut self) -> io::Result<()> {
        print_heading("6. A wrong argument, and an error that a model can act on")?;
        let params = json!({ "name": "tell_fortune", "arguments": { "category": "weather" } });
        let result = self.request("tools/call", params)?;
        print_line(&format!("  {}", str_or_empty(&result["content"][0]["text"])))
    }

    fn answer_elicitation(&mut self) -> io::Result<()> {
        print_heading("7. A tool that asks while it works (elicitation/create)")?;
        let booked = self.request("tools/call", json!({ "name": "booking", "arguments": {} }))?;
        print_line(&format!("  result: {}", booked["structuredContent"]))
    }

    fn answer_input_required(&mut self) -> io::Result<()> {
        print_heading("8. The same tool for a client of 2026-07-28, without a session (input_required)")?;
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
        });
        let mut params = json!({ "name": "booking", "arguments": { "destination": "Oslo" }, "_meta": meta });
        for _ in 0..10 {
            let result = self.request("tools/call", params.clone())?;
            if result["resultType"] != "input_required" {
                return print_line(&format!("  result: {}", result["structuredContent"]));
            }
            let question = &result["inputRequests"]["question"]["params"];
            show_question(question)?;
            params["requestState"] = result["requestState"].clone();
            params["inputResponses"] = json!({ "question": answer_form(question) });
        }
        Err(io::Error::other("the tool keeps asking"))
    }

    fn send_envelope_messages(&mut self) -> io::Result<()> {
        print_heading("9. A client of fluxloop-mcp, with its JSON envelope, on the same pipe")?;
        for message in [
            json!({ "type": "handshake", "id": "1" }),
            json!({ "type": "request", "id": "2", "tool": "faqz" }),
        ] {
            print_line(&format!("  -> {message}"))?;
            self.send(&message)?;
            print_line(&format!("  <- {}", self.receive()?))?;
        }
        Ok(())
    }
}
