//! Views of projects and their contents.

use design_tokens::TokenFinding;
use projects::blocks::{Block, BlockNode};
use projects::{
    Asset, Cursor, FieldSelection, Page, Project, ProjectFields, ProjectId, ProjectStatus, ProjectUsage,
    Version,
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use crate::app::project_scope::{ProjectScope, WriteOptions};
use crate::error::{MAX_RESPONSE_BYTES, RequestError};
use crate::rpc::resources::projects::{SUGGESTION_QUERY_LIMIT, asset_uri, design_system_uri};

use super::{NestedFields, parse_selection};

/// A project without its contents.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProjectView {
    pub(crate) id: String,
    pub(crate) name: String,
    slug: String,
    description: String,
    /// `draft`, or `published` if a version is published.
    status: String,
    /// Incremented by every write; `ifRevision` compares it.
    revision: u64,
    created_at: String,
    updated_at: String,
    /// The published version.
    #[serde(skip_serializing_if = "Option::is_none")]
    published_version: Option<u32>,
    /// Whether the draft differs from the published version.
    has_changes: bool,
    metadata: Map<String, Value>,
    usage: UsageView,
    /// URI of the resource with its design tokens.
    design_system: String,
    /// Dry run: nothing was written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) dry_run: bool,
}

/// The size of a project.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UsageView {
    blocks: u64,
    block_bytes: u64,
    block_types: u64,
    assets: u64,
    asset_bytes: u64,
    versions: u64,
}

impl UsageView {
    const FIELDS: [&'static str; 6] =
        ["blocks", "blockBytes", "blockTypes", "assets", "assetBytes", "versions"];
}

impl ProjectView {
    const FIELDS: [&'static str; 13] = [
        "id",
        "name",
        "slug",
        "description",
        "status",
        "revision",
        "createdAt",
        "updatedAt",
        "publishedVersion",
        "hasChanges",
        "metadata",
        "usage",
        "designSystem",
    ];
    const NESTED_FIELDS: [NestedFields<'static>; 2] =
        [("usage", Some(&UsageView::FIELDS)), ("metadata", None)];

    pub(crate) fn parse_selection(names: &[String]) -> Result<FieldSelection, RequestError> {
        parse_selection(names, &Self::FIELDS, &Self::NESTED_FIELDS)
    }

    /// The project as it is after a write, or would be.
    pub(crate) fn after_write(project: Project, options: WriteOptions) -> Self {
        Self { dry_run: options.dry_run, ..Self::from_project(project) }
    }

    pub(crate) fn from_project(project: Project) -> Self {
        let ProjectUsage { blocks, block_bytes, types, assets, asset_bytes, versions, .. } = project.usage;
        let (status, has_changes) = (project.status(), project.has_unpublished_changes());
        let ProjectFields { name, slug, description, metadata } = project.fields;
        Self {
            id: project.id.to_string(),
            name,
            slug,
            description,
            status: match status {
                ProjectStatus::Draft => "draft".to_owned(),
                ProjectStatus::Published => "published".to_owned(),
            },
            revision: project.revision,
            created_at: project.created.to_string(),
            updated_at: project.updated.to_string(),
            published_version: project.published.map(|published| published.version),
            has_changes,
            metadata,
            usage: UsageView { blocks, block_bytes, block_types: types, assets, asset_bytes, versions },
            design_system: design_system_uri(&project.id),
            dry_run: false,
        }
    }
}

/// A block in a list.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BlockView {
    id: String,
    r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    props: Option<Map<String, Value>>,
}

impl BlockView {
    pub(crate) fn full(block: Block) -> Self {
        Self {
            id: block.id.to_string(),
            r#type: block.kind,
            parent_id: block.parent.map(|parent| parent.to_string()),
            props: Some(block.props),
        }
    }

    /// Without its props, which its creator knows.
    pub(crate) fn brief(block: Block) -> Self {
        Self { props: None, ..Self::full(block) }
    }
}

/// A block in a tree, or some of its fields.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeView {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    props: Option<Value>,
    /// Number of children that were not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    children: Vec<NodeView>,
}

impl NodeView {
    const FIELDS: [&'static str; 6] = ["id", "type", "parentId", "props", "children", "more"];

    pub(crate) fn parse_selection(names: &[String]) -> Result<FieldSelection, RequestError> {
        parse_selection(names, &Self::FIELDS, &[("props", None)])
    }

    /// Children are part of every selection: without them there is no tree.
    pub(crate) fn from_node(node: BlockNode, selection: &FieldSelection) -> Self {
        let BlockNode { block, children, hidden } = node;
        let wanted = |name: &str| selection.includes(name);
        let props = if *selection == FieldSelection::ALL {
            Some(Value::Object(block.props))
        } else {
            let props = Map::from_iter([("props".to_owned(), Value::Object(block.props))]);
            selection.apply(props).remove("props")
        };
        Self {
            id: block.id.to_string(),
            r#type: wanted("type").then_some(block.kind),
            parent_id: block.parent.filter(|_| wanted("parentId")).map(|parent| parent.to_string()),
            props,
            // Always included: it shows where the tree was cut.
            more: Some(hidden).filter(|hidden| *hidden > 0),
            children: children.into_iter().map(|child| Self::from_node(child, selection)).collect(),
        }
    }
}

/// An asset without its content.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AssetView {
    id: String,
    name: String,
    content_type: &'static str,
    bytes: u64,
    /// SHA-256.
    digest: String,
    created_at: String,
    alt: String,
    /// URI of the resource with its content.
    uri: String,
}

impl AssetView {
    const FIELDS: [&'static str; 8] =
        ["id", "name", "contentType", "bytes", "digest", "createdAt", "alt", "uri"];

    pub(crate) fn parse_selection(names: &[String]) -> Result<FieldSelection, RequestError> {
        parse_selection(names, &Self::FIELDS, &[])
    }

    pub(crate) fn from_asset(project: &ProjectId, asset: &Asset) -> Self {
        Self {
            id: asset.id.to_string(),
            name: asset.name.clone(),
            content_type: asset.content_type.as_str(),
            bytes: asset.bytes,
            digest: asset.digest.to_string(),
            created_at: asset.created.to_string(),
            alt: asset.alt.clone(),
            uri: asset_uri(project, &asset.id),
        }
    }
}

/// A version without its contents.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VersionView {
    version: u32,
    note: String,
    created_at: String,
    revision: u64,
    blocks: u64,
    bytes: u64,
}

impl VersionView {
    pub(crate) fn from_version(version: &Version) -> Self {
        Self {
            version: version.number,
            note: version.note.clone(),
            created_at: version.created.to_string(),
            revision: version.revision,
            blocks: version.blocks,
            bytes: version.bytes,
        }
    }
}

/// A problem of a design system.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FindingView {
    /// The token, group, or part of a value.
    path: String,
    /// `error` or `warning`.
    severity: &'static str,
    message: String,
}

impl FindingView {
    pub(crate) fn from_finding(finding: &TokenFinding) -> Self {
        let severity = if finding.is_error() { "error" } else { "warning" };
        Self { path: finding.path.clone(), severity, message: finding.message.clone() }
    }
}

/// A value with all its fields, or only those that the caller selected.
pub(crate) enum SelectedFields<T> {
    Full(T),
    Partial(Map<String, Value>),
}

impl<T: Serialize> SelectedFields<T> {
    pub(crate) fn new(whole: T, selection: &FieldSelection) -> Result<Self, RequestError> {
        if *selection == FieldSelection::ALL {
            return Ok(Self::Full(whole));
        }
        match serde_json::to_value(whole) {
            Ok(Value::Object(object)) => Ok(Self::Partial(selection.apply(object))),
            Ok(_) => Err(RequestError::internal("a value with selected fields is not an object")),
            Err(error) => Err(RequestError::internal(error)),
        }
    }
}

impl<T: Serialize> Serialize for SelectedFields<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Full(whole) => whole.serialize(serializer),
            Self::Partial(part) => part.serialize(serializer),
        }
    }
}

impl<T: JsonSchema> JsonSchema for SelectedFields<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        // A selection may omit any field.
        schema.remove("required");
        schema
    }
}

/// How many projects are in memory at a time. Each may take some hundred kilobytes.
const MAX_PROJECTS_PER_BATCH: u32 = 200;

/// Calls `show` for each project that the caller may see. Returns where to continue if there are more.
pub(crate) async fn for_each_visible_project(
    scope: &ProjectScope,
    page: Page,
    mut show: impl FnMut(Project) -> Result<(), RequestError>,
) -> Result<Option<Cursor>, RequestError> {
    let Page { mut after, limit: mut left } = page;
    loop {
        let limit = left.map_or(MAX_PROJECTS_PER_BATCH, |left| left.min(MAX_PROJECTS_PER_BATCH));
        let (projects, next) = visible_projects(scope, Page { after, limit: Some(limit) }).await?;
        left = left.map(|left| left - limit);
        projects.into_iter().try_for_each(&mut show)?;
        if next.is_none() || left == Some(0) {
            return Ok(next);
        }
        after = next;
    }
}

/// The projects that the caller may see, as one JSON array. An error if they do not fit into a response:
/// a list is never cut unless the caller asked for it.
pub(crate) async fn visible_projects_json<T: Serialize>(
    scope: &ProjectScope,
    page: Page,
    view: impl Fn(Project) -> Result<T, RequestError>,
) -> Result<(Box<RawValue>, Option<Cursor>), RequestError> {
    let (mut shown, mut bytes) = (Vec::new(), 0);
    let add = |project: Project| {
        let one = to_raw_value(&view(project)?).map_err(RequestError::internal)?;
        // Plus one for the comma.
        bytes += one.get().len() + 1;
        shown.push(one);
        if bytes > MAX_RESPONSE_BYTES { Err(RequestError::ResponseTooLarge) } else { Ok(()) }
    };
    let next = for_each_visible_project(scope, page, add).await?;
    Ok((to_raw_value(&shown).map_err(RequestError::internal)?, next))
}

/// One page of the projects that the caller may see.
pub(crate) async fn visible_projects(
    scope: &ProjectScope,
    page: Page,
) -> Result<(Vec<Project>, Option<Cursor>), RequestError> {
    let Some(only) = scope.bound_project() else {
        let listed = scope.store().list_projects(&scope.account, page).await?;
        return Ok((listed.items, listed.next));
    };
    let found = match scope.resolve_project_id(only) {
        Ok(id) => scope.store().project(&scope.account, &id).await.map_err(RequestError::from),
        Err(failure) => Err(failure),
    };
    match found {
        Ok(project) => {
            let is_next = page.after.is_none_or(|after| project.cursor() > after);
            Ok((if is_next { vec![project] } else { Vec::new() }, None))
        }
        Err(failure) if failure.is_not_found() => Ok((Vec::new(), None)),
        Err(failure) => Err(failure),
    }
}

/// The ids with this prefix among the projects that the caller may see.
pub(crate) async fn project_ids_with_prefix(
    scope: &ProjectScope,
    typed: &str,
) -> Result<Vec<String>, RequestError> {
    let found = match scope.bound_project() {
        Some(_) => visible_projects(scope, Page::ALL).await?.0,
        None => scope.store().projects_with_id_prefix(&scope.account, typed, SUGGESTION_QUERY_LIMIT).await?,
    };
    Ok(found.into_iter().map(|project| project.id.to_string()).collect())
}
