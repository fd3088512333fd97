//! Prompts: ways into the tools that a person can pick. Each is written beside its tool.

use std::collections::BTreeMap;

use protocol::mcp::{Content, GetPromptParams, GetPromptResult, Prompt, PromptList, PromptMessage};
use serde_json::{Map, Value};

use crate::error::Failure;
use crate::rpc::context::{self, Context};
use crate::rpc::pagination::page;
use crate::rpc::resources::experiments;
use crate::tools::{booking, fetch_experiment_context, propose_edit_plan, tell_fortune, validate_edit_plan};

/// A prompt and the tool that it leads to.
pub(crate) struct PromptEntry {
    /// The tool; without it the prompt is not offered.
    pub(crate) tool: &'static str,
    /// What the client sees.
    pub(crate) prompt: Prompt,
    /// The text for the model. Required arguments are there.
    pub(crate) text: fn(&BTreeMap<String, String>) -> String,
}

/// Every prompt there is, in the order of the tools.
const PROMPTS: &[&PromptEntry] = &[
    &propose_edit_plan::PROMPT,
    &validate_edit_plan::PROMPT,
    &fetch_experiment_context::PROMPT,
    &tell_fortune::PROMPT,
    &booking::PROMPT,
];

fn offered(ctx: &Context) -> impl Iterator<Item = &'static PromptEntry> + use<> {
    let catalog = ctx.app().catalog();
    PROMPTS.iter().copied().filter(move |entry| catalog.find(entry.tool).is_some())
}

fn find(ctx: &Context, name: &str) -> Result<&'static PromptEntry, Failure> {
    offered(ctx).find(|entry| entry.prompt.name == name).ok_or_else(|| Failure::UnknownPrompt {
        name: name.chars().take(128).collect(),
        available: offered(ctx).map(|entry| entry.prompt.name).collect(),
    })
}

/// `prompts/list`.
pub(crate) fn list(ctx: &Context, params: Map<String, Value>) -> Result<Vec<u8>, Failure> {
    let all = offered(ctx).map(|entry| entry.prompt.clone().for_revision(ctx.revision())).collect();
    let (prompts, next_cursor) = page(ctx, &params, all, |prompt: &Prompt| prompt.name)?;
    Ok(ctx.list(&PromptList { prompts, next_cursor }))
}

/// `prompts/get`.
pub(crate) fn get(ctx: &Context, params: Map<String, Value>) -> Result<Vec<u8>, Failure> {
    let GetPromptParams { name, arguments } = context::params(params, &["name"])?;
    let entry = find(ctx, &name)?;
    let known = entry.prompt.arguments;
    if let Some(missing) = known.iter().find(|known| known.required && !arguments.contains_key(known.name)) {
        return Err(Failure::params(format!("arguments.{}", missing.name), "Required field missing"));
    }
    if let Some(unknown) = arguments.keys().find(|name| known.iter().all(|known| known.name != name.as_str()))
    {
        return Err(Failure::params(format!("arguments.{unknown}"), "Unknown field"));
    }
    let text = (entry.text)(&arguments);
    let messages = [PromptMessage { role: "user", content: Content::Text { text: &text } }];
    Ok(ctx.result(&GetPromptResult { description: entry.prompt.description, messages }))
}

/// What could stand in an argument: what the tool's argument of the same name would take.
pub(crate) async fn candidates(ctx: &Context, name: &str, argument: &str) -> Result<Vec<String>, Failure> {
    let entry = find(ctx, name)?;
    if entry.prompt.arguments.iter().all(|known| known.name != argument) {
        return Err(Failure::params(
            "argument.name",
            format!("the prompt {name} has no argument `{argument}`"),
        ));
    }
    if argument == fetch_experiment_context::EXPERIMENT {
        let paths = experiments::paths(ctx).await?;
        return Ok(paths.iter().filter_map(|path| path.rsplit('/').next()).map(str::to_owned).collect());
    }
    Ok(ctx.app().catalog().find(entry.tool).map(|tool| tool.candidates(argument)).unwrap_or_default())
}
