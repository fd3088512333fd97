//! What the caller owns, as resources: the list of their projects, design systems, assets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use design_tokens::export::ExportOptions;
use projects::{AssetId, BlockTypes, Cursor, CustomBlockType, Page, Project, ProjectId};
use protocol::Dialect;
use protocol::mcp::{CompletionArgument, ResourceBody, ResourceDescriptor, ResourceTemplate};
use serde_json::{Map, Value};

use crate::Locale;
use crate::app::project_scope::{ProjectChange, ProjectScope};
use crate::error::RequestError;
use crate::rpc::context::RequestContext;
use crate::tools::support::projects::export::DesignExportFormat;
use crate::tools::support::projects::view;

/// The tool whose projects are resources: where it is not served they are not either.
pub(crate) const REQUIRED_TOOL: &str = "list_projects";

const PROJECTS_URI: &str = "codefluss://projects";
const DESIGN_SYSTEM_URI_PREFIX: &str = "codefluss://design-system/";
const ASSET_URI_PREFIX: &str = "codefluss://assets/";
const DESIGN_SYSTEM_TEMPLATE: &str = "codefluss://design-system/{projectId}";
const DESIGN_EXPORT_TEMPLATE: &str = "codefluss://design-system/{projectId}/{format}";
const ASSET_TEMPLATE: &str = "codefluss://assets/{projectId}/{assetId}";
const JSON_MIME: &str = "application/json";
/// The ids that are looked for at most: one more than are suggested, to know whether there are more.
pub(crate) const SUGGESTION_QUERY_LIMIT: u32 = 101;

/// What an address means.
enum ProjectUri<'a> {
    List,
    Design { project: &'a str, format: Option<&'a str> },
    Asset { project: &'a str, asset: &'a str },
}

impl<'a> ProjectUri<'a> {
    fn parse(uri: &'a str) -> Option<Self> {
        if uri == PROJECTS_URI {
            return Some(Self::List);
        }
        if let Some(rest) = uri.strip_prefix(DESIGN_SYSTEM_URI_PREFIX) {
            let (project, format) =
                rest.split_once('/').map_or((rest, None), |(project, format)| (project, Some(format)));
            return Some(Self::Design { project, format });
        }
        let (project, asset) = uri.strip_prefix(ASSET_URI_PREFIX)?.split_once('/')?;
        Some(Self::Asset { project, asset })
    }
}

/// Where the design system of a project is.
pub(crate) fn design_system_uri(project: &ProjectId) -> String {
    format!("{DESIGN_SYSTEM_URI_PREFIX}{project}")
}

/// Where the content of an asset is.
pub(crate) fn asset_uri(project: &ProjectId, asset: &AssetId) -> String {
    format!("{ASSET_URI_PREFIX}{project}/{asset}")
}

/// Whether there are resources of the caller's own.
pub(crate) fn is_served(ctx: &RequestContext) -> bool {
    ctx.app().catalog().find(REQUIRED_TOOL).is_some()
}

/// Whether the resource at this address is another one since something of a project has changed.
pub(crate) fn is_affected_by(uri: &str, changed_project: &str, changed: &ProjectChange) -> bool {
    let is_whole = matches!(changed, ProjectChange::List | ProjectChange::Everything);
    match ProjectUri::parse(uri) {
        None => false,
        // It names revisions, and every write makes one.
        Some(ProjectUri::List) => true,
        Some(ProjectUri::Design { project, .. }) => {
            project == changed_project && (is_whole || *changed == ProjectChange::Design)
        }
        Some(ProjectUri::Asset { project, asset }) => {
            let is_it = matches!(changed, ProjectChange::Asset(changed) if **changed == *asset);
            project == changed_project && (is_whole || is_it)
        }
    }
}

/// The resources that are always there. The CODEFLUSS document lists the template among them (contract row
/// 15).
pub(crate) fn static_resources(ctx: &RequestContext) -> Vec<ResourceDescriptor> {
    if !is_served(ctx) {
        return Vec::new();
    }
    let (all, tokens) = match ctx.connection.mode().language() {
        Locale::English => ("All projects of the user", "Design tokens of a project"),
        Locale::German => ("Alle Projekte des Benutzers", "Design Tokens eines Projekts"),
    };
    let list = json_resource(PROJECTS_URI.to_owned(), "Projects", all);
    let template = json_resource(DESIGN_SYSTEM_TEMPLATE.to_owned(), "Design System", tokens);
    let template = (ctx.dialect == Dialect::Codefluss).then_some(template);
    std::iter::once(list).chain(template).collect()
}

fn json_resource(uri: String, name: &str, description: &str) -> ResourceDescriptor {
    let (name, description) = (name.to_owned(), description.to_owned());
    ResourceDescriptor { uri, name, title: None, description, mime_type: JSON_MIME }
}

/// The design systems of the caller's projects, from a place in their list on.
pub(crate) async fn design_systems(
    ctx: &RequestContext,
    after: Option<Cursor>,
    limit: Option<u32>,
) -> Result<(Vec<ResourceDescriptor>, Option<Cursor>), RequestError> {
    if !is_served(ctx) {
        return Ok((Vec::new(), None));
    }
    let project_scope = ProjectScope::for_call(&ctx.call).await?;
    let tokens = match ctx.connection.mode().language() {
        Locale::English => "Design tokens of this project",
        Locale::German => "Design Tokens dieses Projekts",
    };
    let entry = |project: &Project| ResourceDescriptor {
        title: Some(format!("Design system of {}", project.fields.name)),
        ..json_resource(design_system_uri(&project.id), &project.fields.name, tokens)
    };
    let mut resources = Vec::new();
    let add = |project: Project| {
        resources.push(entry(&project));
        Ok(())
    };
    let next = view::for_each_visible_project(&project_scope, Page { after, limit }, add).await?;
    Ok((resources, next))
}

/// Families of resources.
pub(crate) fn templates(ctx: &RequestContext) -> Vec<ResourceTemplate> {
    if !is_served(ctx) {
        return Vec::new();
    }
    let template = |uri_template, name, description| ResourceTemplate {
        uri_template,
        name,
        description,
        mime_type: JSON_MIME,
    };
    vec![
        template(
            DESIGN_SYSTEM_TEMPLATE,
            "design-system",
            "The design tokens of a project, in the format of the W3C group.",
        ),
        ResourceTemplate {
            mime_type: "text/plain",
            ..template(
                DESIGN_EXPORT_TEMPLATE,
                "design-system-export",
                "The same for a tool: css, scss, tailwind, json …",
            )
        },
        ResourceTemplate {
            mime_type: "application/octet-stream",
            ..template(ASSET_TEMPLATE, "asset", "The content of an asset, with its own type.")
        },
    ]
}

/// What is at an address: its type and content.
pub(crate) async fn read(
    ctx: &RequestContext,
    uri: &str,
) -> Result<Option<(&'static str, ResourceBody)>, RequestError> {
    let Some(address) = ProjectUri::parse(uri).filter(|_| is_served(ctx)) else { return Ok(None) };
    let project_scope = ProjectScope::for_call(&ctx.call).await?;
    let found = match address {
        ProjectUri::List => read_project_list(&project_scope).await,
        ProjectUri::Design { project, format } => read_design_system(&project_scope, project, format).await,
        ProjectUri::Asset { project, asset } => read_asset(&project_scope, project, asset).await,
    };
    match found {
        Ok(found) => Ok(found),
        Err(failure) if failure.is_not_found() => Ok(None),
        Err(failure) => Err(failure),
    }
}

type ProjectResourceResult = Result<Option<(&'static str, ResourceBody)>, RequestError>;

async fn read_project_list(scope: &ProjectScope) -> ProjectResourceResult {
    let (projects, _) =
        view::visible_projects_json(scope, Page::ALL, |project| Ok(view::ProjectView::from_project(project)))
            .await?;
    Ok(Some((JSON_MIME, ResourceBody::Text(projects.get().to_owned()))))
}

async fn read_design_system(
    scope: &ProjectScope,
    project: &str,
    format: Option<&str>,
) -> ProjectResourceResult {
    let project = scope.resolve_project_id(project)?;
    let design = scope.store().design_system(&scope.account, &project).await?.value;
    let Some(format) = format else {
        return Ok(Some((
            JSON_MIME,
            ResourceBody::Text(scope.run_blocking(move || Ok(design.to_pretty_string())).await?),
        )));
    };
    let Some(format) = DesignExportFormat::from_name(format) else { return Ok(None) };
    let text = scope.run_blocking(move || Ok(format.export(&design, &ExportOptions::default()).text)).await?;
    Ok(Some((format.mime_type(), ResourceBody::Text(text))))
}

async fn read_asset(scope: &ProjectScope, project: &str, asset: &str) -> ProjectResourceResult {
    let (project, asset) = (scope.resolve_project_id(project)?, AssetId::parse(asset)?);
    let (asset, bytes) = scope.store().asset_content(&scope.account, &project, &asset).await?.value;
    Ok(Some((asset.content_type.as_str(), ResourceBody::Blob(STANDARD.encode(bytes)))))
}

/// Whether there is such a resource for the caller.
pub(crate) async fn exists(ctx: &RequestContext, uri: &str) -> Result<bool, RequestError> {
    let Some(address) = ProjectUri::parse(uri).filter(|_| is_served(ctx)) else { return Ok(false) };
    let project_scope = ProjectScope::for_call(&ctx.call).await?;
    let looked_up = async {
        match address {
            ProjectUri::List => Ok::<_, RequestError>(true),
            ProjectUri::Design { project, format } => {
                project_scope
                    .store()
                    .project(&project_scope.account, &project_scope.resolve_project_id(project)?)
                    .await?;
                Ok(format.is_none_or(|format| DesignExportFormat::from_name(format).is_some()))
            }
            ProjectUri::Asset { project, asset } => {
                let (project, asset) = (project_scope.resolve_project_id(project)?, AssetId::parse(asset)?);
                Ok(project_scope
                    .store()
                    .asset(&project_scope.account, &project, &asset)
                    .await
                    .map(|_| true)?)
            }
        }
    };
    match looked_up.await {
        Err(failure) if failure.is_not_found() => Ok(false),
        answer => answer,
    }
}

/// The names in a template of ours, if it is one.
pub(crate) fn template_variables(template: &str) -> Option<&'static [&'static str]> {
    match template {
        DESIGN_SYSTEM_TEMPLATE => Some(&["projectId"]),
        DESIGN_EXPORT_TEMPLATE => Some(&["projectId", "format"]),
        ASSET_TEMPLATE => Some(&["projectId", "assetId"]),
        _ => None,
    }
}

/// What could stand in an argument of this name, of a template or of a tool.
pub(crate) async fn suggest_values(
    ctx: &RequestContext,
    tool: Option<&str>,
    argument: &CompletionArgument,
    context: &Map<String, Value>,
) -> Result<Vec<String>, RequestError> {
    let typed = argument.value.as_str();
    let project = context.get("projectId").and_then(Value::as_str);
    let suggested = match (tool, argument.name.as_str(), project) {
        (_, "format", _) => {
            return Ok(DesignExportFormat::ALL.iter().map(|format| format.name().to_owned()).collect());
        }
        (_, "projectId" | "copyOf", _) => {
            view::project_ids_with_prefix(&ProjectScope::for_call(&ctx.call).await?, typed).await
        }
        (_, "assetId", Some(project)) => suggest_asset_ids(ctx, project, typed).await,
        (_, "blockId" | "parentId" | "before" | "after", Some(project)) => {
            suggest_block_ids(ctx, project).await
        }
        (_, "type" | "names", project) => suggest_block_types(ctx, project).await,
        // Those that are built in cannot be defined anew.
        (Some("edit_block_type"), "name", Some(project)) => {
            custom_block_types(ctx, project).await.map(|own| own.into_iter().map(|own| own.name).collect())
        }
        (_, "mode", Some(project)) => suggest_modes(ctx, project).await,
        _ => return Ok(Vec::new()),
    };
    match suggested {
        // An unknown id is reported when it is used.
        Err(failure) if failure.is_not_found() => Ok(Vec::new()),
        suggested => suggested,
    }
}

/// The store, and a project in it that the caller may see.
async fn open_project(
    ctx: &RequestContext,
    project: &str,
) -> Result<(ProjectScope, ProjectId), RequestError> {
    let project_scope = ProjectScope::for_call(&ctx.call).await?;
    let project = project_scope.resolve_project_id(project)?;
    Ok((project_scope, project))
}

async fn suggest_asset_ids(
    ctx: &RequestContext,
    project: &str,
    typed: &str,
) -> Result<Vec<String>, RequestError> {
    let (project_scope, project) = open_project(ctx, project).await?;
    // A project has at most 1,000.
    let listed = project_scope.store().list_assets(&project_scope.account, &project, Page::ALL).await?;
    let ids = listed.value.items.iter().map(|asset| asset.id.to_string());
    Ok(ids.filter(|id| id.starts_with(typed)).take(SUGGESTION_QUERY_LIMIT as usize).collect())
}

async fn suggest_block_ids(ctx: &RequestContext, project: &str) -> Result<Vec<String>, RequestError> {
    let (project_scope, project) = open_project(ctx, project).await?;
    let pages = project_scope
        .store()
        .children(&project_scope.account, &project, None, Page::first(SUGGESTION_QUERY_LIMIT))
        .await?;
    Ok(pages.value.items.iter().map(|found| found.block.id.to_string()).collect())
}

async fn suggest_block_types(
    ctx: &RequestContext,
    project: Option<&str>,
) -> Result<Vec<String>, RequestError> {
    let own = match project {
        None => Vec::new(),
        Some(project) => custom_block_types(ctx, project).await?,
    };
    Ok(BlockTypes::with_custom(&own).all().map(|kind| kind.name.clone()).collect())
}

async fn custom_block_types(
    ctx: &RequestContext,
    project: &str,
) -> Result<Vec<CustomBlockType>, RequestError> {
    let (project_scope, project) = open_project(ctx, project).await?;
    Ok(project_scope.store().block_types(&project_scope.account, &project).await?.value)
}

async fn suggest_modes(ctx: &RequestContext, project: &str) -> Result<Vec<String>, RequestError> {
    let (project_scope, project) = open_project(ctx, project).await?;
    Ok(project_scope.store().design_system(&project_scope.account, &project).await?.value.modes())
}
