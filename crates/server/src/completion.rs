//! `completion/complete`: what could stand in an argument.

use protocol::mcp::{CompleteParams, CompleteResult, Completion, Reference};
use serde_json::{Map, Value};

use crate::context::{self, Context};
use crate::error::Failure;
use crate::tools::unknown_tool;
use crate::{prompts, resources};

/// Suggests values for an argument. An argument that has none to suggest gets an empty list.
pub(crate) async fn complete(ctx: &Context, params: Map<String, Value>) -> Result<Vec<u8>, Failure> {
    let CompleteParams { r#ref, argument, context: _ } = context::params(params, &["ref", "argument"])?;
    let catalog = ctx.app().catalog();
    let candidates: Vec<String> = match r#ref {
        Reference::Tool { name } => {
            let tool = catalog.find(&name).ok_or_else(|| unknown_tool(ctx.app(), "name", &name))?;
            tool.known_argument(&argument.name)?;
            tool.candidates(&argument.name)
        }
        Reference::Prompt { name } => prompts::candidates(ctx, &name, &argument.name).await?,
        Reference::Resource { uri } => resources::candidates(ctx, &uri, &argument.name).await?,
    };
    let completion = Completion::of(candidates.iter().map(String::as_str), &argument.value);
    Ok(ctx.result(&CompleteResult { completion }))
}
