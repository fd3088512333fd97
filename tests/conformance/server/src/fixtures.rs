//! The tools, prompts and resources that the scenarios of the suite call, as a guest of the server.

mod content;
mod elicitation;
mod input_required;
mod inquiry;
mod notices;
mod plain;
mod prompts;
mod question;
mod request;
mod resources;
mod tools;

use serde_json::{Map, Value};
use server::{Answering, Guest, GuestFault, GuestReply, Listing, Visit};

use prompts::Prompt;
use request::Request;
use tools::Tool;

/// All of them.
pub(crate) struct Fixtures;

/// What a request is about.
enum Fixture {
    Tool(&'static Tool),
    Prompt(&'static Prompt),
    /// The result is there already.
    Known(Value),
}

impl Guest for Fixtures {
    fn list(&self, listing: Listing) -> Vec<Value> {
        match listing {
            Listing::Tools => tools::list(),
            Listing::Prompts => prompts::list(),
            Listing::Resources => resources::list(),
            Listing::Templates => resources::templates(),
        }
    }

    fn knows(&self, method: &str, params: &Map<String, Value>) -> bool {
        find(method, params).is_some()
    }

    fn answer<'a>(&'a self, visit: Visit<'a>, method: &'a str, params: Map<String, Value>) -> Answering<'a> {
        Box::pin(async move {
            match find(method, &params) {
                Some(Fixture::Tool(tool)) => tool.answer(Request { visit, name: tool.name, params }).await,
                Some(Fixture::Prompt(prompt)) => {
                    prompt.answer(Request { visit, name: prompt.name, params }).await
                }
                Some(Fixture::Known(result)) => Ok(GuestReply::Done(result)),
                None => Err(request::wrong("name", "There is no such fixture")),
            }
        })
    }
}

fn find(method: &str, params: &Map<String, Value>) -> Option<Fixture> {
    let text = |name: &str| params.get(name).and_then(Value::as_str);
    match method {
        "tools/call" => tools::find(text("name")?).map(Fixture::Tool),
        "prompts/get" => prompts::find(text("name")?).map(Fixture::Prompt),
        "resources/read" => resources::read(text("uri")?).map(Fixture::Known),
        "completion/complete" => prompts::complete(params).map(Fixture::Known),
        _ => None,
    }
}

/// What a fixture comes to.
type Outcome = Result<GuestReply, GuestFault>;
