//! SCSS variables and maps.

use std::fmt::Write as _;

use super::css::token_comments;
use super::escape::{identifier, quote_string};
use super::names::NameTable;
use super::stylesheet::{CssValueWriter, ExportModel, ModeOverride, TYPOGRAPHY_PROPERTIES};
use super::writer::BoundedWriter;
use super::{ExportOptions, ExportOutput};
use crate::document::TokenDocument;
use crate::model::TokenModel;
use crate::value::TokenValue;

/// Exports the document as SCSS: a variable for each token, a map `$tokens` with all of them by path, and for
/// each mode a map `$tokens-<mode>` with the tokens that differ there. Values are resolved. A typography
/// token is a map of its parts, because the `/` of a shorthand would be a division.
pub fn scss(document: &TokenDocument, options: &ExportOptions) -> ExportOutput {
    let model = TokenModel::new(document);
    let mut sheet = ExportModel::new(document, &model);
    let (prefix, note) = options.truncated_prefix();
    sheet.findings.extend(note);
    let mut names = NameTable::new(&variable_name(prefix));
    names.claim("{tokens}", "tokens");
    for (nth, mode) in sheet.modes.iter().enumerate() {
        names.claim(&format!("{{tokens}}{nth}"), &format!("tokens-{}", identifier(mode)));
    }
    for (at, _) in sheet.usable.iter().copied() {
        let path = &sheet.model.tokens()[at].path;
        names.claim(path, &variable_name(path));
    }
    let mut paper = BoundedWriter::new();
    let mut map = String::new();
    for (at, _) in sheet.usable.iter().copied() {
        if paper.is_full() {
            break;
        }
        let token = &sheet.model.tokens()[at];
        let Some(value) = sheet.resolved_value(at) else { continue };
        let name = names.name(&token.path);
        let mut piece = String::new();
        for remark in token_comments(token).iter().filter(|_| !options.omit_comments) {
            let _ = writeln!(piece, "// {remark}");
        }
        let _ = writeln!(piece, "${name}: {};", scss_value(&value));
        let member = format!("  {}: ${name},\n", quote_string(&token.path));
        if paper.reserve(piece.len() + member.len(), &token.path) {
            paper.text.push_str(&piece);
            map.push_str(&member);
        }
    }
    let _ = write!(paper.text, "\n${}: (\n{map});\n", names.name("{tokens}"));
    for (nth, mode) in sheet.modes.clone().iter().enumerate() {
        if paper.is_full() {
            break;
        }
        let mut members = String::new();
        for ModeOverride { at, resolved: literal, .. } in
            sheet.mode_overrides(mode).into_iter().filter(|one| one.is_changed)
        {
            let value = match &literal {
                TokenValue::Shadow(_) | TokenValue::FontFamily(_) => format!("({})", scss_value(&literal)),
                _ => scss_value(&literal),
            };
            let _ = writeln!(members, "  {}: {value},", quote_string(&sheet.model.tokens()[at].path));
        }
        if !members.is_empty() {
            let name = names.name(&format!("{{tokens}}{nth}"));
            paper.append(&format!("\n${name}: (\n{members});\n"), mode);
        }
    }
    paper.finish(sheet.findings.into_vec())
}

/// Variable names must not start with a digit.
fn variable_name(path: &str) -> String {
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

fn scss_value(value: &TokenValue) -> String {
    // Resolved values contain no references; if one did, `null` is the closest SCSS value.
    let writer = CssValueWriter(&|_| "null".to_owned());
    match value {
        TokenValue::Typography(text) => {
            let parts = TYPOGRAPHY_PROPERTIES.into_iter().zip(writer.typography_parts(text));
            let parts = parts.map(|(name, value)| {
                if value.contains(',') { format!("{name}: ({value})") } else { format!("{name}: {value}") }
            });
            format!("({})", parts.collect::<Vec<_>>().join(", "))
        }
        other => writer.value(other),
    }
}
