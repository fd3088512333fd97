//! `apply_edit_plan`: applies a plan atomically. Running its checks needs the user's separate consent.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use codebase::NameRedactor;
use codebase::plan::{
    self, CheckResult, EditPlan, Eol, FileChange, Indent, OriginalFile, PlanValidation, judge_check,
    validate_plan,
};
use codebase::sandbox::RunOutcome;
use flow::{Conversation, Flow, Halt, confirm};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tree::{Roots, Tree, WorkBudget};

use super::support::integration::{
    CONSENT_FIELD, INSTALL_CONSENT_FIELD, consent_message, ensure_checks_allowed, install_consent_message,
    validation_rules,
};
use super::support::plan_input::PlanInput;
use super::support::plan_view::visible_diff;
use super::{Effect, InteractiveTool, ToolSpec, Toolset};
use crate::ToolContext;
use crate::app::plans::{PlanAuthor, PlanStore};
use crate::blocking::{run_blocking, run_blocking_with_timeout};
use crate::error::{PlanRequestError, RequestError};

/// Apply an edit plan: all or nothing, validated again first, with a journal for `undo_edit_plan`. Show the
/// user the diff and ask first.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Id of a proposed plan.
    plan_id: Option<String>,
    /// Or the plan itself.
    plan: Option<Map<String, Value>>,
    /// Default: the plan's.
    root: Option<String>,
    /// Only show what would be written.
    #[serde(default)]
    dry_run: bool,
    /// Ask the user whether to run the post-checks.
    #[serde(default)]
    run_checks: bool,
    /// Ask whether to install prerequisites.
    #[serde(default)]
    install: bool,
    /// Protected paths the user allows.
    #[serde(default)]
    allow: Vec<String>,
}

/// The result of applying a plan.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Reply {
    pub(super) outcome: ApplyEditPlanOutcome,
    plan_id: String,
    /// Files that were written.
    pub(super) files: Vec<String>,
    /// What changed, or would change.
    diff: String,
    pub(super) warnings: Vec<String>,
    /// How the installation of prerequisites ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    installs: Vec<Check>,
    /// Results of the post-checks.
    checks: Vec<Check>,
    /// Why requested checks were not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checks_not_run: Option<String>,
    /// How to undo the plan, if it can be undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) undo: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ApplyEditPlanOutcome {
    Applied,
    AlreadyApplied,
    DryRun,
}

/// The result of a command.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub(super) struct Check {
    pub(super) command: String,
    pub(super) passed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    timed_out: bool,
    /// Why the command could not run yet, such as a missing program. Not a failure of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) skipped: Option<String>,
    /// The end of its output.
    pub(super) output: String,
}

impl Check {
    fn not_run(command: &str, reason: String, skipped: Option<String>) -> Self {
        let output = format!("not run: {reason}");
        let command = command.to_owned();
        Self { command, passed: false, exit_code: None, timed_out: false, skipped, output }
    }
}

pub(crate) struct ApplyEditPlan {
    call: ToolContext,
}

/// Longer than the limit for reading, because checks take longer.
pub(super) const APPLY_TIMEOUT: Duration = Duration::from_mins(3);
/// Packages are downloaded.
const INSTALL_TIMEOUT: Duration = Duration::from_mins(10);

impl InteractiveTool for ApplyEditPlan {
    const SPEC: ToolSpec = ToolSpec {
        name: "apply_edit_plan",
        title: "Apply an edit plan",
        toolset: Toolset::Integrate,
        effect: Effect::IdempotentWrite,
    };
    type Conversation = Self;

    fn conversation(call: &ToolContext) -> Self {
        Self { call: call.clone() }
    }
}

/// The commands of a plan, before it is applied.
#[derive(Serialize, Deserialize)]
struct CheckPreview {
    /// Where they would run.
    root: String,
    commands: Vec<String>,
    #[serde(default)]
    install_commands: Vec<String>,
    /// Why they are not run, even with consent.
    refused: Option<String>,
}

impl Conversation for ApplyEditPlan {
    type Args = Args;
    type Reply = Reply;

    async fn run(&self, f: &mut Flow<'_>, args: Args) -> Result<Reply, Halt> {
        let (mut commands, mut installs, mut not_run) = (Vec::new(), Vec::new(), None);
        if (args.run_checks || args.install) && !args.dry_run {
            // Computed again once the answer is there: what runs must still be what the user agreed to.
            let preview: CheckPreview =
                f.derive("checks", async || Ok(self.preview_checks(&args).await?)).await?;
            if args.install && preview.refused.is_none() {
                let is_agreed = ask_install_consent(f, &preview.root, &preview.install_commands).await?;
                installs = if is_agreed { preview.install_commands.clone() } else { Vec::new() };
            }
            if args.run_checks {
                match ask_consent(f, &preview).await? {
                    Ok(()) => commands = preview.commands,
                    Err(why) => not_run = Some(why),
                }
            } else {
                not_run = preview.refused;
            }
        }
        let (mut reply, root): (Reply, String) =
            f.step("apply", async |_| Ok(self.apply(&args).await?)).await?;
        reply.checks_not_run = not_run;
        for command in &installs {
            let install = f.step("install", async |_| {
                Ok(run_install(&self.call, &root, &reply.plan_id, command).await?)
            });
            reply.installs.push(install.await?);
        }
        for command in &commands {
            let check =
                f.step("check", async |_| Ok(run_check(&self.call, &root, &reply.plan_id, command).await?));
            reply.checks.push(check.await?);
        }
        Ok(reply)
    }
}

/// Asks the user whether commands may be run. If the client cannot ask, they are not run.
async fn ask_consent(f: &mut Flow<'_>, preview: &CheckPreview) -> Result<Result<(), String>, Halt> {
    let by_hand = |why: &str| {
        let commands = preview.commands.join("`, `");
        format!("{why}. The user can run them: `{commands}`")
    };
    if preview.commands.is_empty() {
        return Ok(Err("the plan has no post-checks".to_owned()));
    }
    if let Some(why) = &preview.refused {
        // No advice to run the commands of a plan from an unknown source.
        return Ok(Err(why.clone()));
    }
    if !f.can_ask() {
        let why = "running commands needs the user's consent, which this client cannot ask for";
        return Ok(Err(by_hand(why)));
    }
    let question = confirm("Run these commands after the plan is applied?").default(false).optional();
    let message = consent_message(&preview.root, &preview.commands);
    let agreed = f.form(&message, (CONSENT_FIELD, question)).await?;
    Ok(if agreed == Some(true) { Ok(()) } else { Err(by_hand("the user declined")) })
}

/// Asks the user whether packages may be installed. If there are none, or the client cannot ask, they are not.
pub(super) async fn ask_install_consent(
    f: &mut Flow<'_>,
    root: &str,
    commands: &[String],
) -> Result<bool, Halt> {
    if commands.is_empty() || !f.can_ask() {
        return Ok(false);
    }
    let question = confirm("Install these packages now?").default(false).optional();
    let message = install_consent_message(root, commands);
    Ok(f.form(&message, (INSTALL_CONSENT_FIELD, question)).await? == Some(true))
}

impl ApplyEditPlan {
    async fn load_plan(&self, args: &Args) -> Result<(PlanInput, PlanAuthor), RequestError> {
        let plans = PlanStore::open(&self.call).await?;
        let Args { plan_id, plan, root, .. } = args;
        let input = PlanInput::find(&plans, plan_id.as_deref(), plan.as_ref(), root.as_deref()).await?;
        Ok((input, plans.author()))
    }

    /// Validates the plan and returns its commands.
    async fn preview_checks(&self, args: &Args) -> Result<CheckPreview, RequestError> {
        let (input, author) = self.load_plan(args).await?;
        let (roots, allow, call) =
            (Roots::new(self.call.roots.clone()), args.allow.clone(), self.call.clone());
        run_blocking(&self.call, move |budget| {
            let tree = roots.open(&input.root)?;
            let (_, plan) = validate_and_apply(&call, &tree, &input.value, &allow, true, &author, budget)?;
            let (commands, install_commands) =
                plan.map(|plan| (plan.post_checks, plan.install_commands)).unwrap_or_default();
            let root = tree.path().display().to_string();
            let is_kept = input.stored_plan.is_some_and(|kept| kept.root == root);
            let refused = ensure_checks_allowed(&call, is_kept).err().map(str::to_owned);
            Ok(CheckPreview { root, commands, install_commands, refused })
        })
        .await
    }

    /// Applies the plan. Also returns the root.
    async fn apply(&self, args: &Args) -> Result<(Reply, String), RequestError> {
        let (input, author) = self.load_plan(args).await?;
        let (call, roots) = (self.call.clone(), Roots::new(self.call.roots.clone()));
        let (allow, dry_run) = (args.allow.clone(), args.dry_run);
        run_blocking_with_timeout(&self.call, APPLY_TIMEOUT, move |budget| {
            let tree = roots.open(&input.root)?;
            let (reply, _) =
                validate_and_apply(&call, &tree, &input.value, &allow, dry_run, &author, budget)?;
            Ok((reply, input.root))
        })
        .await
    }
}

/// Validates a plan and applies it atomically. Also returns the plan.
pub(super) fn validate_and_apply(
    call: &ToolContext,
    tree: &Tree,
    plan: &Value,
    allow: &[String],
    dry_run: bool,
    author: &PlanAuthor,
    budget: &WorkBudget,
) -> Result<(Reply, Option<EditPlan>), RequestError> {
    // Recover first what a killed process left half applied, or the plan would be validated against it.
    let recovered =
        if dry_run { Vec::new() } else { plan::recover(tree, author).map_err(PlanRequestError::from)? };
    let verdict = validate_plan(tree, plan, &validation_rules(allow, budget))
        .map_err(RequestError::thread_spawn_failed)?;
    if !verdict.is_valid() {
        return Err(invalid_plan_error(tree, plan, &verdict, author)?.into());
    }
    let mut reply = apply_validated(call, tree, &verdict, dry_run, author)?;
    reply
        .warnings
        .extend(recovered.iter().map(|id| format!("plan {id} was left half applied and was rolled back")));
    let (_, unreadable) = plan::list_undoable_plans(tree, &author.actor()).map_err(PlanRequestError::from)?;
    reply.warnings.extend(unreadable.iter().map(plan::UntrustedJournal::message));
    if reply.outcome == ApplyEditPlanOutcome::Applied && !author.is_persistent {
        reply.warnings.push(
            "no database could be opened, so the key that signs the journal is lost when this process exits: save \
             the plan to undo it with `fluxway undo --plan FILE`"
                .to_owned(),
        );
    }
    Ok((reply, verdict.plan))
}

fn apply_validated(
    call: &ToolContext,
    tree: &Tree,
    validation: &PlanValidation,
    dry_run: bool,
    author: &PlanAuthor,
) -> Result<Reply, RequestError> {
    // A valid plan is always there.
    let Some(whole) = &validation.plan else { return Err(PlanRequestError::invalid(validation).into()) };
    let files = &validation.resolution.files;
    let done = validation.already_applied || files.is_empty();
    let (outcome, written, can_undo) = if done {
        let can_undo = plan::can_undo(tree, &whole.id, &author.actor()).map_err(PlanRequestError::from)?;
        (ApplyEditPlanOutcome::AlreadyApplied, Vec::new(), can_undo)
    } else if dry_run {
        (ApplyEditPlanOutcome::DryRun, Vec::new(), false)
    } else {
        let applied = plan::apply(tree, whole, files, &author.actor()).map_err(PlanRequestError::from)?;
        let is_new = applied.outcome == plan::ApplyOutcome::Applied;
        (
            if is_new { ApplyEditPlanOutcome::Applied } else { ApplyEditPlanOutcome::AlreadyApplied },
            applied.files,
            applied.can_undo,
        )
    };
    let warnings = validation.findings.iter().map(plan::PlanFinding::sentence).collect();
    Ok(Reply {
        outcome,
        plan_id: whole.id.clone(),
        files: written,
        diff: files.iter().map(|file| visible_diff(call, &file.change.diff)).collect(),
        warnings,
        installs: Vec::new(),
        checks: Vec::new(),
        checks_not_run: None,
        undo: can_undo.then(|| undo_hint(&whole.id)),
    })
}

/// Why a plan is not valid here. If one cause explains most of the findings, it is named first, or alone.
fn invalid_plan_error(
    tree: &Tree,
    plan: &Value,
    validation: &PlanValidation,
    author: &PlanAuthor,
) -> Result<PlanRequestError, RequestError> {
    let mut error = PlanRequestError::invalid(validation);
    // Only a plan that a server completed says how its files were.
    if let (PlanRequestError::Invalid { issues }, Ok(whole)) = (&mut error, EditPlan::deserialize(plan)) {
        let is_modified = validation.findings.iter().any(|finding| finding.code == "changed_plan");
        let is_applied = !is_modified
            && plan::can_undo(tree, &whole.id, &author.actor()).map_err(PlanRequestError::from)?;
        if let Some(cause) = is_applied.then(|| edited_since_applied(tree, &whole)).flatten() {
            issues.insert(0, cause);
        } else if let Some(cause) = wrong_folder(tree, &whole) {
            *issues = vec![cause];
        }
    }
    Ok(error)
}

/// Names the first file of an applied plan that has been edited since, if there is one.
fn edited_since_applied(tree: &Tree, applied: &EditPlan) -> Option<String> {
    let edited: Vec<&FileChange> =
        applied.files.iter().filter(|file| !has_planned_content(tree, applied, file)).collect();
    let (first, more) = edited.split_first()?;
    let path = NameRedactor::default().file(&first.path);
    let files = match more.len() {
        0 => format!("{path} has"),
        more => format!("{path} and {more} more of its files have"),
    };
    Some(format!(
        "this plan is already applied, and {files} been edited since; undo it first: {}",
        undo_hint(&applied.id)
    ))
}

/// Whether a file has the content that an applied plan gave it.
fn has_planned_content(tree: &Tree, applied: &EditPlan, file: &FileChange) -> bool {
    let FileChange { sha256, size, .. } = file.clone();
    // To a plan that comes after this one, that content is the one before.
    let before = OriginalFile { sha256, size, eol: Eol::Lf, bom: false, indent: Indent::Spaces(4) };
    let next = FileChange { before: Some(before), ..file.clone() };
    plan::is_undone(tree, &EditPlan { files: vec![next], ..applied.clone() })
}

/// Says that this is not the folder of a plan, if none of the files is here that the plan edits.
fn wrong_folder(tree: &Tree, plan: &EditPlan) -> Option<String> {
    let edited: Vec<&FileChange> = plan.files.iter().filter(|file| file.before.is_some()).collect();
    let is_missing = |file: &&FileChange| tree.metadata(&file.path).is_ok_and(|found| found.is_none());
    let (first, more) = edited.split_first().filter(|_| edited.iter().all(is_missing))?;
    let path = NameRedactor::default().file(&first.path);
    let more = if more.is_empty() { "" } else { ", nor is any other file that the plan edits" };
    Some(format!(
        "{path} is not in this folder{more}: it does not look like the folder that the plan was made for; pass \
         --root DIR (the argument `root`)"
    ))
}

/// How to undo a plan.
pub(super) fn undo_hint(id: &str) -> String {
    format!("undo_edit_plan with plan_id {id}, or `fluxway undo {id}`")
}

/// Runs a post-check that the user agreed to.
pub(super) async fn run_check(
    call: &ToolContext,
    root: &str,
    plan: &str,
    command: &str,
) -> Result<Check, RequestError> {
    run_recorded(call, ("check", APPLY_TIMEOUT), root, plan, command, execute_check).await
}

/// Installs packages that the user agreed to.
pub(super) async fn run_install(
    call: &ToolContext,
    root: &str,
    plan: &str,
    command: &str,
) -> Result<Check, RequestError> {
    run_recorded(call, ("install", INSTALL_TIMEOUT), root, plan, command, execute_install).await
}

/// Runs a command within a time limit, and records that in the audit log under the name of an event.
async fn run_recorded(
    call: &ToolContext,
    (event, limit): (&'static str, Duration),
    root: &str,
    plan: &str,
    command: &str,
    execute: fn(&Tree, &str, &WorkBudget) -> Check,
) -> Result<Check, RequestError> {
    let (roots, root, words) = (Roots::new(call.roots.clone()), root.to_owned(), command.to_owned());
    let done = run_blocking_with_timeout(call, limit, move |budget| {
        Ok(execute(&roots.open(&root)?, &words, budget))
    })
    .await?;
    let (tenant, subject) = (call.principal.tenant(), call.principal.subject());
    let exit_code = done.exit_code;
    tracing::info!(target: "audit", event, tenant, subject, plan, command, exit_code, passed = done.passed);
    Ok(done)
}

/// Runs a command of the package manager, if it is one that this server makes.
fn execute_install(tree: &Tree, command: &str, budget: &WorkBudget) -> Check {
    budget.report_progress(1, &format!("running {command}"));
    let Some(words) = fluxloop::install_command_words(command) else {
        return Check::not_run(command, "it is not a command that installs FluxLoop".to_owned(), None);
    };
    if words.first().is_some_and(|program| program == "pip")
        && let Some(folder) = inactive_environment(tree)
    {
        let reason =
            format!("the virtual environment {folder} is not active: activate it, and run the command");
        return Check::not_run(command, reason.clone(), Some(reason));
    }
    match codebase::sandbox::run_as_user(tree, &words, budget) {
        Ok(RunOutcome { code, timed_out, output }) => Check {
            command: command.to_owned(),
            passed: code == Some(0),
            exit_code: code,
            timed_out,
            skipped: None,
            output,
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let reason = not_installed(words.first().map_or("", String::as_str));
            Check::not_run(command, reason.clone(), Some(reason))
        }
        Err(error) => Check::not_run(command, error.to_string(), None),
    }
}

/// The repository's virtual environment, if the one of this process is another or none: `pip` would install
/// elsewhere, and a program of the repository is not run for this.
fn inactive_environment(tree: &Tree) -> Option<&'static str> {
    let active = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from);
    let is_there =
        |name: &&str| tree.metadata(name).is_ok_and(|found| found.is_some_and(|found| !found.is_file));
    let is_active = |name: &str| active.as_ref().is_some_and(|active| *active == tree.path().join(name));
    [".venv", "venv"].into_iter().find(is_there).filter(|name| !is_active(name))
}

/// Runs a post-check if its form is allowed.
fn execute_check(tree: &Tree, command: &str, budget: &WorkBudget) -> Check {
    budget.report_progress(1, &format!("running {command}"));
    let words = match judge_check(command, fluxloop::is_check_command) {
        Ok(words) => words,
        Err(reason) => return Check::not_run(command, reason, None),
    };
    let command = command.to_owned();
    match plan::run_check(tree, &words, budget) {
        Ok(checked) => {
            let passed = checked.passed();
            let CheckResult { code, timed_out, output, .. } = checked;
            let skipped = (!passed && lacks_fluxloop(&words, &output)).then(|| not_installed("fluxloop"));
            Check { command, passed, exit_code: code, timed_out, skipped, output }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let reason = not_installed(words.first().map_or("", String::as_str));
            Check::not_run(&command, reason.clone(), Some(reason))
        }
        Err(error) => Check::not_run(&command, error.to_string(), None),
    }
}

fn not_installed(program: &str) -> String {
    format!("`{program}` is not installed")
}

/// Whether a package manager was asked to run FluxLoop and did not find it: uv, Poetry, PDM and Python itself.
fn lacks_fluxloop(words: &[String], output: &str) -> bool {
    let messages = [
        "Failed to spawn: `fluxloop`",
        "Command not found: fluxloop",
        "'fluxloop' is not found",
        "No module named fluxloop",
        "No module named 'fluxloop'",
    ];
    words.iter().any(|word| word == "fluxloop") && messages.iter().any(|message| output.contains(message))
}
