//! Determines the exact position of inserted code, and its indentation and spacing.

use std::ops::Range;

use super::anchor;
use super::document::{Anchor, AnchorKind, Edit, InsertLocation, Strategy, TextChange};
use super::finding::{PlanFinding, quote};
use super::outline::{self, CodeOutline};
use super::text_file::TextFile;
use crate::language::{self, Language};

#[derive(Debug, PartialEq)]
pub(super) enum InsertionPoint {
    After(Range<usize>),
    Before(usize),
    /// Before this line, with its indentation and without blank lines around the code.
    Above(usize),
    Replace(Range<usize>),
    End,
    AlreadyPresent,
}

pub(super) fn resolve_anchors(
    edit: &Edit,
    code: &str,
    text: &TextFile,
    outline: Option<&CodeOutline>,
) -> Result<Vec<InsertionPoint>, Vec<PlanFinding>> {
    if edit.anchors.is_empty() {
        let says = "the edit has `code` but no anchor";
        return Err(vec![
            PlanFinding::blocking("no_anchor", says).with_fix("add an anchor, or a `location`"),
        ]);
    }
    let path = edit.filepath.as_str();
    let is_python = language::detect_language(path) == Some(Language::Python);
    let decorators = if is_python { outline::parse_decorators_only(code) } else { None };
    let above = edit.payload.location == Some(InsertLocation::AboveFunction)
        || edit.payload.location.is_none() && edit.strategy == Strategy::AddDecorator;
    let (mut spots, mut findings) = (Vec::new(), Vec::new());
    for anchor in &edit.anchors {
        if anchor.kind == AnchorKind::AppendFile {
            spots.push(InsertionPoint::End);
            continue;
        }
        let spot = match (&decorators, outline) {
            (Some(calls), Some(outline)) if above => decorator_point(anchor, path, text, outline, calls),
            _ => anchor_point(anchor, edit.payload.location, path, text, outline),
        };
        match spot {
            Ok(spot) => spots.push(spot),
            Err(refusal) => findings.extend(refusal),
        }
    }
    if findings.is_empty() { Ok(spots) } else { Err(findings) }
}

/// Where an edit first uses its import: at the function it decorates.
pub(super) fn first_use_offset(edit: &Edit, text: &TextFile, outline: &CodeOutline) -> Option<usize> {
    let start = text.content_start();
    let place = |anchor: &Anchor| {
        let found = anchor::find_matches(&anchor.pattern, &text.content[start..]).ok()?;
        let first = found.into_iter().nth(anchor.index.unwrap_or(0))?;
        let function = outline.enclosing_or_next_function(&(first.start + start..first.end + start))?;
        Some(function.span.start)
    };
    edit.anchors.iter().filter_map(place).min()
}

/// Above the function that an anchor refers to, below its other decorators.
fn decorator_point(
    anchor: &Anchor,
    path: &str,
    text: &TextFile,
    outline: &CodeOutline,
    calls: &[String],
) -> Result<InsertionPoint, Vec<PlanFinding>> {
    let def =
        |place: &Range<usize>| outline.enclosing_or_next_function(place).map(|function| function.def_start);
    let place = find_anchor_match(anchor, path, text, def)?;
    let Some(function) = outline.enclosing_or_next_function(&place) else {
        let says = format!("no function found at or after line {} of {path}", text.line_at(place.start));
        return Err(vec![
            PlanFinding::blocking("no_function", says).with_location(path, text.line_at(place.start)),
        ]);
    };
    let own: Vec<String> = function.decorators.iter().map(|callee| outline.qualified_name(callee)).collect();
    let has = |callee: &String| own.contains(&outline.qualified_name(callee));
    if calls.iter().all(has) {
        return Ok(InsertionPoint::AlreadyPresent);
    }
    Ok(InsertionPoint::Above(function.def_start))
}

fn anchor_point(
    anchor: &Anchor,
    location: Option<InsertLocation>,
    path: &str,
    text: &TextFile,
    outline: Option<&CodeOutline>,
) -> Result<InsertionPoint, Vec<PlanFinding>> {
    if anchor.kind == AnchorKind::ReplaceMatch {
        return find_anchor_match(anchor, path, text, Range::clone).map(InsertionPoint::Replace);
    }
    // A comment is part of no statement or of a large one, so an anchor in a comment refers to its line.
    let is_comment = |place: &Range<usize>| {
        let line = text.content[text.line_start(place.start).min(place.start)..].trim_start();
        line.starts_with('#') && language::detect_language(path) == Some(Language::Python)
            || line.starts_with("//")
    };
    let around = |place: &Range<usize>| {
        anchor::enclosing_statement(text, outline.filter(|_| !is_comment(place)), place)
    };
    let statement = around(&find_anchor_match(anchor, path, text, around)?);
    Ok(match (location, anchor.kind) {
        (Some(InsertLocation::BeforeAnchor), _)
        | (None | Some(InsertLocation::AboveFunction), AnchorKind::BeforeMatch) => {
            InsertionPoint::Before(statement.start)
        }
        _ => InsertionPoint::After(statement),
    })
}

fn find_anchor_match<T: PartialEq>(
    anchor: &Anchor,
    path: &str,
    text: &TextFile,
    same: impl Fn(&Range<usize>) -> T,
) -> Result<Range<usize>, Vec<PlanFinding>> {
    let pattern = quote(&anchor.pattern);
    // Patterns such as `^import` must not be stopped by a byte order mark.
    let start = text.content_start();
    let places =
        anchor::find_matches(&anchor.pattern, &text.content[start..]).map_err(|finding| vec![finding])?;
    let places: Vec<_> = places.into_iter().map(|place| place.start + start..place.end + start).collect();
    let count = places.len();
    match anchor::choose_match(anchor, places, same) {
        Ok(Some(place)) => Ok(place),
        Ok(None) => {
            let says = format!("anchor pattern {pattern} not found in {path}");
            let fix = match (anchor.index, anchor::is_invalid_regex(&anchor.pattern)) {
                (Some(index), _) if count > 0 => {
                    format!("the number of matches is {count}, and `index` is {index}")
                }
                (_, true) => "it neither occurs literally nor is a valid regular expression".to_owned(),
                _ => "use a string that occurs in the file".to_owned(),
            };
            Err(vec![
                PlanFinding::warning("anchor_not_found", says),
                PlanFinding::blocking(
                    "anchor_not_found",
                    format!("the anchor {pattern} does not match anything in {path}"),
                )
                .with_fix(fix),
            ])
        }
        Err(places) => {
            let lines: Vec<_> =
                places.iter().take(8).map(|place| text.line_at(place.start).to_string()).collect();
            let lines = lines.join(", ");
            let says = format!("anchor pattern {pattern} matches {count} times in {path} (lines {lines})");
            Err(vec![
                PlanFinding::warning("ambiguous_anchor", says),
                PlanFinding::blocking(
                    "ambiguous_anchor",
                    format!("the anchor {pattern} is ambiguous in {path}"),
                )
                .with_location(path, text.line_at(places[0].start))
                .with_fix("use a longer pattern, or add `index` (counted from 0) to the anchor"),
            ])
        }
    }
}

pub(super) fn point_after_imports(text: &TextFile, outline: Option<&CodeOutline>) -> InsertionPoint {
    let last = outline.and_then(|o| o.imports.iter().rfind(|import| import.import_block == 0));
    match last {
        Some(import) => InsertionPoint::After(import.span.clone()),
        None => InsertionPoint::Before(outline.map_or(text.content_start(), |outline| outline.body_start)),
    }
}

impl InsertionPoint {
    pub(super) fn to_change(
        &self,
        path: &str,
        text: &TextFile,
        code: &str,
    ) -> Result<Option<TextChange>, PlanFinding> {
        let content = &text.content;
        let indents = matches!(self, Self::After(_) | Self::Before(_) | Self::Above(_));
        if indents
            && code.lines().count() > 1
            && ["\"\"\"", "'''", "`"].iter().any(|quote| code.contains(quote))
            && !self.is_at_margin(text)
        {
            let says = "the code contains multi-line strings, which indenting would change";
            return Err(PlanFinding::blocking("multiline_text", says)
                .with_fix("insert it at the top level, or move it to a separate file"));
        }
        match self {
            Self::AlreadyPresent => Ok(None),
            Self::Replace(range) => Ok(Some(text.change(range.start, range.end, code))),
            Self::Above(def) => {
                let indent =
                    text.indentation_at(*def).ok_or_else(|| shared_line_finding(path, text, *def))?;
                let at = text.line_start(*def);
                Ok(Some(text.change(at, at, &reindent(code, indent))))
            }
            Self::Before(start) => {
                let indent =
                    text.indentation_at(*start).ok_or_else(|| shared_line_finding(path, text, *start))?;
                let at = text.line_start(*start);
                let gap = if indent.is_empty() { required_blank_lines(path, code) } else { 0 };
                let before = "\n".repeat(gap.saturating_sub(blank_lines_before(content, at)));
                let before = if at == text.content_start() { String::new() } else { before };
                let new = format!("{before}{}{}", reindent(code, indent), "\n".repeat(gap));
                Ok(Some(text.change(at, at, &new)))
            }
            Self::After(range) => {
                let indent = text
                    .indentation_at(range.start)
                    .ok_or_else(|| shared_line_finding(path, text, range.start))?;
                let rest = content[range.end..].lines().next().unwrap_or_default().trim();
                if !(rest.is_empty() || rest == ";" || rest.starts_with('#') || rest.starts_with("//")) {
                    return Err(shared_line_finding(path, text, range.end));
                }
                let at = text.next_line_start(range.end);
                Ok(Some(Self::insert_lines(path, text, at, &reindent(code, indent), indent.is_empty())))
            }
            Self::End => Ok(Some(Self::insert_lines(path, text, content.len(), &reindent(code, ""), true))),
        }
    }

    fn is_at_margin(&self, text: &TextFile) -> bool {
        let at = match self {
            Self::After(range) => range.start,
            Self::Before(at) | Self::Above(at) => *at,
            Self::Replace(_) | Self::End | Self::AlreadyPresent => return true,
        };
        text.indentation_at(at).is_none_or(str::is_empty)
    }

    /// Inserts whole lines at a line start, or at the end of a file that may lack a final line terminator.
    fn insert_lines(path: &str, text: &TextFile, at: usize, lines: &str, at_margin: bool) -> TextChange {
        let content = &text.content;
        let gap = if at_margin { required_blank_lines(path, lines) } else { 0 };
        let before = "\n".repeat(gap.saturating_sub(blank_lines_before(content, at)));
        let after = match blank_lines_after(content, at) {
            None => String::new(),
            Some(blank) => "\n".repeat(gap.saturating_sub(blank)),
        };
        if at > text.content_start() && !content[..at].ends_with('\n') {
            return text.change(at, at, &format!("\n{before}{}", lines.trim_end_matches('\n')));
        }
        text.change(at, at, &format!("{before}{lines}{after}"))
    }
}

/// The number of blank lines that the conventions of a language require around code.
fn required_blank_lines(path: &str, code: &str) -> usize {
    let is_python = language::detect_language(path) == Some(Language::Python);
    if is_python && outline::starts_with_definition(code) { 2 } else { 0 }
}

fn blank_lines_before(content: &str, at: usize) -> usize {
    content[..at].lines().rev().take_while(|line| line.trim().is_empty()).count()
}

/// `None` at the end of the file.
fn blank_lines_after(content: &str, at: usize) -> Option<usize> {
    let rest = &content[at..];
    (!rest.trim().is_empty()).then(|| rest.lines().take_while(|line| line.trim().is_empty()).count())
}

fn shared_line_finding(path: &str, text: &TextFile, at: usize) -> PlanFinding {
    let says = format!("the statement shares line {} of {path} with another", text.line_at(at));
    PlanFinding::blocking("shared_line", says)
        .with_location(path, text.line_at(at))
        .with_fix("put each statement on a separate line first")
}

/// Replaces the common indentation of `code` by `indent`, and ends it with a line terminator.
fn reindent(code: &str, indent: &str) -> String {
    let code = code.replace("\r\n", "\n");
    let code = code.trim_matches('\n');
    let margin = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let common = code.lines().filter(|line| !line.trim().is_empty()).map(margin).min().unwrap_or(0);
    let line = |line: &str| match line.get(common..) {
        Some(rest) if !line.trim().is_empty() => format!("{indent}{rest}\n"),
        _ => "\n".to_owned(),
    };
    code.lines().map(line).collect()
}

/// Whether the file already contains the code outside comments, regardless of indentation.
pub(super) fn is_code_present(
    text: &TextFile,
    outline: Option<&CodeOutline>,
    code: &str,
    edit: &Edit,
) -> bool {
    let wanted: Vec<&str> = trimmed_lines(code).map(|(_, line)| line).collect();
    let own: Vec<(usize, &str)> = trimmed_lines(&text.content).collect();
    let replaced = edit.anchors.iter().filter(|anchor| anchor.kind == AnchorKind::ReplaceMatch);
    // As long as the text to be replaced still matches, the replacement is not done: the new code may only
    // occur as part of a longer text.
    let is_open = |anchor: &Anchor| {
        anchor::find_matches(&anchor.pattern, &text.content).is_ok_and(|found| !found.is_empty())
    };
    if wanted.is_empty() || replaced.into_iter().any(is_open) {
        return false;
    }
    let is_code =
        |at: usize| outline.is_none_or(|outline| outline.statements.iter().any(|span| span.start == at));
    own.windows(wanted.len())
        .any(|window| window.iter().map(|(_, line)| line).eq(&wanted) && is_code(window[0].0))
}

/// Non-blank lines, trimmed, each with the offset of its first non-blank character.
fn trimmed_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start + line.len() - line.trim_start().len(), line.trim()))
    });
    lines.filter(|(_, line)| !line.is_empty())
}
