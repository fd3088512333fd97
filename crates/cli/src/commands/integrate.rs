//! `fluxway integrate`: the tool of that name, with its questions on the terminal.

use std::io::IsTerminal;

use serde_json::{Value, json};

use super::client::{AskPolicy, CliClient, with_client};
use super::plan::{
    check_flag_values, consent_to_commands, render_checks, render_restored, render_section, root_flag,
};
use crate::args::IntegrateArgs;
use crate::config::Config;
use crate::exit::{self, CommandError};
use crate::styling::{self, escape_controls};

pub(crate) fn run(config: Config, args: &IntegrateArgs) -> Result<(), CommandError> {
    // --yes asks nothing, so a terminal gets the same defaults as a script.
    let is_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let can_ask = is_terminal && !args.yes;
    let mut arguments = args.integration.arguments();
    if args.yes {
        arguments.insert("confirm".to_owned(), json!(true));
    }
    if args.check {
        arguments.insert("run_checks".to_owned(), json!(true));
    }
    if args.install {
        arguments.insert("install".to_owned(), json!(true));
    }
    // --yes --check agrees to the commands as well.
    let asking = if args.yes && (args.check || args.install) {
        consent_to_commands(args.check, args.install)
    } else {
        AskPolicy::terminal_if(can_ask)
    };
    let answer = with_client(config, asking, async |client: &mut CliClient| {
        check_flag_values(client, &arguments).await?;
        let text = client.call_tool_even_if_stopped("integrate", arguments).await?;
        Ok((text, client.is_stopped()))
    });
    let (text, is_stopped) = answer.map_err(|failure| match failure {
        CommandError::Refused(why) if why.starts_with("integrate needs more") && !can_ask => {
            CommandError::Refused(missing_flags_message(&why, is_terminal))
        }
        other => other,
    })?;
    let shown = if args.json {
        exit::print(&text)
    } else {
        print_outcome(&serde_json::from_str(&text).unwrap_or_default(), args)
    };
    // Only the last question leaves a result when it is interrupted: by then everything is written.
    if is_stopped { shown.and(Err(CommandError::Stopped("the changes are kept".to_owned()))) } else { shown }
}

/// Says which flags would have answered the questions that could not be asked.
fn missing_flags_message(why: &str, is_terminal: bool) -> String {
    let (needs, diff) = why.split_once("\n\n").unwrap_or((why, ""));
    let names: Vec<&str> = needs.split('`').skip(1).step_by(2).collect();
    let flags: Vec<String> =
        names
            .iter()
            .map(|name| {
                if *name == "confirm" { "--yes".to_owned() } else { format!("--{}", name.replace('_', "-")) }
            })
            .collect();
    let why = if is_terminal { "--yes asks no questions" } else { "there is no terminal to ask on" };
    let diff = styling::render_diff(diff, false);
    let diff = if diff.is_empty() { diff } else { format!("\n\n{}", diff.trim_end()) };
    format!("nothing was written: {why}; pass {}{diff}", flags.join(" and "))
}

/// Prints the outcome. The diff is printed only if the user has not seen it at a question.
fn print_outcome(reply: &Value, args: &IntegrateArgs) -> Result<(), CommandError> {
    let list = |name: &str| -> Vec<String> {
        reply[name].as_array().into_iter().flatten().filter_map(Value::as_str).map(escape_controls).collect()
    };
    let (checks, verdict) = render_checks(reply);
    let (outcome, verdict) = match reply["outcome"].as_str() {
        Some("applied") => (render_applied(reply, &list("files"), &checks, args), verdict),
        Some("already_applied") => {
            (format!("Already integrated: nothing had to be written.\n{checks}"), verdict)
        }
        Some("undone") => (render_restored("Undone", &list("files")), Ok(())),
        Some("declined") => ("Nothing was written.\n".to_owned(), Ok(())),
        _ => return Err(CommandError::Refused(list("warnings").join("\n"))),
    };
    let mut page = String::new();
    if args.yes {
        page.push_str(reply["diff"].as_str().unwrap_or_default());
        page.push('\n');
        page.push_str(&render_section("note", &reply["notes"]));
        page.push_str(&render_section("warning", &reply["warnings"]));
    }
    exit::print_page(&(page + &outcome))?;
    verdict
}

/// What was written, what is left to do, and how to undo it.
fn render_applied(reply: &Value, files: &[String], checks: &str, args: &IntegrateArgs) -> String {
    let text = |name: &str| escape_controls(reply[name].as_str().unwrap_or_default());
    let (framework, target, id) = (text("framework"), text("target"), text("plan_id"));
    let package = match text("package") {
        root if root.is_empty() || root == "." => String::new(),
        folder => format!(" in {folder}"),
    };
    let target = if target.is_empty() { target } else { format!("; FluxLoop will run {target}") };
    let files: String = files.iter().map(|file| ["  ", file, "\n"].concat()).collect();
    let next = render_next_steps(reply);
    format!(
        "Integrated FluxLoop for {framework}{package}{target}. Written:\n{files}{checks}{next}\nTo undo it:\n  fluxway undo {id}{}\n",
        root_flag(args.repository.folder())
    )
}

/// What to install, and the commands that have not run yet, or could not.
fn render_next_steps(reply: &Value) -> String {
    let list = |name: &str| reply[name].as_array().into_iter().flatten();
    let has_run = |command: &&Value| {
        list("checks").any(|check| check["command"] == **command && check["skipped"].is_null())
    };
    let open: Vec<&Value> = list("post_checks").filter(|command| !has_run(command)).collect();
    let steps = render_section("needed", &reply["prerequisites"]) + &render_section("check", &json!(open));
    if steps.is_empty() { steps } else { format!("\nNext:\n{steps}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_steps_are_what_is_needed_and_has_not_run() {
        let check = |command: &str, skipped: Value| json!({ "command": command, "skipped": skipped });
        for (reply, expected) in [
            (json!({}), ""),
            (json!({ "prerequisites": ["uv"] }), "\nNext:\nneeded: uv\n"),
            (json!({ "post_checks": ["a", "b"], "checks": [] }), "\nNext:\ncheck: a\ncheck: b\n"),
            (
                json!({ "post_checks": ["a", "b"],
                    "checks": [check("a", Value::Null), check("b", json!("not installed"))] }),
                "\nNext:\ncheck: b\n",
            ),
            (json!({ "post_checks": ["a"], "checks": [check("a", Value::Null)] }), ""),
        ] {
            assert_eq!(render_next_steps(&reply), expected, "{reply}");
        }
    }

    #[test]
    fn missing_answers_are_named_as_flags() {
        for (why, expected) in [
            ("integrate needs more: `confirm` (Write?). Ask the user.", "; pass --yes"),
            ("integrate needs more: `request_field` (Which? One of: a, b). Ask.", "; pass --request-field"),
            ("integrate needs more: `confirm` (Write?). Ask.\n\n+\u{1b}a\n", "; pass --yes\n\n+\\u{1b}a"),
        ] {
            assert!(
                missing_flags_message(why, false).ends_with(expected),
                "{}",
                missing_flags_message(why, false)
            );
        }
    }
}
