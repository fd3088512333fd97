//! Prompts: entry points to the tools for users to pick. Each prompt is defined next to its tool.

use std::collections::BTreeMap;

use protocol::mcp::{
    ContentBlock, GetPromptParams, GetPromptResult, PromptDescriptor, PromptList, PromptMessage,
};
use serde_json::{Map, Value};

use crate::error::RequestError;
use crate::rpc::context::{self, RequestContext};
use crate::rpc::pagination::paginate;
use crate::rpc::resources::experiments;
use crate::tools::{booking, fetch_experiment_context, propose_edit_plan, tell_fortune, validate_edit_plan};

/// A prompt and the tool it leads to.
pub(crate) struct PromptEntry {
    /// The prompt is offered only while this tool is served.
    pub(crate) tool: &'static str,
    pub(crate) prompt: PromptDescriptor,
    /// Renders the text for the model. Required arguments are present.
    pub(crate) text: fn(&BTreeMap<String, String>) -> String,
}

/// Every prompt, in the order of the tools.
const PROMPTS: &[&PromptEntry] = &[
    &propose_edit_plan::PROMPT,
    &validate_edit_plan::PROMPT,
    &fetch_experiment_context::PROMPT,
    &tell_fortune::PROMPT,
    &booking::PROMPT,
];

fn served_prompts(ctx: &RequestContext) -> impl Iterator<Item = &'static PromptEntry> + use<> {
    let catalog = ctx.app().catalog();
    PROMPTS.iter().copied().filter(move |entry| catalog.find(entry.tool).is_some())
}

fn find_prompt(ctx: &RequestContext, name: &str) -> Result<&'static PromptEntry, RequestError> {
    served_prompts(ctx).find(|entry| entry.prompt.name == name).ok_or_else(|| RequestError::UnknownPrompt {
        name: name.chars().take(128).collect(),
        available: served_prompts(ctx).map(|entry| entry.prompt.name).collect(),
    })
}

/// `prompts/list`.
pub(crate) fn list(ctx: &RequestContext, params: Map<String, Value>) -> Result<Vec<u8>, RequestError> {
    let all = served_prompts(ctx).map(|entry| entry.prompt.clone().for_revision(ctx.revision())).collect();
    let (prompts, next_cursor) = paginate(ctx, &params, all, |prompt: &PromptDescriptor| prompt.name)?;
    Ok(ctx.cacheable_result(&PromptList { prompts, next_cursor }))
}

/// `prompts/get`.
pub(crate) fn get(ctx: &RequestContext, params: Map<String, Value>) -> Result<Vec<u8>, RequestError> {
    let GetPromptParams { name, arguments } = context::parse_params(params, &["name"])?;
    let entry = find_prompt(ctx, &name)?;
    let known = entry.prompt.arguments;
    if let Some(missing) = known.iter().find(|known| known.required && !arguments.contains_key(known.name)) {
        return Err(RequestError::invalid_params(
            format!("arguments.{}", missing.name),
            "Required field missing",
        ));
    }
    if let Some(unknown) = arguments.keys().find(|name| known.iter().all(|known| known.name != name.as_str()))
    {
        return Err(RequestError::invalid_params(format!("arguments.{unknown}"), "Unknown field"));
    }
    let text = (entry.text)(&arguments);
    let messages = [PromptMessage { role: "user", content: ContentBlock::Text { text: &text } }];
    Ok(ctx.result(&GetPromptResult { description: entry.prompt.description, messages }))
}

/// Completions for an argument: the values that the tool's argument of the same name accepts.
pub(crate) async fn candidates(
    ctx: &RequestContext,
    name: &str,
    argument: &str,
) -> Result<Vec<String>, RequestError> {
    let entry = find_prompt(ctx, name)?;
    if entry.prompt.arguments.iter().all(|known| known.name != argument) {
        return Err(RequestError::invalid_params(
            "argument.name",
            format!("prompt {name} has no argument `{argument}`"),
        ));
    }
    if argument == fetch_experiment_context::EXPERIMENT_ARGUMENT {
        let paths = experiments::experiment_paths(ctx).await?;
        return Ok(paths.iter().filter_map(|path| path.rsplit('/').next()).map(str::to_owned).collect());
    }
    Ok(ctx.app().catalog().find(entry.tool).map(|tool| tool.allowed_values(argument)).unwrap_or_default())
}
