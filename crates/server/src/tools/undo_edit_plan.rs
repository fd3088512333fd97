//! `undo_edit_plan`: takes back exactly what a plan wrote.

use codebase::plan::{Plan, Undone, undo, undo_by_plan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tree::{Roots, Tree};

use super::analyze_repository::here;
use super::{Effect, Tool, ToolSpec, Toolset};
use crate::Call;
use crate::blocking::blocking;
use crate::error::{Failure, PlanProblem};

/// Take an applied plan back: restores exactly the files it wrote, and refuses, with an explanation, where they have been
/// edited since.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The plan's id; default: the plan applied last.
    #[serde(default)]
    plan_id: Option<String>,
    /// The plan itself, if an editor applied it.
    #[serde(default)]
    plan: Option<Map<String, Value>>,
    /// The folder of the repository.
    #[serde(default = "here")]
    root: String,
    /// Protected paths that the user allows to be written.
    #[serde(default)]
    allow: Vec<String>,
}

/// What was taken back.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    plan_id: String,
    /// The files that are as they were before.
    files: Vec<String>,
}

/// The tool.
pub(crate) struct UndoEditPlan;

impl Tool for UndoEditPlan {
    const SPEC: ToolSpec = ToolSpec {
        name: "undo_edit_plan",
        title: "Undo an edit plan",
        toolset: Toolset::Integrate,
        effect: Effect::Writes,
    };
    type Args = Args;
    type Reply = Reply;

    async fn call(&self, call: Call, Args { plan_id, plan, root, allow }: Args) -> Result<Reply, Failure> {
        let roots = Roots::new(call.roots.clone());
        blocking(&call, move |_| {
            let tree = roots.open(&root)?;
            let Undone { plan, files } = match plan {
                Some(plan) => {
                    let plan: Plan = serde_json::from_value(Value::Object(plan)).map_err(|error| {
                        Failure::argument(
                            "plan",
                            format!("it is not a plan of this server with its hashes: {error}"),
                        )
                    })?;
                    undo_by_plan(&tree, &plan, &allow).map_err(PlanProblem::from)?
                }
                None => take_back(&tree, plan_id.as_deref())?,
            };
            Ok(Reply { plan_id: plan, files })
        })
        .await
    }
}

/// Takes back the plan of this id, or the one that was applied last.
pub(super) fn take_back(tree: &Tree, id: Option<&str>) -> Result<Undone, Failure> {
    undo(tree, id).map_err(|error| PlanProblem::from(error).into())
}
