//! Commands that use tools are MCP clients of a server in the same process.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use server::tools::Toolset;
use server::transport::memory::{self, MemoryClient};
use server::{App, CheckPolicy};

use super::database;
use crate::config::Config;
use crate::exit::{self, CommandError};
use crate::terminal::{self, PromptOutcome, Prompter};

/// A client of the server that the settings describe.
pub(crate) struct CliClient {
    app: Arc<App>,
    transport: MemoryClient,
    next_id: u64,
    /// How the user left a question, if they did. Nothing more is asked then.
    dismissal: Option<PromptOutcome>,
    ask_policy: AskPolicy,
    prompter: Prompter,
}

/// How questions of tools are answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AskPolicy {
    /// On the terminal.
    Terminal,
    /// Not at all.
    Never,
    /// The user has answered these questions in advance; others get their default, if they have one.
    Preset(Vec<(&'static str, Value)>),
    /// The user agrees in advance: to the first option of every choice, and to what else is asked.
    FirstOption,
}

impl AskPolicy {
    /// On the terminal, if there is one to ask on.
    pub(crate) fn terminal_if(is_there: bool) -> Self {
        if is_there { Self::Terminal } else { Self::Never }
    }

    /// The answers that the user gave in advance to all questions of a form; nothing if there is another one in it.
    fn preset_answers(&self, form: &Value) -> Option<Map<String, Value>> {
        let properties = form["requestedSchema"]["properties"].as_object()?;
        let known = |name: &String, schema: &Value| match self {
            Self::Preset(answers) => {
                let preset = answers.iter().find(|(known, _)| known == name).map(|(_, answer)| answer);
                // A default never stands for consent.
                preset.or_else(|| schema.get("default").filter(|_| schema["type"] != "boolean")).cloned()
            }
            Self::FirstOption if schema["type"] == "boolean" => Some(json!(true)),
            Self::FirstOption => {
                let first = schema["oneOf"].get(0).map(|option| &option["const"]);
                first.or_else(|| schema["enum"].get(0)).cloned()
            }
            Self::Terminal | Self::Never => None,
        };
        properties.iter().map(|(name, schema)| Some((name.clone(), known(name, schema)?))).collect()
    }
}

/// Runs `work` with a client, which has questions answered as `asking` says.
pub(crate) fn with_client<T>(
    mut config: Config,
    asking: AskPolicy,
    work: impl AsyncFnOnce(&mut CliClient) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(CommandError::io("cannot start the runtime"))?;
    runtime.block_on(async {
        exit::ignore_file_size_signal();
        let principal = config.local_user();
        let prompter = Prompter::new(config.plain_prompts);
        let database = database::DatabaseHandle::for_settings(&config.serving);
        let flow = database.flow_settings(config.interactive, config.seal.is_some());
        // The one who reads and answers is the user, whose files they are.
        let app = config
            .app_builder()
            .flow(flow)
            .projects(database.project_opener())
            .checks(CheckPolicy::AnyPlan)
            .shows_secrets(true)
            .build();
        let wire = memory::connect(&app, principal);
        let capabilities = if asking == AskPolicy::Never { json!({}) } else { json!({ "elicitation": {} }) };
        let mut client =
            CliClient { app, transport: wire, next_id: 1, dismissal: None, ask_policy: asking, prompter };
        let about = json!({ "name": "fluxway-cli", "version": env!("CARGO_PKG_VERSION") });
        let hello =
            json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": about });
        client.request("initialize", hello).await?;
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        work(&mut client).await
    })
}

/// The message with the result of a call.
#[derive(Deserialize)]
struct ToolCallResponse {
    result: ToolCallResult,
}

/// What a tool says, in its own order: the important things come first. A [`Value`] would sort them by name.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ToolCallResult {
    content: Vec<Value>,
    structured_content: Option<Box<RawValue>>,
    is_error: bool,
}

impl ToolCallResult {
    fn parse(message: &[u8]) -> Result<Self, CommandError> {
        let read = serde_json::from_slice(message).map(|ToolCallResponse { result }| result);
        read.map_err(|error| CommandError::Refused(format!("the answer cannot be read: {error}")))
    }

    /// The structured result, if there is one. A document may want something else in the text.
    fn into_text(self) -> Result<String, CommandError> {
        let text = self.content.first().and_then(|content| content["text"].as_str()).unwrap_or_default();
        match self.structured_content {
            _ if self.is_error => Err(CommandError::Refused(text.to_owned())),
            Some(structured) => Ok(structured.get().to_owned()),
            None => Ok(text.to_owned()),
        }
    }
}

impl CliClient {
    fn send(&self, message: &Value) {
        self.transport.send(message.to_string().as_bytes());
    }

    /// Sends a request and waits for its result. Questions that come in between are put to the user.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Result<Value, CommandError> {
        let message = self.exchange(method, params).await?;
        let mut message: Value = serde_json::from_slice(&message).unwrap_or_default();
        Ok(message["result"].take())
    }

    /// The same, with the whole message as it was written.
    async fn exchange(&mut self, method: &str, params: Value) -> Result<Vec<u8>, CommandError> {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        while let Some(written) = self.transport.next().await {
            let message: Value = serde_json::from_slice(&written).unwrap_or_default();
            if message["method"] == "elicitation/create" {
                self.answer_question(&message)?;
            } else if message["method"] == "notifications/progress" {
                terminal::show_progress(&message["params"]);
            } else if message["id"].is_null() && message["error"].is_object() {
                // What cannot be read at all is answered without an id.
                terminal::end_progress();
                return Err(CommandError::Refused(
                    message["error"]["message"].as_str().unwrap_or_default().to_owned(),
                ));
            } else if message["id"] == id {
                terminal::end_progress();
                return match message.get("error") {
                    Some(error) => {
                        Err(CommandError::Refused(error["message"].as_str().unwrap_or_default().to_owned()))
                    }
                    None => Ok(written),
                };
            }
        }
        Err(CommandError::Refused("the server ended the conversation".to_owned()))
    }

    /// Answers a question of the server: as the user said in advance, or by asking them.
    fn answer_question(&mut self, message: &Value) -> Result<(), CommandError> {
        let (id, form) = (&message["id"], &message["params"]);
        let answered = match (self.ask_policy.preset_answers(form), &self.ask_policy) {
            (Some(answers), _) => json!({ "result": PromptOutcome::Filled(answers).to_result() }),
            (None, AskPolicy::Terminal) => json!({ "result": self.ask(form)?.to_result() }),
            // The tool leaves the question open, or names it in its error.
            (None, _) => json!({ "error": { "code": -32601, "message": "there is no user to ask" } }),
        };
        let mut reply = json!({ "jsonrpc": "2.0", "id": id });
        if let (Some(reply), Some(answered)) = (reply.as_object_mut(), answered.as_object()) {
            reply.extend(answered.clone());
        }
        self.send(&reply);
        Ok(())
    }

    /// Puts a question to the user, unless they have gone.
    fn ask(&mut self, params: &Value) -> Result<PromptOutcome, CommandError> {
        if let Some(left) = &self.dismissal {
            return Ok(left.clone());
        }
        let answer = self.prompter.ask(params)?;
        if matches!(answer, PromptOutcome::EndOfInput | PromptOutcome::Stopped) {
            self.dismissal = Some(answer.clone());
        }
        Ok(answer)
    }

    /// Calls a tool. How far it is shows on the terminal, if there is one.
    async fn call_raw(
        &mut self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<ToolCallResult, CommandError> {
        let meta = if terminal::shows_progress() { json!({ "progressToken": "cli" }) } else { json!({}) };
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        ToolCallResult::parse(&self.exchange("tools/call", params).await?)
    }

    /// The text that a tool answers with; what it refuses with is a failure.
    pub(crate) async fn call_tool(
        &mut self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<String, CommandError> {
        let answer = self.call_tool_even_if_stopped(tool, arguments).await?;
        if self.is_stopped() {
            return Err(CommandError::Stopped(format!("{tool} went on without an answer")));
        }
        Ok(answer)
    }

    /// The same, also if the user stopped it and the tool came to an end all the same: it may have done something that they
    /// have to hear of.
    pub(crate) async fn call_tool_even_if_stopped(
        &mut self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<String, CommandError> {
        let answer = self.call_raw(tool, arguments).await.and_then(ToolCallResult::into_text);
        match (&self.dismissal, answer) {
            (Some(PromptOutcome::Stopped), Err(CommandError::Refused(text))) => {
                Err(CommandError::Stopped(shorten(&text)))
            }
            (Some(_), Err(CommandError::Refused(text))) => Err(CommandError::Refused(shorten(&text))),
            (_, answer) => answer,
        }
    }

    /// Whether the user stopped it at a question.
    pub(crate) fn is_stopped(&self) -> bool {
        self.dismissal == Some(PromptOutcome::Stopped)
    }

    /// Every tool, page by page.
    pub(crate) async fn list_tools(&mut self) -> Result<Vec<Value>, CommandError> {
        let mut tools = Vec::new();
        let mut params = json!({});
        loop {
            let mut page = self.request("tools/list", params).await?;
            if let Value::Array(mut found) = page["tools"].take() {
                tools.append(&mut found);
            }
            match page["nextCursor"].take() {
                Value::Null => return Ok(tools),
                cursor => params = json!({ "cursor": cursor }),
            }
        }
    }

    /// The toolset of a tool that is not served. From then on others are served than the settings say.
    pub(crate) async fn find_toolset(&mut self, tool: &str) -> Result<Option<Toolset>, CommandError> {
        for toolset in Toolset::ALL {
            self.app.serve_toolsets(&[toolset]);
            if self.list_tools().await?.iter().any(|listed| listed["name"] == tool) {
                return Ok(Some(toolset));
            }
        }
        Ok(None)
    }
}

/// A refusal quotes the question. One that was a page long has been seen already.
fn shorten(text: &str) -> String {
    const EDGE_CHARS: usize = 100;
    let count = text.chars().count();
    if count <= 2 * EDGE_CHARS {
        return text.to_owned();
    }
    let head: String = text.chars().take(EDGE_CHARS).collect();
    let tail: String = text.chars().skip(count - EDGE_CHARS).collect();
    format!("{} … {}", head.trim_end(), tail.trim_start())
}
