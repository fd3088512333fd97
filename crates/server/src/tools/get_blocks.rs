//! `get_blocks`: pages and blocks, as a tree or as HTML.

use std::collections::BTreeMap;

use design_tokens::Document;
use projects::blocks::{Node, Tree, nest};
use projects::render::{self, Linked};
use projects::{Asset, AssetId, AtRevision, BlockId, Content, Found, Page, ProjectId, Reach, Selection};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::support::projects::List;
use super::support::projects::takes::{self, takes};
use super::support::projects::view::NodeView;
use super::{Effect, Tool, ToolSpec, Toolset};
use crate::Call;
use crate::app::project_scope::Desk;
use crate::error::Failure;

/// The most blocks in one answer.
const MOST: u32 = 500;
/// How many levels are read when nobody says.
const USUAL_DEPTH: u32 = 3;
/// The most blocks that are rendered at once.
const RENDERED: Reach = Reach { depth: u32::MAX, most: 5_000 };
/// How often a page is read anew because somebody has written meanwhile. Whoever never stops writing gets it as it came.
const TRIES: u32 = 4;

/// Read pages and blocks of a project: all pages, or one block with what is inside, as JSON or HTML.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    project_id: String,
    /// A page or block; all pages without it.
    block_id: Option<String>,
    /// List the blocks anywhere in the project whose props contain this text.
    #[schemars(length(min = 1, max = 200))]
    find: Option<String>,
    /// How many levels: 1 is the block itself, or the pages; 3 without it.
    #[schemars(range(min = 1, max = 32))]
    depth: Option<u32>,
    /// List what is directly inside, at most so many, instead of a tree.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
    cursor: Option<String>,
    /// `html` renders a block, or the one page.
    #[serde(default)]
    format: As,
    /// A published version instead of the draft.
    version: Option<u32>,
    /// Of each block only these: type, props, more …
    #[serde(default)]
    fields: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum As {
    #[default]
    Json,
    Html,
}

/// Blocks.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reply {
    /// The revision that they were read at.
    revision: u64,
    /// Trees of `id`, `type`, `parentId`, `props`, `children`; `more` counts children that were not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<Value>>")]
    blocks: Option<Vec<NodeView>>,
    /// How many blocks contain the text, listed or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    matches: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// The blocks as HTML; a page as a whole document.
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<String>,
}

/// The tool.
pub(crate) struct GetBlocks;

impl Tool for GetBlocks {
    const SPEC: ToolSpec = ToolSpec {
        name: "get_blocks",
        title: "Read blocks",
        toolset: Toolset::Projects,
        effect: Effect::Reads,
    };
    type Args = Args;
    type Reply = Reply;

    async fn call(&self, call: Call, args: Args) -> Result<Reply, Failure> {
        let way = check(&args)?;
        let selection = NodeView::selection(&args.fields)?;
        let desk = Desk::of(&call).await?;
        let id = desk.project(&args.project_id)?;
        let block = args.block_id.as_deref().map(BlockId::parse).transpose()?;
        match way {
            Way::Html => html(&desk, &id, block.as_ref(), &args).await,
            Way::Find => find(&desk, &id, &args, &selection).await,
            Way::List => listed(&desk, &id, block.as_ref(), &args, &selection).await,
            Way::Tree => {
                let reach = Reach { depth: args.depth.unwrap_or(USUAL_DEPTH), most: MOST };
                let found = read(&desk, &id, block.as_ref(), &args, reach).await?;
                let blocks = nest(found.value).into_iter().map(|one| NodeView::of(one, &selection)).collect();
                Ok(Reply { revision: found.revision, blocks: Some(blocks), ..Reply::default() })
            }
        }
    }
}

/// How blocks are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Tree,
    List,
    Find,
    Html,
}

/// Which way the arguments ask for, and whether they go together.
fn check(args: &Args) -> Result<Way, Failure> {
    let (way, what) = match args.format {
        As::Html => (Way::Html, "format"),
        As::Json if args.find.is_some() => (Way::Find, "find"),
        As::Json if args.limit.is_some() || args.cursor.is_some() => (Way::List, "list"),
        As::Json => (Way::Tree, "tree"),
    };
    let table = [
        takes("depth", args.depth.is_some(), &[Way::Tree]),
        takes("blockId", args.block_id.is_some(), &[Way::Tree, Way::List, Way::Html]),
        takes("find", args.find.is_some(), &[Way::Find]),
        takes("limit", args.limit.is_some(), &[Way::List, Way::Find]),
        takes("cursor", args.cursor.is_some(), &[Way::List]),
        takes("fields", !args.fields.is_empty(), &[Way::Tree, Way::List, Way::Find]),
    ];
    takes::check("", what, &way, &table)?;
    Ok(way)
}

/// A tree of the draft, or of a version.
async fn read(
    desk: &Desk,
    id: &ProjectId,
    block: Option<&BlockId>,
    args: &Args,
    reach: Reach,
) -> Result<AtRevision<Vec<Found>>, Failure> {
    let Some(version) = args.version else {
        return Ok(desk.store().blocks(&desk.account, id, block, reach).await?);
    };
    let (version, Content { blocks, .. }) = desk.store().version(&desk.account, id, version).await?;
    Ok(AtRevision { revision: version.revision, value: Tree::of(blocks).read(block, reach)? })
}

/// The blocks that contain a text, each by itself.
async fn find(desk: &Desk, id: &ProjectId, args: &Args, selection: &Selection) -> Result<Reply, Failure> {
    let text = args.find.as_deref().unwrap_or_default();
    let found = match args.version {
        None => desk.store().find_blocks(&desk.account, id, text).await?,
        Some(version) => {
            let (version, Content { blocks, .. }) = desk.store().version(&desk.account, id, version).await?;
            let value = blocks.into_iter().filter(|block| block.contains_text(text)).collect();
            AtRevision { revision: version.revision, value }
        }
    };
    let (matches, limit) = (found.value.len(), args.limit.unwrap_or(MOST) as usize);
    let bare = |block| NodeView::of(Node { block, children: Vec::new(), hidden: 0 }, selection);
    let blocks = found.value.into_iter().take(limit).map(bare).collect();
    Ok(Reply { revision: found.revision, blocks: Some(blocks), matches: Some(matches), ..Reply::default() })
}

/// What is directly inside, page by page.
async fn listed(
    desk: &Desk,
    id: &ProjectId,
    block: Option<&BlockId>,
    args: &Args,
    selection: &Selection,
) -> Result<Reply, Failure> {
    let list = List::of(("blocks", id.as_str(), block.map(BlockId::as_str), args.version));
    let page = list.page(args.cursor.as_deref(), args.limit.or(Some(MOST)))?;
    let listed = match args.version {
        None => desk.store().children(&desk.account, id, block, page).await?,
        Some(version) => {
            let (version, Content { blocks, .. }) = desk.store().version(&desk.account, id, version).await?;
            AtRevision { revision: version.revision, value: Tree::of(blocks).list(block, &page)? }
        }
    };
    let bare = |found: Found| Node { hidden: found.children, block: found.block, children: Vec::new() };
    let next_cursor = list.next(&listed.value);
    let blocks = listed.value.items.into_iter().map(|found| NodeView::of(bare(found), selection)).collect();
    Ok(Reply { revision: listed.revision, blocks: Some(blocks), next_cursor, ..Reply::default() })
}

async fn html(desk: &Desk, id: &ProjectId, block: Option<&BlockId>, args: &Args) -> Result<Reply, Failure> {
    let Scene { blocks: found, design, assets } = scene(desk, id, block, args).await?;
    let nodes = nest(found.value);
    if nodes.len() > 1 {
        let why = format!("there are {} pages; name one, each is a document of its own", nodes.len());
        return Err(Failure::against_rule("/blockId", why));
    }
    let rendered = desk.aside(move || {
        let linked = |asset: &AssetId| {
            let known = assets.get(asset)?;
            // No page can load the resource that holds it. Whoever puts the page online knows where its assets will be.
            Some(Linked { url: format!("asset:{asset}"), alt: known.alt.clone() })
        };
        let options = render::Options { asset: &linked, design: Some(&design), ..render::Options::default() };
        Ok(render::html(&nodes, &options)?)
    });
    Ok(Reply { revision: found.revision, html: Some(rendered.await?), ..Reply::default() })
}

/// Blocks, and what they refer to.
struct Scene {
    blocks: AtRevision<Vec<Found>>,
    design: Document,
    assets: BTreeMap<AssetId, Asset>,
}

async fn scene(desk: &Desk, id: &ProjectId, block: Option<&BlockId>, args: &Args) -> Result<Scene, Failure> {
    let by_id = |assets: Vec<Asset>| assets.into_iter().map(|asset| (asset.id.clone(), asset)).collect();
    if let Some(version) = args.version {
        let (version, content) = desk.store().version(&desk.account, id, version).await?;
        let blocks = Tree::of(content.blocks).read(block, RENDERED)?;
        let blocks = AtRevision { revision: version.revision, value: blocks };
        return Ok(Scene { blocks, design: content.design, assets: by_id(content.assets) });
    }
    let mut tries = 0;
    loop {
        let design = desk.store().design_system(&desk.account, id).await?;
        let assets = desk.store().list_assets(&desk.account, id, Page::ALL).await?;
        let blocks = desk.store().blocks(&desk.account, id, block, RENDERED).await?;
        tries += 1;
        // These are three reads. Only what is at one revision has ever been together.
        let is_one = [design.revision, assets.revision].iter().all(|revision| *revision == blocks.revision);
        if is_one || tries == TRIES {
            return Ok(Scene { blocks, design: design.value, assets: by_id(assets.value.items) });
        }
    }
}
