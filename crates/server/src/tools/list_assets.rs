//! `list_assets`: lists the files of a project.

use projects::AssetId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::support::projects::ListCursors;
use super::support::projects::argument_rules::{self, optional};
use super::support::projects::view::{AssetView, SelectedFields};
use super::{Effect, Tool, ToolSpec, Toolset};
use crate::ToolContext;
use crate::app::project_scope::ProjectScope;
use crate::error::RequestError;

/// List the assets of a project, or get one and the blocks that use it. The content is in the resource `uri`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    project_id: String,
    /// Only this one, with its uses.
    asset_id: Option<String>,
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
    cursor: Option<String>,
    /// Only these fields, such as `["name", "bytes"]`.
    #[serde(default)]
    fields: Vec<String>,
}

/// A page of assets.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reply {
    assets: Vec<SelectedFields<AssetView>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// The blocks that use the requested asset.
    #[serde(skip_serializing_if = "Option::is_none")]
    used_by: Option<Vec<String>>,
}

pub(crate) struct ListAssets;

impl Tool for ListAssets {
    const SPEC: ToolSpec = ToolSpec {
        name: "list_assets",
        title: "List assets",
        toolset: Toolset::Projects,
        effect: Effect::ReadOnly,
    };
    type Args = Args;
    type Reply = Reply;

    async fn call(&self, call: ToolContext, args: Args) -> Result<Reply, RequestError> {
        let selection = AssetView::parse_selection(&args.fields)?;
        let scope = ProjectScope::for_call(&call).await?;
        let id = scope.resolve_project_id(&args.project_id)?;
        let show =
            |asset: &projects::Asset| SelectedFields::new(AssetView::from_asset(&id, asset), &selection);
        if let Some(asset) = &args.asset_id {
            let table = [
                optional("limit", args.limit.is_some(), &[]),
                optional("cursor", args.cursor.is_some(), &[]),
            ];
            argument_rules::check_rules("", "request for one asset", &(), &table)?;
            let asset = AssetId::parse(asset)?;
            let found = scope.store().asset(&scope.account, &id, &asset).await?;
            let users = scope.store().asset_users(&scope.account, &id, &asset).await?;
            let used_by = Some(users.iter().map(ToString::to_string).collect());
            return Ok(Reply { assets: vec![show(&found)?], next_cursor: None, used_by });
        }
        let list = ListCursors::new(("assets", id.as_str()));
        let page = list.default_page(args.cursor.as_deref(), args.limit)?;
        let listed = scope.store().list_assets(&scope.account, &id, page).await?.value;
        let assets = listed.items.iter().map(show).collect::<Result<_, _>>()?;
        Ok(Reply { assets, next_cursor: list.next_cursor(&listed), used_by: None })
    }
}
