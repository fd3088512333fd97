//! `edit_asset`: files of a project are put, described and deleted.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use projects::{Asset, AssetId, AssetPatch, AtRevision, ContentType, Ids, NewAsset, ProjectId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::support::projects::takes::{self, needs, takes};
use super::support::projects::view::AssetView;
use super::{Effect, Tool, ToolSpec, Toolset};
use crate::Call;
use crate::app::project_scope::{Changed, Desk, Guard};
use crate::error::Failure;

/// Put, describe or delete an asset: an image, video, font, PDF or text of at most 10 MB. Blocks name it as `asset:<id>`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    project_id: String,
    action: Action,
    /// The one that is there; to put a new one, leave it out.
    asset_id: Option<String>,
    /// A file name; needed for a new one.
    name: Option<String>,
    /// To put: base64, about 3 MB in one call.
    content: Option<String>,
    /// To put: must be true; found out without it.
    content_type: Option<String>,
    /// What stands for an image.
    alt: Option<String>,
    /// To put: add the content to what is there, for more than one call can carry.
    #[serde(default)]
    append: bool,
    /// To delete: also if blocks use it.
    #[serde(default)]
    force: bool,
    /// Refuse if the project is at another revision.
    if_revision: Option<u64>,
    /// Only tell what would happen.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Action {
    Put,
    Update,
    Delete,
}

/// What became of it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reply {
    revision: u64,
    asset: AssetView,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    deleted: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

/// The tool.
pub(crate) struct EditAsset;

impl Tool for EditAsset {
    const SPEC: ToolSpec = ToolSpec {
        name: "edit_asset",
        title: "Edit an asset",
        toolset: Toolset::Projects,
        effect: Effect::Edits,
    };
    type Args = Args;
    type Reply = Reply;

    async fn call(&self, call: Call, args: Args) -> Result<Reply, Failure> {
        check(&args)?;
        let desk = Desk::of(&call).await?;
        let guard = Guard { if_revision: args.if_revision, dry_run: args.dry_run };
        let id = desk.project(&args.project_id)?;
        let (deleted, dry_run) = (args.action == Action::Delete, args.dry_run);
        let AtRevision { revision, value } = act(&desk, &id, guard, args).await?;
        desk.tell(&id, Changed::Asset(value.id.as_str().into()), guard);
        Ok(Reply { revision, asset: AssetView::of(&id, &value), deleted, dry_run })
    }
}

/// What each action takes, and what it cannot do without.
fn check(args: &Args) -> Result<(), Failure> {
    use Action::{Delete, Put, Update};
    let table = [
        needs("assetId", args.asset_id.is_some() || args.action == Put, &[Put, Update, Delete]),
        takes("name", args.name.is_some(), &[Put, Update]),
        takes("alt", args.alt.is_some(), &[Put, Update]),
        needs("content", args.content.is_some(), &[Put]),
        takes("contentType", args.content_type.is_some(), &[Put]),
        takes("append", args.append, &[Put]),
        takes("force", args.force, &[Delete]),
    ];
    takes::check("", "action", &args.action, &table)?;
    if args.action == Put && args.asset_id.is_none() {
        let table = [needs("name", args.name.is_some(), &[Put]), takes("append", args.append, &[])];
        takes::check("", "new asset", &args.action, &table)?;
    }
    Ok(())
}

async fn act(desk: &Desk, id: &ProjectId, guard: Guard, args: Args) -> Result<AtRevision<Asset>, Failure> {
    let asset = args.asset_id.as_deref().map(AssetId::parse).transpose()?;
    let Some(asset) = asset.filter(|_| args.action != Action::Put) else {
        return put(desk, id, guard, args).await;
    };
    let write = desk.write(id, guard);
    if args.action == Action::Delete {
        return Ok(desk.store().delete_asset(write, &asset, args.force).await?);
    }
    let patch = AssetPatch { name: args.name, alt: args.alt };
    if patch == AssetPatch::default() {
        return Err(Failure::against_rule("", "nothing is to change; give a name or an alt"));
    }
    Ok(desk.store().update_asset(write, &asset, patch).await?)
}

async fn put(desk: &Desk, id: &ProjectId, guard: Guard, args: Args) -> Result<AtRevision<Asset>, Failure> {
    let content = decoded(args.content.unwrap_or_default())?;
    let claim = args.content_type.as_deref().map(claimed).transpose()?;
    let Some(asset) = args.asset_id else {
        let (name, alt) = (args.name.unwrap_or_default(), args.alt.unwrap_or_default());
        let new = NewAsset { id: Ids::of(desk.seed()).asset(), name, content_type: claim, alt, content };
        return Ok(desk.store().put_asset(desk.write(id, guard), new).await?);
    };
    let asset = AssetId::parse(&asset)?;
    let (before, guard, content, claim) = if args.append {
        let AtRevision { revision, value } = desk.store().asset_content(&desk.account, id, &asset).await?;
        let (before, mut whole) = value;
        whole.extend(content);
        let claim = claim.or(Some(before.content_type));
        (before, read_at(desk, id, guard, revision)?, whole, claim)
    } else {
        (desk.store().asset(&desk.account, id, &asset).await?, guard, content, claim)
    };
    let (name, alt) = (args.name.unwrap_or(before.name), args.alt.unwrap_or(before.alt));
    let new = NewAsset { id: before.id, name, content_type: claim, alt, content };
    let new = if claim.is_none() { as_before(before.content_type, new, desk) } else { new };
    Ok(desk.store().put_asset(desk.write(id, guard), new).await?)
}

/// The guard of a write that is made from something that was read at this revision. It is always this one that the store
/// compares: if it were the caller's, what somebody has written since the read would be lost.
fn read_at(desk: &Desk, id: &ProjectId, guard: Guard, revision: u64) -> Result<Guard, Failure> {
    desk.write(id, guard).admit(revision)?;
    Ok(Guard { if_revision: Some(revision), ..guard })
}

/// JSON and CSS are told from other texts by their type alone, so they stay what they were as long as they can.
fn as_before(before: ContentType, new: NewAsset, desk: &Desk) -> NewAsset {
    if !matches!(before, ContentType::Json | ContentType::Css) {
        return new;
    }
    let claimed = NewAsset { content_type: Some(before), ..new };
    let is_still = claimed.check(desk.now()).is_ok();
    NewAsset { content_type: is_still.then_some(before), ..claimed }
}

fn decoded(content: String) -> Result<Vec<u8>, Failure> {
    let bytes = STANDARD.decode(content.into_bytes());
    bytes.map_err(|_| Failure::against_rule("/content", "is not base64 with padding; encode it again"))
}

fn claimed(text: &str) -> Result<ContentType, Failure> {
    ContentType::parse(text).ok_or_else(|| {
        let types = ContentType::ALL.map(ContentType::as_str).join(", ");
        Failure::against_rule("/contentType", format!("is none that is taken; there are {types}"))
    })
}
