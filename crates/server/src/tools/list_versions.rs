//! `list_versions`: what was published, and what differs between two states of a project.

use projects::{
    Block, BlockChange, BlockId, Content, Differences, FieldChange, Moved, Names, ProjectId, differences,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::support::projects::view::{BlockView, VersionView};
use super::support::projects::{List, first};
use super::{Effect, Tool, ToolSpec, Toolset};
use crate::Call;
use crate::app::project_scope::Desk;
use crate::error::Failure;

/// List the published versions of a project, the newest first; with `from`, also what differs since that version.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    project_id: String,
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
    cursor: Option<String>,
    /// Compare this version …
    from: Option<u32>,
    /// … with this one; with the draft if left out.
    to: Option<u32>,
}

/// A page of versions.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reply {
    versions: Vec<VersionView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// What differs from `from` to `to`.
    #[serde(skip_serializing_if = "Option::is_none")]
    differences: Option<Value>,
}

/// The tool.
pub(crate) struct ListVersions;

impl Tool for ListVersions {
    const SPEC: ToolSpec = ToolSpec {
        name: "list_versions",
        title: "List versions",
        toolset: Toolset::Projects,
        effect: Effect::Reads,
    };
    type Args = Args;
    type Reply = Reply;

    async fn call(&self, call: Call, args: Args) -> Result<Reply, Failure> {
        if args.to.is_some() && args.from.is_none() {
            return Err(Failure::argument("to", "needs `from`: the version that it is compared with"));
        }
        let desk = Desk::of(&call).await?;
        let id = desk.project(&args.project_id)?;
        let list = List::of(("versions", id.as_str()));
        let page = list.usual_page(args.cursor.as_deref(), args.limit)?;
        let listed = desk.store().list_versions(&desk.account, &id, page).await?;
        let differences = match args.from {
            None => None,
            Some(from) => {
                let (_, old) = desk.store().version(&desk.account, &id, from).await?;
                let new = state(&desk, &id, args.to).await?;
                Some(desk.aside(move || Ok(shown(&differences(&old, &new)))).await?)
            }
        };
        Ok(Reply {
            versions: listed.items.iter().map(VersionView::of).collect(),
            next_cursor: list.next(&listed),
            differences,
        })
    }
}

async fn state(desk: &Desk, id: &ProjectId, version: Option<u32>) -> Result<Content, Failure> {
    match version {
        Some(version) => Ok(desk.store().version(&desk.account, id, version).await?.1),
        None => Ok(desk.store().content(&desk.account, id).await?.value),
    }
}

/// Lists of what differs, by name: the first of each. `moreAdded` counts the rest of `added`, and so on.
struct Lists(Map<String, Value>);

impl Lists {
    fn of<T>(mut self, names: [&str; 2], all: &[T], show: impl FnMut(&T) -> Value) -> Self {
        let (first, more) = first(all, show);
        let [name, rest] = names.map(str::to_owned);
        self.0.insert(name, Value::Array(first));
        self.0.extend(more.map(|more| (rest, json!(more))));
        self
    }
}

const ADDED: [&str; 2] = ["added", "moreAdded"];
const REMOVED: [&str; 2] = ["removed", "moreRemoved"];
const CHANGED: [&str; 2] = ["changed", "moreChanged"];
const MOVED: [&str; 2] = ["moved", "moreMoved"];
const RENAMED: [&str; 2] = ["renamed", "moreRenamed"];

fn shown(found: &Differences) -> Value {
    let field = |one: &FieldChange| json!({ "field": one.field, "before": one.before, "after": one.after });
    json!({
        "same": found.is_empty(),
        "fields": found.fields.iter().map(field).collect::<Vec<_>>(),
        "blockTypes": names(&found.types),
        "blocks": block_changes(found),
        "tokens": token_changes(&found.tokens),
        "assets": names(&found.assets),
    })
}

fn names(found: &Names) -> Value {
    let name = |name: &String| json!(name);
    let lists = Lists(Map::new()).of(ADDED, &found.added, name).of(REMOVED, &found.removed, name);
    Value::Object(lists.of(CHANGED, &found.changed, name).0)
}

fn block_changes(found: &Differences) -> Value {
    let brief = |block: &Block| json!(BlockView::brief(block.clone()));
    let changed = |one: &BlockChange| json!({ "id": one.after.id.as_str(), "before": one.before.props, "after": one.after.props });
    let moved = |moved: &Moved| {
        let id = |id: &Option<BlockId>| id.as_ref().map(ToString::to_string);
        json!({ "id": moved.id.as_str(), "from": id(&moved.from), "to": id(&moved.to) })
    };
    let lists = Lists(Map::new()).of(ADDED, &found.added, brief).of(REMOVED, &found.removed, brief);
    Value::Object(lists.of(CHANGED, &found.changed, changed).of(MOVED, &found.moved, moved).0)
}

fn token_changes(found: &design_tokens::Diff) -> Value {
    let changed = |one: &design_tokens::Change| json!({ "before": state_of(&one.before), "after": state_of(&one.after) });
    let renamed = |one: &design_tokens::Renamed| json!({ "from": one.from, "to": one.to });
    let lists = Lists(Map::new()).of(ADDED, &found.added, state_of).of(REMOVED, &found.removed, state_of);
    Value::Object(lists.of(CHANGED, &found.changed, changed).of(RENAMED, &found.renamed, renamed).0)
}

fn state_of(state: &design_tokens::State) -> Value {
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
