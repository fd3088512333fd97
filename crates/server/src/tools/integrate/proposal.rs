//! The plan as it is shown to the user for approval.

use codebase::plan::{EditPlan, FileChange};
use serde::{Deserialize, Serialize};

use crate::ToolContext;
use crate::tools::support::plan_view::visible_plan;

/// The result of building a plan.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Proposal {
    Ready(Box<ReadyPlan>),
    /// Why no correct plan is possible.
    Refused(String),
}

/// A plan with its resolved variant and target.
#[derive(Serialize, Deserialize)]
pub(super) struct ReadyPlan {
    pub(super) plan: EditPlan,
    pub(super) variant: String,
    /// What FluxLoop will run.
    pub(super) target: String,
    /// The repository folder.
    pub(super) root: String,
}

/// Limit for the lines of all shown diffs together, and the minimum for each file.
const MAX_DIFF_LINES: usize = 240;
const MIN_FILE_DIFF_LINES: usize = 24;
const MAX_LINE_CHARS: usize = 240;

impl ReadyPlan {
    /// Everything the user needs to decide: what the plan does, the diff, prerequisites, warnings and checks.
    pub(super) fn confirmation_message(&self, call: &ToolContext) -> String {
        let plan = &visible_plan(call, &self.plan).plan;
        let section = |title: &str, lines: &[String]| -> String {
            lines.iter().map(|line| [title, ": ", &sanitize_for_terminal(line), "\n"].concat()).collect()
        };
        let text = format!(
            "{}\n\n{}\n{}{}{}{}",
            sanitize_for_terminal(&plan.summary),
            render_diffs(&plan.files),
            section("needed", &plan.prerequisites),
            section("note", &plan.notes),
            section("warning", &plan.warnings),
            section("check", &plan.post_checks),
        );
        text.trim_end().to_owned()
    }

    /// All diffs, unabridged.
    pub(super) fn diff(&self, call: &ToolContext) -> String {
        visible_plan(call, &self.plan).plan.files.iter().map(|file| file.diff.as_str()).collect()
    }
}

/// The diffs. Of a long one, only the beginning and the number of lines left out.
fn render_diffs(files: &[FileChange]) -> String {
    let all: usize = files.iter().map(|file| file.diff.lines().count()).sum();
    let most = if all <= MAX_DIFF_LINES {
        MAX_DIFF_LINES
    } else {
        (MAX_DIFF_LINES / files.len().max(1)).max(MIN_FILE_DIFF_LINES)
    };
    let one = |file: &FileChange| {
        let lines = file.diff.lines().count();
        let text: String = file.diff.lines().take(most).map(|line| truncate_line(line) + "\n").collect();
        match lines.saturating_sub(most) {
            0 => text,
            more => {
                format!(
                    "{text}… {more} of {lines} lines of {} not shown\n",
                    sanitize_for_terminal(&file.path)
                )
            }
        }
    };
    files.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// Shortens a line to fit on a screen, and makes it safe to print.
fn truncate_line(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    match line.char_indices().nth(MAX_LINE_CHARS) {
        Some((end, _)) => sanitize_for_terminal(&line[..end]) + "…",
        None => sanitize_for_terminal(line),
    }
}

/// Makes repository text safe to show: it can neither control the terminal nor hide characters from the
/// reader.
pub(in crate::tools) fn sanitize_for_terminal(text: &str) -> String {
    codebase::replace_invisible_chars(text, |c| if c == '\t' { "\t" } else { "\u{fffd}" }.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_change(path: &str, lines: usize) -> FileChange {
        let diff = "+x\n".repeat(lines);
        FileChange { path: path.to_owned(), before: None, sha256: String::new(), size: 0, diff }
    }

    #[test]
    fn long_diffs_report_omitted_lines() {
        for (lines, shown_lines, note) in [
            (vec![10, 20], 31, ""),
            (vec![240], 240, ""),
            (vec![241], 241, "… 1 of 241 lines of 0.py not shown"),
            (vec![300, 5], 127, "… 180 of 300 lines of 0.py not shown"),
        ] {
            let files: Vec<_> =
                lines.iter().enumerate().map(|(n, lines)| file_change(&format!("{n}.py"), *lines)).collect();
            let text = render_diffs(&files);
            assert_eq!(text.lines().count(), shown_lines, "{lines:?}");
            assert!(text.contains(note), "{lines:?}");
        }
    }

    #[test]
    fn control_characters_in_diffs_are_replaced() {
        assert_eq!(truncate_line("+\ta\u{1b}[31m\u{202e}b\r"), "+\ta\u{fffd}[31m\u{fffd}b");
        assert_eq!(truncate_line(&"ü".repeat(300)).chars().count(), 241);
    }
}
