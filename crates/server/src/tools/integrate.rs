//! `integrate`: integrates FluxLoop into a repository, asking the user whatever analysis cannot decide.

mod proposal;
mod questions;
mod reply;
mod steps;
mod survey;

use flow::{Conversation, Flow, Halt, choice, confirm};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::analyze_repository::default_root;
use super::apply_edit_plan::{Check, ask_install_consent};
use super::support::integration::{
    CONSENT_FIELD, VariantChoice, consent_message, ensure_checks_allowed, release_lines_schema,
};
use super::{Effect, InteractiveTool, ToolSpec, Toolset};
use crate::ToolContext;
pub(super) use proposal::sanitize_for_terminal;
use proposal::{Proposal, ReadyPlan};
use questions::IntegrationChoice;
use reply::Reply;

/// Integrate FluxLoop into a repository interactively: asks what analysis cannot decide, shows the diff,
/// applies it once the user agrees, runs checks, offers to undo.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Repository folder.
    #[serde(default = "default_root")]
    root: String,
    /// Folder or name.
    package: Option<String>,
    framework: Option<String>,
    variant: Option<VariantChoice>,
    #[serde(default)]
    #[schemars(schema_with = "release_lines_schema")]
    cli: Option<String>,
    /// `path/to/file.py:function` or `POST /chat`.
    agent: Option<String>,
    request_field: Option<String>,
    /// The user has seen the diff and agrees. Required for writing.
    confirm: Option<bool>,
    /// Ask the user whether to run the checks.
    run_checks: Option<bool>,
    /// Ask whether to install prerequisites.
    install: Option<bool>,
    after: Option<AfterApply>,
}

/// Keep or undo the changes.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum AfterApply {
    Keep,
    Undo,
}

pub(crate) struct Integrate {
    call: ToolContext,
}

impl InteractiveTool for Integrate {
    const SPEC: ToolSpec = ToolSpec {
        name: "integrate",
        title: "Integrate FluxLoop",
        toolset: Toolset::Integrate,
        effect: Effect::IdempotentWrite,
    };
    type Conversation = Self;

    fn conversation(call: &ToolContext) -> Self {
        // Progress reports the stages of the conversation, not the files that each stage reads.
        Self { call: call.without_progress() }
    }
}

/// Analysis, choice, plan, writing. Each check adds one.
const STAGE_COUNT: u32 = 4;

impl Conversation for Integrate {
    type Args = Args;
    type Reply = Reply;

    async fn run(&self, f: &mut Flow<'_>, args: Args) -> Result<Reply, Halt> {
        f.report_progress(1, STAGE_COUNT, "Analysing the repository");
        let survey = f.step("analysis", |_| self.survey(&args)).await?;
        if survey.fits.is_empty() {
            let reply = Reply::nothing_to_do(survey.no_candidate_reasons()?);
            return Ok(finish(f, reply));
        }
        f.report_progress(2, STAGE_COUNT, "Choosing what to integrate");
        let chosen = questions::ask_choice(f, &survey, &args).await?;
        let (chosen, ready) = self.make_plan(f, &args, chosen).await?;
        let mut reply = Reply::for_plan(&self.call, &chosen, &ready);
        if ready.plan.files.is_empty() {
            reply.mark_already_applied();
            return Ok(finish(f, reply));
        }
        let (agreed, run_checks) = self.ask_agreement(f, &args, &ready).await?;
        if !agreed {
            return Ok(finish(f, reply));
        }
        let checks = match run_checks {
            Ok(true) => ready.plan.post_checks.as_slice(),
            Ok(false) => &[],
            Err(why) => {
                reply.set_checks_not_run(why);
                &[]
            }
        };
        let stages = STAGE_COUNT + u32::try_from(checks.len()).unwrap_or(0);
        f.report_progress(STAGE_COUNT, stages, "Writing the files");
        let applied = f.step("apply", |_| self.apply(&args.root, &ready.plan)).await?;
        // Going back to an earlier question discards the steps after it. That must not happen once files are
        // written: a user who then declined would be told that nothing was.
        f.once("written", async || Ok(())).await?;
        reply.mark_applied(applied);
        for command in self.ask_installs(f, &args, &ready).await? {
            f.report_progress(STAGE_COUNT, stages, format!("Running {command}"));
            let run = f.step("install", |_| self.install(&args.root, &ready.plan.id, command));
            reply.installs.push(run.await?);
        }
        for (n, command) in (1..).zip(checks) {
            f.report_progress(STAGE_COUNT + n, stages, format!("Running {command}"));
            let run = f.step("check", |_| self.check(&args.root, &ready.plan.id, command));
            reply.checks.push(run.await?);
        }
        if wants_undo(f, &args, &reply).await? {
            let files = f.step("undo", |_| self.undo(&args.root, &ready.plan.id)).await?;
            reply.mark_undone(files);
        }
        Ok(finish(f, reply))
    }
}

impl Integrate {
    /// Builds the plan. If the user typed an agent that cannot be run, asks for it again.
    async fn make_plan(
        &self,
        f: &mut Flow<'_>,
        args: &Args,
        mut chosen: IntegrationChoice,
    ) -> Result<(IntegrationChoice, ReadyPlan), Halt> {
        loop {
            f.report_progress(3, STAGE_COUNT, "Building the plan");
            match f.step("plan", |_| self.propose(&args.root, &chosen)).await? {
                Proposal::Ready(ready) => return Ok((chosen, *ready)),
                Proposal::Refused(why) if chosen.is_agent_typed => {
                    chosen.options.agent = Some(questions::ask_agent_name(f, Some(&why)).await?);
                }
                Proposal::Refused(why) => return Err(Halt::refuse(format!("{why}; nothing was written"))),
            }
        }
    }

    /// The commands that install what the plan needs, if the user agrees to them. With `confirm` the user is
    /// asked only on request.
    async fn ask_installs<'p>(
        &self,
        f: &mut Flow<'_>,
        args: &Args,
        ready: &'p ReadyPlan,
    ) -> Result<&'p [String], Halt> {
        let is_wanted = args.install.unwrap_or(args.confirm.is_none());
        // The plan was made in this conversation, so it is one of ours.
        if !is_wanted || ensure_checks_allowed(&self.call, true).is_err() {
            return Ok(&[]);
        }
        let commands = ready.plan.install_commands.as_slice();
        let is_agreed = ask_install_consent(f, &ready.root, commands).await?;
        Ok(if is_agreed { commands } else { &[] })
    }

    /// Whether the plan may be written, and whether its checks are run, or why not. With `confirm` the user
    /// is not asked about the plan again. Commands always need an answer from the user: an argument is not
    /// consent.
    async fn ask_agreement(
        &self,
        f: &mut Flow<'_>,
        args: &Args,
        ready: &ReadyPlan,
    ) -> Result<(bool, Result<bool, String>), Halt> {
        let commands = &ready.plan.post_checks;
        // The plan was made in this conversation, so it is one of ours.
        let allowed = ensure_checks_allowed(&self.call, true).map_err(str::to_owned);
        let are_open = !commands.is_empty() && allowed.is_ok() && f.can_ask();
        let checks = |question: &str| (CONSENT_FIELD, confirm(question).default(false).optional());
        let refused = match allowed {
            _ if commands.is_empty() || args.run_checks != Some(true) => Ok(false),
            Err(why) => Err(why),
            Ok(()) => {
                Err("running commands needs the user's consent, which this client cannot ask for".to_owned())
            }
        };
        if let Some(agreed) = args.confirm {
            if !agreed || !are_open || args.run_checks != Some(true) {
                return Ok((agreed, refused));
            }
            let message = consent_message(&ready.root, commands);
            let run = f.form(&message, checks("Run these commands after the plan is applied?")).await?;
            return Ok((agreed, Ok(run == Some(true))));
        }
        // No default: a client that cannot ask must be told that the answer is missing, not get a silent no.
        let write = ("confirm", confirm("Apply these changes? They can be undone."));
        let message = ready.confirmation_message(&self.call);
        if !are_open || args.run_checks == Some(false) {
            return Ok((f.form(&message, write).await?, refused));
        }
        let message = format!("{message}\n\n{}", consent_message(&ready.root, commands));
        let (agreed, run) = f.form(&message, (write, checks("Run these commands afterwards?"))).await?;
        Ok((agreed, Ok(run == Some(true))))
    }
}

/// Whether to undo the changes. With `confirm` the user is asked only if a check failed.
async fn wants_undo(f: &mut Flow<'_>, args: &Args, reply: &Reply) -> Result<bool, Halt> {
    let failed: Vec<&Check> = reply.checks.iter().filter(|check| !check.passed).collect();
    if args.after.is_none() && args.confirm.is_some() && failed.is_empty() {
        return Ok(false);
    }
    let options = [("keep", "Keep the changes"), ("undo", "Undo them: restore every file")];
    // Declining or cancelling this question keeps the changes.
    let after = choice("Keep the changes, or undo them?", options).default("keep").optional();
    let answer = f.form(&reply.undo_question_message(&failed), ("after", after)).await?;
    Ok(answer.as_deref() == Some("undo"))
}

fn finish(f: &mut Flow<'_>, reply: Reply) -> Reply {
    f.set_summary(reply.summary());
    reply
}
