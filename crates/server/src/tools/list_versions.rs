//! `list_versions`: lists the published versions, and compares two states of a project.

use projects::{
    Block, BlockChange, BlockId, BlockMove, ContentDiff, FieldChange, NameChanges, ProjectContent, ProjectId,
    diff_content,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::support::projects::view::{BlockView, VersionView};
use super::support::projects::{ListCursors, take_first};
use super::{Effect, Tool, ToolSpec, Toolset};
use crate::ToolContext;
use crate::app::project_scope::ProjectScope;
use crate::error::RequestError;

/// List the published versions of a project, newest first; with `from`, also the changes since that version.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    project_id: String,
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
    cursor: Option<String>,
    /// Version to compare.
    from: Option<u32>,
    /// Compare `from` to this; default: the draft.
    to: Option<u32>,
}

/// A page of versions.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reply {
    versions: Vec<VersionView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// The changes from `from` to `to`.
    #[serde(skip_serializing_if = "Option::is_none")]
    differences: Option<Value>,
}

pub(crate) struct ListVersions;

impl Tool for ListVersions {
    const SPEC: ToolSpec = ToolSpec {
        name: "list_versions",
        title: "List versions",
        toolset: Toolset::Projects,
        effect: Effect::ReadOnly,
    };
    type Args = Args;
    type Reply = Reply;

    async fn call(&self, call: ToolContext, args: Args) -> Result<Reply, RequestError> {
        if args.to.is_some() && args.from.is_none() {
            return Err(RequestError::invalid_argument("to", "requires `from`, the version to compare with"));
        }
        let project_scope = ProjectScope::for_call(&call).await?;
        let id = project_scope.resolve_project_id(&args.project_id)?;
        let list = ListCursors::new(("versions", id.as_str()));
        let page = list.default_page(args.cursor.as_deref(), args.limit)?;
        let listed = project_scope.store().list_versions(&project_scope.account, &id, page).await?;
        let differences = match args.from {
            None => None,
            Some(from) => {
                let (_, old) = project_scope.store().version(&project_scope.account, &id, from).await?;
                let new = load_content(&project_scope, &id, args.to).await?;
                Some(
                    project_scope
                        .run_blocking(move || Ok(render_differences(&diff_content(&old, &new))))
                        .await?,
                )
            }
        };
        Ok(Reply {
            versions: listed.items.iter().map(VersionView::from_version).collect(),
            next_cursor: list.next_cursor(&listed),
            differences,
        })
    }
}

async fn load_content(
    scope: &ProjectScope,
    id: &ProjectId,
    version: Option<u32>,
) -> Result<ProjectContent, RequestError> {
    match version {
        Some(version) => Ok(scope.store().version(&scope.account, id, version).await?.1),
        None => Ok(scope.store().content(&scope.account, id).await?.value),
    }
}

/// Lists of changes by name, truncated. `moreAdded` counts the rest of `added`, and so on.
struct DifferenceLists(Map<String, Value>);

impl DifferenceLists {
    fn with_list<T>(mut self, names: [&str; 2], all: &[T], show: impl FnMut(&T) -> Value) -> Self {
        let (first, more) = take_first(all, show);
        let [name, rest] = names.map(str::to_owned);
        self.0.insert(name, Value::Array(first));
        self.0.extend(more.map(|more| (rest, json!(more))));
        self
    }
}

const ADDED_KEYS: [&str; 2] = ["added", "moreAdded"];
const REMOVED_KEYS: [&str; 2] = ["removed", "moreRemoved"];
const CHANGED_KEYS: [&str; 2] = ["changed", "moreChanged"];
const MOVED_KEYS: [&str; 2] = ["moved", "moreMoved"];
const RENAMED_KEYS: [&str; 2] = ["renamed", "moreRenamed"];

fn render_differences(found: &ContentDiff) -> Value {
    let field = |one: &FieldChange| json!({ "field": one.field, "before": one.before, "after": one.after });
    json!({
        "same": found.is_empty(),
        "fields": found.fields.iter().map(field).collect::<Vec<_>>(),
        "blockTypes": render_name_changes(&found.types),
        "blocks": render_block_changes(found),
        "tokens": render_token_changes(&found.tokens),
        "assets": render_name_changes(&found.assets),
    })
}

fn render_name_changes(found: &NameChanges) -> Value {
    let name = |name: &String| json!(name);
    let lists = DifferenceLists(Map::new()).with_list(ADDED_KEYS, &found.added, name).with_list(
        REMOVED_KEYS,
        &found.removed,
        name,
    );
    Value::Object(lists.with_list(CHANGED_KEYS, &found.changed, name).0)
}

fn render_block_changes(found: &ContentDiff) -> Value {
    let brief = |block: &Block| json!(BlockView::brief(block.clone()));
    let changed = |one: &BlockChange| json!({ "id": one.after.id.as_str(), "before": one.before.props, "after": one.after.props });
    let moved = |moved: &BlockMove| {
        let id = |id: &Option<BlockId>| id.as_ref().map(ToString::to_string);
        json!({ "id": moved.id.as_str(), "from": id(&moved.from), "to": id(&moved.to) })
    };
    let lists = DifferenceLists(Map::new()).with_list(ADDED_KEYS, &found.added, brief).with_list(
        REMOVED_KEYS,
        &found.removed,
        brief,
    );
    Value::Object(
        lists.with_list(CHANGED_KEYS, &found.changed, changed).with_list(MOVED_KEYS, &found.moved, moved).0,
    )
}

fn render_token_changes(found: &design_tokens::TokenDiff) -> Value {
    let changed = |one: &design_tokens::TokenChange| json!({ "before": render_token_state(&one.before), "after": render_token_state(&one.after) });
    let renamed = |one: &design_tokens::TokenRename| json!({ "from": one.from, "to": one.to });
    let lists = DifferenceLists(Map::new())
        .with_list(ADDED_KEYS, &found.added, render_token_state)
        .with_list(REMOVED_KEYS, &found.removed, render_token_state);
    Value::Object(
        lists
            .with_list(CHANGED_KEYS, &found.changed, changed)
            .with_list(RENAMED_KEYS, &found.renamed, renamed)
            .0,
    )
}

fn render_token_state(state: &design_tokens::TokenState) -> Value {
    let modes: Map<String, Value> =
        state.modes.iter().map(|(mode, value)| (mode.clone(), json!(value))).collect();
    let mut shown = json!({ "path": state.path, "value": state.value });
    if !modes.is_empty() {
        shown["modes"] = Value::Object(modes);
    }
    if let Some(description) = &state.description {
        shown["description"] = json!(description);
    }
    if let Some(deprecated) = &state.deprecated {
        shown["deprecated"] = json!(deprecated);
    }
    shown
}
