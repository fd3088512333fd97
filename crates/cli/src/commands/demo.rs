//! `fluxway demo`: a scripted conversation with the real server, shown readably.

mod edit_plan;

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::config;
use crate::exit::{self, CommandError};

/// What the demonstration's user answers, whatever asks.
fn scripted_answers() -> Value {
    json!({ "destination": "Lisbon", "departure": "2099-05-01", "return": "2099-05-08", "travellers": 2, "class": "business", "confirm": true })
}

pub(crate) fn run() -> Result<(), CommandError> {
    let mut demo = Demo::start().map_err(CommandError::io("cannot start the server"))?;
    demo.run_script().map_err(CommandError::io("the demonstration broke off"))
}

struct Demo {
    /// Where the sample repository lies; it goes when the demonstration does.
    _folder: TempDir,
    server: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next_id: u64,
}

impl Demo {
    #[expect(clippy::disallowed_methods, reason = "the demonstration runs this very binary as its server")]
    fn start() -> io::Result<Self> {
        let folder = create_sample_repository()?;
        let mut command = Command::new(std::env::current_exe()?);
        // The user's own settings and database have no place in a script: an empty file, no variables, a database in memory.
        command
            .args(["serve", "--config", "/dev/null", "--database", "sqlite::memory:", "--root"])
            .arg(folder.path());
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with(config::ENV_PREFIX))
        {
            command.env_remove(name);
        }
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = server.stdin.take();
        let output = server.stdout.take().ok_or_else(|| io::Error::other("the server has no output"))?;
        Ok(Self { _folder: folder, server, input, output: BufReader::new(output), next_id: 1 })
    }

    fn run_script(&mut self) -> io::Result<()> {
        print_line("Fluxway is one server for every dialect. This is the real one, on a pipe.")?;
        self.initialize()?;
        self.analyze_repository()?;
        self.apply_and_undo_plan()?;
        self.call_tool()?;
        self.call_with_invalid_arguments()?;
        self.answer_elicitation()?;
        self.answer_input_required()?;
        self.send_envelope_messages()?;
        self.input = None; // the end of its input is the server's sign to go
        let status = self.server.wait()?;
        print_line(&format!(
            "\nThe server has gone with {status}. `fluxway tools` says what it can do; README.md how to register it."
        ))
    }

    fn initialize(&mut self) -> io::Result<()> {
        print_heading("A client of 2025-11-25 says hello and asks for the tools")?;
        let about = json!({ "name": "demo", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} }, "clientInfo": about });
        let welcome = self.request("initialize", hello)?;
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        print_entry(
            "server",
            &format!(
                "{} {}, MCP {}",
                welcome["serverInfo"]["name"], welcome["serverInfo"]["version"], welcome["protocolVersion"]
            ),
        )?;
        let tools = self.request("tools/list", json!({}))?;
        for tool in tools["tools"].as_array().into_iter().flatten() {
            print_entry(
                tool["name"].as_str().unwrap_or_default(),
                tool["description"].as_str().unwrap_or_default(),
            )?;
        }
        Ok(())
    }

    fn analyze_repository(&mut self) -> io::Result<()> {
        print_heading("It asks what is in a repository: a support agent behind FastAPI, and a Next.js page")?;
        let result = self.request("tools/call", json!({ "name": "analyze_repository", "arguments": {} }))?;
        let profile = result["structuredContent"].clone();
        for field in ["languages", "packageManagers", "frameworkCandidates", "entryPoints"] {
            print_entry(field, &join_strings(&profile[field]))?;
        }
        for agent in profile["agents"].as_array().into_iter().flatten() {
            let (name, why) = (str_or_empty(&agent["name"]), str_or_empty(&agent["why"]["proves"]));
            let place = format!("{}:{}", str_or_empty(&agent["path"]), agent["line"]);
            print_entry(
                "agent",
                &format!("{name} at {place}, reached from {}: {why}", str_or_empty(&agent["reachedFrom"])),
            )?;
        }
        let arguments = json!({ "repository_profile": profile });
        let found =
            self.request("tools/call", json!({ "name": "detect_frameworks", "arguments": arguments }))?;
        for framework in found["structuredContent"]["frameworks"].as_array().into_iter().flatten() {
            let confidence =
                format!("{} {}", framework["confidence"], str_or_empty(&framework["version_detected"]));
            print_entry(
                str_or_empty(&framework["name"]),
                &format!("{confidence}: {}", join_strings(&framework["reasons"])),
            )?;
        }
        Ok(())
    }

    fn call_tool(&mut self) -> io::Result<()> {
        print_heading("It calls a tool")?;
        let params =
            json!({ "name": "tell_fortune", "arguments": { "category": "career", "mood": "optimistic" } });
        let result = self.request("tools/call", params)?;
        print_entry("tell_fortune", result["structuredContent"]["fortune"].as_str().unwrap_or_default())
    }

    fn call_with_invalid_arguments(&mut self) -> io::Result<()> {
        print_heading("It makes a mistake, and learns what to do about it")?;
        let params = json!({ "name": "tell_fortune", "arguments": { "category": "weather" } });
        let result = self.request("tools/call", params)?;
        print_entry("tell_fortune", result["content"][0]["text"].as_str().unwrap_or_default())
    }

    fn answer_elicitation(&mut self) -> io::Result<()> {
        print_heading("It calls a tool that asks while it works (elicitation/create)")?;
        let booked = self.request("tools/call", json!({ "name": "booking", "arguments": {} }))?;
        print_entry("booking", &booked["structuredContent"].to_string())
    }

    fn answer_input_required(&mut self) -> io::Result<()> {
        print_heading("A client of 2026-07-28 calls the same tool, without a session (input_required)")?;
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
        });
        let mut params = json!({ "name": "booking", "arguments": { "destination": "Oslo" }, "_meta": meta });
        for _ in 0..10 {
            let result = self.request("tools/call", params.clone())?;
            if result["resultType"] != "input_required" {
                return print_entry("booking", &result["structuredContent"].to_string());
            }
            params["requestState"] = result["requestState"].clone();
            params["inputResponses"] =
                json!({ "question": answer_form(&result["inputRequests"]["question"]["params"])? });
        }
        Err(io::Error::other("the tool asks and asks"))
    }

    fn send_envelope_messages(&mut self) -> io::Result<()> {
        print_heading("An old client speaks the fluxloop-mcp envelope on the same pipe")?;
        for message in [
            json!({ "type": "handshake", "id": "1" }),
            json!({ "type": "request", "id": "2", "tool": "faqz" }),
        ] {
            print_entry("client", &message.to_string())?;
            self.send(&message)?;
            print_entry("server", &self.receive()?.to_string())?;
        }
        Ok(())
    }

    fn send(&mut self, message: &Value) -> io::Result<()> {
        let input = self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(input, "{message}")
    }

    fn receive(&mut self) -> io::Result<Value> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server stopped talking"));
        }
        Ok(serde_json::from_str(&line)?)
    }

    fn request(&mut self, method: &str, params: Value) -> io::Result<Value> {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let mut message = self.receive()?;
            if message["method"] == "elicitation/create" {
                let result = answer_form(&message["params"])?;
                self.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))?;
            } else if message["id"] == id {
                return Ok(message["result"].take());
            }
        }
    }
}

/// Plays the user: shows the question and what is answered.
fn answer_form(params: &Value) -> io::Result<Value> {
    print_entry("asked", params["message"].as_str().unwrap_or_default())?;
    let all = scripted_answers();
    let fields = params["requestedSchema"]["properties"].as_object().into_iter().flatten();
    let content: serde_json::Map<String, Value> =
        fields.map(|(name, _)| (name.clone(), all[name].clone())).collect();
    print_entry("answered", &Value::Object(content.clone()).to_string())?;
    Ok(json!({ "action": "accept", "content": content }))
}

/// Writes the sample repository: `=== path` begins a file.
#[expect(clippy::disallowed_methods, reason = "the demonstration makes its own folder")]
fn create_sample_repository() -> io::Result<TempDir> {
    let folder = tempfile::tempdir()?;
    for file in include_str!("demo/sample.txt").split("\n=== ").skip(1) {
        let (name, content) = file.split_once('\n').unwrap_or((file, ""));
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(folder.path()))?;
        std::fs::write(path, format!("{content}\n"))?;
    }
    Ok(folder)
}

fn str_or_empty(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn join_strings(value: &Value) -> String {
    value.as_array().into_iter().flatten().map(str_or_empty).collect::<Vec<_>>().join(", ")
}

fn print_heading(title: &str) -> io::Result<()> {
    print_line(&format!("\n── {title}"))
}

fn print_entry(who: &str, what: &str) -> io::Result<()> {
    print_line(&format!("{who:>19}  {what}"))
}

fn print_line(text: &str) -> io::Result<()> {
    exit::print(text).map_err(|failure| io::Error::other(failure.to_string()))
}
