//! What the conversation does to the repository. Each of these is a step: its result is kept, and it may happen twice.

use codebase::plan::Plan;
use flow::{Halt, Invalid};
use fluxloop::{Line, Wanted};
use serde::{Deserialize, Serialize};
use tree::Roots;

use super::choose::Chosen;
use super::proposal::{Proposal, Ready};
use super::survey::Survey;
use super::{Args, Integrate};
use crate::app::plans::Plans;
use crate::blocking::{blocking, blocking_for};
use crate::error::{ArgumentProblem, Failure};
use crate::tools::apply_edit_plan as apply;
use crate::tools::apply_edit_plan::Check;
use crate::tools::support::integration::{Reach, Subject, VariantWish, plan, recipe_of};
use crate::tools::undo_edit_plan::take_back;

/// The largest plan that a conversation carries along. Those for a repository are a hundredth of it.
const LARGEST: usize = 512 * 1024;
/// How much of what a check says is kept.
const OUTPUT: usize = 4000;

/// What writing came to.
#[derive(Serialize, Deserialize)]
pub(super) struct Applied {
    pub(super) is_new: bool,
    pub(super) files: Vec<String>,
    pub(super) warnings: Vec<String>,
    /// How to take it back.
    pub(super) undo: Option<String>,
}

impl Integrate {
    /// Looks at the repository, and finds out what could be integrated.
    pub(super) async fn survey(&self, args: &Args) -> Result<Survey, Halt> {
        let wanted = Wanted {
            recipe: args.framework.as_deref().map(recipe_of).transpose().map_err(halt)?,
            package: args.package.clone(),
            variant: args.variant.and_then(VariantWish::variant),
            line: args.cli.as_deref().and_then(Line::named),
            agent: args.agent.clone(),
            request_field: args.request_field.clone(),
        };
        let plans = Plans::open(&self.call).await.map_err(halt)?;
        let (reach, root) = (Reach::new(&self.call, &plans), args.root.clone());
        let work = blocking(&self.call, move |budget| {
            let subject = Subject::open(&reach, &root, Vec::new(), budget)?;
            Survey::of(&subject, &wanted, budget)
        });
        work.await.map_err(halt)
    }

    /// Makes the plan, by the repository as it is now.
    pub(super) async fn propose(&self, root: &str, chosen: &Chosen) -> Result<Proposal, Halt> {
        let ask = chosen.wishes().ask(recipe_of(&chosen.framework).map_err(halt)?);
        let plans = Plans::open(&self.call).await.map_err(halt)?;
        let (reach, root) = (Reach::new(&self.call, &plans), root.to_owned());
        let work = blocking(&self.call, move |budget| {
            let subject = Subject::open(&reach, &root, Vec::new(), budget)?;
            let integration = subject.integrate(&ask)?;
            if let Some(why) = integration.refused {
                return Ok((Proposal::Refused(why), String::new()));
            }
            let (variant, target) = (integration.variant.name().to_owned(), integration.shown_target.clone());
            let plan = plan(&subject.tree, integration, budget)?;
            if plan.edits.is_empty() {
                let why = plan.warnings.first().cloned().unwrap_or_default();
                return Ok((Proposal::Refused(why), String::new()));
            }
            let root = subject.tree.path().display().to_string();
            Ok((Proposal::Ready(Box::new(Ready { plan, variant, target, root: root.clone() })), root))
        });
        let (proposal, root) = work.await.map_err(halt)?;
        let size = serde_json::to_string(&proposal).map_or(usize::MAX, |text| text.len());
        if size > LARGEST {
            let why = "the plan is too large for a conversation; use `fluxway plan --out FILE` and `fluxway apply FILE`";
            return Err(Halt::refuse(why));
        }
        if let Proposal::Ready(ready) = &proposal {
            plans.keep(&ready.plan, &root).await;
        }
        Ok(proposal)
    }

    /// Writes the plan, all of it or nothing, as `apply_edit_plan` does.
    pub(super) async fn apply(&self, root: &str, plan: &Plan) -> Result<Applied, Halt> {
        let plan = serde_json::to_value(plan).map_err(|error| halt(Failure::internal(error)))?;
        let author = Plans::open(&self.call).await.map_err(halt)?.author();
        let (call, roots, root) = (self.call.clone(), Roots::new(self.call.roots.clone()), root.to_owned());
        let work = blocking_for(&self.call, apply::WALL, move |budget| {
            let tree = roots.open(&root)?;
            let (reply, _) = apply::write(&call, &tree, &plan, &[], false, &author, budget)?;
            let is_new = reply.outcome == apply::Outcome::Applied;
            Ok(Applied { is_new, files: reply.files, warnings: reply.warnings, undo: reply.undo })
        });
        work.await.map_err(halt)
    }

    /// Runs one of the plan's post-checks.
    pub(super) async fn check(&self, root: &str, plan: &str, command: &str) -> Result<Check, Halt> {
        let mut check = apply::run_check(&self.call, root, plan, command).await.map_err(halt)?;
        if let Some((start, _)) = check.output.char_indices().rev().nth(OUTPUT) {
            check.output.replace_range(..=start, "…");
        }
        Ok(check)
    }

    /// Takes the plan back, as `undo_edit_plan` does.
    pub(super) async fn undo(&self, root: &str, id: &str) -> Result<Vec<String>, Halt> {
        let author = Plans::open(&self.call).await.map_err(halt)?.author();
        let (roots, root, id) = (Roots::new(self.call.roots.clone()), root.to_owned(), id.to_owned());
        let work = blocking(&self.call, move |_| Ok(take_back(&roots.open(&root)?, &id, &author)?.files));
        work.await.map_err(|failure| match halt(failure) {
            Halt::Refused(why) => Halt::refuse(format!("{why}\nThe changes stay as they are written.")),
            other => other,
        })
    }
}

/// A failure in the words of a conversation.
fn halt(failure: Failure) -> Halt {
    let invalid = |error: String| Invalid { error, suggestion: None };
    match failure {
        Failure::BadArguments(ArgumentProblem::Value { name, error, .. }) => {
            Halt::BadArgument { name, invalid: invalid(error) }
        }
        Failure::Root(error) => {
            Halt::BadArgument { name: "root".to_owned(), invalid: invalid(error.to_string()) }
        }
        other => Halt::refuse(other.to_string()),
    }
}
