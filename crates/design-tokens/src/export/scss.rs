//! SCSS variables and maps.

use std::fmt::Write as _;

use super::css::remarks;
use super::escape::{identifier, string};
use super::names::Names;
use super::paper::Paper;
use super::sheet::{Different, Sheet, TEXT_PARTS, Writer};
use super::{Exported, Options};
use crate::document::Document;
use crate::model::Model;
use crate::value::Value;

/// The document as SCSS: a variable for each token, `$tokens` with all of them by path, and for each mode a map
/// `$tokens-<mode>` with those that are different there. Values are final. A typography is a map of its parts, for its
/// `/` would be a division.
pub fn scss(document: &Document, options: &Options) -> Exported {
    let model = Model::of(document);
    let mut sheet = Sheet::of(document, &model);
    let (prefix, note) = options.cut_prefix();
    sheet.findings.extend(note);
    let mut names = Names::new(&variable(prefix));
    names.claim("{tokens}", "tokens");
    for (nth, mode) in sheet.modes.iter().enumerate() {
        names.claim(&format!("{{tokens}}{nth}"), &format!("tokens-{}", identifier(mode)));
    }
    for (at, _) in sheet.usable.iter().copied() {
        let path = &sheet.model.tokens()[at].path;
        names.claim(path, &variable(path));
    }
    let mut paper = Paper::new();
    let mut map = String::new();
    for (at, _) in sheet.usable.iter().copied() {
        if paper.is_full() {
            break;
        }
        let token = &sheet.model.tokens()[at];
        let Some(value) = sheet.literal(at) else { continue };
        let name = names.of(&token.path);
        let mut piece = String::new();
        for remark in remarks(token).iter().filter(|_| !options.bare) {
            let _ = writeln!(piece, "// {remark}");
        }
        let _ = writeln!(piece, "${name}: {};", written(&value));
        let member = format!("  {}: ${name},\n", string(&token.path));
        if paper.has_room(piece.len() + member.len(), &token.path) {
            paper.text.push_str(&piece);
            map.push_str(&member);
        }
    }
    let _ = write!(paper.text, "\n${}: (\n{map});\n", names.of("{tokens}"));
    for (nth, mode) in sheet.modes.clone().iter().enumerate() {
        if paper.is_full() {
            break;
        }
        let mut members = String::new();
        for Different { at, literal, .. } in sheet.different(mode).into_iter().filter(|one| one.is_other) {
            let value = match &literal {
                Value::Shadow(_) | Value::FontFamily(_) => format!("({})", written(&literal)),
                _ => written(&literal),
            };
            let _ = writeln!(members, "  {}: {value},", string(&sheet.model.tokens()[at].path));
        }
        if !members.is_empty() {
            let name = names.of(&format!("{{tokens}}{nth}"));
            paper.add(&format!("\n${name}: (\n{members});\n"), mode);
        }
    }
    paper.done(sheet.findings.into_vec())
}

/// A variable's name may not begin with a digit.
fn variable(path: &str) -> String {
    if path.is_empty() {
        return String::new();
    }
    let name = identifier(path);
    if name.starts_with(|first: char| first.is_numeric() || first == '-') {
        format!("t-{name}")
    } else {
        name
    }
}

fn written(value: &Value) -> String {
    // Final values have no references; should there be one, it is no value of SCSS.
    let writer = Writer(&|_| "null".to_owned());
    match value {
        Value::Typography(text) => {
            let parts = TEXT_PARTS.into_iter().zip(writer.text_parts(text));
            let parts = parts.map(|(name, value)| {
                if value.contains(',') { format!("{name}: ({value})") } else { format!("{name}: {value}") }
            });
            format!("({})", parts.collect::<Vec<_>>().join(", "))
        }
        other => writer.value(other),
    }
}
