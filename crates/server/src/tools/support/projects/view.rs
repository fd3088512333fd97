//! How projects and what is in them are shown.

use design_tokens::Finding;
use projects::blocks::{Block, Node};
use projects::{Asset, Cursor, Fields, Page, Project, ProjectId, Selection, Status, Usage, Version};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use crate::app::project_scope::{Desk, Guard};
use crate::error::{Failure, LARGEST_ANSWER};
use crate::rpc::resources::projects::{SUGGESTED, asset_uri, design_uri};

use super::{Holds, selection};

/// A project without what is in it.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProjectView {
    pub(crate) id: String,
    pub(crate) name: String,
    slug: String,
    description: String,
    /// `draft`, or `published` if a version is.
    status: String,
    /// Grows with every write; `ifRevision` compares it.
    revision: u64,
    created_at: String,
    updated_at: String,
    /// The version that is published.
    #[serde(skip_serializing_if = "Option::is_none")]
    published_version: Option<u32>,
    /// Whether the draft is not what is published.
    has_changes: bool,
    metadata: Map<String, Value>,
    usage: UsageView,
    /// The resource with its design tokens.
    design_system: String,
    /// It was only tried: nothing was written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) dry_run: bool,
}

/// How much is in a project.
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
    /// Its members.
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
    const HOLDING: [Holds<'static>; 2] = [("usage", Some(&UsageView::FIELDS)), ("metadata", None)];

    /// The members that are wanted.
    pub(crate) fn selection(names: &[String]) -> Result<Selection, Failure> {
        selection(names, &Self::FIELDS, &Self::HOLDING)
    }

    /// As it is after a write, or would be.
    pub(crate) fn written(project: Project, guard: Guard) -> Self {
        Self { dry_run: guard.dry_run, ..Self::of(project) }
    }

    pub(crate) fn of(project: Project) -> Self {
        let Usage { blocks, block_bytes, types, assets, asset_bytes, versions, .. } = project.usage;
        let (status, has_changes) = (project.status(), project.has_changes());
        let Fields { name, slug, description, metadata } = project.fields;
        Self {
            id: project.id.to_string(),
            name,
            slug,
            description,
            status: match status {
                Status::Draft => "draft".to_owned(),
                Status::Published => "published".to_owned(),
            },
            revision: project.revision,
            created_at: project.created.to_string(),
            updated_at: project.updated.to_string(),
            published_version: project.published.map(|published| published.version),
            has_changes,
            metadata,
            usage: UsageView { blocks, block_bytes, block_types: types, assets, asset_bytes, versions },
            design_system: design_uri(&project.id),
            dry_run: false,
        }
    }
}

/// A block as lists show it.
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
    /// With everything that it says.
    pub(crate) fn whole(block: Block) -> Self {
        Self {
            id: block.id.to_string(),
            r#type: block.kind,
            parent_id: block.parent.map(|parent| parent.to_string()),
            props: Some(block.props),
        }
    }

    /// Without its props, which whoever created it knows.
    pub(crate) fn brief(block: Block) -> Self {
        Self { props: None, ..Self::whole(block) }
    }
}

/// A block in a tree, or a part of what it says.
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
    /// How many are directly inside that were not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    children: Vec<NodeView>,
}

impl NodeView {
    /// What can be selected.
    const FIELDS: [&'static str; 6] = ["id", "type", "parentId", "props", "children", "more"];

    /// The members that are wanted.
    pub(crate) fn selection(names: &[String]) -> Result<Selection, Failure> {
        selection(names, &Self::FIELDS, &[("props", None)])
    }

    /// What is inside is part of every selection: without it nobody would see the tree.
    pub(crate) fn of(node: Node, selection: &Selection) -> Self {
        let Node { block, children, hidden } = node;
        let wanted = |name: &str| selection.wants(name);
        let props = if *selection == Selection::ALL {
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
            // Nor would they see where it was cut.
            more: Some(hidden).filter(|hidden| *hidden > 0),
            children: children.into_iter().map(|child| Self::of(child, selection)).collect(),
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
    /// The resource with its content.
    uri: String,
}

impl AssetView {
    /// Its members.
    const FIELDS: [&'static str; 8] =
        ["id", "name", "contentType", "bytes", "digest", "createdAt", "alt", "uri"];

    /// The members that are wanted.
    pub(crate) fn selection(names: &[String]) -> Result<Selection, Failure> {
        selection(names, &Self::FIELDS, &[])
    }

    pub(crate) fn of(project: &ProjectId, asset: &Asset) -> Self {
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

/// A version without what is in it.
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
    pub(crate) fn of(version: &Version) -> Self {
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

/// Something that is wrong with a design system.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FindingView {
    /// The token, group, or part of a value.
    path: String,
    /// `error` or `warning`.
    severity: &'static str,
    message: String,
}

impl FindingView {
    pub(crate) fn of(finding: &Finding) -> Self {
        let severity = if finding.is_error() { "error" } else { "warning" };
        Self { path: finding.path.clone(), severity, message: finding.message.clone() }
    }
}

/// Something of which the caller wants to see all, or a part.
pub(crate) enum Selected<T> {
    Whole(T),
    Part(Map<String, Value>),
}

impl<T: Serialize> Selected<T> {
    pub(crate) fn of(whole: T, selection: &Selection) -> Result<Self, Failure> {
        if *selection == Selection::ALL {
            return Ok(Self::Whole(whole));
        }
        match serde_json::to_value(whole) {
            Ok(Value::Object(object)) => Ok(Self::Part(selection.apply(object))),
            Ok(_) => Err(Failure::internal("what was to be shown in part is not an object")),
            Err(error) => Err(Failure::internal(error)),
        }
    }
}

impl<T: Serialize> Serialize for Selected<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Whole(whole) => whole.serialize(serializer),
            Self::Part(part) => part.serialize(serializer),
        }
    }
}

impl<T: JsonSchema> JsonSchema for Selected<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        // Whoever selects gets less.
        schema.remove("required");
        schema
    }
}

/// How many projects are in memory at a time. Each may be some hundred kilobytes there.
const AT_ONCE: u32 = 200;

/// Shows the projects that a caller may see, one after the other, and says where to go on if that were not all.
pub(crate) async fn each(
    desk: &Desk,
    page: Page,
    mut show: impl FnMut(Project) -> Result<(), Failure>,
) -> Result<Option<Cursor>, Failure> {
    let Page { mut after, limit: mut left } = page;
    loop {
        let limit = left.map_or(AT_ONCE, |left| left.min(AT_ONCE));
        let (projects, next) = visible(desk, Page { after, limit: Some(limit) }).await?;
        left = left.map(|left| left - limit);
        projects.into_iter().try_for_each(&mut show)?;
        if next.is_none() || left == Some(0) {
            return Ok(next);
        }
        after = next;
    }
}

/// The projects that a caller may see as one JSON array, if that fits into an answer: nothing is cut that nobody asked
/// to be cut.
pub(crate) async fn listed<T: Serialize>(
    desk: &Desk,
    page: Page,
    view: impl Fn(Project) -> Result<T, Failure>,
) -> Result<(Box<RawValue>, Option<Cursor>), Failure> {
    let (mut shown, mut bytes) = (Vec::new(), 0);
    let add = |project: Project| {
        let one = to_raw_value(&view(project)?).map_err(Failure::internal)?;
        // With what stands between it and the next.
        bytes += one.get().len() + 1;
        shown.push(one);
        if bytes > LARGEST_ANSWER { Err(Failure::AnswerTooLarge) } else { Ok(()) }
    };
    let next = each(desk, page, add).await?;
    Ok((to_raw_value(&shown).map_err(Failure::internal)?, next))
}

/// The projects that a caller may see, from a place on.
pub(crate) async fn visible(desk: &Desk, page: Page) -> Result<(Vec<Project>, Option<Cursor>), Failure> {
    let Some(only) = desk.only() else {
        let listed = desk.store().list_projects(&desk.account, page).await?;
        return Ok((listed.items, listed.next));
    };
    let found = match desk.project(only) {
        Ok(id) => desk.store().project(&desk.account, &id).await.map_err(Failure::from),
        Err(failure) => Err(failure),
    };
    match found {
        Ok(project) => {
            let is_next = page.after.is_none_or(|after| project.cursor() > after);
            Ok((if is_next { vec![project] } else { Vec::new() }, None))
        }
        Err(failure) if failure.is_absent() => Ok((Vec::new(), None)),
        Err(failure) => Err(failure),
    }
}

/// The ids of projects that begin like this, as far as the caller may see them.
pub(crate) async fn beginning(desk: &Desk, typed: &str) -> Result<Vec<String>, Failure> {
    let found = match desk.only() {
        Some(_) => visible(desk, Page::ALL).await?.0,
        None => desk.store().projects_beginning(&desk.account, typed, SUGGESTED).await?,
    };
    Ok(found.into_iter().map(|project| project.id.to_string()).collect())
}
