//! `edit_blocks`: creates, updates, moves, copies and deletes blocks.

use projects::{BlockId, BlockPosition, Error, NewBlock, ProjectId, ProjectRejection, ValidationProblem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::support::projects::argument_rules::{self, optional, required};
use super::support::projects::view::BlockView;
use super::{Effect, Tool, ToolSpec, Toolset};
use crate::ToolContext;
use crate::app::project_scope::{ProjectChange, ProjectScope, WriteOptions};
use crate::error::RequestError;

/// Create, update, move, copy or delete blocks. Pages are blocks of type `page` without a parent;
/// `list_block_types` lists the types and their props.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    project_id: String,
    action: BlockAction,
    /// The block to update, move, copy or delete.
    block_id: Option<String>,
    /// To create: `[{"type", "props", "children": […]}]`, with all descendants.
    blocks: Option<Vec<Map<String, Value>>>,
    /// To update: a JSON Merge Patch of the props; null removes.
    props: Option<Map<String, Value>>,
    /// Place it inside this block; default: among the pages.
    parent_id: Option<String>,
    /// Position in `parentId`, or among the pages, from 0; default: last.
    index: Option<u32>,
    /// Or: place it before this block.
    before: Option<String>,
    /// Or: place it after this block.
    after: Option<String>,
    /// Fail if the project is at another revision.
    if_revision: Option<u64>,
    /// Validate without writing.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum BlockAction {
    Create,
    Update,
    Move,
    Copy,
    Delete,
}

/// The result of the action.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reply {
    /// The revision of the project.
    revision: u64,
    /// The blocks that were written, parents before children; created and copied ones without props.
    blocks: Vec<BlockView>,
    /// Number of deleted blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

pub(crate) struct EditBlocks;

impl Tool for EditBlocks {
    const SPEC: ToolSpec = ToolSpec {
        name: "edit_blocks",
        title: "Edit blocks",
        toolset: Toolset::Projects,
        effect: Effect::Write,
    };
    type Args = Args;
    type Reply = Reply;

    async fn call(&self, call: ToolContext, args: Args) -> Result<Reply, RequestError> {
        check_arguments(&args)?;
        let project_scope = ProjectScope::for_call(&call).await?;
        let (id, guard) = (
            project_scope.resolve_project_id(&args.project_id)?,
            WriteOptions { if_revision: args.if_revision, dry_run: args.dry_run },
        );
        let reply = apply_action(&project_scope, &id, guard, args).await?;
        project_scope.notify(&id, ProjectChange::Project, guard);
        Ok(reply)
    }
}

/// Which arguments each action accepts and requires.
fn check_arguments(args: &Args) -> Result<(), RequestError> {
    use BlockAction::{Copy, Create, Delete, Move, Update};
    const PLACING_ACTIONS: &[BlockAction] = &[Create, Move, Copy];
    argument_rules::check_rules(
        "",
        "action",
        &args.action,
        &[
            required("blockId", args.block_id.is_some(), &[Update, Move, Copy, Delete]),
            required("blocks", args.blocks.is_some(), &[Create]),
            required("props", args.props.is_some(), &[Update]),
            optional("parentId", args.parent_id.is_some(), PLACING_ACTIONS),
            optional("index", args.index.is_some(), PLACING_ACTIONS),
            optional("before", args.before.is_some(), PLACING_ACTIONS),
            optional("after", args.after.is_some(), PLACING_ACTIONS),
        ],
    )?;
    let inside = args.parent_id.is_some() || args.index.is_some();
    let places = [inside, args.before.is_some(), args.after.is_some()];
    match places.iter().filter(|is_given| **is_given).count() {
        0 if args.action == Move => Err(RequestError::invalid_argument(
            "parentId",
            "pass a destination: parentId and index, before, or after",
        )),
        0 | 1 => Ok(()),
        _ => Err(RequestError::invalid_argument(
            "before",
            "pass only one place: parentId and index, before, or after",
        )),
    }
}

/// A copy is placed after the original by default.
fn parse_placement(args: &Args) -> Result<BlockPosition, RequestError> {
    let id = |text: &Option<String>| text.as_deref().map(BlockId::parse).transpose();
    Ok(match (id(&args.before)?, id(&args.after)?) {
        (Some(before), _) => BlockPosition::Before(before),
        (None, Some(after)) => BlockPosition::After(after),
        (None, None)
            if args.action == BlockAction::Copy && args.parent_id.is_none() && args.index.is_none() =>
        {
            BlockPosition::After(BlockId::parse(args.block_id.as_deref().unwrap_or_default())?)
        }
        (None, None) => BlockPosition::In { parent: id(&args.parent_id)?, index: args.index },
    })
}

/// Maps the paths of rule violations to the names of the arguments, which are what the caller knows.
fn map_error_paths(args: &Args) -> impl Fn(Error) -> Error + use<> {
    let place = match (&args.before, &args.after, args.index) {
        (Some(_), ..) => "/before",
        (None, Some(_), _) => "/after",
        (None, None, Some(_)) if args.parent_id.is_none() => "/index",
        _ => "/parentId",
    };
    let is_new = args.action == BlockAction::Create;
    let named = move |problem: ValidationProblem| {
        let path = match problem.path.as_str() {
            "/parent" | "/place" => place.to_owned(),
            path if is_new => format!("/blocks{path}"),
            path => path.to_owned(),
        };
        ValidationProblem { path, ..problem }
    };
    move |error| match error {
        Error::Rejected(ProjectRejection::Invalid(problems)) => {
            Error::Rejected(ProjectRejection::Invalid(problems.into_iter().map(named).collect()))
        }
        other => other,
    }
}

async fn apply_action(
    scope: &ProjectScope,
    project: &ProjectId,
    options: WriteOptions,
    args: Args,
) -> Result<Reply, RequestError> {
    let (store, write, place) = (scope.store(), scope.write(project, options), parse_placement(&args)?);
    let named = map_error_paths(&args);
    let id = || BlockId::parse(args.block_id.as_deref().unwrap_or_default());
    let (revision, blocks, deleted) = match args.action {
        BlockAction::Create => {
            let given = args.blocks.unwrap_or_default().into_iter().map(Value::Object).collect();
            let new = NewBlock::parse(&Value::Array(given)).map_err(|rejection| named(rejection.into()))?;
            let made = store.insert_blocks(write, place, new, scope.seed()).await.map_err(named)?;
            (made.revision, made.value.into_iter().map(BlockView::brief).collect(), None)
        }
        BlockAction::Update => {
            let props = args.props.clone().unwrap_or_default();
            let changed = store.update_block(write, &id()?, props).await?;
            (changed.revision, vec![BlockView::full(changed.value)], None)
        }
        BlockAction::Move => {
            let moved = store.move_block(write, &id()?, place).await.map_err(named)?;
            (moved.revision, vec![BlockView::full(moved.value)], None)
        }
        BlockAction::Copy => {
            let made = store.copy_block(write, &id()?, place, scope.seed()).await.map_err(named)?;
            (made.revision, made.value.into_iter().map(BlockView::brief).collect(), None)
        }
        BlockAction::Delete => {
            let gone = store.delete_block(write, &id()?).await?;
            (gone.revision, Vec::new(), Some(gone.value))
        }
    };
    Ok(Reply { revision, blocks, deleted, dry_run: args.dry_run })
}
