//! Resources: so far a full description of every tool, which `tools/list` has no room for.

use protocol::mcp::{
    ReadResourceParams, ReadResourceResult, Resource, ResourceContents, ResourceList, ResourceTemplate,
    ResourceTemplateList,
};
use serde_json::{Map, Value};

use crate::context::{self, Context};
use crate::error::Failure;
use crate::guests;
use crate::page::page;
use crate::tools::ToolEntry;

const TOOL_PREFIX: &str = "fluxway://tools/";
const TOOL_TEMPLATE: &str = "fluxway://tools/{name}";
const MARKDOWN: &str = "text/markdown";

/// `resources/list`.
pub(crate) fn list(ctx: &Context, params: Map<String, Value>) -> Result<Vec<u8>, Failure> {
    let catalog = ctx.app().catalog();
    let all = catalog.tools().map(|tool| tool_resource(tool).for_revision(ctx.revision())).collect();
    let (resources, next_cursor) = page(ctx, &params, all, |resource: &Resource| &resource.uri)?;
    Ok(ctx.list(&ResourceList { resources, next_cursor }))
}

fn tool_resource(tool: &ToolEntry) -> Resource {
    Resource {
        uri: format!("{TOOL_PREFIX}{}", tool.spec.name),
        name: tool.spec.name.to_owned(),
        title: Some(tool.spec.title.to_owned()),
        description: format!("How to use the tool {}.", tool.spec.name),
        mime_type: MARKDOWN,
    }
}

/// `resources/templates/list`.
pub(crate) fn templates(ctx: &Context, params: Map<String, Value>) -> Result<Vec<u8>, Failure> {
    let all = vec![ResourceTemplate {
        uri_template: TOOL_TEMPLATE,
        name: "tool",
        description: "How to use one of the tools: what it takes, what it gives, an example.",
        mime_type: MARKDOWN,
    }];
    let (resource_templates, next_cursor) = page(ctx, &params, all, |template| template.name)?;
    Ok(ctx.list(&ResourceTemplateList { resource_templates, next_cursor }))
}

/// `resources/read`.
pub(crate) fn read(ctx: &Context, params: Map<String, Value>) -> Result<Vec<u8>, Failure> {
    let ReadResourceParams { uri } = context::params(params, &["uri"])?;
    let tool = uri.strip_prefix(TOOL_PREFIX).and_then(|name| ctx.app().catalog().find(name));
    let Some(tool) = tool else {
        return Err(Failure::MissingResource { uri: uri.chars().take(512).collect() });
    };
    let contents = [ResourceContents { uri, mime_type: MARKDOWN, text: tool.reference() }];
    Ok(ctx.list(&ReadResourceResult { contents }))
}

/// Whether there is such a resource, of ours or of a guest.
pub(crate) fn exists(ctx: &Context, uri: &str) -> bool {
    let ours = uri.strip_prefix(TOOL_PREFIX).and_then(|name| ctx.app().catalog().find(name));
    ours.is_some() || guests::has_resource(ctx, uri)
}

/// What could stand in a template.
pub(crate) fn candidates(ctx: &Context, uri: &str, argument: &str) -> Result<Vec<String>, Failure> {
    if uri != TOOL_TEMPLATE {
        return Err(Failure::MissingResource { uri: uri.chars().take(512).collect() });
    }
    if argument != "name" {
        return Err(Failure::params("argument.name", format!("{TOOL_TEMPLATE} has only `name`")));
    }
    Ok(ctx.app().catalog().names().map(str::to_owned).collect())
}
