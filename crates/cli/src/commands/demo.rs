//! `fluxway demo`: the main job on a sample repository, done by the real server for a scripted user.

mod protocols;
mod story;

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use story::show_question;

use crate::config;
use crate::exit::{self, CommandError};
use crate::styling;

pub(crate) fn run(is_full: bool) -> Result<(), CommandError> {
    let mut demo = Demo::start().map_err(CommandError::io("cannot start the server"))?;
    demo.run_script(is_full).map_err(CommandError::io("the demo failed"))
}

struct Demo {
    /// The sample repository, removed on drop.
    folder: TempDir,
    server: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next_id: u64,
}

impl Demo {
    #[expect(clippy::disallowed_methods, reason = "the demo runs this binary as its server")]
    fn start() -> io::Result<Self> {
        let folder = create_sample_repository()?;
        let mut command = Command::new(std::env::current_exe()?);
        // Independent of the user's settings: no file, no variables, a database in memory.
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
        Ok(Self { folder, server, input, output: BufReader::new(output), next_id: 1 })
    }

    fn run_script(&mut self, is_full: bool) -> io::Result<()> {
        self.initialize()?;
        self.tell_story()?;
        if is_full {
            self.show_protocols()?;
        }
        self.input = None; // the server exits when its input ends
        let status = self.server.wait()?;
        if !status.success() {
            return Err(io::Error::other(format!("the server ended with {status}")));
        }
        let more = if is_full {
            ""
        } else {
            "\nMore, about protocols, errors and interactive tools:\n  fluxway demo --full\n"
        };
        print_line(&format!(
            "\nTo try it on your own repository (nothing is written before you agree):\n  fluxway integrate DIR\n{more}"
        ))
    }

    fn initialize(&mut self) -> io::Result<()> {
        let about = json!({ "name": "demo", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} }, "clientInfo": about });
        self.request("initialize", hello)?;
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
    }

    fn send(&mut self, message: &Value) -> io::Result<()> {
        let input = self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(input, "{message}")
    }

    fn receive(&mut self) -> io::Result<Value> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed its output"));
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
                show_question(&message["params"])?;
                let result = answer_form(&message["params"]);
                self.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))?;
            } else if message["id"] == id {
                return Ok(message["result"].take());
            }
        }
    }
}

/// Answers as the scripted user would: with the default, yes, or what the sample booking needs.
fn answer_form(params: &Value) -> Value {
    let scripted = json!({
        "destination": "Lisbon", "departure": "2099-05-01", "return": "2099-05-08", "travellers": 2, "class": "business",
        "after": "undo", "run_commands": false,
    });
    let answer = |name: &String, schema: &Value| match &scripted[name] {
        Value::Null if schema["type"] == "boolean" => json!(true),
        Value::Null => schema["default"].clone(),
        known => known.clone(),
    };
    let fields = params["requestedSchema"]["properties"].as_object().into_iter().flatten();
    let content = fields.map(|(name, schema)| (name.clone(), answer(name, schema)));
    json!({ "action": "accept", "content": content.collect::<serde_json::Map<_, _>>() })
}

/// Writes the sample repository: `=== path` begins a file.
#[expect(clippy::disallowed_methods, reason = "the demo makes its own folder")]
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

fn print_heading(title: &str) -> io::Result<()> {
    print_line("")?;
    // Wrapped first: the colour would count as characters.
    let lines = styling::render_page(title);
    let lines = lines.lines().map(|line| styling::bold(line, styling::use_colour_on_stdout()));
    exit::print(&lines.collect::<Vec<_>>().join("\n"))
        .map_err(|failure| io::Error::other(failure.to_string()))
}

fn print_line(text: &str) -> io::Result<()> {
    exit::print_page(text).map_err(|failure| io::Error::other(failure.to_string()))
}
