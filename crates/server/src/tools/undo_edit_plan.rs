//! `undo_edit_plan`: undoes exactly what a plan wrote.

use codebase::plan::{self, EditPlan, UndoResult, UndoablePlan};
use flow::{Conversation, Flow, Halt, choice, confirm};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tree::{Roots, Tree};

use super::analyze_repository::default_root;
use super::integrate::sanitize_for_terminal;
use super::support::plan_view::is_own_plan;
use super::{Effect, InteractiveTool, ToolSpec, Toolset};
use crate::ToolContext;
use crate::app::plans::{PlanAuthor, PlanStore, StoredPlan};
use crate::blocking::run_blocking;
use crate::error::{PlanRequestError, RequestError};

/// Undo an applied plan: restores exactly the files it wrote, and refuses, with an explanation, if they have
/// been edited since.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Default: ask the user.
    plan_id: Option<String>,
    /// The plan itself, if an editor applied it.
    plan: Option<Map<String, Value>>,
    /// Repository folder.
    #[serde(default = "default_root")]
    root: String,
    /// Protected paths the user allows.
    #[serde(default)]
    allow: Vec<String>,
}

/// The result of an undo.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Reply {
    outcome: UndoOutcome,
    /// The plan that was undone, or that the user was asked about.
    plan_id: String,
    /// The restored files.
    files: Vec<String>,
}

#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum UndoOutcome {
    Undone,
    /// Every file was already restored.
    AlreadyUndone,
    /// The user keeps everything.
    Declined,
}

pub(crate) struct UndoEditPlan {
    call: ToolContext,
}

impl InteractiveTool for UndoEditPlan {
    const SPEC: ToolSpec = ToolSpec {
        name: "undo_edit_plan",
        title: "Undo an edit plan",
        toolset: Toolset::Integrate,
        effect: Effect::IdempotentWrite,
    };
    type Conversation = Self;

    fn conversation(call: &ToolContext) -> Self {
        Self { call: call.clone() }
    }
}

impl Conversation for UndoEditPlan {
    type Args = Args;
    type Reply = Reply;

    async fn run(&self, f: &mut Flow<'_>, mut args: Args) -> Result<Reply, Halt> {
        if args.plan.is_none() && args.plan_id.is_none() {
            // Derived: a yes is for the plan that was shown, not for one that was applied in the meantime.
            let (applied, unreadable) =
                f.derive("applied", async || Ok(self.undoable(&args.root).await?)).await?;
            let Some(chosen) = ask_plan(f, &applied, &unreadable).await? else {
                return Ok(Reply::declined(&applied));
            };
            args.plan_id = Some(chosen);
        }
        f.step("undo", async |_| Ok(self.undo(&args).await?)).await
    }
}

/// Option that undoes nothing. No plan has this id.
const KEEP_ALL: &str = "none";

/// Names the plan that would be undone, and asks; `None` if the user keeps everything. If the client cannot
/// ask, the call must name the plan.
async fn ask_plan(
    f: &mut Flow<'_>,
    applied: &[(String, String)],
    unreadable: &[String],
) -> Result<Option<String>, Halt> {
    let Some((last, about)) = applied.first() else {
        let mut why = "no plan is applied here; there is nothing to undo".to_owned();
        why.extend(unreadable.iter().map(|sentence| format!("\n{sentence}")));
        return Err(RequestError::from(PlanRequestError::from(plan::ApplyError::Unknown(why))).into());
    };
    let message = |question: &str| format!("The last applied plan is {last}: {about}\n{question}");
    // No defaults: a question that is declined, or that the client cannot ask, undoes nothing.
    if applied.len() == 1 && f.can_ask() {
        let question = "Undo this plan?";
        // Named like the argument: a client that fails to ask is told to pass that.
        let agreed = f.form(&message(question), ("plan_id", confirm(question))).await?;
        return Ok(agreed.then(|| last.clone()));
    }
    let question = "Which plan should be undone?";
    let mut options: Vec<(String, String)> =
        applied.iter().map(|(id, about)| (id.clone(), format!("{id}: {about}"))).collect();
    if f.can_ask() {
        options.push((KEEP_ALL.to_owned(), "None: keep everything".to_owned()));
    }
    let chosen = f.form(&message(question), ("plan_id", choice(question, options))).await?;
    Ok(Some(chosen).filter(|chosen| chosen != KEEP_ALL))
}

impl UndoEditPlan {
    /// The plans that can be undone, last applied first, with a summary of each; and messages on untrusted
    /// journals.
    async fn undoable(&self, root: &str) -> Result<(Vec<(String, String)>, Vec<String>), RequestError> {
        const MAX_LISTED_PLANS: usize = 20;
        let author = PlanStore::open(&self.call).await?.author();
        let (roots, root) = (Roots::new(self.call.roots.clone()), root.to_owned());
        let about = |plan: UndoablePlan| {
            let files =
                plan.files.iter().map(|file| sanitize_for_terminal(file)).collect::<Vec<_>>().join(", ");
            (plan.plan, format!("{} ({files})", sanitize_for_terminal(&plan.summary)))
        };
        run_blocking(&self.call, move |_| {
            let tree = roots.open(&root)?;
            let (applied, unreadable) =
                plan::list_undoable_plans(&tree, &author.actor()).map_err(PlanRequestError::from)?;
            let applied = applied.into_iter().take(MAX_LISTED_PLANS).map(about).collect();
            Ok((applied, unreadable.iter().map(plan::UntrustedJournal::message).collect()))
        })
        .await
    }

    async fn undo(&self, args: &Args) -> Result<Reply, RequestError> {
        let plans = PlanStore::open(&self.call).await?;
        let sent_id = args.plan.as_ref().and_then(|plan| plan.get("id")).and_then(Value::as_str);
        let kept = match args.plan_id.as_deref().or(sent_id) {
            Some(id) => plans.find(id).await?,
            None => None,
        };
        let (author, args) = (plans.author(), args.clone());
        let roots = Roots::new(self.call.roots.clone());
        run_blocking(&self.call, move |_| {
            let tree = roots.open(&args.root)?;
            match &args.plan {
                Some(sent) => undo_sent_plan(&tree, &Value::Object(sent.clone()), kept, &args.allow, &author),
                None => undo_by_id(&tree, args.plan_id.as_deref().unwrap_or_default(), kept, &author),
            }
        })
        .await
    }
}

/// Undoes a plan by its journal. Idempotent: a plan that is already undone is not an error.
fn undo_by_id(
    tree: &Tree,
    id: &str,
    kept: Option<StoredPlan>,
    author: &PlanAuthor,
) -> Result<Reply, RequestError> {
    match (plan::undo(tree, id, &author.actor()), kept) {
        (Err(plan::ApplyError::Unknown(_)), Some(kept)) if plan::is_undone(tree, &kept.plan) => {
            Ok(Reply::already_undone(&kept.plan))
        }
        (undone, _) => Ok(Reply::new(undone.map_err(PlanRequestError::from)?)),
    }
}

/// Undoes a plan that an editor applied. If the client sent the plan as it was shown, the stored exact one is
/// used.
fn undo_sent_plan(
    tree: &Tree,
    sent: &Value,
    kept: Option<StoredPlan>,
    allow: &[String],
    author: &PlanAuthor,
) -> Result<Reply, RequestError> {
    let exact = kept.filter(|kept| is_own_plan(&kept.plan, sent)).map(|kept| kept.plan);
    let exact: EditPlan = match exact {
        Some(exact) => exact,
        None => serde_json::from_value(sent.clone()).map_err(|error| {
            RequestError::invalid_argument(
                "plan",
                format!("it is not a plan from this server with its hashes: {error}"),
            )
        })?,
    };
    match plan::undo_by_plan(tree, &exact, allow, &author.actor()) {
        // As by its id.
        Err(plan::ApplyError::Unknown(_)) if !exact.files.is_empty() && plan::is_undone(tree, &exact) => {
            Ok(Reply::already_undone(&exact))
        }
        undone => Ok(Reply::new(undone.map_err(PlanRequestError::from)?)),
    }
}

impl Reply {
    fn new(undone: UndoResult) -> Self {
        let UndoResult { plan, files } = undone;
        Self { outcome: UndoOutcome::Undone, plan_id: plan, files }
    }

    fn already_undone(plan: &EditPlan) -> Self {
        let files = plan.files.iter().map(|file| file.path.clone()).collect();
        Self { outcome: UndoOutcome::AlreadyUndone, plan_id: plan.id.clone(), files }
    }

    fn declined(applied: &[(String, String)]) -> Self {
        let plan_id = applied.first().map(|(id, _)| id.clone()).unwrap_or_default();
        Self { outcome: UndoOutcome::Declined, plan_id, files: Vec::new() }
    }
}

pub(super) fn undo_plan(tree: &Tree, id: &str, author: &PlanAuthor) -> Result<UndoResult, RequestError> {
    plan::undo(tree, id, &author.actor()).map_err(|error| PlanRequestError::from(error).into())
}
