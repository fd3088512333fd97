//! `fluxway call TOOL`.

use std::io::IsTerminal;

use serde_json::{Map, Value, json};

use super::client::{AskPolicy, CliClient, with_client};
use super::insight;
use super::render::render_answer;
use crate::config::Config;
use crate::exit::{self, CommandError};
use crate::styling;
use crate::suggest::nearest;

pub(crate) fn run(config: Config, tool: &str, rest: Vec<String>) -> Result<(), CommandError> {
    let typed = CallArguments::parse(rest)?;
    let can_ask = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let text = with_client(config, AskPolicy::terminal_if(can_ask), async |client: &mut CliClient| {
        let tools = client.list_tools().await?;
        match tools.iter().find(|listed| listed["name"] == tool) {
            Some(listed) => {
                let arguments = typed.to_tool_arguments(listed)?;
                let also = if arguments.is_empty() { "" } else { "also " };
                let answer = client.call_tool(tool, arguments).await;
                answer.map_err(|failure| name_missing_flags(tool, also, failure))
            }
            None => call_unlisted(client, tool, &tools).await,
        }
    })?;
    if typed.json {
        return exit::print(&text);
    }
    let page = (tool == insight::TOOL_NAME)
        .then(|| insight::render_page(&text, styling::use_colour_on_stdout()))
        .flatten();
    exit::print(&page.unwrap_or_else(|| render_answer(&text, styling::stdout_columns())))
}

/// The server tells a model to ask the user; here the user reads it, and needs flags.
fn name_missing_flags(tool: &str, also: &str, failure: CommandError) -> CommandError {
    let CommandError::Refused(why) = &failure else { return failure };
    let needs = why.strip_prefix(tool).and_then(|rest| rest.strip_prefix(" needs more: "));
    let Some((needs, rest)) = needs.and_then(|needs| needs.split_once(". Ask the user, then call ")) else {
        return failure;
    };
    let flags = needs
        .split('`')
        .enumerate()
        .map(|(at, part)| if at % 2 == 1 { format!("--{part}") } else { part.to_owned() });
    let shown = rest.split_once("\n\n").map_or_else(String::new, |(_, shown)| format!("\n\n{shown}"));
    CommandError::Refused(format!("{tool} {also}needs {}{shown}", flags.collect::<String>()))
}

/// Calls a tool that is not listed, for the server's error, and adds where to find it.
async fn call_unlisted(client: &mut CliClient, tool: &str, tools: &[Value]) -> Result<String, CommandError> {
    let why = match client.call_tool(tool, Map::new()).await {
        Err(CommandError::Refused(why)) => why,
        answer => return answer,
    };
    let hint = hint_for_unlisted(client, tool, tools).await?;
    Err(CommandError::Refused(format!("{why}{hint}")))
}

/// Where to find a tool that is not listed, or which one may have been meant.
pub(super) async fn hint_for_unlisted(
    client: &mut CliClient,
    tool: &str,
    tools: &[Value],
) -> Result<String, CommandError> {
    let known = tools.iter().filter_map(|tool| tool["name"].as_str());
    Ok(match client.find_toolset(tool).await? {
        Some(toolset) => format!(
            "\nhint: it is in the toolset `{0}`, which is not enabled; pass --toolsets {0}",
            toolset.name()
        ),
        None => match nearest(tool, known) {
            Some(near) => format!("\nhint: did you mean {near}?"),
            None => "\nhint: `fluxway tools` lists the tools".to_owned(),
        },
    })
}

#[derive(Debug, Default, PartialEq)]
struct CallArguments {
    json: bool,
    object: Option<Map<String, Value>>,
    pairs: Vec<(String, Option<String>)>,
}

impl CallArguments {
    fn parse(words: Vec<String>) -> Result<Self, CommandError> {
        let usage = |text: String| Err(CommandError::Usage(text));
        let mut typed = Self::default();
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next() {
            let Some(name) = word.strip_prefix("--").filter(|name| !name.is_empty()) else {
                return usage(format!("unexpected `{word}`; arguments are --NAME VALUE"));
            };
            let (name, value) = match name.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None if name == "json" => (name.to_owned(), None),
                None => (name.to_owned(), words.next_if(|next| !next.starts_with("--"))),
            };
            match (name.as_str(), value) {
                ("json", None) => typed.json = true,
                ("args", Some(_)) if typed.object.is_some() => return Err(duplicate_flag("args")),
                ("args", Some(text)) => typed.object = Some(read_object("args", &text)?),
                ("args", None) => return usage("--args needs a JSON object".to_owned()),
                (_, value) => typed.pairs.push((name, value)),
            }
        }
        Ok(typed)
    }

    /// The arguments, with the types that the tool's schema gives them. What it does not know is sent as it is: the
    /// server says what is wrong with it.
    fn to_tool_arguments(&self, tool: &Value) -> Result<Map<String, Value>, CommandError> {
        let mut typed = Map::new();
        for (name, text) in &self.pairs {
            let schema = &tool["inputSchema"]["properties"][name];
            let value = parse_value(name, text.as_deref(), schema)?;
            match (typed.get_mut(name), value) {
                (None, value) => drop(typed.insert(name.clone(), value)),
                // Each adds to the list: --fields name --fields revision
                (Some(Value::Array(all)), Value::Array(more)) if schema["type"] == "array" => {
                    all.extend(more);
                }
                (Some(_), _) => return Err(duplicate_flag(name)),
            }
        }
        let mut arguments = self.object.clone().unwrap_or_default();
        arguments.extend(typed);
        Ok(arguments)
    }
}

/// What was typed behind --NAME, as the schema of NAME wants it.
fn parse_value(name: &str, text: Option<&str>, schema: &Value) -> Result<Value, CommandError> {
    Ok(match (schema["type"].as_str(), text) {
        (Some("boolean"), None) => json!(true),
        (_, None) => return Err(CommandError::Usage(format!("--{name} needs a value"))),
        (Some("string") | None, Some(text)) => json!(text),
        (Some("array"), Some(text)) => Value::Array(parse_items(text, &schema["items"])),
        (Some("object"), Some(text)) if text == "-" || text.starts_with('@') => {
            Value::Object(read_object(name, text)?)
        }
        (Some(_), Some(text)) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
    })
}

/// A list, or one of a list, which needs no brackets: --globs '**/*.py'
fn parse_items(text: &str, schema: &Value) -> Vec<Value> {
    match serde_json::from_str(text) {
        Ok(Value::Array(items)) => items,
        Ok(item) if schema["type"] != "string" => vec![item],
        _ => vec![json!(text)],
    }
}

fn duplicate_flag(name: &str) -> CommandError {
    CommandError::Usage(format!("--{name} is given twice but takes one value"))
}

/// What --args, or a flag for an object, stands for: the object itself, `@FILE`, or `-` for stdin. Systems limit how long a
/// word can be.
#[expect(clippy::disallowed_methods, reason = "the user named this file")]
fn read_object(flag: &str, word: &str) -> Result<Map<String, Value>, CommandError> {
    let text = match word.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(file),
        None if word == "-" => std::io::read_to_string(std::io::stdin()),
        None => Ok(word.to_owned()),
    };
    let text = text.map_err(|error| CommandError::Usage(format!("cannot read --{flag} {word}: {error}")))?;
    serde_json::from_str(&text)
        .map_err(|error| CommandError::Usage(format!("--{flag} needs a JSON object: {error}")))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[track_caller]
    fn check(words: &str, expected: Result<Value, &str>) {
        let tool = json!({ "inputSchema": { "properties": {
            "name": { "type": "string" }, "n": { "type": "integer" }, "ok": { "type": "boolean" }, "list": { "type": "array" },
            "names": { "type": "array", "items": { "type": "string" } }, "plan": { "type": "object" },
        } } });
        let words = words.split_whitespace().map(str::to_owned).collect();
        let found = CallArguments::parse(words).and_then(|typed| typed.to_tool_arguments(&tool));
        assert_eq!(found.map(Value::Object).map_err(|e| e.to_string()), expected.map_err(str::to_owned));
    }

    #[test]
    fn arguments_are_read_from_a_file() {
        let mut kept = tempfile::NamedTempFile::new().unwrap();
        kept.write_all(br#"{"n": 1, "name": "from the file"}"#).unwrap();
        let file = kept.path().display();
        check(&format!("--args @{file}"), Ok(json!({ "n": 1, "name": "from the file" })));
        check(&format!("--args=@{file} --name x"), Ok(json!({ "n": 1, "name": "x" })));
        let missing = format!("cannot read --args @{file}.not: No such file or directory (os error 2)");
        check(&format!("--args @{file}.not"), Err(&missing));
        let plan = json!({ "n": 1, "name": "from the file" });
        check(&format!("--plan @{file}"), Ok(json!({ "plan": plan })));
        check(
            &format!("--plan=@{file} --name @{file}"),
            Ok(json!({ "plan": plan, "name": format!("@{file}") })),
        );
        let missing = missing.replace("--args", "--plan");
        check(&format!("--plan @{file}.not"), Err(&missing));
    }

    #[test]
    fn flags_become_typed_arguments() {
        check("", Ok(json!({})));
        check("--name 7 --n 7", Ok(json!({ "name": "7", "n": 7 })));
        check("--ok --n=-3 --list [1,2]", Ok(json!({ "ok": true, "n": -3, "list": [1, 2] })));
        check("--list **/*.py", Ok(json!({ "list": ["**/*.py"] })));
        check("--list 3 --list [4,5] --n 1 --list x", Ok(json!({ "list": [3, 4, 5, "x"], "n": 1 })));
        check("--names name --names 7", Ok(json!({ "names": ["name", "7"] })));
        check("--names [\"a\"] --args {\"names\":[\"b\"]}", Ok(json!({ "names": ["a"] })));
        check("--name a --name b", Err("--name is given twice but takes one value"));
        check("--n 1 --n 1", Err("--n is given twice but takes one value"));
        check("--args {} --args {}", Err("--args is given twice but takes one value"));
        check("--json --args {\"n\":1} --name x", Ok(json!({ "n": 1, "name": "x" })));
        check("--n seven", Ok(json!({ "n": "seven" })));
        check("--plan {\"n\":1}", Ok(json!({ "plan": { "n": 1 } })));
        check("--plan seven", Ok(json!({ "plan": "seven" })));
        check("name x", Err("unexpected `name`; arguments are --NAME VALUE"));
        check("--name", Err("--name needs a value"));
        check(
            "--args [1]",
            Err("--args needs a JSON object: invalid type: sequence, expected a map at line 1 column 0"),
        );
    }
}
