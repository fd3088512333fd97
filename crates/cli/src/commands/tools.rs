//! `fluxway tools`.

use serde_json::{Map, Value, json};

use super::call::hint_for_unlisted;
use super::client::{AskPolicy, CliClient, with_client};
use crate::args::ToolsArgs;
use crate::config::Config;
use crate::exit::{self, CommandError};
use crate::styling::escape_controls;

pub(crate) fn run(config: Config, args: &ToolsArgs) -> Result<(), CommandError> {
    let toolsets: Vec<&str> = config.toolsets.iter().map(|toolset| toolset.name()).collect();
    let tools = with_client(config, AskPolicy::Never, async |client: &mut CliClient| {
        let listed = client.list_tools().await?;
        if args.names.is_empty() { Ok(listed) } else { select_tools(client, &listed, &args.names).await }
    })?;
    if args.json {
        return exit::print(&to_pretty_json(&json!({ "tools": tools })));
    }
    let header = if args.names.is_empty() { render_header(tools.len(), &toolsets) } else { String::new() };
    let pages: Vec<String> = tools.iter().map(render_tool).collect();
    exit::print_page(&(header + &pages.join("\n")))
}

/// The tools with these names, in this order.
async fn select_tools(
    client: &mut CliClient,
    listed: &[Value],
    names: &[String],
) -> Result<Vec<Value>, CommandError> {
    let mut selected = Vec::new();
    for name in names {
        let Some(tool) = listed.iter().find(|tool| tool["name"] == name.as_str()) else {
            let hint = hint_for_unlisted(client, name, listed).await?;
            return Err(CommandError::Usage(format!("there is no tool `{}`{hint}", escape_controls(name))));
        };
        selected.push(tool.clone());
    }
    Ok(selected)
}

/// "2 tools of the toolset reference".
fn render_header(count: usize, toolsets: &[&str]) -> String {
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    format!(
        "{count} tool{} of the toolset{} {}\n\n",
        plural(count),
        plural(toolsets.len()),
        toolsets.join(", ")
    )
}

fn render_tool(tool: &Value) -> String {
    let schema = &tool["inputSchema"];
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut arguments: Vec<(&String, &Value)> =
        schema["properties"].as_object().into_iter().flat_map(Map::iter).collect();
    arguments.sort_by_key(|(name, _)| !required.contains(&name.as_str()));
    let arguments = arguments
        .into_iter()
        .map(|(name, schema)| render_argument(name, schema, required.contains(&name.as_str())));
    format!("{}: {}\n{}", text(&tool["name"]), text(&tool["description"]), arguments.collect::<String>())
}

fn render_argument(name: &str, schema: &Value, is_required: bool) -> String {
    let options: Vec<&str> =
        schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let kind = if options.is_empty() { text(&schema["type"]).to_owned() } else { options.join("|") };
    let mark = if is_required { " (required)" } else { "" };
    let description = text(&schema["description"]);
    let description = if description.is_empty() { String::new() } else { format!("      {description}\n") };
    format!("  --{name} <{kind}>{mark}\n{description}")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn to_pretty_json(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn required_arguments_come_first() {
        let properties = json!({
            "a": { "type": "string", "description": "First." },
            "b": { "enum": ["x", "y"] },
            "c": { "type": "object", "description": "Last." },
        });
        let tool = json!({ "name": "t", "description": "Does it.",
            "inputSchema": { "required": ["c", "b"], "properties": properties } });
        let expected = "t: Does it.\n  --b <x|y> (required)\n  --c <object> (required)\n      Last.\n  --a <string>\n      First.\n";
        assert_eq!(render_tool(&tool), expected);
    }

    #[test]
    fn header_counts_tools_and_names_toolsets() {
        for (count, toolsets, expected) in [
            (1, &["docs"][..], "1 tool of the toolset docs\n\n"),
            (9, &["docs", "reference"], "9 tools of the toolsets docs, reference\n\n"),
        ] {
            assert_eq!(render_header(count, toolsets), expected);
        }
    }
}
