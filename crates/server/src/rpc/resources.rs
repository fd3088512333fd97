//! Resources: a full description of every tool, which `tools/list` has no room for, every document that is
//! searched, and experiments.

pub(crate) mod experiments;
pub(crate) mod projects;
pub(crate) mod uri;

use std::sync::Arc;

use ::projects::Cursor;
use knowledge::IndexedDocument;
use protocol::Dialect;
use protocol::mcp::{
    CompletionArgument, ReadResourceParams, ReadResourceResult, ResourceBody, ResourceContents,
    ResourceDescriptor, ResourceList, ResourceTemplate, ResourceTemplateList,
};
use serde_json::{Map, Value};

use crate::app::plans;
use crate::error::RequestError;
use crate::rpc::client_roots::{self, NarrowedRoots};
use crate::rpc::context::{self, RequestContext};
use crate::rpc::embedded;
use crate::rpc::pagination::paginate;
use crate::rpc::resources::uri::{percent_decode, percent_encode_path};
use crate::tools::ToolEntry;

const TOOL_PREFIX: &str = "fluxway://tools/";
const TOOL_TEMPLATE: &str = "fluxway://tools/{name}";
const DOCUMENT_PREFIX: &str = "fluxway://docs/";
const DOCUMENT_TEMPLATE: &str = "fluxway://docs/{+path}";
const MARKDOWN_MIME: &str = "text/markdown";
const PLAIN_TEXT_MIME: &str = "text/plain";
const JSON_MIME: &str = "application/json";
/// What a cursor begins with that is a place in the list of the caller's own. Base64 has no such character.
const PROJECT_CURSOR_PREFIX: &str = "~";

/// The tool whose documents are resources: a caller without access to it may not read them either.
const DOCUMENT_TOOL: &str = "faq";

/// Where a document can be read.
pub(crate) fn document_uri(path: &str) -> String {
    format!("{DOCUMENT_PREFIX}{}", percent_encode_path(path))
}

/// `resources/list`: what is always there, and then what the caller has, which the store lists page by page.
pub(crate) async fn list(ctx: &RequestContext, params: Map<String, Value>) -> Result<Vec<u8>, RequestError> {
    let cursor = params.get("cursor").and_then(Value::as_str);
    let place =
        cursor.and_then(|cursor| cursor.strip_prefix(PROJECT_CURSOR_PREFIX)).map(Cursor::decode).transpose();
    let place = place.map_err(|_| RequestError::InvalidCursor)?;
    let (mut resources, mut next_cursor) = match &place {
        Some(_) => (Vec::new(), None),
        None => paginate(ctx, &params, static_resources(ctx), |resource: &ResourceDescriptor| &resource.uri)?,
    };
    if next_cursor.is_none() {
        let size = u32::try_from(ctx.app().page_size.saturating_sub(resources.len()).max(1)).unwrap_or(1);
        let is_whole = ctx.dialect == Dialect::Codefluss && cursor.is_none();
        let limit = (!is_whole).then_some(size);
        let (owned, next) = projects::design_systems(ctx, place, limit).await?;
        resources.extend(owned);
        next_cursor = next.map(|next| format!("{PROJECT_CURSOR_PREFIX}{}", next.encode()));
    }
    let resources = resources.into_iter().map(|resource| resource.for_revision(ctx.revision())).collect();
    let list = ResourceList { resources, next_cursor };
    Ok(if projects::is_served(ctx) { ctx.uncacheable_result(&list) } else { ctx.cacheable_result(&list) })
}

fn static_resources(ctx: &RequestContext) -> Vec<ResourceDescriptor> {
    let catalog = ctx.app().catalog();
    let tools = catalog.tools().map(|tool| tool_resource(tool));
    projects::static_resources(ctx)
        .into_iter()
        .chain(tools)
        .chain(served_documents(ctx).map(document_resource))
        .collect()
}

fn served_documents(ctx: &RequestContext) -> impl Iterator<Item = IndexedDocument<'_>> {
    let is_served = ctx.app().catalog().find(DOCUMENT_TOOL).is_some();
    is_served.then(|| ctx.app().documents.pages()).into_iter().flatten()
}

fn tool_resource(tool: &ToolEntry) -> ResourceDescriptor {
    ResourceDescriptor {
        uri: format!("{TOOL_PREFIX}{}", tool.spec.name),
        name: tool.spec.name.to_owned(),
        title: Some(tool.spec.title.to_owned()),
        description: format!("How to use the tool {}.", tool.spec.name),
        mime_type: MARKDOWN_MIME,
    }
}

fn document_resource(document: IndexedDocument<'_>) -> ResourceDescriptor {
    ResourceDescriptor {
        uri: document_uri(document.path),
        name: document.path.to_owned(),
        title: Some(document.title.to_owned()),
        description: format!("Documentation: {}.", document.title),
        mime_type: mime_type(document.path),
    }
}

fn mime_type(path: &str) -> &'static str {
    let is_markdown = [".md", ".mdx", ".markdown"].iter().any(|ending| path.ends_with(ending));
    if is_markdown { MARKDOWN_MIME } else { PLAIN_TEXT_MIME }
}

/// `resources/templates/list`.
pub(crate) fn templates(ctx: &RequestContext, params: Map<String, Value>) -> Result<Vec<u8>, RequestError> {
    let tool = ResourceTemplate {
        uri_template: TOOL_TEMPLATE,
        name: "tool",
        description: "How to use one of the tools: what it takes and what it gives.",
        mime_type: MARKDOWN_MIME,
    };
    let document = ResourceTemplate {
        uri_template: DOCUMENT_TEMPLATE,
        name: "document",
        description: "A document that `faq` searches and cites.",
        mime_type: MARKDOWN_MIME,
    };
    let experiment = ResourceTemplate {
        uri_template: experiments::URI_TEMPLATE,
        name: "experiment",
        description: "An experiment of a FluxLoop project, or one of its files, such as `evaluation/report.md`.",
        mime_type: JSON_MIME,
    };
    let plan = ResourceTemplate {
        uri_template: plans::URI_TEMPLATE,
        name: "plan",
        description: "An edit plan that was proposed, as long as it is kept: its diffs, hashes and checks.",
        mime_type: JSON_MIME,
    };
    let catalog = ctx.app().catalog();
    let has = |tool: &str| catalog.find(tool).is_some();
    let document = has(DOCUMENT_TOOL).then_some(document);
    let experiment = has(experiments::REQUIRED_TOOL).then_some(experiment);
    let plan = has(plans::REQUIRED_TOOL).then_some(plan);
    let ours = std::iter::once(tool).chain(document).chain(experiment).chain(plan);
    let all = ours.chain(projects::templates(ctx)).collect();
    let (resource_templates, next_cursor) = paginate(ctx, &params, all, |template| template.name)?;
    Ok(ctx.cacheable_result(&ResourceTemplateList { resource_templates, next_cursor }))
}

/// `resources/read`.
pub(crate) async fn read(
    ctx: &RequestContext,
    mut params: Map<String, Value>,
) -> Result<Vec<u8>, RequestError> {
    let uri = params.get("uri").and_then(Value::as_str).unwrap_or_default();
    let mut roots = Arc::clone(&ctx.call.roots);
    if experiments::matches_uri(ctx, uri) {
        match client_roots::narrow(ctx, "resources/read", &mut params).await? {
            NarrowedRoots::Roots(narrowed) => roots = narrowed,
            NarrowedRoots::InputRequired(question) => return Ok(ctx.input_required(&question)),
        }
    }
    let ReadResourceParams { uri } = context::parse_params(params, &["uri"])?;
    if let Some(text) = plans::read(ctx, &uri).await? {
        let contents = [ResourceContents { uri, mime_type: JSON_MIME, body: ResourceBody::Text(text) }];
        return Ok(ctx.uncacheable_result(&ReadResourceResult { contents }));
    }
    let text = match find_text_resource(ctx, &uri) {
        None => experiments::read(ctx, &roots, &uri).await?,
        found => found,
    };
    if let Some((mime_type, text)) = text {
        let contents = [ResourceContents { uri, mime_type, body: ResourceBody::Text(text) }];
        return Ok(ctx.cacheable_result(&ReadResourceResult { contents }));
    }
    let Some((mime_type, body)) = projects::read(ctx, &uri).await? else {
        return Err(RequestError::MissingResource { uri: uri.chars().take(512).collect() });
    };
    let contents = [ResourceContents { uri, mime_type, body }];
    Ok(ctx.uncacheable_result(&ReadResourceResult { contents }))
}

fn find_text_resource(ctx: &RequestContext, uri: &str) -> Option<(&'static str, String)> {
    if let Some(name) = uri.strip_prefix(TOOL_PREFIX) {
        return Some((MARKDOWN_MIME, ctx.app().catalog().find(name)?.reference_page()));
    }
    let path = percent_decode(uri.strip_prefix(DOCUMENT_PREFIX)?)?;
    ctx.app().catalog().find(DOCUMENT_TOOL)?;
    let document = ctx.app().documents.page(&path)?;
    Some((mime_type(document.path), document.source.to_owned()))
}

/// Whether there is such a resource, of ours or of a guest.
pub(crate) async fn exists(ctx: &RequestContext, uri: &str) -> Result<bool, RequestError> {
    let is_there = find_text_resource(ctx, uri).is_some()
        || experiments::matches_uri(ctx, uri)
        || embedded::has_resource(ctx, uri);
    if is_there { Ok(true) } else { projects::exists(ctx, uri).await }
}

/// What could stand in a template.
pub(crate) async fn candidates(
    ctx: &RequestContext,
    uri: &str,
    argument: &CompletionArgument,
    context: &Map<String, Value>,
) -> Result<Vec<String>, RequestError> {
    if let Some(names) = projects::template_variables(uri) {
        if !names.contains(&argument.name.as_str()) {
            return Err(RequestError::invalid_params(
                "argument.name",
                format!("{uri} has {}", names.join(", ")),
            ));
        }
        return projects::suggest_values(ctx, None, argument, context).await;
    }
    let (wanted, names): (_, Vec<String>) = match uri {
        TOOL_TEMPLATE => ("name", ctx.app().catalog().names().map(str::to_owned).collect()),
        DOCUMENT_TEMPLATE => {
            ("path", served_documents(ctx).map(|document| document.path.to_owned()).collect())
        }
        experiments::URI_TEMPLATE => ("path", experiments::experiment_paths(ctx).await?),
        plans::URI_TEMPLATE => ("id", plans::plan_ids(ctx).await?),
        _ => return Err(RequestError::MissingResource { uri: uri.chars().take(512).collect() }),
    };
    if argument.name != wanted {
        return Err(RequestError::invalid_params("argument.name", format!("{uri} has only `{wanted}`")));
    }
    Ok(names)
}
