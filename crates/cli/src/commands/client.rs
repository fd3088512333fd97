//! The commands that use tools are clients like any other: they talk MCP to a server in the same process.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use server::tools::Toolset;
use server::transport::memory::{self, MemoryClient};
use server::{App, CheckPolicy};

use super::kept;
use crate::config::Config;
use crate::exit::{self, Failure};
use crate::terminal::{self, Answer, Prompter};

/// A client of the server that the settings describe.
pub(crate) struct Client {
    app: Arc<App>,
    wire: MemoryClient,
    next: u64,
    /// How the user left a question, if they did. Nothing more is asked then.
    left: Option<Answer>,
    asking: Asking,
    prompter: Prompter,
}

/// How questions of tools are answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asking {
    /// On the terminal.
    Terminal,
    /// Not at all.
    Never,
    /// The user has answered these questions in advance, and no others.
    Only(Vec<(&'static str, Value)>),
    /// The user agrees in advance to the first option of every question.
    FirstOption,
}

impl Asking {
    /// On the terminal, if there is one to ask on.
    pub(crate) fn terminal(is_there: bool) -> Self {
        if is_there { Self::Terminal } else { Self::Never }
    }

    /// The answers that the user gave in advance to all questions of a form; nothing if there is another one in it.
    fn in_advance(&self, form: &Value) -> Option<Map<String, Value>> {
        let properties = form["requestedSchema"]["properties"].as_object()?;
        let known = |name: &String, schema: &Value| match self {
            Self::Only(answers) => {
                answers.iter().find(|(known, _)| known == name).map(|(_, answer)| answer.clone())
            }
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
    asking: Asking,
    work: impl AsyncFnOnce(&mut Client) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::io("cannot start the runtime"))?;
    runtime.block_on(async {
        exit::survive_file_limits();
        let principal = config.local_user();
        let prompter = Prompter::new(config.plain_prompts);
        let database = kept::Database::of(&config.serving);
        let flow = database.sessions(config.interactive, config.seal.is_some());
        // The one who reads and answers is the user, whose files they are.
        let app = config
            .builder()
            .flow(flow)
            .projects(database.projects())
            .checks(CheckPolicy::AnyPlan)
            .shows_secrets(true)
            .build();
        let wire = memory::connect(&app, principal);
        let capabilities = if asking == Asking::Never { json!({}) } else { json!({ "elicitation": {} }) };
        let mut client = Client { app, wire, next: 1, left: None, asking, prompter };
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
struct Answered {
    result: Said,
}

/// What a tool says, in its own order: the important things come first. A [`Value`] would sort them by name.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Said {
    content: Vec<Value>,
    structured_content: Option<Box<RawValue>>,
    is_error: bool,
}

impl Said {
    fn of(message: &[u8]) -> Result<Self, Failure> {
        let read = serde_json::from_slice(message).map(|Answered { result }| result);
        read.map_err(|error| Failure::Refused(format!("the answer cannot be read: {error}")))
    }

    /// The structured result, if there is one. A document may want something else in the text.
    fn text(self) -> Result<String, Failure> {
        let text = self.content.first().and_then(|content| content["text"].as_str()).unwrap_or_default();
        match self.structured_content {
            _ if self.is_error => Err(Failure::Refused(text.to_owned())),
            Some(structured) => Ok(structured.get().to_owned()),
            None => Ok(text.to_owned()),
        }
    }
}

impl Client {
    fn send(&self, message: &Value) {
        self.wire.send(message.to_string().as_bytes());
    }

    /// Sends a request and waits for its result. Questions that come in between are put to the user.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Result<Value, Failure> {
        let message = self.exchange(method, params).await?;
        let mut message: Value = serde_json::from_slice(&message).unwrap_or_default();
        Ok(message["result"].take())
    }

    /// The same, with the whole message as it was written.
    async fn exchange(&mut self, method: &str, params: Value) -> Result<Vec<u8>, Failure> {
        let id = self.next;
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        while let Some(written) = self.wire.next().await {
            let message: Value = serde_json::from_slice(&written).unwrap_or_default();
            if message["method"] == "elicitation/create" {
                self.answer_question(&message)?;
            } else if message["method"] == "notifications/progress" {
                terminal::show_progress(&message["params"]);
            } else if message["id"].is_null() && message["error"].is_object() {
                // What cannot be read at all is answered without an id.
                terminal::end_progress();
                return Err(Failure::Refused(
                    message["error"]["message"].as_str().unwrap_or_default().to_owned(),
                ));
            } else if message["id"] == id {
                terminal::end_progress();
                return match message.get("error") {
                    Some(error) => {
                        Err(Failure::Refused(error["message"].as_str().unwrap_or_default().to_owned()))
                    }
                    None => Ok(written),
                };
            }
        }
        Err(Failure::Refused("the server ended the conversation".to_owned()))
    }

    /// Answers a question of the server: as the user said in advance, or by asking them.
    fn answer_question(&mut self, message: &Value) -> Result<(), Failure> {
        let (id, form) = (&message["id"], &message["params"]);
        let answered = match (self.asking.in_advance(form), &self.asking) {
            (Some(answers), _) => json!({ "result": Answer::Filled(answers).result() }),
            (None, Asking::Terminal) => json!({ "result": self.ask(form)?.result() }),
            // What nobody can be asked is left open, or named in the answer.
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
    fn ask(&mut self, params: &Value) -> Result<Answer, Failure> {
        if let Some(left) = &self.left {
            return Ok(left.clone());
        }
        let answer = self.prompter.ask(params)?;
        if matches!(answer, Answer::Gone | Answer::Stopped) {
            self.left = Some(answer.clone());
        }
        Ok(answer)
    }

    /// Calls a tool. How far it is shows on the terminal, if there is one.
    async fn call(&mut self, tool: &str, arguments: Map<String, Value>) -> Result<Said, Failure> {
        let meta = if terminal::shows_progress() { json!({ "progressToken": "cli" }) } else { json!({}) };
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        Said::of(&self.exchange("tools/call", params).await?)
    }

    /// The text that a tool answers with; what it refuses with is a failure.
    pub(crate) async fn answer(
        &mut self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<String, Failure> {
        let answer = self.end(tool, arguments).await?;
        if self.is_stopped() {
            return Err(Failure::Stopped(format!("{tool} went on without an answer")));
        }
        Ok(answer)
    }

    /// The same, also if the user stopped it and the tool came to an end all the same: it may have done something that they
    /// have to hear of.
    pub(crate) async fn end(&mut self, tool: &str, arguments: Map<String, Value>) -> Result<String, Failure> {
        let answer = self.call(tool, arguments).await.and_then(Said::text);
        match (&self.left, answer) {
            (Some(Answer::Stopped), Err(Failure::Refused(text))) => Err(Failure::Stopped(shortened(&text))),
            (Some(_), Err(Failure::Refused(text))) => Err(Failure::Refused(shortened(&text))),
            (_, answer) => answer,
        }
    }

    /// Whether the user stopped it at a question.
    pub(crate) fn is_stopped(&self) -> bool {
        self.left == Some(Answer::Stopped)
    }

    /// Every tool, page by page.
    pub(crate) async fn tools(&mut self) -> Result<Vec<Value>, Failure> {
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
    pub(crate) async fn toolset_of(&mut self, tool: &str) -> Result<Option<Toolset>, Failure> {
        for toolset in Toolset::ALL {
            self.app.serve_toolsets(&[toolset]);
            if self.tools().await?.iter().any(|listed| listed["name"] == tool) {
                return Ok(Some(toolset));
            }
        }
        Ok(None)
    }
}

/// A refusal quotes the question. One that was a page long has been seen already.
fn shortened(text: &str) -> String {
    const KEPT: usize = 100;
    let count = text.chars().count();
    if count <= 2 * KEPT {
        return text.to_owned();
    }
    let head: String = text.chars().take(KEPT).collect();
    let tail: String = text.chars().skip(count - KEPT).collect();
    format!("{} … {}", head.trim_end(), tail.trim_start())
}
