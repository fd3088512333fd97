//! What must be true of the result of an edit, beyond that it can be parsed.

use std::collections::HashSet;
use std::ops::Range;

use super::document::{Edit, TextChange};
use super::finding::PlanFinding;
use super::outline::CodeOutline;
use super::text_file::TextFile;
use crate::language::{self, Language};

/// What a plan says about exact changes must be what its edits come to.
pub(super) fn check_claimed_changes(
    edit: &Edit,
    claimed: &[TextChange],
    text: Option<&TextFile>,
) -> Option<PlanFinding> {
    if claimed.is_empty() || claimed == edit.changes {
        return None;
    }
    let path = edit.filepath.as_str();
    let stale = claimed.iter().find(|change| {
        text.is_some_and(|text| text.content.get(change.start..change.end) != Some(change.old_text.as_str()))
    });
    if let (Some(change), Some(text)) = (stale, text) {
        let says = format!("{path} is not as the plan says at byte {}", change.start);
        let finding = PlanFinding::blocking("stale_file", says)
            .with_location(path, text.line_at(change.start.min(text.content.len())));
        return Some(finding.with_fix("the file has changed since the plan was made: propose a new one"));
    }
    let says =
        format!("the exact changes that it names in {path} are not what its payload and anchors come to");
    Some(PlanFinding::blocking("lying_plan", says).with_fix("propose a new plan, or take out `changes`"))
}

/// An edit must leave the statements that it does not touch as they were: code that runs into its neighbour, or lands in a
/// text, changes what is not its own.
pub(super) fn find_lost_statement(
    path: &str,
    text: &TextFile,
    outline: &CodeOutline,
    changes: &[(usize, TextChange)],
    new: &str,
    after: &CodeOutline,
) -> Option<PlanFinding> {
    let kept: HashSet<&str> = after.statements.iter().filter_map(|span| new.get(span.clone())).collect();
    let is_python = language::detect_language(path) == Some(Language::Python);
    let touched = |span: &Range<usize>| {
        changes.iter().any(|(_, change)| {
            // A decorator becomes part of what is below it.
            let above = is_python
                && change.end <= span.start
                && text.content[change.end..span.start].trim().is_empty();
            above
                || change.start < span.end && change.end > span.start
                || span.contains(&change.start) && change.start > span.start
        })
    };
    let lost = outline.statements.iter().find(|span| {
        !touched(span) && text.content.get((*span).clone()).is_some_and(|statement| !kept.contains(statement))
    })?;
    let says =
        format!("the code would run into the statement at line {} of {path}", text.line_at(lost.start));
    Some(
        PlanFinding::blocking("breaks_file", says)
            .with_location(path, text.line_at(lost.start))
            .with_fix("end the code with `;`, or put it elsewhere"),
    )
}
