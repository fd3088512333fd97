//! `undo_edit_plan`: takes back exactly what a plan wrote.

use codebase::plan::{self, Plan, Undoable, Undone};
use flow::{Conversation, Flow, Halt, choice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tree::{Roots, Tree};

use super::analyze_repository::here;
use super::integrate::harmless;
use super::support::plan_view::is_view;
use super::{Effect, InteractiveTool, ToolSpec, Toolset};
use crate::Call;
use crate::app::plans::{Author, KeptPlan, Plans};
use crate::blocking::blocking;
use crate::error::{Failure, PlanProblem};

/// Take an applied plan back: restores exactly the files it wrote, and refuses, with an explanation, where they have been
/// edited since.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Without it the user is asked.
    plan_id: Option<String>,
    /// The plan itself, if an editor applied it.
    plan: Option<Map<String, Value>>,
    /// The folder of the repository.
    #[serde(default = "here")]
    root: String,
    /// Protected paths that the user allows.
    #[serde(default)]
    allow: Vec<String>,
}

/// What was taken back.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Reply {
    outcome: Outcome,
    plan_id: String,
    /// The files that are as they were before.
    files: Vec<String>,
}

#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Undone,
    /// Every file was as before already.
    AlreadyUndone,
}

/// The tool, in one call.
pub(crate) struct UndoEditPlan {
    call: Call,
}

impl InteractiveTool for UndoEditPlan {
    const SPEC: ToolSpec = ToolSpec {
        name: "undo_edit_plan",
        title: "Undo an edit plan",
        toolset: Toolset::Integrate,
        effect: Effect::Writes,
    };
    type Talk = Self;

    fn talk(call: &Call) -> Self {
        Self { call: call.clone() }
    }
}

impl Conversation for UndoEditPlan {
    type Args = Args;
    type Reply = Reply;

    async fn run(&self, f: &mut Flow<'_>, mut args: Args) -> Result<Reply, Halt> {
        if args.plan.is_none() && args.plan_id.is_none() {
            let (applied, unreadable) = self.undoable(&args.root).await?;
            args.plan_id = Some(ask_which(f, &applied, &unreadable).await?);
        }
        f.step("undo", async |_| Ok(self.undo(&args).await?)).await
    }
}

/// Names the plan that would be undone, and asks. Where nobody can be asked, the call has to name it.
async fn ask_which(
    f: &mut Flow<'_>,
    applied: &[(String, String)],
    unreadable: &[String],
) -> Result<String, Halt> {
    let Some((last, about)) = applied.first() else {
        let mut why = "no plan is applied here; there is nothing to undo".to_owned();
        why.extend(unreadable.iter().map(|sentence| format!("\n{sentence}")));
        return Err(Failure::from(PlanProblem::from(plan::ApplyError::Unknown(why))).into());
    };
    let options = applied.iter().map(|(id, about)| (id.clone(), format!("{id}: {about}")));
    let message = format!("The plan that was applied last is {last}: {about}\nUndo it?");
    // Without a default: a question that is turned down, or that nobody can be asked, undoes nothing.
    f.form(&message, ("plan_id", choice("Which plan is to be undone?", options))).await
}

impl UndoEditPlan {
    /// The plans that could be undone, the last one first, with what each did; and journals that are not believed.
    async fn undoable(&self, root: &str) -> Result<(Vec<(String, String)>, Vec<String>), Failure> {
        const SHOWN: usize = 20;
        let author = Plans::open(&self.call).await?.author();
        let (roots, root) = (Roots::new(self.call.roots.clone()), root.to_owned());
        let about = |plan: Undoable| {
            let files = plan.files.iter().map(|file| harmless(file)).collect::<Vec<_>>().join(", ");
            (plan.plan, format!("{} ({files})", harmless(&plan.summary)))
        };
        blocking(&self.call, move |_| {
            let tree = roots.open(&root)?;
            let (applied, unreadable) = plan::undoable(&tree, &author.actor()).map_err(PlanProblem::from)?;
            let applied = applied.into_iter().take(SHOWN).map(about).collect();
            Ok((applied, unreadable.iter().map(plan::Unreadable::sentence).collect()))
        })
        .await
    }

    async fn undo(&self, args: &Args) -> Result<Reply, Failure> {
        let plans = Plans::open(&self.call).await?;
        let sent_id = args.plan.as_ref().and_then(|plan| plan.get("id")).and_then(Value::as_str);
        let kept = match args.plan_id.as_deref().or(sent_id) {
            Some(id) => plans.find(id).await?,
            None => None,
        };
        let (author, args) = (plans.author(), args.clone());
        let roots = Roots::new(self.call.roots.clone());
        blocking(&self.call, move |_| {
            let tree = roots.open(&args.root)?;
            match &args.plan {
                Some(sent) => by_plan(&tree, &Value::Object(sent.clone()), kept, &args.allow, &author),
                None => by_id(&tree, args.plan_id.as_deref().unwrap_or_default(), kept, &author),
            }
        })
        .await
    }
}

/// Undoes a plan by its journal. One that is undone already stays so: twice is once.
fn by_id(tree: &Tree, id: &str, kept: Option<KeptPlan>, author: &Author) -> Result<Reply, Failure> {
    match (plan::undo(tree, id, &author.actor()), kept) {
        (Err(plan::ApplyError::Unknown(_)), Some(kept)) if plan::is_undone(tree, &kept.plan) => {
            let files = kept.plan.files.iter().map(|file| file.path.clone()).collect();
            Ok(Reply { outcome: Outcome::AlreadyUndone, plan_id: id.to_owned(), files })
        }
        (undone, _) => Ok(Reply::new(undone.map_err(PlanProblem::from)?)),
    }
}

/// Undoes a plan that an editor applied. What was sent may be the plan as it was shown; the exact one is taken then.
fn by_plan(
    tree: &Tree,
    sent: &Value,
    kept: Option<KeptPlan>,
    allow: &[String],
    author: &Author,
) -> Result<Reply, Failure> {
    let exact = kept.filter(|kept| is_view(&kept.plan, sent)).map(|kept| kept.plan);
    let exact: Plan = match exact {
        Some(exact) => exact,
        None => serde_json::from_value(sent.clone()).map_err(|error| {
            Failure::argument("plan", format!("it is not a plan of this server with its hashes: {error}"))
        })?,
    };
    let undone = plan::undo_by_plan(tree, &exact, allow, &author.actor());
    Ok(Reply::new(undone.map_err(PlanProblem::from)?))
}

impl Reply {
    fn new(undone: Undone) -> Self {
        let Undone { plan, files } = undone;
        Self { outcome: Outcome::Undone, plan_id: plan, files }
    }
}

/// Takes back the plan of this id.
pub(super) fn take_back(tree: &Tree, id: &str, author: &Author) -> Result<Undone, Failure> {
    plan::undo(tree, id, &author.actor()).map_err(|error| PlanProblem::from(error).into())
}
