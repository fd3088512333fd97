//! What the caller owns, as resources: the list of their projects, design systems, assets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use design_tokens::export::Options;
use projects::{AssetId, Cursor, CustomType, Page, Project, ProjectId, Types};
use protocol::Dialect;
use protocol::mcp::{Argument, Resource, ResourceBody, ResourceTemplate};
use serde_json::{Map, Value};

use crate::Language;
use crate::app::project_scope::{Changed, Desk};
use crate::error::Failure;
use crate::rpc::context::Context;
use crate::tools::support::projects::export::Format;
use crate::tools::support::projects::view;

/// The tool whose projects are resources: where it is not served they are not either.
pub(crate) const READER: &str = "list_projects";

const LIST: &str = "codefluss://projects";
const DESIGN_PREFIX: &str = "codefluss://design-system/";
const ASSET_PREFIX: &str = "codefluss://assets/";
const DESIGN: &str = "codefluss://design-system/{projectId}";
const EXPORT: &str = "codefluss://design-system/{projectId}/{format}";
const ASSET: &str = "codefluss://assets/{projectId}/{assetId}";
const JSON: &str = "application/json";
/// The ids that are looked for at most: one more than are suggested, to know whether there are more.
pub(crate) const SUGGESTED: u32 = 101;

/// What an address means.
enum Address<'a> {
    List,
    Design { project: &'a str, format: Option<&'a str> },
    Asset { project: &'a str, asset: &'a str },
}

impl<'a> Address<'a> {
    fn parse(uri: &'a str) -> Option<Self> {
        if uri == LIST {
            return Some(Self::List);
        }
        if let Some(rest) = uri.strip_prefix(DESIGN_PREFIX) {
            let (project, format) =
                rest.split_once('/').map_or((rest, None), |(project, format)| (project, Some(format)));
            return Some(Self::Design { project, format });
        }
        let (project, asset) = uri.strip_prefix(ASSET_PREFIX)?.split_once('/')?;
        Some(Self::Asset { project, asset })
    }
}

/// Where the design system of a project is.
pub(crate) fn design_uri(project: &ProjectId) -> String {
    format!("{DESIGN_PREFIX}{project}")
}

/// Where the content of an asset is.
pub(crate) fn asset_uri(project: &ProjectId, asset: &AssetId) -> String {
    format!("{ASSET_PREFIX}{project}/{asset}")
}

/// Whether there are resources of the caller's own.
pub(crate) fn is_served(ctx: &Context) -> bool {
    ctx.app().catalog().find(READER).is_some()
}

/// Whether the resource at this address is another one since something of a project has changed.
pub(crate) fn tells_of(uri: &str, changed_project: &str, changed: &Changed) -> bool {
    let is_whole = matches!(changed, Changed::List | Changed::Everything);
    match Address::parse(uri) {
        None => false,
        // It names revisions, and every write makes one.
        Some(Address::List) => true,
        Some(Address::Design { project, .. }) => {
            project == changed_project && (is_whole || *changed == Changed::Design)
        }
        Some(Address::Asset { project, asset }) => {
            let is_it = matches!(changed, Changed::Asset(changed) if **changed == *asset);
            project == changed_project && (is_whole || is_it)
        }
    }
}

/// The resources that are always there. The CODEFLUSS document lists the template among them (contract row 15).
pub(crate) fn fixed(ctx: &Context) -> Vec<Resource> {
    if !is_served(ctx) {
        return Vec::new();
    }
    let (all, tokens) = match ctx.connection.rules().language() {
        Language::English => ("All projects of the user", "Design tokens of a project"),
        Language::German => ("Alle Projekte des Benutzers", "Design Tokens eines Projekts"),
    };
    let list = resource(LIST.to_owned(), "Projects", all);
    let template = resource(DESIGN.to_owned(), "Design System", tokens);
    let template = (ctx.dialect == Dialect::Codefluss).then_some(template);
    std::iter::once(list).chain(template).collect()
}

fn resource(uri: String, name: &str, description: &str) -> Resource {
    let (name, description) = (name.to_owned(), description.to_owned());
    Resource { uri, name, title: None, description, mime_type: JSON }
}

/// The design systems of the caller's projects, from a place in their list on.
pub(crate) async fn design_systems(
    ctx: &Context,
    after: Option<Cursor>,
    limit: Option<u32>,
) -> Result<(Vec<Resource>, Option<Cursor>), Failure> {
    if !is_served(ctx) {
        return Ok((Vec::new(), None));
    }
    let desk = Desk::of(&ctx.call).await?;
    let tokens = match ctx.connection.rules().language() {
        Language::English => "Design tokens of this project",
        Language::German => "Design Tokens dieses Projekts",
    };
    let entry = |project: &Project| Resource {
        title: Some(format!("Design system of {}", project.fields.name)),
        ..resource(design_uri(&project.id), &project.fields.name, tokens)
    };
    let mut resources = Vec::new();
    let add = |project: Project| {
        resources.push(entry(&project));
        Ok(())
    };
    let next = view::each(&desk, Page { after, limit }, add).await?;
    Ok((resources, next))
}

/// Families of resources.
pub(crate) fn templates(ctx: &Context) -> Vec<ResourceTemplate> {
    if !is_served(ctx) {
        return Vec::new();
    }
    let template = |uri_template, name, description| ResourceTemplate {
        uri_template,
        name,
        description,
        mime_type: JSON,
    };
    vec![
        template(DESIGN, "design-system", "The design tokens of a project, in the format of the W3C group."),
        ResourceTemplate {
            mime_type: "text/plain",
            ..template(EXPORT, "design-system-export", "The same for a tool: css, scss, tailwind, json …")
        },
        ResourceTemplate {
            mime_type: "application/octet-stream",
            ..template(ASSET, "asset", "The content of an asset, with its own type.")
        },
    ]
}

/// What is at an address: its type and content.
pub(crate) async fn read(ctx: &Context, uri: &str) -> Result<Option<(&'static str, ResourceBody)>, Failure> {
    let Some(address) = Address::parse(uri).filter(|_| is_served(ctx)) else { return Ok(None) };
    let desk = Desk::of(&ctx.call).await?;
    let found = match address {
        Address::List => list(&desk).await,
        Address::Design { project, format } => design(&desk, project, format).await,
        Address::Asset { project, asset } => content(&desk, project, asset).await,
    };
    match found {
        Ok(found) => Ok(found),
        Err(failure) if failure.is_absent() => Ok(None),
        Err(failure) => Err(failure),
    }
}

type Found = Result<Option<(&'static str, ResourceBody)>, Failure>;

async fn list(desk: &Desk) -> Found {
    let (projects, _) = view::listed(desk, Page::ALL, |project| Ok(view::ProjectView::of(project))).await?;
    Ok(Some((JSON, ResourceBody::Text(projects.get().to_owned()))))
}

async fn design(desk: &Desk, project: &str, format: Option<&str>) -> Found {
    let project = desk.project(project)?;
    let design = desk.store().design_system(&desk.account, &project).await?.value;
    let Some(format) = format else {
        return Ok(Some((JSON, ResourceBody::Text(desk.aside(move || Ok(design.pretty())).await?))));
    };
    let Some(format) = Format::named(format) else { return Ok(None) };
    let text = desk.aside(move || Ok(format.export(&design, &Options::default()).text)).await?;
    Ok(Some((format.mime_type(), ResourceBody::Text(text))))
}

async fn content(desk: &Desk, project: &str, asset: &str) -> Found {
    let (project, asset) = (desk.project(project)?, AssetId::parse(asset)?);
    let (asset, bytes) = desk.store().asset_content(&desk.account, &project, &asset).await?.value;
    Ok(Some((asset.content_type.as_str(), ResourceBody::Blob(STANDARD.encode(bytes)))))
}

/// Whether there is such a resource for the caller.
pub(crate) async fn exists(ctx: &Context, uri: &str) -> Result<bool, Failure> {
    let Some(address) = Address::parse(uri).filter(|_| is_served(ctx)) else { return Ok(false) };
    let desk = Desk::of(&ctx.call).await?;
    let looked_up = async {
        match address {
            Address::List => Ok::<_, Failure>(true),
            Address::Design { project, format } => {
                desk.store().project(&desk.account, &desk.project(project)?).await?;
                Ok(format.is_none_or(|format| Format::named(format).is_some()))
            }
            Address::Asset { project, asset } => {
                let (project, asset) = (desk.project(project)?, AssetId::parse(asset)?);
                Ok(desk.store().asset(&desk.account, &project, &asset).await.map(|_| true)?)
            }
        }
    };
    match looked_up.await {
        Err(failure) if failure.is_absent() => Ok(false),
        answer => answer,
    }
}

/// The names in a template of ours, if it is one.
pub(crate) fn names(template: &str) -> Option<&'static [&'static str]> {
    match template {
        DESIGN => Some(&["projectId"]),
        EXPORT => Some(&["projectId", "format"]),
        ASSET => Some(&["projectId", "assetId"]),
        _ => None,
    }
}

/// What could stand in an argument of this name, of a template or of a tool.
pub(crate) async fn suggest(
    ctx: &Context,
    tool: Option<&str>,
    argument: &Argument,
    context: &Map<String, Value>,
) -> Result<Vec<String>, Failure> {
    let typed = argument.value.as_str();
    let project = context.get("projectId").and_then(Value::as_str);
    let suggested = match (tool, argument.name.as_str(), project) {
        (_, "format", _) => return Ok(Format::ALL.iter().map(|format| format.name().to_owned()).collect()),
        (_, "projectId" | "copyOf", _) => view::beginning(&Desk::of(&ctx.call).await?, typed).await,
        (_, "assetId", Some(project)) => assets(ctx, project, typed).await,
        (_, "blockId" | "parentId" | "before" | "after", Some(project)) => blocks(ctx, project).await,
        (_, "type" | "names", project) => types(ctx, project).await,
        // Those that are built in cannot be defined anew.
        (Some("edit_block_type"), "name", Some(project)) => {
            own_types(ctx, project).await.map(|own| own.into_iter().map(|own| own.name).collect())
        }
        (_, "mode", Some(project)) => modes(ctx, project).await,
        _ => return Ok(Vec::new()),
    };
    match suggested {
        // Whoever types an id that is not there is told so when they use it.
        Err(failure) if failure.is_absent() => Ok(Vec::new()),
        suggested => suggested,
    }
}

/// The store, and a project in it that the caller may see.
async fn opened(ctx: &Context, project: &str) -> Result<(Desk, ProjectId), Failure> {
    let desk = Desk::of(&ctx.call).await?;
    let project = desk.project(project)?;
    Ok((desk, project))
}

async fn assets(ctx: &Context, project: &str, typed: &str) -> Result<Vec<String>, Failure> {
    let (desk, project) = opened(ctx, project).await?;
    // A project has at most 1,000.
    let listed = desk.store().list_assets(&desk.account, &project, Page::ALL).await?;
    let ids = listed.value.items.iter().map(|asset| asset.id.to_string());
    Ok(ids.filter(|id| id.starts_with(typed)).take(SUGGESTED as usize).collect())
}

async fn blocks(ctx: &Context, project: &str) -> Result<Vec<String>, Failure> {
    let (desk, project) = opened(ctx, project).await?;
    let pages = desk.store().children(&desk.account, &project, None, Page::first(SUGGESTED)).await?;
    Ok(pages.value.items.iter().map(|found| found.block.id.to_string()).collect())
}

async fn types(ctx: &Context, project: Option<&str>) -> Result<Vec<String>, Failure> {
    let own = match project {
        None => Vec::new(),
        Some(project) => own_types(ctx, project).await?,
    };
    Ok(Types::with(&own).all().map(|kind| kind.name.clone()).collect())
}

async fn own_types(ctx: &Context, project: &str) -> Result<Vec<CustomType>, Failure> {
    let (desk, project) = opened(ctx, project).await?;
    Ok(desk.store().block_types(&desk.account, &project).await?.value)
}

async fn modes(ctx: &Context, project: &str) -> Result<Vec<String>, Failure> {
    let (desk, project) = opened(ctx, project).await?;
    Ok(desk.store().design_system(&desk.account, &project).await?.value.modes())
}
