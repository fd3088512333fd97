//! The tools, prompts and resources that the scenarios of the suite call, as a guest of the server.

mod content;
mod elicitation;
mod immediate;
mod input_required;
mod notifications;
mod prompts;
mod question;
mod questionnaire;
mod request;
mod resources;
mod tools;

use serde_json::{Map, Value};
use server::{
    EmbeddedProvider, ProviderContext, ProviderError, ProviderFuture, ProviderListKind, ProviderReply,
};

use prompts::PromptFixture;
use request::FixtureRequest;
use tools::ToolFixture;

/// All of them.
pub(crate) struct Fixtures;

/// What a request is about.
enum Fixture {
    Tool(&'static ToolFixture),
    Prompt(&'static PromptFixture),
    /// The result is there already.
    Resolved(Value),
}

impl EmbeddedProvider for Fixtures {
    fn list(&self, listing: ProviderListKind) -> Vec<Value> {
        match listing {
            ProviderListKind::Tools => tools::list(),
            ProviderListKind::Prompts => prompts::list(),
            ProviderListKind::Resources => resources::list(),
            ProviderListKind::Templates => resources::templates(),
        }
    }

    fn handles(&self, method: &str, params: &Map<String, Value>) -> bool {
        find(method, params).is_some()
    }

    fn handle<'a>(
        &'a self,
        visit: ProviderContext<'a>,
        method: &'a str,
        params: Map<String, Value>,
    ) -> ProviderFuture<'a> {
        Box::pin(async move {
            match find(method, &params) {
                Some(Fixture::Tool(tool)) => {
                    tool.answer(FixtureRequest { context: visit, name: tool.name, params }).await
                }
                Some(Fixture::Prompt(prompt)) => {
                    prompt.answer(FixtureRequest { context: visit, name: prompt.name, params }).await
                }
                Some(Fixture::Resolved(result)) => Ok(ProviderReply::Done(result)),
                None => Err(request::invalid_param("name", "There is no such fixture")),
            }
        })
    }
}

fn find(method: &str, params: &Map<String, Value>) -> Option<Fixture> {
    let text = |name: &str| params.get(name).and_then(Value::as_str);
    match method {
        "tools/call" => tools::find(text("name")?).map(Fixture::Tool),
        "prompts/get" => prompts::find(text("name")?).map(Fixture::Prompt),
        "resources/read" => resources::read(text("uri")?).map(Fixture::Resolved),
        "completion/complete" => prompts::complete(params).map(Fixture::Resolved),
        _ => None,
    }
}

/// What a fixture comes to.
type FixtureResult = Result<ProviderReply, ProviderError>;
