//! The main job: from a repository to a reviewed, applied and undone change.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Demo, answer_form, print_heading, print_line, str_or_empty};

impl Demo {
    pub(super) fn tell_story(&mut self) -> io::Result<()> {
        print_line(
            "You have a support agent behind FastAPI, and a Next.js page. You want to test the agent with FluxLoop. \
             Your MCP client asks Fluxway:",
        )?;
        let before = read_files(self.folder.path())?;
        self.show_analysis()?;
        print_heading("2. What would change? Fluxway asks only what the code does not answer")?;
        let reply = self.call_structured("integrate", json!({ "install": false }))?;
        let files = reply["files"].as_array().map_or(0, Vec::len);
        let after = read_files(self.folder.path())?;
        let outcome = if after == before { "every byte is as before" } else { "but the repository differs" };
        print_heading("4. Undone")?;
        print_line(&format!("  {files} files restored; {outcome}."))
    }

    fn show_analysis(&mut self) -> io::Result<()> {
        print_heading("1. What is in the repository? Every finding has a file and a line")?;
        let profile = self.call_structured("analyze_repository", json!({}))?;
        let found = self.call_structured("detect_frameworks", json!({ "repository_profile": profile }))?;
        for framework in found["frameworks"].as_array().into_iter().flatten() {
            let name = str_or_empty(&framework["name"]);
            let version = str_or_empty(&framework["version_detected"]);
            print_line(&format!("  framework {name} {version}: {}", framework_proof(&profile, name)))?;
        }
        for agent in profile["agents"].as_array().into_iter().flatten() {
            let (name, why) = (str_or_empty(&agent["name"]), str_or_empty(&agent["why"]["proves"]));
            let place = format!("{}:{}", str_or_empty(&agent["path"]), agent["line"]);
            let route = str_or_empty(&agent["reachedFrom"]);
            print_line(&format!("  agent {name}, reached from {route}: {why} ({place})"))?;
        }
        Ok(())
    }

    /// The structured result of a tool.
    pub(super) fn call_structured(&mut self, name: &str, arguments: Value) -> io::Result<Value> {
        let mut result = self.request("tools/call", json!({ "name": name, "arguments": arguments }))?;
        if result["isError"] == true {
            return Err(io::Error::other(format!("{name}: {}", str_or_empty(&result["content"][0]["text"]))));
        }
        Ok(result["structuredContent"].take())
    }
}

/// Shows a question as a client would, with the answer that the scripted user gives.
pub(super) fn show_question(params: &Value) -> io::Result<()> {
    let Some(fields) = params["requestedSchema"]["properties"].as_object() else { return Ok(()) };
    if fields.contains_key("after") {
        print_heading("3. Applied: all files or none, with a journal for undo")?;
    }
    let message = str_or_empty(&params["message"]);
    if !fields.values().any(|field| field["title"] == message) {
        // The user also reads what to install, warnings, checks and how commands are confined: too much for a story.
        print_line(message.split("\nneeded:").next().unwrap_or(message))?;
    }
    let answers = answer_form(params);
    for (name, schema) in fields.iter().filter(|(name, _)| *name != "run_commands") {
        let answer = &answers["content"][name];
        let mut options = schema["oneOf"].as_array().into_iter().flatten();
        let chosen = options.find(|option| option["const"] == *answer);
        let answer = match (chosen, answer) {
            (Some(option), _) => str_or_empty(&option["title"]).to_owned(),
            (None, Value::Bool(true)) => "yes".to_owned(),
            (None, Value::String(text)) => text.clone(),
            (None, other) => other.to_string(),
        };
        let title = schema["title"].as_str().or(schema["description"].as_str()).unwrap_or(name);
        print_line(&format!("  ? {title}\n  > {answer}"))?;
    }
    Ok(())
}

/// The first evidence that a framework is used, with its places.
fn framework_proof(profile: &Value, name: &str) -> String {
    let prefix = format!("framework {name}: ");
    let proofs = profile["evidence"].as_array().into_iter().flatten().filter_map(|evidence| {
        let fact = str_or_empty(&evidence["proves"]).strip_prefix(&prefix)?;
        Some(format!("{fact} ({}:{})", str_or_empty(&evidence["path"]), evidence["line"]))
    });
    proofs.take(2).collect::<Vec<_>>().join(", ")
}

/// All files of a folder with their contents.
#[expect(clippy::disallowed_methods, reason = "the demo reads its own folder")]
fn read_files(folder: &Path) -> io::Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(read_files(&path)?);
        } else {
            files.insert(path.clone(), std::fs::read(&path)?);
        }
    }
    Ok(files)
}
