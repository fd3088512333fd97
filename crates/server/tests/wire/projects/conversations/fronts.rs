//! The ways in which a client can be asked, each as one function: it asks, the user reacts, until it ends.

use std::sync::Arc;

use serde_json::{Value, json};
use server::{App, Scope};

use crate::harness::{TestClient, holder, stateless};
use crate::projects::{ADA, ask, done, request};

/// A way in which a client can be asked.
#[derive(Clone, Copy, Debug)]
pub(super) enum Front {
    /// `elicitation/create`, in this revision.
    Elicitation(&'static str),
    /// `input_required`, each turn on a connection of its own.
    InputRequired,
    /// `interaction.*`, kept by the server or by the client.
    Interaction { stateless: bool },
}

impl Front {
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
pub(super) enum Reaction {
    /// Fills this in.
    Says(Value),
    Declines,
    /// Fills the last in, after somebody else has called this tool with that.
    Meanwhile(&'static str, Value, Value),
}

impl Reaction {
    /// The same, with the project that somebody else works on.
    pub(super) fn about(self, project: &str) -> Self {
        match self {
            Self::Meanwhile(tool, mut arguments, content) => {
                arguments["projectId"] = json!(project);
                Self::Meanwhile(tool, arguments, content)
            }
            other => other,
        }
    }

    /// What is filled in, once everything else has happened.
    async fn content(&self, other: &mut TestClient) -> Option<Value> {
        match self {
            Self::Says(content) => Some(content.clone()),
            Self::Declines => None,
            Self::Meanwhile(tool, arguments, content) => {
                done(other, tool, arguments.clone()).await;
                Some(content.clone())
            }
        }
    }
}

/// A conversation that has ended.
#[derive(Debug)]
pub(super) struct Talk {
    /// The names of the fields that were asked for.
    pub(super) asked: Vec<String>,
    /// What was shown with the first of them.
    pub(super) shown: String,
    end: Result<Value, String>,
}

impl Talk {
    pub(super) fn reply(&self) -> &Value {
        self.end.as_ref().unwrap_or_else(|words| panic!("it ended with {words}"))
    }

    pub(super) fn failed(&self) -> &str {
        self.end.as_ref().expect_err("nothing was to be done")
    }
}

/// Talks until the end. `other` is somebody who works meanwhile.
pub(super) async fn talk(
    app: &Arc<App>,
    front: Front,
    tool: &str,
    arguments: &Value,
    reactions: &[Reaction],
    other: &mut TestClient,
) -> Talk {
    match front {
        Front::Elicitation(revision) => {
            by_elicitation(app, revision, tool, arguments, reactions, other).await
        }
        Front::InputRequired => by_input_required(app, tool, arguments, reactions, other).await,
        Front::Interaction { stateless } => {
            by_interaction(app, stateless, tool, arguments, reactions, other).await
        }
    }
}

fn caller(app: &Arc<App>) -> TestClient {
    TestClient::of(app, holder(ADA, Scope::Write, None))
}

/// What a call came to.
fn end(answer: &Value) -> Result<Value, String> {
    let result = &answer["result"];
    let is_error = result["isError"] == true;
    let refused = if is_error { &result["content"][0]["text"] } else { &answer["error"]["message"] };
    match refused.as_str() {
        Some(words) => Err(words.to_owned()),
        None => Ok(result["structuredContent"].clone()),
    }
}

/// Notes a form down.
fn note(asked: &mut Vec<String>, shown: &mut String, params: &Value) {
    let fields: Vec<&str> =
        params["requestedSchema"]["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    asked.push(fields.join("+"));
    if shown.is_empty() {
        params["message"].as_str().unwrap().clone_into(shown);
    }
}

fn form(content: Option<Value>) -> Value {
    content
        .map_or(json!({ "action": "decline" }), |content| json!({ "action": "accept", "content": content }))
}

async fn by_elicitation(
    app: &Arc<App>,
    revision: &str,
    tool: &str,
    arguments: &Value,
    reactions: &[Reaction],
    other: &mut TestClient,
) -> Talk {
    let mut client = caller(app).greet(revision, json!({ "elicitation": {} })).await;
    let (mut asked, mut shown, mut reactions) = (Vec::new(), String::new(), reactions.iter());
    let call = json!({ "jsonrpc": "2.0", "id": "call", "method": "tools/call", "params": { "name": tool, "arguments": arguments } });
    let (mut message, _) = client.request_and_news(&call).await;
    while message["id"] != "call" {
        note(&mut asked, &mut shown, &message["params"]);
        let reaction = reactions.next().unwrap_or_else(|| panic!("nobody expects {message}"));
        let result = form(reaction.content(other).await);
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        (message, _) = client.request_and_news(&answer).await;
    }
    assert!(reactions.next().is_none(), "more was expected to be asked: {message}");
    Talk { asked, shown, end: end(&message) }
}

async fn by_input_required(
    app: &Arc<App>,
    tool: &str,
    arguments: &Value,
    reactions: &[Reaction],
    other: &mut TestClient,
) -> Talk {
    let (mut asked, mut shown, mut reactions) = (Vec::new(), String::new(), reactions.iter());
    let meta = stateless(json!({ "elicitation": {} }));
    let mut params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
    loop {
        let answer = ask(&mut caller(app), "tools/call", params.clone()).await;
        let result = &answer["result"];
        if result["resultType"] != "input_required" {
            assert!(reactions.next().is_none(), "more was expected to be asked: {answer}");
            return Talk { asked, shown, end: end(&answer) };
        }
        note(&mut asked, &mut shown, &result["inputRequests"]["question"]["params"]);
        let reaction = reactions.next().unwrap_or_else(|| panic!("nobody expects {answer}"));
        params["requestState"] = result["requestState"].clone();
        params["inputResponses"] = json!({ "question": form(reaction.content(other).await) });
    }
}

async fn by_interaction(
    app: &Arc<App>,
    is_stateless: bool,
    tool: &str,
    arguments: &Value,
    reactions: &[Reaction],
    other: &mut TestClient,
) -> Talk {
    let (mut asked, mut shown, mut reactions) = (Vec::new(), String::new(), reactions.iter());
    let start =
        json!({ "toolName": tool, "initialParams": arguments, "context": { "stateless": is_stateless } });
    let mut stands = said(&mut caller(app), "interaction.start", start).await;
    loop {
        if stands["result"].is_object() || stands["error"].is_object() {
            assert!(reactions.next().is_none(), "more was expected to be asked: {stands}");
            return Talk { asked, shown, end: outcome(&stands) };
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
        stands = said(&mut caller(app), method, params).await;
        if method == "interaction.cancel" {
            assert!(reactions.next().is_none(), "more was expected to be asked: {stands}");
            return Talk { asked, shown, end: Err(stands.to_string()) };
        }
    }
}

/// The answer to a message of MCP Flow, without what is pushed beside it; an error as it is.
async fn said(client: &mut TestClient, method: &str, params: Value) -> Value {
    let messages = client.exchange(&request(method, params).to_string()).await;
    let mut parsed = messages.iter().map(|message| serde_json::from_str::<Value>(message).unwrap());
    let mut answer = parsed.find(|message| message["id"] == 1).unwrap_or_else(|| panic!("{messages:?}"));
    if answer["error"].is_object() { answer } else { answer["result"].take() }
}

fn outcome(stands: &Value) -> Result<Value, String> {
    match (&stands["result"]["success"], &stands["error"]["message"]) {
        (Value::Bool(true), _) => Ok(stands["result"]["data"].clone()),
        (Value::Bool(false), _) => Err(stands["result"]["error"]["message"].as_str().unwrap().to_owned()),
        (_, message) => Err(message.as_str().unwrap_or_else(|| panic!("an end: {stands}")).to_owned()),
    }
}
