//! `fluxway call TOOL`.

use std::io::IsTerminal;

use serde_json::{Map, Value, json};

use super::client::{Client, with_client};
use super::insight;
use super::readable::readable;
use crate::config::Config;
use crate::exit::{self, Failure};
use crate::paint;

pub(crate) fn run(config: Config, tool: &str, rest: Vec<String>) -> Result<(), Failure> {
    let typed = Typed::parse(rest)?;
    let can_ask = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let text = with_client(config, can_ask, async |client: &mut Client| {
        let tools = client.tools().await?;
        let arguments = typed.arguments(tools.iter().find(|listed| listed["name"] == tool))?;
        client.answer(tool, arguments).await
    })?;
    if typed.json {
        return exit::print(&text);
    }
    let page = (tool == insight::TOOL).then(|| insight::page(&text, paint::on_stdout())).flatten();
    exit::print(&page.unwrap_or_else(|| readable(&text)))
}

/// What stood behind the tool's name.
#[derive(Debug, Default, PartialEq)]
struct Typed {
    json: bool,
    object: Map<String, Value>,
    pairs: Vec<(String, Option<String>)>,
}

impl Typed {
    fn parse(words: Vec<String>) -> Result<Self, Failure> {
        let usage = |text: String| Err(Failure::Usage(text));
        let mut typed = Self::default();
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next() {
            let Some(name) = word.strip_prefix("--").filter(|name| !name.is_empty()) else {
                return usage(format!("`{word}` stands where --NAME VALUE was expected"));
            };
            let (name, value) = match name.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None if name == "json" => (name.to_owned(), None),
                None => (name.to_owned(), words.next_if(|next| !next.starts_with("--"))),
            };
            match (name.as_str(), value) {
                ("json", None) => typed.json = true,
                ("args", Some(text)) => match serde_json::from_str(&text) {
                    Ok(object) => typed.object = object,
                    Err(error) => return usage(format!("--args wants a JSON object: {error}")),
                },
                ("args", None) => return usage("--args wants a JSON object".to_owned()),
                (_, value) => typed.pairs.push((name, value)),
            }
        }
        Ok(typed)
    }

    /// The arguments, with the types that the tool's schema gives them. What it does not know is sent as it is: the
    /// server says what is wrong with it.
    fn arguments(&self, tool: Option<&Value>) -> Result<Map<String, Value>, Failure> {
        let mut arguments = self.object.clone();
        for (name, value) in &self.pairs {
            let schema = tool.map_or(&Value::Null, |tool| &tool["inputSchema"]["properties"][name]);
            let value = match (schema["type"].as_str(), value) {
                (Some("boolean"), None) => json!(true),
                (_, None) => return Err(Failure::Usage(format!("--{name} wants a value"))),
                (Some("string") | None, Some(text)) => json!(text),
                // One of a list needs no brackets: --globs '**/*.py'
                (Some("array"), Some(text)) => serde_json::from_str(text).unwrap_or_else(|_| json!([text])),
                (Some(_), Some(text)) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
            };
            arguments.insert(name.clone(), value);
        }
        Ok(arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &str, expected: Result<Value, &str>) {
        let tool = json!({ "inputSchema": { "properties": {
            "name": { "type": "string" }, "n": { "type": "integer" }, "ok": { "type": "boolean" }, "list": { "type": "array" },
        } } });
        let words = words.split_whitespace().map(str::to_owned).collect();
        let found = Typed::parse(words).and_then(|typed| typed.arguments(Some(&tool)));
        assert_eq!(found.map(Value::Object).map_err(|e| e.to_string()), expected.map_err(str::to_owned));
    }

    #[test]
    fn words_become_arguments() {
        check("", Ok(json!({})));
        check("--name 7 --n 7", Ok(json!({ "name": "7", "n": 7 })));
        check("--ok --n=-3 --list [1,2]", Ok(json!({ "ok": true, "n": -3, "list": [1, 2] })));
        check("--list **/*.py", Ok(json!({ "list": ["**/*.py"] })));
        check("--json --args {\"n\":1} --name x", Ok(json!({ "n": 1, "name": "x" })));
        check("--n seven", Ok(json!({ "n": "seven" })));
        check("name x", Err("`name` stands where --NAME VALUE was expected"));
        check("--name", Err("--name wants a value"));
        check(
            "--args [1]",
            Err("--args wants a JSON object: invalid type: sequence, expected a map at line 1 column 0"),
        );
    }
}
