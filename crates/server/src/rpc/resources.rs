//! Resources: a full description of every tool, which `tools/list` has no room for, every document that is searched, and
//! experiments.

pub(crate) mod experiments;
pub(crate) mod projects;
pub(crate) mod uri;

use std::sync::Arc;

use ::projects::Cursor;
use knowledge::IndexedPage;
use protocol::Dialect;
use protocol::mcp::{
    Argument, ReadResourceParams, ReadResourceResult, Resource, ResourceBody, ResourceContents, ResourceList,
    ResourceTemplate, ResourceTemplateList,
};
use serde_json::{Map, Value};

use crate::app::plans;
use crate::error::Failure;
use crate::rpc::client_roots::{self, Narrowed};
use crate::rpc::context::{self, Context};
use crate::rpc::embedded;
use crate::rpc::pagination::page;
use crate::rpc::resources::uri::{decoded, encoded};
use crate::tools::ToolEntry;

const TOOL_PREFIX: &str = "fluxway://tools/";
const TOOL_TEMPLATE: &str = "fluxway://tools/{name}";
const DOCUMENT_PREFIX: &str = "fluxway://docs/";
const DOCUMENT_TEMPLATE: &str = "fluxway://docs/{+path}";
const MARKDOWN: &str = "text/markdown";
const PLAIN: &str = "text/plain";
const JSON: &str = "application/json";
/// What a cursor begins with that is a place in the list of the caller's own. Base64 has no such character.
const OWNED: &str = "~";

/// The tool whose documents are resources: whoever may not ask it may not read them either.
const READER: &str = "faq";

/// Where a document can be read.
pub(crate) fn document_uri(path: &str) -> String {
    format!("{DOCUMENT_PREFIX}{}", encoded(path))
}

/// `resources/list`: what is always there, and then what the caller has, which the store lists page by page.
pub(crate) async fn list(ctx: &Context, params: Map<String, Value>) -> Result<Vec<u8>, Failure> {
    let cursor = params.get("cursor").and_then(Value::as_str);
    let place = cursor.and_then(|cursor| cursor.strip_prefix(OWNED)).map(Cursor::decode).transpose();
    let place = place.map_err(|_| Failure::BadCursor)?;
    let (mut resources, mut next_cursor) = match &place {
        Some(_) => (Vec::new(), None),
        None => page(ctx, &params, fixed(ctx), |resource: &Resource| &resource.uri)?,
    };
    if next_cursor.is_none() {
        let size = u32::try_from(ctx.app().page_size.saturating_sub(resources.len()).max(1)).unwrap_or(1);
        let is_whole = ctx.dialect == Dialect::Codefluss && cursor.is_none();
        let limit = (!is_whole).then_some(size);
        let (owned, next) = projects::design_systems(ctx, place, limit).await?;
        resources.extend(owned);
        next_cursor = next.map(|next| format!("{OWNED}{}", next.encode()));
    }
    let resources = resources.into_iter().map(|resource| resource.for_revision(ctx.revision())).collect();
    let list = ResourceList { resources, next_cursor };
    Ok(if projects::is_served(ctx) { ctx.fresh(&list) } else { ctx.list(&list) })
}

fn fixed(ctx: &Context) -> Vec<Resource> {
    let catalog = ctx.app().catalog();
    let tools = catalog.tools().map(|tool| tool_resource(tool));
    projects::fixed(ctx).into_iter().chain(tools).chain(documents(ctx).map(document_resource)).collect()
}

fn documents(ctx: &Context) -> impl Iterator<Item = IndexedPage<'_>> {
    let is_served = ctx.app().catalog().find(READER).is_some();
    is_served.then(|| ctx.app().documents.pages()).into_iter().flatten()
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

fn document_resource(document: IndexedPage<'_>) -> Resource {
    Resource {
        uri: document_uri(document.path),
        name: document.path.to_owned(),
        title: Some(document.title.to_owned()),
        description: format!("Documentation: {}.", document.title),
        mime_type: mime_type(document.path),
    }
}

fn mime_type(path: &str) -> &'static str {
    let is_markdown = [".md", ".mdx", ".markdown"].iter().any(|ending| path.ends_with(ending));
    if is_markdown { MARKDOWN } else { PLAIN }
}

/// `resources/templates/list`.
pub(crate) fn templates(ctx: &Context, params: Map<String, Value>) -> Result<Vec<u8>, Failure> {
    let tool = ResourceTemplate {
        uri_template: TOOL_TEMPLATE,
        name: "tool",
        description: "How to use one of the tools: what it takes and what it gives.",
        mime_type: MARKDOWN,
    };
    let document = ResourceTemplate {
        uri_template: DOCUMENT_TEMPLATE,
        name: "document",
        description: "A document that `faq` searches and cites.",
        mime_type: MARKDOWN,
    };
    let experiment = ResourceTemplate {
        uri_template: experiments::TEMPLATE,
        name: "experiment",
        description: "An experiment of a FluxLoop project, or one of its files, such as `evaluation/report.md`.",
        mime_type: JSON,
    };
    let plan = ResourceTemplate {
        uri_template: plans::TEMPLATE,
        name: "plan",
        description: "An edit plan that was proposed, as long as it is kept: its diffs, hashes and checks.",
        mime_type: JSON,
    };
    let catalog = ctx.app().catalog();
    let has = |tool: &str| catalog.find(tool).is_some();
    let document = has(READER).then_some(document);
    let experiment = has(experiments::READER).then_some(experiment);
    let plan = has(plans::READER).then_some(plan);
    let ours = std::iter::once(tool).chain(document).chain(experiment).chain(plan);
    let all = ours.chain(projects::templates(ctx)).collect();
    let (resource_templates, next_cursor) = page(ctx, &params, all, |template| template.name)?;
    Ok(ctx.list(&ResourceTemplateList { resource_templates, next_cursor }))
}

/// `resources/read`.
pub(crate) async fn read(ctx: &Context, mut params: Map<String, Value>) -> Result<Vec<u8>, Failure> {
    let uri = params.get("uri").and_then(Value::as_str).unwrap_or_default();
    let mut roots = Arc::clone(&ctx.call.roots);
    if experiments::could_be(ctx, uri) {
        match client_roots::narrow(ctx, "resources/read", &mut params).await? {
            Narrowed::To(narrowed) => roots = narrowed,
            Narrowed::Ask(question) => return Ok(ctx.input_required(&question)),
        }
    }
    let ReadResourceParams { uri } = context::params(params, &["uri"])?;
    if let Some(text) = plans::read(ctx, &uri).await? {
        let contents = [ResourceContents { uri, mime_type: JSON, body: ResourceBody::Text(text) }];
        return Ok(ctx.fresh(&ReadResourceResult { contents }));
    }
    let text = match find(ctx, &uri) {
        None => experiments::read(ctx, &roots, &uri).await?,
        found => found,
    };
    if let Some((mime_type, text)) = text {
        let contents = [ResourceContents { uri, mime_type, body: ResourceBody::Text(text) }];
        return Ok(ctx.list(&ReadResourceResult { contents }));
    }
    let Some((mime_type, body)) = projects::read(ctx, &uri).await? else {
        return Err(Failure::MissingResource { uri: uri.chars().take(512).collect() });
    };
    let contents = [ResourceContents { uri, mime_type, body }];
    Ok(ctx.fresh(&ReadResourceResult { contents }))
}

fn find(ctx: &Context, uri: &str) -> Option<(&'static str, String)> {
    if let Some(name) = uri.strip_prefix(TOOL_PREFIX) {
        return Some((MARKDOWN, ctx.app().catalog().find(name)?.reference()));
    }
    let path = decoded(uri.strip_prefix(DOCUMENT_PREFIX)?)?;
    ctx.app().catalog().find(READER)?;
    let document = ctx.app().documents.page(&path)?;
    Some((mime_type(document.path), document.source.to_owned()))
}

/// Whether there is such a resource, of ours or of a guest.
pub(crate) async fn exists(ctx: &Context, uri: &str) -> Result<bool, Failure> {
    let is_there =
        find(ctx, uri).is_some() || experiments::could_be(ctx, uri) || embedded::has_resource(ctx, uri);
    if is_there { Ok(true) } else { projects::exists(ctx, uri).await }
}

/// What could stand in a template.
pub(crate) async fn candidates(
    ctx: &Context,
    uri: &str,
    argument: &Argument,
    context: &Map<String, Value>,
) -> Result<Vec<String>, Failure> {
    if let Some(names) = projects::names(uri) {
        if !names.contains(&argument.name.as_str()) {
            return Err(Failure::params("argument.name", format!("{uri} has {}", names.join(", "))));
        }
        return projects::suggest(ctx, None, argument, context).await;
    }
    let (wanted, names): (_, Vec<String>) = match uri {
        TOOL_TEMPLATE => ("name", ctx.app().catalog().names().map(str::to_owned).collect()),
        DOCUMENT_TEMPLATE => ("path", documents(ctx).map(|document| document.path.to_owned()).collect()),
        experiments::TEMPLATE => ("path", experiments::paths(ctx).await?),
        plans::TEMPLATE => ("id", plans::ids(ctx).await?),
        _ => return Err(Failure::MissingResource { uri: uri.chars().take(512).collect() }),
    };
    if argument.name != wanted {
        return Err(Failure::params("argument.name", format!("{uri} has only `{wanted}`")));
    }
    Ok(names)
}
