//! `fluxway integrate`: the tool of that name, with the terminal as the one that answers.

use std::io::IsTerminal;
use std::path::Path;

use serde_json::{Value, json};

use super::client::{AskPolicy, CliClient, with_client};
use super::plan::{render_checks, render_section, resolve_root};
use crate::args::IntegrateArgs;
use crate::config::Config;
use crate::exit::{self, CommandError};
use crate::styling::{self, escape_controls};

pub(crate) fn run(mut config: Config, args: &IntegrateArgs) -> Result<(), CommandError> {
    if let Some(folder) = &args.folder {
        config.roots = vec![resolve_root(folder)?];
    }
    // Who says yes in advance wants no questions; with defaults, a terminal then does what a script does.
    let is_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let can_ask = is_terminal && !args.yes;
    let mut arguments = args.integration.arguments();
    if args.yes {
        arguments.insert("confirm".to_owned(), json!(true));
    }
    if args.check {
        arguments.insert("run_checks".to_owned(), json!(true));
    }
    // The user who said --yes --check has agreed to the commands as well.
    let agreed = args.yes && args.check;
    let asking = if agreed {
        AskPolicy::Preset(vec![("run_commands", json!(true))])
    } else {
        AskPolicy::terminal_if(can_ask)
    };
    let answer = with_client(config, asking, async |client: &mut CliClient| {
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
    // Only the last question can be turned away from: everything is written by then, and stays.
    if is_stopped { shown.and(Err(CommandError::Stopped("the changes are kept".to_owned()))) } else { shown }
}

/// What is missing, in the words of this command: nobody is there to be asked.
fn missing_flags_message(why: &str, is_terminal: bool) -> String {
    let (needs, shown) = why.split_once("\n\n").unwrap_or((why, ""));
    let names: Vec<&str> = needs.split('`').skip(1).step_by(2).collect();
    let flags: Vec<String> =
        names
            .iter()
            .map(|name| {
                if *name == "confirm" { "--yes".to_owned() } else { format!("--{}", name.replace('_', "-")) }
            })
            .collect();
    let why = if is_terminal { "--yes asks nothing" } else { "there is no terminal to ask on" };
    let shown = styling::render_diff(shown, false);
    let shown = if shown.is_empty() { shown } else { format!("\n\n{}", shown.trim_end()) };
    format!("nothing was written: {why}, so give {}{shown}", flags.join(" and "))
}

/// What came of it. The diff is shown to those who have not seen it.
fn print_outcome(reply: &Value, args: &IntegrateArgs) -> Result<(), CommandError> {
    let list = |name: &str| -> Vec<String> {
        reply[name].as_array().into_iter().flatten().filter_map(Value::as_str).map(escape_controls).collect()
    };
    let (checked, verdict) = render_checks(reply);
    let (said, verdict) = match reply["outcome"].as_str() {
        Some("applied") => (render_applied(reply, &list("files"), &checked, args.folder.as_deref()), verdict),
        Some("already_applied") => {
            (format!("Integrated already: nothing had to be written.\n{checked}"), verdict)
        }
        Some("undone") => (format!("Undone. As before: {}\n", list("files").join(", ")), Ok(())),
        Some("declined") => ("Nothing was written.\n".to_owned(), Ok(())),
        _ => return Err(CommandError::Refused(list("warnings").join("\n"))),
    };
    let mut shown = String::new();
    if args.yes {
        shown =
            styling::render_diff(reply["diff"].as_str().unwrap_or_default(), styling::use_colour_on_stdout());
        shown.push_str(&render_section("warning", &reply["warnings"]));
    }
    exit::print(&(shown + &said))?;
    verdict
}

/// What was written, what is still to be done, and how it is taken back.
fn render_applied(reply: &Value, files: &[String], checked: &str, folder: Option<&Path>) -> String {
    let text = |name: &str| escape_controls(reply[name].as_str().unwrap_or_default());
    let (framework, target, id) = (text("framework"), text("target"), text("plan_id"));
    let runs = if target.is_empty() { target } else { format!(", running {target}") };
    let files: String = files.iter().map(|file| ["  ", file, "\n"].concat()).collect();
    let needed = render_section("needed", &reply["prerequisites"]);
    let root = folder.map(|folder| format!(" --root {}", escape_controls(&folder.display().to_string())));
    let undo = format!("`fluxway undo {id}{}` takes it back.\n", root.unwrap_or_default());
    format!("Integrated: FluxLoop for {framework}{runs}. Written:\n{files}{checked}{needed}{undo}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_answers_are_named_as_flags() {
        for (why, expected) in [
            ("integrate needs more: `confirm` (Write?). Ask the user.", "so give --yes"),
            ("integrate needs more: `request_field` (Which? One of: a, b). Ask.", "so give --request-field"),
            ("integrate needs more: `confirm` (Write?). Ask.\n\n+\u{1b}a\n", "so give --yes\n\n+\\u{1b}a"),
        ] {
            assert!(
                missing_flags_message(why, false).ends_with(expected),
                "{}",
                missing_flags_message(why, false)
            );
        }
    }
}
