//! The ways in which a client can be asked, each as one function: it asks, the user reacts, until it ends.

use std::sync::Arc;

use serde_json::{Value, json};
use server::{App, Scope};

use crate::harness::{TestClient, key_principal, stateless_meta};
use crate::projects::{ADA, call_ok, request, send_request};

/// A way in which a client can be asked.
#[derive(Clone, Copy, Debug)]
pub(super) enum InteractionMode {
    /// `elicitation/create`, in this revision.
    Elicitation(&'static str),
    /// `input_required`, each turn on a connection of its own.
    InputRequired,
    /// `interaction.*`, kept by the server or by the client.
    Interaction { stateless: bool },
}

impl InteractionMode {
    pub(super) const ALL: [Self; 5] = [
        Self::Elicitation("2025-06-18"),
        Self::Elicitation("2025-11-25"),
        Self::InputRequired,
        Self::Interaction { stateless: false },
        Self::Interaction { stateless: true },
    ];
}

/// What the user does when asked.
#[derive(Clone, Debug)]
pub(super) enum ProjectUserAction {
    /// Fills this in.
    FillIn(Value),
    Decline,
    /// Fills the last in, after somebody else has called this tool with that.
    FillInAfterOtherCall(&'static str, Value, Value),
}

impl ProjectUserAction {
    /// The same, with the project that somebody else works on.
    pub(super) fn with_project_id(self, project: &str) -> Self {
        match self {
            Self::FillInAfterOtherCall(tool, mut arguments, content) => {
                arguments["projectId"] = json!(project);
                Self::FillInAfterOtherCall(tool, arguments, content)
            }
            other => other,
        }
    }

    /// What is filled in, once everything else has happened.
    async fn content(&self, other: &mut TestClient) -> Option<Value> {
        match self {
            Self::FillIn(content) => Some(content.clone()),
            Self::Decline => None,
            Self::FillInAfterOtherCall(tool, arguments, content) => {
                call_ok(other, tool, arguments.clone()).await;
                Some(content.clone())
            }
        }
    }
}

/// A conversation that has ended.
#[derive(Debug)]
pub(super) struct ProjectTranscript {
    /// The names of the fields that were asked for.
    pub(super) asked: Vec<String>,
    /// What was shown with the first of them.
    pub(super) first_message: String,
    result: Result<Value, String>,
}

impl ProjectTranscript {
    pub(super) fn reply(&self) -> &Value {
        self.result.as_ref().unwrap_or_else(|words| panic!("it ended with {words}"))
    }

    pub(super) fn error(&self) -> &str {
        self.result.as_ref().expect_err("nothing was to be done")
    }
}

/// Talks until the end. `other` is somebody who works meanwhile.
pub(super) async fn run_conversation(
    app: &Arc<App>,
    front: InteractionMode,
    tool: &str,
    arguments: &Value,
    reactions: &[ProjectUserAction],
    other: &mut TestClient,
) -> ProjectTranscript {
    match front {
        InteractionMode::Elicitation(revision) => {
            by_elicitation(app, revision, tool, arguments, reactions, other).await
        }
        InteractionMode::InputRequired => by_input_required(app, tool, arguments, reactions, other).await,
        InteractionMode::Interaction { stateless } => {
            by_interaction(app, stateless, tool, arguments, reactions, other).await
        }
    }
}

fn owner_client(app: &Arc<App>) -> TestClient {
    TestClient::for_principal(app, key_principal(ADA, Scope::Write, None))
}

/// What a call came to.
fn call_result(answer: &Value) -> Result<Value, String> {
    let result = &answer["result"];
    let is_error = result["isError"] == true;
    let refused = if is_error { &result["content"][0]["text"] } else { &answer["error"]["message"] };
    match refused.as_str() {
        Some(words) => Err(words.to_owned()),
        None => Ok(result["structuredContent"].clone()),
    }
}

/// Notes a form down.
fn record_form(asked: &mut Vec<String>, shown: &mut String, params: &Value) {
    let fields: Vec<&str> =
        params["requestedSchema"]["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    asked.push(fields.join("+"));
    if shown.is_empty() {
        params["message"].as_str().unwrap().clone_into(shown);
    }
}

fn elicit_result(content: Option<Value>) -> Value {
    content
        .map_or(json!({ "action": "decline" }), |content| json!({ "action": "accept", "content": content }))
}

async fn by_elicitation(
    app: &Arc<App>,
    revision: &str,
    tool: &str,
    arguments: &Value,
    reactions: &[ProjectUserAction],
    other: &mut TestClient,
) -> ProjectTranscript {
    let mut client = owner_client(app).initialize(revision, json!({ "elicitation": {} })).await;
    let (mut asked, mut shown, mut reactions) = (Vec::new(), String::new(), reactions.iter());
    let call = json!({ "jsonrpc": "2.0", "id": "call", "method": "tools/call", "params": { "name": tool, "arguments": arguments } });
    let (mut message, _) = client.request_with_notifications(&call).await;
    while message["id"] != "call" {
        record_form(&mut asked, &mut shown, &message["params"]);
        let reaction = reactions.next().unwrap_or_else(|| panic!("nobody expects {message}"));
        let result = elicit_result(reaction.content(other).await);
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        (message, _) = client.request_with_notifications(&answer).await;
    }
    assert!(reactions.next().is_none(), "more was expected to be asked: {message}");
    ProjectTranscript { asked, first_message: shown, result: call_result(&message) }
}

async fn by_input_required(
    app: &Arc<App>,
    tool: &str,
    arguments: &Value,
    reactions: &[ProjectUserAction],
    other: &mut TestClient,
) -> ProjectTranscript {
    let (mut asked, mut shown, mut reactions) = (Vec::new(), String::new(), reactions.iter());
    let meta = stateless_meta(json!({ "elicitation": {} }));
    let mut params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
    loop {
        let answer = send_request(&mut owner_client(app), "tools/call", params.clone()).await;
        let result = &answer["result"];
        if result["resultType"] != "input_required" {
            assert!(reactions.next().is_none(), "more was expected to be asked: {answer}");
            return ProjectTranscript { asked, first_message: shown, result: call_result(&answer) };
        }
        record_form(&mut asked, &mut shown, &result["inputRequests"]["question"]["params"]);
        let reaction = reactions.next().unwrap_or_else(|| panic!("nobody expects {answer}"));
        params["requestState"] = result["requestState"].clone();
        params["inputResponses"] = json!({ "question": elicit_result(reaction.content(other).await) });
    }
}

async fn by_interaction(
    app: &Arc<App>,
    is_stateless: bool,
    tool: &str,
    arguments: &Value,
    reactions: &[ProjectUserAction],
    other: &mut TestClient,
) -> ProjectTranscript {
    let (mut asked, mut shown, mut reactions) = (Vec::new(), String::new(), reactions.iter());
    let start =
        json!({ "toolName": tool, "initialParams": arguments, "context": { "stateless": is_stateless } });
    let mut stands = send_interaction(&mut owner_client(app), "interaction.start", start).await;
    loop {
        if stands["result"].is_object() || stands["error"].is_object() {
            assert!(reactions.next().is_none(), "more was expected to be asked: {stands}");
            return ProjectTranscript { asked, first_message: shown, result: interaction_result(&stands) };
        }
        let prompt =
            if stands["nextPrompt"].is_object() { &stands["nextPrompt"] } else { &stands["initialPrompt"] };
        let name = prompt["name"].as_str().unwrap_or_else(|| panic!("a prompt in {stands}"));
        asked.push(name.to_owned());
        if shown.is_empty() {
            prompt["message"].as_str().unwrap().clone_into(&mut shown);
        }
        let known = if is_stateless { "token" } else { "sessionId" };
        let reaction = reactions.next().unwrap_or_else(|| panic!("nobody expects {stands}"));
        let (method, params) = match reaction.content(other).await {
            None => ("interaction.cancel", json!({ known: stands[known] })),
            Some(content) => {
                let value = content.get(name).unwrap_or(&Value::Null);
                ("interaction.respond", json!({ known: stands[known], "response": { "value": value } }))
            }
        };
        stands = send_interaction(&mut owner_client(app), method, params).await;
        if method == "interaction.cancel" {
            assert!(reactions.next().is_none(), "more was expected to be asked: {stands}");
            return ProjectTranscript { asked, first_message: shown, result: Err(stands.to_string()) };
        }
    }
}

/// The answer to a message of MCP Flow, without what is pushed beside it; an error as it is.
async fn send_interaction(client: &mut TestClient, method: &str, params: Value) -> Value {
    let messages = client.exchange(&request(method, params).to_string()).await;
    let mut parsed = messages.iter().map(|message| serde_json::from_str::<Value>(message).unwrap());
    let mut answer = parsed.find(|message| message["id"] == 1).unwrap_or_else(|| panic!("{messages:?}"));
    if answer["error"].is_object() { answer } else { answer["result"].take() }
}

fn interaction_result(stands: &Value) -> Result<Value, String> {
    match (&stands["result"]["success"], &stands["error"]["message"]) {
        (Value::Bool(true), _) => Ok(stands["result"]["data"].clone()),
        (Value::Bool(false), _) => Err(stands["result"]["error"]["message"].as_str().unwrap().to_owned()),
        (_, message) => Err(message.as_str().unwrap_or_else(|| panic!("an end: {stands}")).to_owned()),
    }
}
