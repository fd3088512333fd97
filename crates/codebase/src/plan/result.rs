//! What must be true of the result of an edit, beyond that it can be parsed.

use std::collections::HashSet;
use std::ops::Range;

use super::document::{Change, Edit};
use super::finding::Finding;
use super::outline::Outline;
use super::text::Text;
use crate::language::{self, Language};

/// What a plan says about exact changes must be what its edits come to.
pub(super) fn false_claim(edit: &Edit, claimed: &[Change], text: Option<&Text>) -> Option<Finding> {
    if claimed.is_empty() || claimed == edit.changes {
        return None;
    }
    let path = edit.filepath.as_str();
    let stale = claimed.iter().find(|change| {
        text.is_some_and(|text| text.content.get(change.start..change.end) != Some(change.old_text.as_str()))
    });
    if let (Some(change), Some(text)) = (stale, text) {
        let says = format!("{path} is not as the plan says at byte {}", change.start);
        let finding =
            Finding::blocks("stale_file", says).at(path, text.line(change.start.min(text.content.len())));
        return Some(finding.fix("the file has changed since the plan was made: propose a new one"));
    }
    let says =
        format!("the exact changes that it names in {path} are not what its payload and anchors come to");
    Some(Finding::blocks("lying_plan", says).fix("propose a new plan, or take out `changes`"))
}

/// An edit must leave the statements that it does not touch as they were: code that runs into its neighbour, or lands in a
/// text, changes what is not its own.
pub(super) fn lost_statement(
    path: &str,
    text: &Text,
    outline: &Outline,
    changes: &[(usize, Change)],
    new: &str,
    after: &Outline,
) -> Option<Finding> {
    let kept: HashSet<&str> = after.statements.iter().filter_map(|span| new.get(span.clone())).collect();
    let is_python = language::of(path) == Some(Language::Python);
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
    let says = format!("the code would run into the statement at line {} of {path}", text.line(lost.start));
    Some(
        Finding::blocks("breaks_file", says)
            .at(path, text.line(lost.start))
            .fix("end the code with `;`, or put it elsewhere"),
    )
}
