//! `get_blocks`: pages and blocks, as a tree or as HTML.

use std::collections::BTreeMap;

use design_tokens::TokenDocument;
use projects::blocks::{BlockNode, BlockTree, build_nodes};
use projects::render::{self, AssetLink};
use projects::{
    Asset, AssetId, AtRevision, BlockEntry, BlockId, FieldSelection, Page, ProjectContent, ProjectId,
    TreeQuery,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::support::projects::ListCursors;
use super::support::projects::argument_rules::{self, optional};
use super::support::projects::view::NodeView;
use super::{Effect, Tool, ToolSpec, Toolset};
use crate::ToolContext;
use crate::app::project_scope::ProjectScope;
use crate::error::RequestError;

/// Limit for the blocks in one reply.
const MAX_BLOCKS: u32 = 500;
/// Levels to read without `depth`.
const DEFAULT_DEPTH: u32 = 3;
/// Limit for the blocks rendered at once.
const RENDER_QUERY: TreeQuery = TreeQuery { depth: u32::MAX, max_blocks: 5_000 };
/// How often a page is read because of concurrent writes. After that, an inconsistent read is accepted.
const MAX_READ_ATTEMPTS: u32 = 4;

/// Read pages and blocks of a project: all pages, or one block and its children, as JSON or HTML.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    project_id: String,
    /// Page or block; default: all pages.
    block_id: Option<String>,
    /// List all blocks in the project whose props contain this text.
    #[schemars(length(min = 1, max = 200))]
    find: Option<String>,
    /// Levels to read: 1 is the block itself, or the pages; default: 3.
    #[schemars(range(min = 1, max = 32))]
    depth: Option<u32>,
    /// List direct children, at most this many, instead of a tree.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
    cursor: Option<String>,
    /// `html` renders one block or page.
    #[serde(default)]
    format: BlockFormat,
    /// A published version instead of the draft.
    version: Option<u32>,
    /// Only these fields: type, props, more …
    #[serde(default)]
    fields: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum BlockFormat {
    #[default]
    Json,
    Html,
}

/// Blocks.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reply {
    /// The revision at which they were read.
    revision: u64,
    /// Trees of `id`, `type`, `parentId`, `props`, `children`; `more` counts children that were not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<Value>>")]
    blocks: Option<Vec<NodeView>>,
    /// Number of blocks that contain the text, listed or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    matches: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// The blocks as HTML; a page as a complete document.
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<String>,
}

pub(crate) struct GetBlocks;

impl Tool for GetBlocks {
    const SPEC: ToolSpec = ToolSpec {
        name: "get_blocks",
        title: "Read blocks",
        toolset: Toolset::Projects,
        effect: Effect::ReadOnly,
    };
    type Args = Args;
    type Reply = Reply;

    async fn call(&self, call: ToolContext, args: Args) -> Result<Reply, RequestError> {
        let way = parse_read_mode(&args)?;
        let selection = NodeView::parse_selection(&args.fields)?;
        let project_scope = ProjectScope::for_call(&call).await?;
        let id = project_scope.resolve_project_id(&args.project_id)?;
        let block = args.block_id.as_deref().map(BlockId::parse).transpose()?;
        match way {
            ReadMode::Html => render_html(&project_scope, &id, block.as_ref(), &args).await,
            ReadMode::Find => find_blocks(&project_scope, &id, &args, &selection).await,
            ReadMode::List => list_children(&project_scope, &id, block.as_ref(), &args, &selection).await,
            ReadMode::Tree => {
                let access = TreeQuery { depth: args.depth.unwrap_or(DEFAULT_DEPTH), max_blocks: MAX_BLOCKS };
                let found = read_tree(&project_scope, &id, block.as_ref(), &args, access).await?;
                let blocks = build_nodes(found.value)
                    .into_iter()
                    .map(|one| NodeView::from_node(one, &selection))
                    .collect();
                Ok(Reply { revision: found.revision, blocks: Some(blocks), ..Reply::default() })
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadMode {
    Tree,
    List,
    Find,
    Html,
}

/// The read mode that the arguments select. Rejects arguments that do not go together.
fn parse_read_mode(args: &Args) -> Result<ReadMode, RequestError> {
    let (way, what) = match args.format {
        BlockFormat::Html => (ReadMode::Html, "format"),
        BlockFormat::Json if args.find.is_some() => (ReadMode::Find, "search"),
        BlockFormat::Json if args.limit.is_some() || args.cursor.is_some() => (ReadMode::List, "list"),
        BlockFormat::Json => (ReadMode::Tree, "tree"),
    };
    let table = [
        optional("depth", args.depth.is_some(), &[ReadMode::Tree]),
        optional("blockId", args.block_id.is_some(), &[ReadMode::Tree, ReadMode::List, ReadMode::Html]),
        optional("find", args.find.is_some(), &[ReadMode::Find]),
        optional("limit", args.limit.is_some(), &[ReadMode::List, ReadMode::Find]),
        optional("cursor", args.cursor.is_some(), &[ReadMode::List]),
        optional("fields", !args.fields.is_empty(), &[ReadMode::Tree, ReadMode::List, ReadMode::Find]),
    ];
    argument_rules::check_rules("", what, &way, &table)?;
    Ok(way)
}

/// A tree of the draft or of a version.
async fn read_tree(
    scope: &ProjectScope,
    id: &ProjectId,
    block: Option<&BlockId>,
    args: &Args,
    query: TreeQuery,
) -> Result<AtRevision<Vec<BlockEntry>>, RequestError> {
    let Some(version) = args.version else {
        return Ok(scope.store().blocks(&scope.account, id, block, query).await?);
    };
    let (version, ProjectContent { blocks, .. }) = scope.store().version(&scope.account, id, version).await?;
    Ok(AtRevision { revision: version.revision, value: BlockTree::from_blocks(blocks).query(block, query)? })
}

/// The blocks that contain a text, without children.
async fn find_blocks(
    scope: &ProjectScope,
    id: &ProjectId,
    args: &Args,
    selection: &FieldSelection,
) -> Result<Reply, RequestError> {
    let text = args.find.as_deref().unwrap_or_default();
    let found = match args.version {
        None => scope.store().find_blocks(&scope.account, id, text).await?,
        Some(version) => {
            let (version, ProjectContent { blocks, .. }) =
                scope.store().version(&scope.account, id, version).await?;
            let value = blocks.into_iter().filter(|block| block.contains_text(text)).collect();
            AtRevision { revision: version.revision, value }
        }
    };
    let (matches, limit) = (found.value.len(), args.limit.unwrap_or(MAX_BLOCKS) as usize);
    let bare = |block| NodeView::from_node(BlockNode { block, children: Vec::new(), hidden: 0 }, selection);
    let blocks = found.value.into_iter().take(limit).map(bare).collect();
    Ok(Reply { revision: found.revision, blocks: Some(blocks), matches: Some(matches), ..Reply::default() })
}

/// The direct children, page by page.
async fn list_children(
    scope: &ProjectScope,
    id: &ProjectId,
    block: Option<&BlockId>,
    args: &Args,
    selection: &FieldSelection,
) -> Result<Reply, RequestError> {
    let list = ListCursors::new(("blocks", id.as_str(), block.map(BlockId::as_str), args.version));
    let page = list.page(args.cursor.as_deref(), args.limit.or(Some(MAX_BLOCKS)))?;
    let listed = match args.version {
        None => scope.store().children(&scope.account, id, block, page).await?,
        Some(version) => {
            let (version, ProjectContent { blocks, .. }) =
                scope.store().version(&scope.account, id, version).await?;
            AtRevision {
                revision: version.revision,
                value: BlockTree::from_blocks(blocks).list_children(block, &page)?,
            }
        }
    };
    let bare =
        |found: BlockEntry| BlockNode { hidden: found.children, block: found.block, children: Vec::new() };
    let next_cursor = list.next_cursor(&listed.value);
    let blocks =
        listed.value.items.into_iter().map(|found| NodeView::from_node(bare(found), selection)).collect();
    Ok(Reply { revision: listed.revision, blocks: Some(blocks), next_cursor, ..Reply::default() })
}

async fn render_html(
    scope: &ProjectScope,
    id: &ProjectId,
    block: Option<&BlockId>,
    args: &Args,
) -> Result<Reply, RequestError> {
    let PageSnapshot { blocks: found, design, assets } = load_page_snapshot(scope, id, block, args).await?;
    let nodes = build_nodes(found.value);
    if nodes.len() > 1 {
        let why = format!("there are {} pages, each a separate document; pass the id of one", nodes.len());
        return Err(RequestError::rule_violation("/blockId", why));
    }
    let rendered = scope.run_blocking(move || {
        let linked = |asset: &AssetId| {
            let known = assets.get(asset)?;
            // A page cannot load MCP resources. Only the publisher of the page knows the final URLs of its
            // assets.
            Some(AssetLink { url: format!("asset:{asset}"), alt: known.alt.clone() })
        };
        let options = render::RenderOptions {
            resolve_asset: &linked,
            design: Some(&design),
            ..render::RenderOptions::default()
        };
        Ok(render::render_html(&nodes, &options)?)
    });
    Ok(Reply { revision: found.revision, html: Some(rendered.await?), ..Reply::default() })
}

/// Blocks and what they refer to.
struct PageSnapshot {
    blocks: AtRevision<Vec<BlockEntry>>,
    design: TokenDocument,
    assets: BTreeMap<AssetId, Asset>,
}

async fn load_page_snapshot(
    scope: &ProjectScope,
    id: &ProjectId,
    block: Option<&BlockId>,
    args: &Args,
) -> Result<PageSnapshot, RequestError> {
    let by_id = |assets: Vec<Asset>| assets.into_iter().map(|asset| (asset.id.clone(), asset)).collect();
    if let Some(version) = args.version {
        let (version, content) = scope.store().version(&scope.account, id, version).await?;
        let blocks = BlockTree::from_blocks(content.blocks).query(block, RENDER_QUERY)?;
        let blocks = AtRevision { revision: version.revision, value: blocks };
        return Ok(PageSnapshot { blocks, design: content.design, assets: by_id(content.assets) });
    }
    let mut tries = 0;
    loop {
        let design = scope.store().design_system(&scope.account, id).await?;
        let assets = scope.store().list_assets(&scope.account, id, Page::ALL).await?;
        let blocks = scope.store().blocks(&scope.account, id, block, RENDER_QUERY).await?;
        tries += 1;
        // These are three reads. They are consistent only if all are at the same revision.
        let is_one = [design.revision, assets.revision].iter().all(|revision| *revision == blocks.revision);
        if is_one || tries == MAX_READ_ATTEMPTS {
            return Ok(PageSnapshot { blocks, design: design.value, assets: by_id(assets.value.items) });
        }
    }
}
