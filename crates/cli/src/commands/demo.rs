//! `fluxway demo`: a scripted conversation with the real server, shown readably.

mod change;

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::config;
use crate::exit::{self, Failure};

/// What the demonstration's user answers, whatever asks.
fn answers() -> Value {
    json!({ "destination": "Lisbon", "departure": "2099-05-01", "return": "2099-05-08", "travellers": 2, "class": "business", "confirm": true })
}

pub(crate) fn run() -> Result<(), Failure> {
    let mut demo = Demo::start().map_err(Failure::io("cannot start the server"))?;
    demo.play().map_err(Failure::io("the demonstration broke off"))
}

struct Demo {
    /// Where the sample repository lies; it goes when the demonstration does.
    _folder: TempDir,
    server: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Demo {
    #[expect(clippy::disallowed_methods, reason = "the demonstration runs this very binary as its server")]
    fn start() -> io::Result<Self> {
        let folder = sample()?;
        let mut command = Command::new(std::env::current_exe()?);
        // The user's own settings and database have no place in a script: an empty file, no variables, a database in memory.
        command
            .args(["serve", "--config", "/dev/null", "--database", "sqlite::memory:", "--root"])
            .arg(folder.path());
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with(config::PREFIX))
        {
            command.env_remove(name);
        }
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = server.stdin.take();
        let output = server.stdout.take().ok_or_else(|| io::Error::other("the server has no output"))?;
        Ok(Self { _folder: folder, server, input, output: BufReader::new(output), next: 1 })
    }

    fn play(&mut self) -> io::Result<()> {
        say("Fluxway is one server for every dialect. This is the real one, on a pipe.")?;
        self.greet()?;
        self.look_at_a_repository()?;
        self.change_it_and_back()?;
        self.use_a_tool()?;
        self.make_a_mistake()?;
        self.be_asked()?;
        self.be_asked_without_a_session()?;
        self.speak_the_envelope()?;
        self.input = None; // the end of its input is the server's sign to go
        let status = self.server.wait()?;
        say(&format!(
            "\nThe server has gone with {status}. `fluxway tools` says what it can do; README.md how to register it."
        ))
    }

    fn greet(&mut self) -> io::Result<()> {
        chapter("A client of 2025-11-25 says hello and asks for the tools")?;
        let about = json!({ "name": "demo", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} }, "clientInfo": about });
        let welcome = self.request("initialize", hello)?;
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        show(
            "server",
            &format!(
                "{} {}, MCP {}",
                welcome["serverInfo"]["name"], welcome["serverInfo"]["version"], welcome["protocolVersion"]
            ),
        )?;
        let tools = self.request("tools/list", json!({}))?;
        for tool in tools["tools"].as_array().into_iter().flatten() {
            show(
                tool["name"].as_str().unwrap_or_default(),
                tool["description"].as_str().unwrap_or_default(),
            )?;
        }
        Ok(())
    }

    fn look_at_a_repository(&mut self) -> io::Result<()> {
        chapter("It asks what is in a repository: a support agent behind FastAPI, and a Next.js page")?;
        let result = self.request("tools/call", json!({ "name": "analyze_repository", "arguments": {} }))?;
        let profile = result["structuredContent"].clone();
        for field in ["languages", "packageManagers", "frameworkCandidates", "entryPoints"] {
            show(field, &list(&profile[field]))?;
        }
        for agent in profile["agents"].as_array().into_iter().flatten() {
            let (name, why) = (text(&agent["name"]), text(&agent["why"]["proves"]));
            let place = format!("{}:{}", text(&agent["path"]), agent["line"]);
            show(
                "agent",
                &format!("{name} at {place}, reached from {}: {why}", text(&agent["reachedFrom"])),
            )?;
        }
        let arguments = json!({ "repository_profile": profile });
        let found =
            self.request("tools/call", json!({ "name": "detect_frameworks", "arguments": arguments }))?;
        for framework in found["structuredContent"]["frameworks"].as_array().into_iter().flatten() {
            let confidence = format!("{} {}", framework["confidence"], text(&framework["version_detected"]));
            show(text(&framework["name"]), &format!("{confidence}: {}", list(&framework["reasons"])))?;
        }
        Ok(())
    }

    fn use_a_tool(&mut self) -> io::Result<()> {
        chapter("It calls a tool")?;
        let params =
            json!({ "name": "tell_fortune", "arguments": { "category": "career", "mood": "optimistic" } });
        let result = self.request("tools/call", params)?;
        show("tell_fortune", result["structuredContent"]["fortune"].as_str().unwrap_or_default())
    }

    fn make_a_mistake(&mut self) -> io::Result<()> {
        chapter("It makes a mistake, and learns what to do about it")?;
        let params = json!({ "name": "tell_fortune", "arguments": { "category": "weather" } });
        let result = self.request("tools/call", params)?;
        show("tell_fortune", result["content"][0]["text"].as_str().unwrap_or_default())
    }

    fn be_asked(&mut self) -> io::Result<()> {
        chapter("It calls a tool that asks while it works (elicitation/create)")?;
        let booked = self.request("tools/call", json!({ "name": "booking", "arguments": {} }))?;
        show("booking", &booked["structuredContent"].to_string())
    }

    fn be_asked_without_a_session(&mut self) -> io::Result<()> {
        chapter("A client of 2026-07-28 calls the same tool, without a session (input_required)")?;
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
        });
        let mut params = json!({ "name": "booking", "arguments": { "destination": "Oslo" }, "_meta": meta });
        for _ in 0..10 {
            let result = self.request("tools/call", params.clone())?;
            if result["resultType"] != "input_required" {
                return show("booking", &result["structuredContent"].to_string());
            }
            params["requestState"] = result["requestState"].clone();
            params["inputResponses"] =
                json!({ "question": answer(&result["inputRequests"]["question"]["params"])? });
        }
        Err(io::Error::other("the tool asks and asks"))
    }

    fn speak_the_envelope(&mut self) -> io::Result<()> {
        chapter("An old client speaks the fluxloop-mcp envelope on the same pipe")?;
        for message in [
            json!({ "type": "handshake", "id": "1" }),
            json!({ "type": "request", "id": "2", "tool": "faqz" }),
        ] {
            show("client", &message.to_string())?;
            self.send(&message)?;
            show("server", &self.receive()?.to_string())?;
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
        let id = self.next;
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let mut message = self.receive()?;
            if message["method"] == "elicitation/create" {
                let result = answer(&message["params"])?;
                self.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))?;
            } else if message["id"] == id {
                return Ok(message["result"].take());
            }
        }
    }
}

/// Plays the user: shows the question and what is answered.
fn answer(params: &Value) -> io::Result<Value> {
    show("asked", params["message"].as_str().unwrap_or_default())?;
    let all = answers();
    let fields = params["requestedSchema"]["properties"].as_object().into_iter().flatten();
    let content: serde_json::Map<String, Value> =
        fields.map(|(name, _)| (name.clone(), all[name].clone())).collect();
    show("answered", &Value::Object(content.clone()).to_string())?;
    Ok(json!({ "action": "accept", "content": content }))
}

/// Writes the sample repository: `=== path` begins a file.
#[expect(clippy::disallowed_methods, reason = "the demonstration makes its own folder")]
fn sample() -> io::Result<TempDir> {
    let folder = tempfile::tempdir()?;
    for file in include_str!("demo/sample.txt").split("\n=== ").skip(1) {
        let (name, content) = file.split_once('\n').unwrap_or((file, ""));
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(folder.path()))?;
        std::fs::write(path, format!("{content}\n"))?;
    }
    Ok(folder)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> String {
    value.as_array().into_iter().flatten().map(text).collect::<Vec<_>>().join(", ")
}

fn chapter(title: &str) -> io::Result<()> {
    say(&format!("\n── {title}"))
}

fn show(who: &str, what: &str) -> io::Result<()> {
    say(&format!("{who:>19}  {what}"))
}

fn say(text: &str) -> io::Result<()> {
    exit::print(text).map_err(|failure| io::Error::other(failure.to_string()))
}
