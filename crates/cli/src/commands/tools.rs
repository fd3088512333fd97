//! `fluxway tools`.

use serde_json::{Value, json};

use super::client::{Asking, with_client};
use crate::config::Config;
use crate::exit::{self, Failure};

pub(crate) fn run(config: Config, as_json: bool) -> Result<(), Failure> {
    let tools = with_client(config, Asking::Never, async |client| client.tools().await)?;
    if as_json {
        return exit::print(&pretty(&json!({ "tools": tools })));
    }
    let pages: Vec<String> = tools.iter().map(page).collect();
    exit::print(&pages.join("\n"))
}

/// A tool for people: name, what it does, its arguments.
fn page(tool: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let required: Vec<&str> =
        tool["inputSchema"]["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let arguments: Vec<String> = tool["inputSchema"]["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, schema)| {
            let options: Vec<&str> =
                schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let kind = if options.is_empty() { text(&schema["type"]) } else { options.join("|") };
            let mark = if required.contains(&name.as_str()) { " (required)" } else { "" };
            format!("  --{name} <{kind}>{mark}  {}\n", text(&schema["description"]))
        })
        .collect();
    format!("{}: {}\n{}", text(&tool["name"]), text(&tool["description"]), arguments.concat())
}

pub(crate) fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
