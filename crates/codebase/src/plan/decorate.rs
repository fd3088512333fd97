//! Builds the edit that decorates a function, given its name.

use std::io;

use tree::{ReadError, Tree};

use super::document::{Anchor, AnchorKind, Edit, InsertLocation, Payload, Strategy};
use super::outline::{CodeOutline, parse_outline};
use super::text_file::TextFile;
use super::{MAX_EDITED_FILE_BYTES, anchor};
use crate::source::run_with_parser_stack;

/// Why a function cannot be decorated.
#[derive(Debug)]
pub enum DecorateError {
    Unreadable(ReadError),
    NotUtf8,
    Syntax {
        line: u32,
        reason: String,
    },
    /// No parser for the language of the file.
    UnsupportedLanguage,
    NotFound,
    Ambiguous,
    /// No anchor pattern matches the function.
    NoAnchor(String),
    /// The parser thread could not be started.
    NoThread(io::Error),
}

impl DecorateError {
    /// The reason as a sentence, with the caller's display names for the file and the function.
    pub fn describe(&self, file: &str, function: &str) -> String {
        match self {
            Self::Unreadable(error) => format!("{file} cannot be read: {error}"),
            Self::NotUtf8 => format!("{file} is not UTF-8"),
            Self::Syntax { line, reason } => format!("{file} cannot be parsed (line {line}: {reason})"),
            Self::UnsupportedLanguage => format!("the language of {file} is not supported"),
            Self::NotFound => format!("function `{function}` not found in {file}"),
            Self::Ambiguous => format!("{file} has several functions named `{function}`"),
            Self::NoAnchor(reason) => reason.clone(),
            Self::NoThread(error) => error.to_string(),
        }
    }
}

/// Builds an edit that decorates `function` (`Class.method` for a method).
pub fn decorate_function(
    tree: &Tree,
    path: &str,
    function: &str,
    decorator: &str,
    import: &str,
    rationale: String,
) -> Result<Edit, DecorateError> {
    let anchor = run_with_parser_stack(|| function_anchor(tree, path, function))
        .map_err(DecorateError::NoThread)??;
    Ok(Edit {
        filepath: path.to_owned(),
        strategy: Strategy::AddDecorator,
        anchors: vec![anchor],
        payload: Payload {
            import: Some(import.to_owned()),
            code: Some(decorator.to_owned()),
            location: Some(InsertLocation::AboveFunction),
            set: Vec::new(),
        },
        rationale,
        changes: Vec::new(),
    })
}

/// An anchor that matches this function and no other.
fn function_anchor(tree: &Tree, path: &str, function: &str) -> Result<Anchor, DecorateError> {
    let bytes = tree.read(path, MAX_EDITED_FILE_BYTES).map_err(DecorateError::Unreadable)?;
    let text = TextFile::from_bytes(bytes).ok_or(DecorateError::NotUtf8)?;
    let outline: CodeOutline = parse_outline(path, &text.content)
        .map_err(|broken| DecorateError::Syntax { line: broken.line, reason: broken.reason })?
        .ok_or(DecorateError::UnsupportedLanguage)?;
    let mut all = outline.functions.iter().filter(|place| place.name == function);
    let place = all.next().ok_or(DecorateError::NotFound)?;
    if all.next().is_some() {
        return Err(DecorateError::Ambiguous);
    }
    let rest = &text.content[place.def_start..];
    // A regular expression, as editors that apply plans themselves expect it.
    let pattern = regex::escape(rest.split_inclusive('(').next().unwrap_or(rest));
    let places = anchor::find_matches(&pattern, &text.content)
        .map_err(|finding| DecorateError::NoAnchor(finding.text))?;
    let index = places.iter().position(|found| found.start == place.def_start);
    let index = index.filter(|_| places.len() > 1);
    Ok(Anchor { kind: AnchorKind::BeforeMatch, pattern, index })
}
