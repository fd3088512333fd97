//! CSS custom properties.

use std::fmt::Write as _;

use super::escape::{comment, string};
use super::names::Names;
use super::paper::Paper;
use super::sheet::{Different, Said, Sheet, TEXT_PARTS, Writer};
use super::{Exported, Options};
use crate::document::Document;
use crate::flat::Token;
use crate::json::Json;
use crate::kind::Kind;
use crate::model::Model;
use crate::value::Value;

/// The document as CSS custom properties.
///
/// Aliases become `var()`. A typography becomes a `font` shorthand and a property for each part. A mode is a block for
/// `[data-theme="…"]` with every token that is different there; `dark` and `light` also follow the system's setting while
/// the page has no `data-theme`.
pub fn css(document: &Document, options: &Options) -> Exported {
    let model = Model::of(document);
    let mut sheet = Sheet::of(document, &model);
    let (prefix, note) = options.cut_prefix();
    sheet.findings.extend(note);
    let mut names = Names::new(prefix);
    sheet.usable.iter().for_each(|&(at, _)| names.claim_path(&sheet.model.tokens()[at].path));
    claim_parts(&sheet, &mut names);
    let block = Block { names: &names, text: false };
    let mut paper = Paper::new();
    paper.text.push_str(":root {\n");
    for (at, kind) in sheet.usable.iter().copied() {
        if paper.is_full() {
            break;
        }
        let token = &sheet.model.tokens()[at];
        let mut piece = if options.bare { String::new() } else { remark(token) };
        if let Some(said) = sheet.said(at) {
            block.declare(&mut piece, "  ", &token.path, kind, &said);
        }
        paper.add(&piece, &token.path);
    }
    paper.text.push_str("}\n");
    blocks(&mut paper, &mut sheet, &block);
    paper.done(sheet.findings.into_vec())
}

/// Names for the parts of every typography. Tokens have the first choice.
pub(super) fn claim_parts(sheet: &Sheet<'_, '_>, names: &mut Names) {
    for (at, _) in sheet.usable.iter().copied().filter(|(_, kind)| *kind == Kind::Typography) {
        let path = &sheet.model.tokens()[at].path;
        let name = super::escape::identifier(path);
        for part in TEXT_PARTS {
            names.claim(&Names::part(path, part), &format!("{name}-{part}"));
        }
    }
}

/// A block for every mode.
pub(super) fn blocks(paper: &mut Paper, sheet: &mut Sheet<'_, '_>, block: &Block<'_>) {
    for mode in sheet.modes.clone() {
        if paper.is_full() {
            break;
        }
        let mut body = String::new();
        for Different { at, said, literal, .. } in sheet.different(&mode) {
            if let Some(kind) = sheet.model.kinds[at] {
                let path = &sheet.model.tokens()[at].path;
                let said = if block.is_flat(path) { Said::Value(literal) } else { said };
                block.declare(&mut body, "  ", path, kind, &said);
            }
        }
        if body.is_empty() {
            continue;
        }
        let mut piece = format!("\n[data-theme={}] {{\n{body}}}\n", string(&mode));
        let scheme = mode.to_lowercase();
        if scheme == "dark" || scheme == "light" {
            let body = format!("  {}\n", body.trim_end().replace('\n', "\n  "));
            let _ = write!(
                piece,
                "\n@media (prefers-color-scheme: {scheme}) {{\n  :root:not([data-theme]) {{\n{body}  }}\n}}\n"
            );
        }
        paper.add(&piece, &mode);
    }
}

/// What Tailwind puts into functions that know no spread: `drop-shadow()`, and `text-shadow` beside them.
const FLAT: [&str; 2] = ["drop-shadow", "text-shadow"];

/// Writes declarations.
pub(super) struct Block<'a> {
    pub(super) names: &'a Names,
    /// Whether a typography's own property is its font size and its family has none, as Tailwind wants it.
    pub(super) text: bool,
}

impl Block<'_> {
    /// Whether a token is a shadow without spread, by the name that it has for Tailwind. It cannot name others, for they have
    /// one.
    pub(super) fn is_flat(&self, path: &str) -> bool {
        self.text && FLAT.iter().any(|space| self.names.of(path).starts_with(space))
    }

    pub(super) fn declare(&self, text: &mut String, indent: &str, path: &str, kind: Kind, said: &Said) {
        let var = |path: &str| format!("var(--{})", self.names.of(path));
        let writer = Writer(&var);
        let name = self.names.of(path);
        let own = match said {
            Said::Alias(target) => var(target),
            Said::Value(Value::Shadow(shadows)) if self.is_flat(path) => {
                writer.flat_shadows(shadows).join(", ")
            }
            Said::Value(value) => writer.value(value),
        };
        let parts = match said {
            _ if kind != Kind::Typography => None,
            Said::Alias(target) => Some(TEXT_PARTS.map(|part| var(&Names::part(target, part)))),
            Said::Value(Value::Typography(typography)) => Some(writer.text_parts(typography)),
            Said::Value(_) => None,
        };
        let Some(parts) = parts else {
            let _ = writeln!(text, "{indent}--{name}: {own};");
            return;
        };
        let own = match (self.text, said) {
            (true, Said::Value(_)) => parts[1].clone(),
            _ => own,
        };
        let _ = writeln!(text, "{indent}--{name}: {own};");
        for (part, value) in TEXT_PARTS.into_iter().zip(parts) {
            if !(self.text && (part == "font-size" || part == "font-family")) {
                let _ = writeln!(text, "{indent}--{}: {value};", self.names.of(&Names::part(path, part)));
            }
        }
    }
}

/// Characters of a description in a comment. A group passes what it says on to all its tokens.
const MAX_REMARK: usize = 200;

/// The beginning of a text, as a comment.
fn brief(text: &str) -> String {
    match text.char_indices().nth(MAX_REMARK) {
        Some((end, _)) => comment(&text[..end]) + "…",
        None => comment(text),
    }
}

/// What a token is for, and whether it should still be used, as comments.
pub(super) fn remarks(token: &Token<'_>) -> Vec<String> {
    let description = token.map.get("$description").and_then(Json::as_str).map(brief);
    let deprecated = match token.deprecated {
        Some(Json::Bool(true)) => Some("deprecated".to_owned()),
        Some(Json::String(why)) => Some(format!("deprecated: {}", brief(why))),
        _ => None,
    };
    description.into_iter().chain(deprecated).filter(|remark| !remark.is_empty()).collect()
}

pub(super) fn remark(token: &Token<'_>) -> String {
    remarks(token).iter().fold(String::new(), |text, remark| text + "  /* " + remark + " */\n")
}
