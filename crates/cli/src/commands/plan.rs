//! `fluxway plan`, `apply` and `undo`.

use std::fmt::Write;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::client::{AskPolicy, CliClient, with_client};
use crate::args::{ApplyArgs, IntegrationArgs, PlanArgs, UndoArgs};
use crate::config::Config;
use crate::exit::{self, CommandError};
use crate::styling::escape_controls;
use crate::suggest::nearest;

pub(crate) fn plan(config: Config, args: PlanArgs) -> Result<(), CommandError> {
    // Without a framework the workflow finds one.
    let is_named = args.integration.framework.is_some();
    let tool = if is_named { "propose_edit_plan" } else { "run_integration_workflow" };
    let arguments = args.integration.arguments();
    let reply = with_client(config, AskPolicy::Never, async |client: &mut CliClient| {
        check_flag_values(client, &arguments).await?;
        client.call_tool(tool, arguments).await
    })?;
    let mut reply: Value = serde_json::from_str(&reply).unwrap_or_default();
    let why = reply["integration_steps"]["skipped"].as_str().map(str::to_owned);
    let plan = match &why {
        // Programs that read this always get a plan, here one without edits.
        Some(why) => {
            let missing = why.split(';').next();
            json!({
                "summary": "No FluxLoop integration.", "edits": [], "files": [], "warnings": [why],
                "blockers": [{ "missing": missing, "argument": "agent" }]
            })
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
    print_plan(&plan, args.repository.folder(), args.out.as_deref())
}

pub(crate) fn apply(config: Config, args: ApplyArgs) -> Result<(), CommandError> {
    let asking = match (args.check || args.install, args.yes) {
        (false, _) => AskPolicy::Never,
        (true, true) => consent_to_commands(args.check, args.install),
        (true, false) if has_terminal() => AskPolicy::Terminal,
        (true, false) => {
            let why = "--check and --install run commands of the plan, and there is no terminal to ask on; pass --yes if \
                       you agree to them";
            return Err(CommandError::Usage(why.to_owned()));
        }
    };
    let stored_id = stored_plan_id(&args.plan);
    let named = match stored_id {
        Some(id) => ("plan_id".to_owned(), json!(id)),
        None => ("plan".to_owned(), read_plan(&args.plan)?),
    };
    let mut arguments = Map::from_iter([named]);
    if stored_id.is_none() {
        arguments.insert("root".to_owned(), json!("."));
    }
    arguments.insert("dry_run".to_owned(), json!(args.dry_run));
    arguments.insert("run_checks".to_owned(), json!(args.check));
    arguments.insert("install".to_owned(), json!(args.install));
    arguments.insert("allow".to_owned(), json!(args.allow));
    let text = call_tool(config, asking, "apply_edit_plan", arguments).map_err(|failure| match failure {
        // The server says what a model can send instead. A user has a command.
        CommandError::Refused(why) if why.starts_with("no plan `") => CommandError::Refused(format!(
            "no plan {} is stored; plans are kept for a day: make it again with `fluxway plan --out FILE` and apply that file",
            stored_id.unwrap_or_default()
        )),
        other => other,
    })?;
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

/// Answers the questions whether commands may run, as the flags did.
pub(super) fn consent_to_commands(check: bool, install: bool) -> AskPolicy {
    AskPolicy::Preset(vec![("run_commands", json!(check)), ("run_install", json!(install))])
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
    let list = |name: &str| reply[name].as_array().into_iter().flatten();
    for check in list("installs").chain(list("checks")) {
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
            "{failed} {} failed; the plan stays applied until you run `fluxway undo`",
            if failed == 1 { "command" } else { "commands" }
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

/// The flags whose values a tool lists.
const LISTED_FLAGS: [&str; 3] = ["framework", "variant", "cli"];

/// Refuses a value that a flag does not have, as a usage error. The server would name the argument of the tool.
pub(super) async fn check_flag_values(
    client: &mut CliClient,
    arguments: &Map<String, Value>,
) -> Result<(), CommandError> {
    let given = |flag: &'static str| Some((flag, arguments.get(flag)?.as_str()?));
    let given: Vec<(&str, &str)> = LISTED_FLAGS.into_iter().filter_map(given).collect();
    // Listing the tools takes longer than most calls.
    if given.is_empty() {
        return Ok(());
    }
    let tools = client.list_tools().await?;
    let Some(tool) = tools.iter().find(|tool| tool["name"] == "propose_edit_plan") else { return Ok(()) };
    for (flag, value) in given {
        let known = tool["inputSchema"]["properties"][flag]["enum"].as_array().into_iter().flatten();
        let known: Vec<&str> = known.filter_map(Value::as_str).collect();
        if !known.is_empty() && !known.iter().any(|known| server::is_same_word(known, value)) {
            return Err(CommandError::Usage(invalid_value_message(flag, value, &known)));
        }
    }
    Ok(())
}

fn invalid_value_message(flag: &str, value: &str, known: &[&str]) -> String {
    let near = nearest(value, known.iter().copied());
    let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
    let expected = if near.is_empty() { "; expected" } else { " Expected" };
    format!(
        "invalid value `{}` for --{flag}{near}{expected} one of {}",
        escape_controls(value),
        known.join(", ")
    )
}

pub(crate) fn undo(config: Config, args: UndoArgs) -> Result<(), CommandError> {
    let asking = if args.yes { AskPolicy::FirstOption } else { AskPolicy::terminal_if(has_terminal()) };
    let root = config.roots.first().cloned();
    let mut arguments = Map::new();
    if let Some(id) = args.id {
        arguments.insert("plan_id".to_owned(), json!(id));
    }
    if let Some(file) = &args.plan {
        arguments.insert("plan".to_owned(), read_plan(file)?);
        arguments.insert("allow".to_owned(), json!(args.allow));
    }
    let text = call_tool(config, asking, "undo_edit_plan", arguments)
        .map_err(|failure| explain_undo_failure(failure, root.as_deref()))?;
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
    let outcome = match reply["outcome"].as_str() {
        Some("declined") => return exit::print_page("Nothing was undone.\n"),
        Some("already_undone") => "Already undone",
        _ => "Undone",
    };
    exit::print_page(&render_restored(outcome, &files))
}

/// Says what a user can do about it; the server says it to a model.
fn explain_undo_failure(failure: CommandError, root: Option<&Path>) -> CommandError {
    let CommandError::Refused(why) = &failure else { return failure };
    if why.starts_with("undo_edit_plan needs more") {
        let (_, question) = why.split_once("\n\n").unwrap_or_default();
        let last = question.lines().next().unwrap_or_default();
        let why = "nothing was undone: there is no terminal to ask on; pass --yes or the id of a plan";
        return CommandError::Refused(format!("{why}\n{last}"));
    }
    if why.contains("no plan is applied")
        && let Some(parent) = root.and_then(find_parent_with_plans)
    {
        let (shown, flag) = (escape_controls(&parent.display().to_string()), root_flag(Some(&parent)));
        return CommandError::Refused(format!("{why}\nhint: a plan is applied in {shown}; pass{flag}"));
    }
    failure
}

/// The nearest folder above this one in which plans are applied.
#[expect(clippy::disallowed_methods, reason = "only looks for our own folder above the repository")]
fn find_parent_with_plans(root: &Path) -> Option<PathBuf> {
    let parents = root.ancestors().skip(1);
    parents.map(Path::to_path_buf).find(|parent| parent.join(".fluxway/plans").is_dir())
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
    let is_blocked = is_empty && plan["blockers"].as_array().is_some_and(|blockers| !blockers.is_empty());
    page.push_str(&render_section("needed", &plan["prerequisites"]));
    page.push_str(&render_section("note", &plan["notes"]));
    page.push_str(&render_candidates(&plan["candidates"]));
    // A plan without edits is blocked, and its warnings are the reasons.
    match plan["blockers"].as_array() {
        Some(blockers) if is_blocked => page.push_str(&render_blockers(blockers)),
        _ => page.push_str(&render_section("warning", &plan["warnings"])),
    }
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
    if is_blocked {
        return Err(CommandError::Refused("there is nothing to apply, for the reasons above".to_owned()));
    }
    Ok(())
}

/// What else could be run, and how to choose it.
fn render_candidates(candidates: &Value) -> String {
    let mut page = String::new();
    for other in candidates.as_array().into_iter().flatten().skip(1).take(5) {
        let part = |name: &str| escape_controls(other[name].as_str().unwrap_or_default());
        let line = other["line"].as_u64().map(|line| format!(":{line}")).unwrap_or_default();
        let agent = part("agent");
        let quoted = shlex::try_quote(&agent).map_or_else(|_| agent.clone(), Into::into);
        let _ = writeln!(page, "other: --agent {quoted} ({}{line}): {}", part("path"), part("why"));
    }
    page
}

/// What is missing, each with the flag that lifts it.
fn render_blockers(blockers: &[Value]) -> String {
    let mut page = String::new();
    for blocker in blockers {
        let missing = escape_controls(blocker["missing"].as_str().unwrap_or_default());
        let place = blocker["path"].as_str().map_or_else(String::new, |path| {
            let line = blocker["line"].as_u64().map(|line| format!(":{line}")).unwrap_or_default();
            format!(" ({}{line})", escape_controls(path))
        });
        let _ = writeln!(page, "blocked: {missing}{place}");
    }
    let lifts = |argument: &str| blockers.iter().any(|blocker| blocker["argument"] == argument);
    let example = blockers.iter().find_map(|blocker| blocker["example"].as_str()).map(escape_controls);
    let mut paths = blockers.iter().filter_map(|blocker| blocker["path"].as_str()).peekable();
    let has_only_routes = paths.peek().is_some() && paths.all(|path| path.rsplit('.').next() != Some("py"));
    let agent = example.map_or_else(
        || {
            if has_only_routes {
                "--agent \"METHOD /path\"".to_owned()
            } else {
                "--agent path/to/file.py:function, or --agent \"POST /chat\"".to_owned()
            }
        },
        |example| {
            format!("--agent {}", shlex::try_quote(&example).unwrap_or_else(|_| example.clone().into()))
        },
    );
    let agent = format!("name the function or route to run: {agent}");
    let flags = [
        ("agent", agent.as_str()),
        ("request_field", "name the field that carries the text: --request-field NAME"),
        ("framework", "choose another framework: --framework NAME"),
        ("package", "choose one of the packages: --package FOLDER"),
        ("variant", "leave the program as it is: --variant bridge"),
    ];
    for (_, advice) in flags.iter().filter(|(argument, _)| lifts(argument)) {
        let _ = writeln!(page, "hint: {advice}");
    }
    page
}

pub(super) fn render_section(title: &str, lines: &Value) -> String {
    let lines = lines.as_array().into_iter().flatten().filter_map(Value::as_str);
    lines.map(|line| [title, ": ", &escape_controls(line), "\n"].concat()).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_values_are_answered_with_the_valid_ones() {
        for (value, expected) in [
            (
                "sdks",
                "invalid value `sdks` for --variant; did you mean sdk? Expected one of auto, sdk, bridge",
            ),
            ("ma\u{1b}gic", "invalid value `ma\\u{1b}gic` for --variant; expected one of auto, sdk, bridge"),
        ] {
            assert_eq!(invalid_value_message("variant", value, &["auto", "sdk", "bridge"]), expected);
        }
    }

    #[test]
    fn undo_failures_name_what_a_user_can_do() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("a/b");
        let explain =
            |why: &str| explain_undo_failure(CommandError::Refused(why.to_owned()), Some(&below)).to_string();
        let needs = "undo_edit_plan needs more: `plan_id` (Which? One of: 1). Ask.\n\nThe last applied plan is 1: s (f)\nWhich?";
        assert_eq!(
            explain(needs),
            "nothing was undone: there is no terminal to ask on; pass --yes or the id of a plan\n\
             The last applied plan is 1: s (f)"
        );
        let nothing = "no plan is applied here; there is nothing to undo";
        assert_eq!(explain(nothing), nothing);
        create_folder(&folder.path().join(".fluxway/plans"));
        let name = folder.path().display();
        assert_eq!(
            explain(nothing),
            format!("{nothing}\nhint: a plan is applied in {name}; pass --root {name}")
        );
        assert_eq!(explain("another plan is being applied"), "another plan is being applied");
    }

    #[expect(clippy::disallowed_methods, reason = "a folder of this test alone")]
    fn create_folder(path: &Path) {
        std::fs::create_dir_all(path).unwrap();
    }
}
