//! `fluxway tools`.

use serde_json::{Value, json};

use super::client::{AskPolicy, with_client};
use crate::config::Config;
use crate::exit::{self, CommandError};

pub(crate) fn run(config: Config, as_json: bool) -> Result<(), CommandError> {
    let tools = with_client(config, AskPolicy::Never, async |client| client.list_tools().await)?;
    if as_json {
        return exit::print(&to_pretty_json(&json!({ "tools": tools })));
    }
    let pages: Vec<String> = tools.iter().map(render_tool).collect();
    exit::print_page(&pages.join("\n"))
}

fn render_tool(tool: &Value) -> String {
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
            format!("  --{name} <{kind}>{mark}\n      {}\n", text(&schema["description"]))
        })
        .collect();
    format!("{}: {}\n{}", text(&tool["name"]), text(&tool["description"]), arguments.concat())
}

pub(crate) fn to_pretty_json(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
