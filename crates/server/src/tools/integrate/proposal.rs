//! The plan as it is shown to the user, who decides by it.

use codebase::plan::{FileChange, Plan};
use serde::{Deserialize, Serialize};

use crate::Call;
use crate::tools::support::plan_view::view;

/// What came of making a plan.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Proposal {
    Ready(Box<Ready>),
    /// Nothing right can be done, and why.
    Refused(String),
}

/// A plan, and what the choice came to.
#[derive(Serialize, Deserialize)]
pub(super) struct Ready {
    pub(super) plan: Plan,
    pub(super) variant: String,
    /// What FluxLoop will run.
    pub(super) target: String,
    /// The folder of the repository.
    pub(super) root: String,
}

/// The most lines of all diffs together that are shown, and the least of one.
const LINES: usize = 240;
const FEWEST: usize = 24;
/// The most characters of a line.
const WIDTH: usize = 240;

impl Ready {
    /// Everything that somebody has to know before they agree: what it does, the diff, what to look at.
    pub(super) fn message(&self, call: &Call) -> String {
        let plan = &view(call, &self.plan).plan;
        let section = |title: &str, lines: &[String]| -> String {
            lines.iter().map(|line| [title, ": ", &harmless(line), "\n"].concat()).collect()
        };
        let text = format!(
            "{}\n\n{}\n{}{}{}",
            harmless(&plan.summary),
            shown(&plan.files),
            section("needed", &plan.prerequisites),
            section("warning", &plan.warnings),
            section("check", &plan.post_checks),
        );
        text.trim_end().to_owned()
    }

    /// All diffs, whole.
    pub(super) fn diff(&self, call: &Call) -> String {
        view(call, &self.plan).plan.files.iter().map(|file| file.diff.as_str()).collect()
    }
}

/// The diffs; of long ones the beginning, and how much is missing.
fn shown(files: &[FileChange]) -> String {
    let all: usize = files.iter().map(|file| file.diff.lines().count()).sum();
    let most = if all <= LINES { LINES } else { (LINES / files.len().max(1)).max(FEWEST) };
    let one = |file: &FileChange| {
        let lines = file.diff.lines().count();
        let text: String = file.diff.lines().take(most).map(|line| short(line) + "\n").collect();
        match lines.saturating_sub(most) {
            0 => text,
            more => format!("{text}… {more} more lines of {} are not shown\n", harmless(&file.path)),
        }
    };
    files.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// A line that fits on a screen.
fn short(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    match line.char_indices().nth(WIDTH) {
        Some((end, _)) => harmless(&line[..end]) + "…",
        None => harmless(line),
    }
}

/// What somebody's file says on somebody's screen: nothing in it commands a terminal or hides from the eye.
pub(in crate::tools) fn harmless(text: &str) -> String {
    codebase::reveal(text, |c| if c == '\t' { "\t" } else { "\u{fffd}" }.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, lines: usize) -> FileChange {
        let diff = "+x\n".repeat(lines);
        FileChange { path: path.to_owned(), before: None, sha256: String::new(), size: 0, diff }
    }

    #[test]
    fn long_diffs_say_how_much_is_missing() {
        for (lines, shown_lines, note) in [
            (vec![10, 20], 31, ""),
            (vec![240], 240, ""),
            (vec![241], 241, "… 1 more lines of 0.py are not shown"),
            (vec![300, 5], 127, "… 180 more lines of 0.py are not shown"),
        ] {
            let files: Vec<_> =
                lines.iter().enumerate().map(|(n, lines)| file(&format!("{n}.py"), *lines)).collect();
            let text = shown(&files);
            assert_eq!(text.lines().count(), shown_lines, "{lines:?}");
            assert!(text.contains(note), "{lines:?}");
        }
    }

    #[test]
    fn nothing_in_a_diff_commands_a_terminal() {
        assert_eq!(short("+\ta\u{1b}[31m\u{202e}b\r"), "+\ta\u{fffd}[31m\u{fffd}b");
        assert_eq!(short(&"ü".repeat(300)).chars().count(), 241);
    }
}
