//! Checks on the result of an edit beyond its syntax.

use std::collections::HashSet;
use std::ops::Range;

use super::document::{Edit, TextChange};
use super::finding::PlanFinding;
use super::outline::CodeOutline;
use super::text_file::TextFile;
use crate::language::{self, Language};

/// The exact changes recorded in a plan must equal what its edits resolve to.
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
        let says = format!("{path} does not contain the text that the plan expects at byte {}", change.start);
        let finding = PlanFinding::blocking("stale_file", says)
            .with_location(path, text.line_at(change.start.min(text.content.len())));
        return Some(finding.with_fix("the file has changed since the plan was made; propose a new plan"));
    }
    let says = format!("its recorded changes to {path} do not match its payload and anchors");
    Some(PlanFinding::blocking("lying_plan", says).with_fix("propose a new plan, or remove `changes`"))
}

/// An edit must leave the statements that it does not touch unchanged. Inserted code that merges with a
/// neighbour or lands inside a string would alter them.
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
            // A decorator becomes part of the definition below it.
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
        format!("the code would merge with the statement at line {} of {path}", text.line_at(lost.start));
    Some(
        PlanFinding::blocking("breaks_file", says)
            .with_location(path, text.line_at(lost.start))
            .with_fix("end the code with `;`, or insert it elsewhere"),
    )
}
