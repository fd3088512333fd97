//! The plan as it is shown to the user, who decides by it.

use codebase::plan::{EditPlan, FileChange};
use serde::{Deserialize, Serialize};

use crate::ToolContext;
use crate::tools::support::plan_view::visible_plan;

/// What came of making a plan.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Proposal {
    Ready(Box<ReadyPlan>),
    /// Nothing right can be done, and why.
    Refused(String),
}

/// A plan, and what the choice came to.
#[derive(Serialize, Deserialize)]
pub(super) struct ReadyPlan {
    pub(super) plan: EditPlan,
    pub(super) variant: String,
    /// What FluxLoop will run.
    pub(super) target: String,
    /// The folder of the repository.
    pub(super) root: String,
}

/// The most lines of all diffs together that are shown, and the least of one.
const MAX_DIFF_LINES: usize = 240;
const MIN_FILE_DIFF_LINES: usize = 24;
/// The most characters of a line.
const MAX_LINE_CHARS: usize = 240;

impl ReadyPlan {
    /// Everything that somebody has to know before they agree: what it does, the diff, what to look at.
    pub(super) fn confirmation_message(&self, call: &ToolContext) -> String {
        let plan = &visible_plan(call, &self.plan).plan;
        let section = |title: &str, lines: &[String]| -> String {
            lines.iter().map(|line| [title, ": ", &sanitize_for_terminal(line), "\n"].concat()).collect()
        };
        let text = format!(
            "{}\n\n{}\n{}{}{}",
            sanitize_for_terminal(&plan.summary),
            render_diffs(&plan.files),
            section("needed", &plan.prerequisites),
            section("warning", &plan.warnings),
            section("check", &plan.post_checks),
        );
        text.trim_end().to_owned()
    }

    /// All diffs, whole.
    pub(super) fn diff(&self, call: &ToolContext) -> String {
        visible_plan(call, &self.plan).plan.files.iter().map(|file| file.diff.as_str()).collect()
    }
}

/// The diffs; of long ones the beginning, and how much is missing.
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
                format!("{text}… {more} more lines of {} are not shown\n", sanitize_for_terminal(&file.path))
            }
        }
    };
    files.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// A line that fits on a screen.
fn truncate_line(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    match line.char_indices().nth(MAX_LINE_CHARS) {
        Some((end, _)) => sanitize_for_terminal(&line[..end]) + "…",
        None => sanitize_for_terminal(line),
    }
}

/// What somebody's file says on somebody's screen: nothing in it commands a terminal or hides from the eye.
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
            (vec![241], 241, "… 1 more lines of 0.py are not shown"),
            (vec![300, 5], 127, "… 180 more lines of 0.py are not shown"),
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
