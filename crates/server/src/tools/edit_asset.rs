//! `edit_asset`: puts, updates and deletes files of a project.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use projects::{Asset, AssetId, AssetPatch, AtRevision, ContentType, IdGenerator, NewAsset, ProjectId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::support::projects::argument_rules::{self, optional, required};
use super::support::projects::view::AssetView;
use super::{Effect, Tool, ToolSpec, Toolset};
use crate::ToolContext;
use crate::app::project_scope::{ProjectChange, ProjectScope, WriteOptions};
use crate::error::RequestError;

/// Put, update or delete an asset: an image, video, font, PDF or text, at most 10 MB. Blocks use it as
/// `asset:<id>`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    project_id: String,
    action: AssetAction,
    /// Existing asset; omit to put a new one.
    asset_id: Option<String>,
    /// File name; required for a new one.
    name: Option<String>,
    /// To put: base64, about 3 MB per call.
    content: Option<String>,
    /// To put: must match; default: detected.
    content_type: Option<String>,
    /// Alternative text.
    alt: Option<String>,
    /// To put: append to the existing content, if one call cannot carry it all.
    #[serde(default)]
    append: bool,
    /// To delete: even if blocks use it.
    #[serde(default)]
    force: bool,
    /// Fail if the project is at another revision.
    if_revision: Option<u64>,
    /// Validate without writing.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum AssetAction {
    Put,
    Update,
    Delete,
}

/// The result of the action.
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

pub(crate) struct EditAsset;

impl Tool for EditAsset {
    const SPEC: ToolSpec = ToolSpec {
        name: "edit_asset",
        title: "Edit an asset",
        toolset: Toolset::Projects,
        effect: Effect::Write,
    };
    type Args = Args;
    type Reply = Reply;

    async fn call(&self, call: ToolContext, args: Args) -> Result<Reply, RequestError> {
        check_arguments(&args)?;
        let project_scope = ProjectScope::for_call(&call).await?;
        let guard = WriteOptions { if_revision: args.if_revision, dry_run: args.dry_run };
        let id = project_scope.resolve_project_id(&args.project_id)?;
        let (deleted, dry_run) = (args.action == AssetAction::Delete, args.dry_run);
        let AtRevision { revision, value } = apply_action(&project_scope, &id, guard, args).await?;
        project_scope.notify(&id, ProjectChange::Asset(value.id.as_str().into()), guard);
        Ok(Reply { revision, asset: AssetView::from_asset(&id, &value), deleted, dry_run })
    }
}

/// Which arguments each action accepts and requires.
fn check_arguments(args: &Args) -> Result<(), RequestError> {
    use AssetAction::{Delete, Put, Update};
    let table = [
        required("assetId", args.asset_id.is_some() || args.action == Put, &[Put, Update, Delete]),
        optional("name", args.name.is_some(), &[Put, Update]),
        optional("alt", args.alt.is_some(), &[Put, Update]),
        required("content", args.content.is_some(), &[Put]),
        optional("contentType", args.content_type.is_some(), &[Put]),
        optional("append", args.append, &[Put]),
        optional("force", args.force, &[Delete]),
    ];
    argument_rules::check_rules("", "action", &args.action, &table)?;
    if args.action == Put && args.asset_id.is_none() {
        let table = [required("name", args.name.is_some(), &[Put]), optional("append", args.append, &[])];
        argument_rules::check_rules("", "new asset", &args.action, &table)?;
    }
    Ok(())
}

async fn apply_action(
    scope: &ProjectScope,
    id: &ProjectId,
    options: WriteOptions,
    args: Args,
) -> Result<AtRevision<Asset>, RequestError> {
    let asset = args.asset_id.as_deref().map(AssetId::parse).transpose()?;
    let Some(asset) = asset.filter(|_| args.action != AssetAction::Put) else {
        return put_asset(scope, id, options, args).await;
    };
    let write = scope.write(id, options);
    if args.action == AssetAction::Delete {
        return Ok(scope.store().delete_asset(write, &asset, args.force).await?);
    }
    let patch = AssetPatch { name: args.name, alt: args.alt };
    if patch == AssetPatch::default() {
        return Err(RequestError::rule_violation("", "nothing to change; pass a name or an alt"));
    }
    Ok(scope.store().update_asset(write, &asset, patch).await?)
}

async fn put_asset(
    scope: &ProjectScope,
    id: &ProjectId,
    options: WriteOptions,
    args: Args,
) -> Result<AtRevision<Asset>, RequestError> {
    let content = decode_base64(args.content.unwrap_or_default())?;
    let claim = args.content_type.as_deref().map(parse_content_type).transpose()?;
    let Some(asset) = args.asset_id else {
        let (name, alt) = (args.name.unwrap_or_default(), args.alt.unwrap_or_default());
        let new = NewAsset {
            id: IdGenerator::from_seed(scope.seed()).next_asset_id(),
            name,
            content_type: claim,
            alt,
            content,
        };
        return Ok(scope.store().put_asset(scope.write(id, options), new).await?);
    };
    let asset = AssetId::parse(&asset)?;
    let (before, guard, content, claim) = if args.append {
        let AtRevision { revision, value } = scope.store().asset_content(&scope.account, id, &asset).await?;
        let (before, mut whole) = value;
        whole.extend(content);
        let claim = claim.or(Some(before.content_type));
        (before, pin_revision(scope, id, options, revision)?, whole, claim)
    } else {
        (scope.store().asset(&scope.account, id, &asset).await?, options, content, claim)
    };
    let (name, alt) = (args.name.unwrap_or(before.name), args.alt.unwrap_or(before.alt));
    let new = NewAsset { id: before.id, name, content_type: claim, alt, content };
    let new = if claim.is_none() { keep_content_type(before.content_type, new, scope) } else { new };
    Ok(scope.store().put_asset(scope.write(id, guard), new).await?)
}

/// The options of a write that is based on a read at this revision. The store must compare this revision, not
/// the caller's: otherwise a write since the read would be lost.
fn pin_revision(
    scope: &ProjectScope,
    id: &ProjectId,
    options: WriteOptions,
    revision: u64,
) -> Result<WriteOptions, RequestError> {
    scope.write(id, options).check_revision(revision)?;
    Ok(WriteOptions { if_revision: Some(revision), ..options })
}

/// JSON and CSS cannot be detected from their content, so their type is kept as long as it is valid.
fn keep_content_type(before: ContentType, new: NewAsset, scope: &ProjectScope) -> NewAsset {
    if !matches!(before, ContentType::Json | ContentType::Css) {
        return new;
    }
    let claimed = NewAsset { content_type: Some(before), ..new };
    let is_still = claimed.check(scope.now()).is_ok();
    NewAsset { content_type: is_still.then_some(before), ..claimed }
}

fn decode_base64(content: String) -> Result<Vec<u8>, RequestError> {
    let bytes = STANDARD.decode(content.into_bytes());
    bytes.map_err(|_| RequestError::rule_violation("/content", "is not padded base64; encode it again"))
}

fn parse_content_type(text: &str) -> Result<ContentType, RequestError> {
    ContentType::parse(text).ok_or_else(|| {
        let types = ContentType::ALL.map(ContentType::as_str).join(", ");
        RequestError::rule_violation("/contentType", format!("is not supported; use one of {types}"))
    })
}
