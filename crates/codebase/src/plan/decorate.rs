//! Edits about a function, from its name.

use tree::Tree;

use super::document::{Anchor, AnchorKind, Edit, InsertLocation, Payload, Strategy};
use super::outline::{CodeOutline, parse_outline};
use super::text_file::TextFile;
use super::{MAX_EDITED_FILE_BYTES, anchor};
use crate::source::run_with_parser_stack;

/// An edit that decorates a function: `Class.method` for a method.
pub fn decorate_function(
    tree: &Tree,
    path: &str,
    function: &str,
    decorator: &str,
    import: &str,
    rationale: String,
) -> Result<Edit, String> {
    let anchor = run_with_parser_stack(|| function_anchor(tree, path, function))
        .map_err(|error| error.to_string())??;
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
fn function_anchor(tree: &Tree, path: &str, function: &str) -> Result<Anchor, String> {
    let bytes =
        tree.read(path, MAX_EDITED_FILE_BYTES).map_err(|error| format!("{path} cannot be read: {error}"))?;
    let text = TextFile::from_bytes(bytes).ok_or_else(|| format!("{path} is not UTF-8"))?;
    let outline: CodeOutline = parse_outline(path, &text.content)
        .map_err(|broken| format!("{path} cannot be parsed (line {}: {})", broken.line, broken.reason))?
        .ok_or_else(|| format!("{path} is in a language that is not parsed here"))?;
    let mut all = outline.functions.iter().filter(|place| place.name == function);
    let place = all.next().ok_or_else(|| format!("there is no function `{function}` in {path}"))?;
    if all.next().is_some() {
        return Err(format!("there are several functions `{function}` in {path}"));
    }
    let rest = &text.content[place.def_start..];
    let pattern = rest.split_inclusive('(').next().unwrap_or(rest).to_owned();
    let places = anchor::find_matches(&pattern, &text.content).map_err(|finding| finding.text)?;
    let index = places.iter().position(|found| found.start == place.def_start);
    let index = index.filter(|_| places.len() > 1);
    Ok(Anchor { kind: AnchorKind::BeforeMatch, pattern, index })
}
