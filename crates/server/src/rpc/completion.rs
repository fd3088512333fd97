//! `completion/complete`: what could stand in an argument.

use protocol::mcp::{CompleteParams, CompleteResult, Completion, CompletionReference};
use serde_json::{Map, Value};

use crate::error::RequestError;
use crate::rpc::context::{self, RequestContext};
use crate::rpc::prompts;
use crate::rpc::resources::{self, projects};
use crate::tools::{Toolset, unknown_tool};

/// Suggests values for an argument. An argument that has none to suggest gets an empty list.
pub(crate) async fn complete(
    ctx: &RequestContext,
    params: Map<String, Value>,
) -> Result<Vec<u8>, RequestError> {
    let CompleteParams { r#ref, argument, context } = context::parse_params(params, &["ref", "argument"])?;
    let known = context.as_ref().and_then(|context| context.get("arguments")?.as_object().cloned());
    let known = known.unwrap_or_default();
    let catalog = ctx.app().catalog();
    let candidates: Vec<String> = match r#ref {
        CompletionReference::Tool { name } => {
            let tool = catalog.find(&name).ok_or_else(|| unknown_tool(ctx.app(), "name", &name))?;
            tool.check_argument_name(&argument.name)?;
            match tool.allowed_values(&argument.name) {
                none if none.is_empty() && tool.spec.toolset == Toolset::Projects => {
                    projects::suggest_values(ctx, Some(tool.spec.name), &argument, &known).await?
                }
                candidates => candidates,
            }
        }
        CompletionReference::Prompt { name } => prompts::candidates(ctx, &name, &argument.name).await?,
        CompletionReference::Resource { uri } => resources::candidates(ctx, &uri, &argument, &known).await?,
    };
    let completion = Completion::from_candidates(candidates.iter().map(String::as_str), &argument.value);
    Ok(ctx.result(&CompleteResult { completion }))
}
