//! The steps of the conversation that touch the repository. A step's result is recorded, and a step may run
//! twice.

use codebase::plan::EditPlan;
use flow::{Halt, InvalidAnswer};
use fluxloop::IntegrationOptions;
use serde::{Deserialize, Serialize};
use tree::Roots;

use super::proposal::{Proposal, ReadyPlan};
use super::questions::IntegrationChoice;
use super::survey::IntegrationSurvey;
use super::{Args, Integrate};
use crate::app::plans::PlanStore;
use crate::blocking::{run_blocking, run_blocking_with_timeout};
use crate::error::{ArgumentError, RequestError};
use crate::tools::apply_edit_plan;
use crate::tools::apply_edit_plan::Check;
use crate::tools::support::integration::{
    AnalyzedRepository, RepositoryAccess, VariantChoice, build_plan, release_line, require_recipe,
};
use crate::tools::undo_edit_plan::undo_plan;

/// Limit for a plan stored in a conversation. Typical plans are a hundredth of it.
const MAX_PLAN_BYTES: usize = 512 * 1024;
/// Only the end of a check's output is kept.
const MAX_CHECK_OUTPUT_CHARS: usize = 4000;

#[derive(Serialize, Deserialize)]
pub(super) struct IntegrateApplyResult {
    pub(super) is_new: bool,
    pub(super) files: Vec<String>,
    pub(super) warnings: Vec<String>,
    /// How to undo the plan.
    pub(super) undo: Option<String>,
}

impl Integrate {
    /// Analyses the repository and finds the feasible integrations.
    pub(super) async fn survey(&self, args: &Args) -> Result<IntegrationSurvey, Halt> {
        let recipe = args.framework.as_deref().map(require_recipe).transpose().map_err(failure_to_halt)?;
        let options = IntegrationOptions {
            package: args.package.clone(),
            variant: args.variant.and_then(VariantChoice::variant),
            release_line: release_line(args.cli.as_deref()),
            agent: args.agent.clone(),
            request_field: args.request_field.clone(),
        };
        let plans = PlanStore::open(&self.call).await.map_err(failure_to_halt)?;
        let (access, root) = (RepositoryAccess::new(&self.call, &plans), args.root.clone());
        let work = run_blocking(&self.call, move |budget| {
            let repository = AnalyzedRepository::open(&access, &root, Vec::new(), budget)?;
            IntegrationSurvey::from_analysis(&repository, recipe, &options, budget)
        });
        work.await.map_err(failure_to_halt)
    }

    /// Builds the plan from the current state of the repository.
    pub(super) async fn propose(&self, root: &str, chosen: &IntegrationChoice) -> Result<Proposal, Halt> {
        let recipe = require_recipe(&chosen.framework).map_err(failure_to_halt)?;
        let options = chosen.options.clone();
        let plans = PlanStore::open(&self.call).await.map_err(failure_to_halt)?;
        let (access, root) = (RepositoryAccess::new(&self.call, &plans), root.to_owned());
        let work = run_blocking(&self.call, move |budget| {
            let repository = AnalyzedRepository::open(&access, &root, Vec::new(), budget)?;
            let integration = repository.integrate(recipe, &options, budget)?;
            if let Some(why) = integration.refusal() {
                return Ok((Proposal::Refused(why), String::new()));
            }
            let (variant, target) = (integration.variant.name().to_owned(), integration.target_label.clone());
            let (plan, blockers) = build_plan(&repository.tree, &integration, budget)?;
            if !blockers.is_empty() {
                let why = plan.warnings.first().cloned().unwrap_or_default();
                return Ok((Proposal::Refused(why), String::new()));
            }
            let root = repository.tree.path().display().to_string();
            Ok((Proposal::Ready(Box::new(ReadyPlan { plan, variant, target, root: root.clone() })), root))
        });
        let (proposal, root) = work.await.map_err(failure_to_halt)?;
        let size = serde_json::to_string(&proposal).map_or(usize::MAX, |text| text.len());
        if size > MAX_PLAN_BYTES {
            let why = "the plan is too large for a conversation; use `fluxway plan --out FILE` and `fluxway apply FILE`";
            return Err(Halt::refuse(why));
        }
        if let Proposal::Ready(ready) = &proposal {
            plans.store(&ready.plan, &root).await;
        }
        Ok(proposal)
    }

    /// Applies the plan atomically, as `apply_edit_plan` does.
    pub(super) async fn apply(&self, root: &str, plan: &EditPlan) -> Result<IntegrateApplyResult, Halt> {
        let plan =
            serde_json::to_value(plan).map_err(|error| failure_to_halt(RequestError::internal(error)))?;
        let author = PlanStore::open(&self.call).await.map_err(failure_to_halt)?.author();
        let (call, roots, root) = (self.call.clone(), Roots::new(self.call.roots.clone()), root.to_owned());
        let work = run_blocking_with_timeout(&self.call, apply_edit_plan::APPLY_TIMEOUT, move |budget| {
            let tree = roots.open(&root)?;
            let (reply, _) =
                apply_edit_plan::validate_and_apply(&call, &tree, &plan, &[], false, &author, budget)?;
            let is_new = reply.outcome == apply_edit_plan::ApplyEditPlanOutcome::Applied;
            Ok(IntegrateApplyResult {
                is_new,
                files: reply.files,
                warnings: reply.warnings,
                undo: reply.undo,
            })
        });
        work.await.map_err(failure_to_halt)
    }

    /// Runs one of the plan's post-checks.
    pub(super) async fn check(&self, root: &str, plan: &str, command: &str) -> Result<Check, Halt> {
        let check = apply_edit_plan::run_check(&self.call, root, plan, command).await;
        Ok(with_short_output(check.map_err(failure_to_halt)?))
    }

    /// Runs one of the commands that install what the plan needs.
    pub(super) async fn install(&self, root: &str, plan: &str, command: &str) -> Result<Check, Halt> {
        let install = apply_edit_plan::run_install(&self.call, root, plan, command).await;
        Ok(with_short_output(install.map_err(failure_to_halt)?))
    }

    /// Undoes the plan, as `undo_edit_plan` does.
    pub(super) async fn undo(&self, root: &str, id: &str) -> Result<Vec<String>, Halt> {
        let author = PlanStore::open(&self.call).await.map_err(failure_to_halt)?.author();
        let (roots, root, id) = (Roots::new(self.call.roots.clone()), root.to_owned(), id.to_owned());
        let work = run_blocking(&self.call, move |_| Ok(undo_plan(&roots.open(&root)?, &id, &author)?.files));
        work.await.map_err(|failure| match failure_to_halt(failure) {
            Halt::Refused(why) => Halt::refuse(format!("{why}\nThe changes were kept.")),
            other => other,
        })
    }
}

/// A conversation stores only the end of what a command printed.
fn with_short_output(mut check: Check) -> Check {
    if let Some((start, _)) = check.output.char_indices().rev().nth(MAX_CHECK_OUTPUT_CHARS) {
        check.output.replace_range(..=start, "…");
    }
    check
}

/// Converts a request error to one that a conversation can report.
fn failure_to_halt(failure: RequestError) -> Halt {
    let invalid = |error: String| InvalidAnswer { error, suggestion: None };
    match failure {
        RequestError::InvalidArguments(ArgumentError::Value { name, error, .. }) => {
            Halt::InvalidArgument { name, invalid: invalid(error) }
        }
        RequestError::Root(error) => {
            Halt::InvalidArgument { name: "root".to_owned(), invalid: invalid(error.to_string()) }
        }
        other => Halt::refuse(other.to_string()),
    }
}
