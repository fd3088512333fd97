//! Edits about a function, from its name.

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
    /// Its file cannot be read.
    Unreadable(ReadError),
    /// Its file is not UTF-8.
    NotUtf8,
    /// Its file has a syntax error.
    Syntax {
        /// The line of the error.
        line: u32,
        /// What the parser says.
        reason: String,
    },
    /// Its file is in a language that has no parser here.
    UnsupportedLanguage,
    /// Its file has no function of this name.
    NotFound,
    /// Its file has several functions of this name.
    Ambiguous,
    /// No anchor can name it.
    NoAnchor(String),
    /// There was no thread to parse on.
    NoThread(io::Error),
}

impl DecorateError {
    /// The reason in a sentence, with the file and the function as the caller shows them.
    pub fn describe(&self, file: &str, function: &str) -> String {
        match self {
            Self::Unreadable(error) => format!("{file} cannot be read: {error}"),
            Self::NotUtf8 => format!("{file} is not UTF-8"),
            Self::Syntax { line, reason } => format!("{file} cannot be parsed (line {line}: {reason})"),
            Self::UnsupportedLanguage => format!("{file} is in a language that is not parsed here"),
            Self::NotFound => format!("there is no function `{function}` in {file}"),
            Self::Ambiguous => format!("there are several functions `{function}` in {file}"),
            Self::NoAnchor(reason) => reason.clone(),
            Self::NoThread(error) => error.to_string(),
        }
    }
}

/// An edit that decorates a function: `Class.method` for a method.
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

/// An anchor that means this function and no other.
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
    let pattern = rest.split_inclusive('(').next().unwrap_or(rest).to_owned();
    let places = anchor::find_matches(&pattern, &text.content)
        .map_err(|finding| DecorateError::NoAnchor(finding.text))?;
    let index = places.iter().position(|found| found.start == place.def_start);
    let index = index.filter(|_| places.len() > 1);
    Ok(Anchor { kind: AnchorKind::BeforeMatch, pattern, index })
}
