//! A conversation as a tool of a plain `rmcp` server on stdio, which asks questions with
//! `elicitation/create`: `cargo run -p fluxway-flow --example rmcp_server`
//!
//! This works with the MCP revisions 2025-06-18 and 2025-11-25. Arguments answer the questions with their
//! names. A client without elicitation gets an error that lists the missing arguments.

use std::sync::Arc;

use flow::{
    AnswerShape, Answers, Conversation, Durability, DynConversation, Entropy, Env, Flow, Halt, Journal,
    PendingQuestion, Turn, TurnContext, choice, confirm, date, integer, text,
};
use jiff::Timestamp;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequestParams,
    ElicitationAction, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{ElicitationMode, Peer, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Map, Value, json};

struct Parcel;

impl Conversation for Parcel {
    type Args = Answers;
    type Reply = String;

    async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<String, Halt> {
        let to = f.ask("to", text("Where should the parcel go?").length(2..=80)).await?;
        let size = choice("Which size?", [("s", "Small"), ("l", "Large")]).default("s");
        let form = (
            ("size", size),
            ("day", date("When should it be picked up?")),
            ("count", integer("How many?").within(1..=5)),
        );
        let (size, day, count) = f.form("The parcel", form).await?;
        if !f.ask("sure", confirm(format!("{count} of size {size} to {to} on {day}. Send?"))).await? {
            return Err(Halt::refuse("the user declined; nothing was sent"));
        }
        f.once("send", async || Ok(format!("sending {count} parcels to {to} on {day}"))).await
    }
}

/// Uses the system clock and system randomness.
struct System;

impl Env for System {
    #[expect(clippy::disallowed_methods, reason = "the example is the host and supplies the clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn entropy(&self) -> &dyn Entropy {
        self
    }
}

impl Entropy for System {
    #[expect(clippy::expect_used, reason = "failing is better than predictable randomness")]
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("system randomness is available");
    }
}

struct ParcelServer;

impl ServerHandler for ParcelServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let property = |name: &str, kind: &str| (name.to_owned(), json!({ "type": kind }));
        let properties: Map<_, _> = [
            property("to", "string"),
            property("size", "string"),
            property("day", "string"),
            property("count", "integer"),
            property("sure", "boolean"),
        ]
        .into_iter()
        .collect();
        let schema = Map::from_iter([
            ("type".to_owned(), json!("object")),
            ("properties".to_owned(), properties.into()),
        ]);
        let tool = Tool::new("parcel", "Send a parcel. Asks for missing arguments.", Arc::new(schema));
        Ok(ListToolsResult::with_all_items(vec![tool]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != "parcel" {
            return Err(ErrorData::invalid_params(format!("unknown tool `{}`", request.name), None));
        }
        let talked = run_conversation(&Parcel, &request.arguments.unwrap_or_default(), &context.peer).await?;
        Ok(match talked {
            Ok(reply) => CallToolResult::success(vec![ContentBlock::text(reply)]),
            Err(why) => CallToolResult::error(vec![ContentBlock::text(why)]),
        }
        .into())
    }
}

/// Runs the conversation to its end. Returns its reply, or the reason why there is none.
async fn run_conversation(
    conversation: &dyn DynConversation,
    arguments: &Answers,
    peer: &Peer<RoleServer>,
) -> Result<Result<String, String>, ErrorData> {
    let can_ask = peer.supported_elicitation_modes().contains(&ElicitationMode::Form);
    let (context, mut journal, mut input) = (Map::new(), Journal::default(), None);
    loop {
        let turn = TurnContext {
            id: "table",
            arguments,
            context: &context,
            env: &System,
            // The call lasts as long as the conversation, so no other process can continue it.
            durability: Durability::InProcess,
            can_ask,
        };
        let asked = match conversation.advance(&mut journal, input.take(), &turn).await {
            Turn::Ask(asked) => asked,
            Turn::Done(done) => {
                return Ok(serde_json::from_str(done.reply.get()).map_err(|error| error.to_string()));
            }
            Turn::Halted(halt) => return Ok(Err(halt.to_string())),
        };
        if !can_ask {
            let missing: Vec<_> = asked.question.fields.iter().map(|field| field.name.as_str()).collect();
            return Ok(Err(format!("missing arguments: {}", missing.join(", "))));
        }
        let wrong = |error: String| ErrorData::internal_error(error, None);
        let answer = peer.create_elicitation(elicitation_form(&asked).map_err(wrong)?).await;
        let answer = answer.map_err(|error| wrong(error.to_string()))?;
        match (answer.action, answer.content) {
            (ElicitationAction::Accept, Some(Value::Object(answers))) => input = Some(answers),
            (ElicitationAction::Accept, _) => input = Some(Answers::new()),
            _ => return Ok(Err(format!("the user did not answer: {}", asked.question.message))),
        }
    }
}

/// Converts a question to an elicitation form. The engine still checks what the schema cannot express.
fn elicitation_form(question: &PendingQuestion) -> Result<ElicitRequestParams, String> {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for field in &question.question.fields {
        let mut schema = match &field.prompt.shape {
            AnswerShape::Text { min, max, .. } => {
                json!({ "type": "string", "minLength": min, "maxLength": max })
            }
            AnswerShape::Choice { options, several: false } => {
                let titled: Vec<_> =
                    options.iter().map(|(v, label)| json!({ "const": v, "title": label })).collect();
                json!({ "type": "string", "oneOf": titled })
            }
            AnswerShape::Confirm => json!({ "type": "boolean" }),
            AnswerShape::Number { whole: true, .. } => json!({ "type": "integer" }),
            AnswerShape::Number { .. } => json!({ "type": "number" }),
            AnswerShape::Date { .. } => json!({ "type": "string", "format": "date" }),
            // A single-line string can represent them all: comma-separated choices, a path, JSON.
            AnswerShape::Choice { .. } | AnswerShape::File { .. } | AnswerShape::Custom { .. } => {
                json!({ "type": "string" })
            }
        };
        schema["title"] = json!(field.prompt.message);
        if let Some(default) = &field.prompt.default {
            schema["default"] = default.clone();
        }
        if field.prompt.required && field.prompt.default.is_none() {
            required.push(field.name.clone());
        }
        properties.insert(field.name.clone(), schema);
    }
    let problems: Vec<_> =
        question.problems.iter().map(|(name, invalid)| format!("\n{name}: {invalid}")).collect();
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    let message = format!("{}{}", question.question.message, problems.concat());
    let requested_schema = serde_json::from_value(schema).map_err(|error| error.to_string())?;
    Ok(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    ParcelServer.serve(rmcp::transport::stdio()).await?.waiting().await?;
    Ok(())
}
