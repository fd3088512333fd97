//! `fluxway plan`, `apply` and `undo`.

use std::fmt::Write;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::client::{AskPolicy, CliClient, with_client};
use crate::args::{ApplyArgs, IntegrationArgs, PlanArgs, UndoArgs};
use crate::config::{Config, ConfigError, canonical_folder};
use crate::exit::{self, CommandError};
use crate::styling::escape_controls;

pub(crate) fn plan(mut config: Config, args: PlanArgs) -> Result<(), CommandError> {
    if let Some(folder) = &args.folder {
        config.roots = vec![resolve_root(folder)?];
    }
    // Without a framework the workflow finds one.
    let is_named = args.integration.framework.is_some();
    let tool = if is_named { "propose_edit_plan" } else { "run_integration_workflow" };
    let reply = call_tool(config, AskPolicy::Never, tool, args.integration.arguments())?;
    let mut reply: Value = serde_json::from_str(&reply).unwrap_or_default();
    let why = reply["integration_steps"]["skipped"].as_str().map(str::to_owned);
    let plan = match &why {
        // Programs that read this always get a plan, here one without edits.
        Some(why) => {
            json!({ "summary": "No FluxLoop integration.", "edits": [], "files": [], "warnings": [why] })
        }
        None if is_named => reply,
        None => reply["edit_plan"].take(),
    };
    let text = serde_json::to_string_pretty(&plan).unwrap_or_default();
    if let Some(file) = &args.out {
        write_file(file, &text)?;
    }
    if args.json {
        return exit::print(&text);
    }
    print_plan(&plan, args.folder.as_ref(), args.out.as_deref())
}

pub(crate) fn apply(config: Config, args: ApplyArgs) -> Result<(), CommandError> {
    let asking = match (args.check, args.yes) {
        (false, _) => AskPolicy::Never,
        (true, true) => AskPolicy::Preset(vec![("run_commands", json!(true))]),
        (true, false) if has_terminal() => AskPolicy::Terminal,
        (true, false) => {
            let why = "--check runs commands of the plan, and there is no terminal to ask on; pass --yes if you agree to them";
            return Err(CommandError::Usage(why.to_owned()));
        }
    };
    let named = match stored_plan_id(&args.plan) {
        Some(id) => ("plan_id".to_owned(), json!(id)),
        None => ("plan".to_owned(), read_plan(&args.plan)?),
    };
    let mut arguments = Map::from_iter([named]);
    if stored_plan_id(&args.plan).is_none() {
        arguments.insert("root".to_owned(), json!("."));
    }
    arguments.insert("dry_run".to_owned(), json!(args.dry_run));
    arguments.insert("run_checks".to_owned(), json!(args.check));
    arguments.insert("allow".to_owned(), json!(args.allow));
    let text = call_tool(config, asking, "apply_edit_plan", arguments)?;
    if args.json {
        return exit::print(&text);
    }
    let reply: Value = serde_json::from_str(&text).unwrap_or_default();
    let mut page = reply["diff"].as_str().unwrap_or_default().to_owned();
    if !page.is_empty() {
        page.push('\n');
    }
    page.push_str(&render_section("note", &reply["notes"]));
    page.push_str(&render_section("warning", &reply["warnings"]));
    let (checks, failed) = render_checks(&reply);
    page.push_str(&checks);
    let id = escape_controls(reply["plan_id"].as_str().unwrap_or_default());
    let outcome = match reply["outcome"].as_str() {
        Some("applied") => format!(
            "Applied: {} written.\n\nTo undo it:\n  fluxway undo {id}{}\n",
            count_files(&reply["files"]),
            root_flag(args.roots.root.as_deref().and_then(<[PathBuf]>::first)),
        ),
        Some("dry_run") => {
            let file = args.plan.display().to_string();
            format!(
                "Dry run: nothing was written.\n\nTo apply it:\n  fluxway apply {}{}\n",
                escape_controls(&file),
                root_flag(args.roots.root.as_deref().and_then(<[PathBuf]>::first))
            )
        }
        _ => "Already applied: nothing had to be written.\n".to_owned(),
    };
    exit::print_page(&(page + &outcome))?;
    failed
}

/// "1 file", "3 files".
fn count_files(files: &Value) -> String {
    let count = files.as_array().map_or(0, Vec::len);
    format!("{count} {}", if count == 1 { "file" } else { "files" })
}

/// The flag that makes a command to copy work on the same repository.
pub(super) fn root_flag(folder: Option<&PathBuf>) -> String {
    let flag = |folder: &PathBuf| {
        let name = folder.display().to_string();
        let quoted = shlex::try_quote(&name).map_or_else(|_| name.clone(), Into::into);
        format!(" --root {}", escape_controls(&quoted))
    };
    folder.map(flag).unwrap_or_default()
}

/// How the post-checks ended, and the error if one of them failed.
pub(super) fn render_checks(reply: &Value) -> (String, Result<(), CommandError>) {
    let (mut shown, mut failed) = (String::new(), 0);
    if let Some(why) = reply["checks_not_run"].as_str() {
        let _ = writeln!(shown, "skipped: {}", escape_controls(why));
    }
    for check in reply["checks"].as_array().into_iter().flatten() {
        let command = escape_controls(check["command"].as_str().unwrap_or_default());
        if check["passed"] == true {
            let _ = writeln!(shown, "passed: {command}");
        } else if let Some(why) = check["skipped"].as_str() {
            let _ = writeln!(shown, "skipped: {command} ({})", escape_controls(why));
        } else {
            failed += 1;
            let _ = writeln!(shown, "failed: {command}");
            let output = check["output"].as_str().unwrap_or_default();
            shown.extend(output.lines().map(|line| format!("    {}\n", escape_controls(line))));
        }
    }
    let verdict = match failed {
        0 => Ok(()),
        _ => Err(CommandError::Refused(format!(
            "{failed} post-{} failed; the plan stays applied until you run `fluxway undo`",
            if failed == 1 { "check" } else { "checks" }
        ))),
    };
    (shown, verdict)
}

impl IntegrationArgs {
    pub(super) fn arguments(&self) -> Map<String, Value> {
        let given = [
            ("framework", &self.framework),
            ("package", &self.package),
            ("variant", &self.variant),
            ("cli", &self.cli),
            ("agent", &self.agent),
            ("request_field", &self.request_field),
        ];
        let given =
            given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value.as_ref()?))));
        given.collect()
    }
}

pub(crate) fn undo(config: Config, args: UndoArgs) -> Result<(), CommandError> {
    let asking = if args.yes { AskPolicy::FirstOption } else { AskPolicy::terminal_if(has_terminal()) };
    let mut arguments = Map::new();
    if let Some(id) = args.id {
        arguments.insert("plan_id".to_owned(), json!(id));
    }
    if let Some(file) = &args.plan {
        arguments.insert("plan".to_owned(), read_plan(file)?);
        arguments.insert("allow".to_owned(), json!(args.allow));
    }
    let text = call_tool(config, asking, "undo_edit_plan", arguments).map_err(|failure| match failure {
        CommandError::Refused(why) if why.starts_with("undo_edit_plan needs more") => {
            let (_, named) = why.split_once("\n\n").unwrap_or(("", &why));
            CommandError::Refused(format!(
                "{named}\nNothing was undone: there is no terminal to ask on.\nhint: pass --yes, or the id of the plan"
            ))
        }
        other => other,
    })?;
    if args.json {
        return exit::print(&text);
    }
    let reply: Value = serde_json::from_str(&text).unwrap_or_default();
    let files: Vec<String> = reply["files"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(escape_controls)
        .collect();
    let outcome = if reply["outcome"] == "already_undone" { "Already undone" } else { "Undone" };
    exit::print_page(&render_restored(outcome, &files))
}

/// The files that are as they were before a plan.
pub(super) fn render_restored(outcome: &str, files: &[String]) -> String {
    let files: String = files.iter().map(|file| ["  ", file, "\n"].concat()).collect();
    format!("{outcome}. These files are as they were before the plan:\n{files}")
}

fn call_tool(
    config: Config,
    asking: AskPolicy,
    tool: &str,
    arguments: Map<String, Value>,
) -> Result<String, CommandError> {
    with_client(config, asking, async |client: &mut CliClient| client.call_tool(tool, arguments).await)
}

/// Whether there is a user who can be asked.
fn has_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// The id of a kept plan, if that is what was given instead of a file.
#[expect(clippy::disallowed_methods, reason = "the user named this file, or plan")]
fn stored_plan_id(given: &Path) -> Option<&str> {
    let id = given.to_str()?;
    let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_id && !given.exists()).then_some(id)
}

fn print_plan(plan: &Value, folder: Option<&PathBuf>, file: Option<&Path>) -> Result<(), CommandError> {
    let mut page = format!("{}\n\n", escape_controls(plan["summary"].as_str().unwrap_or_default()));
    for edit in plan["edits"].as_array().into_iter().flatten() {
        let part = |name: &str| escape_controls(edit[name].as_str().unwrap_or_default());
        let _ = writeln!(page, "  {} ({})", part("filepath"), part("strategy").replace('_', " "));
        let _ = writeln!(page, "      {}", part("rationale"));
    }
    if plan["edits"].as_array().is_some_and(|edits| !edits.is_empty()) {
        page.push('\n');
    }
    for diff in plan["files"].as_array().into_iter().flatten().filter_map(|file| file["diff"].as_str()) {
        page.push_str(diff);
        page.push('\n');
    }
    let is_empty = plan["files"].as_array().is_none_or(Vec::is_empty);
    let has_no_edits = is_empty && plan["edits"].as_array().is_none_or(Vec::is_empty);
    page.push_str(&render_section("needed", &plan["prerequisites"]));
    page.push_str(&render_section("note", &plan["notes"]));
    // A plan without edits is blocked, and its warnings are the reasons.
    page.push_str(&render_section(if has_no_edits { "blocked" } else { "warning" }, &plan["warnings"]));
    page.push_str(&render_section("check", &plan["postChecks"]));
    if !is_empty {
        let id = escape_controls(plan["id"].as_str().unwrap_or_default());
        let source = file.map_or(id, |file| escape_controls(&file.display().to_string()));
        let _ = write!(
            page,
            "\nNothing was written yet. To apply the plan:\n  fluxway apply {source}{}\n",
            root_flag(folder)
        );
    }
    exit::print_page(&page)?;
    if has_no_edits {
        return Err(CommandError::Refused("there is nothing to apply, for the reasons above".to_owned()));
    }
    Ok(())
}

pub(super) fn render_section(title: &str, lines: &Value) -> String {
    let lines = lines.as_array().into_iter().flatten().filter_map(Value::as_str);
    lines.map(|line| [title, ": ", &escape_controls(line), "\n"].concat()).collect()
}

pub(super) fn resolve_root(folder: &Path) -> Result<PathBuf, CommandError> {
    let real = canonical_folder(folder)?;
    server::check_root(&real).map_err(|error| ConfigError::GuardedRoot(error.to_string()))?;
    Ok(real)
}

/// A plan from a file, or from stdin for `-`.
#[expect(clippy::disallowed_methods, reason = "the user named this file")]
fn read_plan(file: &Path) -> Result<Value, CommandError> {
    let mut text = String::new();
    let read = if file.as_os_str() == "-" {
        std::io::stdin().read_to_string(&mut text).map(drop)
    } else {
        std::fs::read_to_string(file).map(|found| text = found)
    };
    read.map_err(|error| CommandError::Usage(format!("cannot read the plan {}: {error}", file.display())))?;
    let plan: Value = serde_json::from_str(&text)
        .map_err(|error| CommandError::Usage(format!("the plan {} is not JSON: {error}", file.display())))?;
    if plan.is_object() { Ok(plan) } else { Err(CommandError::Usage("a plan is a JSON object".to_owned())) }
}

#[expect(clippy::disallowed_methods, reason = "the user named this file")]
fn write_file(file: &Path, text: &str) -> Result<(), CommandError> {
    std::fs::write(file, format!("{text}\n"))
        .map_err(CommandError::io(format!("cannot write {}", file.display())))
}
