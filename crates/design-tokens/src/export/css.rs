//! CSS custom properties.

use std::fmt::Write as _;

use super::escape::{escape_comment, quote_string};
use super::names::NameTable;
use super::stylesheet::{CssValueWriter, ExportModel, ExportValue, ModeOverride, TYPOGRAPHY_PROPERTIES};
use super::writer::BoundedWriter;
use super::{ExportOptions, ExportOutput};
use crate::document::TokenDocument;
use crate::flatten::Token;
use crate::json::Json;
use crate::kind::TokenKind;
use crate::model::TokenModel;
use crate::value::TokenValue;

/// Exports the document as CSS custom properties.
///
/// Aliases become `var()`. A typography token becomes a `font` shorthand plus a property for each part. A
/// mode becomes a block for `[data-theme="…"]` with every token that differs there; `dark` and `light` also
/// follow the system setting while the page has no `data-theme`.
pub fn css(document: &TokenDocument, options: &ExportOptions) -> ExportOutput {
    let model = TokenModel::new(document);
    let mut sheet = ExportModel::new(document, &model);
    let (prefix, note) = options.truncated_prefix();
    sheet.findings.extend(note);
    let mut names = NameTable::new(prefix);
    sheet.usable.iter().for_each(|&(at, _)| names.claim_path(&sheet.model.tokens()[at].path));
    claim_typography_names(&sheet, &mut names);
    let block = DeclarationWriter { names: &names, for_tailwind: false };
    let mut paper = BoundedWriter::new();
    paper.text.push_str(":root {\n");
    for (at, kind) in sheet.usable.iter().copied() {
        if paper.is_full() {
            break;
        }
        let token = &sheet.model.tokens()[at];
        let mut piece = if options.omit_comments { String::new() } else { css_comments(token) };
        if let Some(said) = sheet.value(at) {
            block.declare(&mut piece, "  ", &token.path, kind, &said);
        }
        paper.append(&piece, &token.path);
    }
    paper.text.push_str("}\n");
    write_mode_blocks(&mut paper, &mut sheet, &block);
    paper.finish(sheet.findings.into_vec())
}

/// Claims names for the parts of every typography token. Tokens are named first.
pub(super) fn claim_typography_names(model: &ExportModel<'_, '_>, names: &mut NameTable) {
    for (at, _) in model.usable.iter().copied().filter(|(_, kind)| *kind == TokenKind::Typography) {
        let path = &model.model.tokens()[at].path;
        let name = super::escape::identifier(path);
        for part in TYPOGRAPHY_PROPERTIES {
            names.claim(&NameTable::part_key(path, part), &format!("{name}-{part}"));
        }
    }
}

/// Writes a block for every mode.
pub(super) fn write_mode_blocks(
    paper: &mut BoundedWriter,
    model: &mut ExportModel<'_, '_>,
    block: &DeclarationWriter<'_>,
) {
    for mode in model.modes.clone() {
        if paper.is_full() {
            break;
        }
        let mut body = String::new();
        for ModeOverride { at, value: said, resolved: literal, .. } in model.mode_overrides(&mode) {
            if let Some(kind) = model.model.kinds[at] {
                let path = &model.model.tokens()[at].path;
                let said = if block.is_spreadless_shadow(path) { ExportValue::Value(literal) } else { said };
                block.declare(&mut body, "  ", path, kind, &said);
            }
        }
        if body.is_empty() {
            continue;
        }
        let mut piece = format!("\n[data-theme={}] {{\n{body}}}\n", quote_string(&mode));
        let scheme = mode.to_lowercase();
        if scheme == "dark" || scheme == "light" {
            let body = format!("  {}\n", body.trim_end().replace('\n', "\n  "));
            let _ = write!(
                piece,
                "\n@media (prefers-color-scheme: {scheme}) {{\n  :root:not([data-theme]) {{\n{body}  }}\n}}\n"
            );
        }
        paper.append(&piece, &mode);
    }
}

/// Namespaces that Tailwind uses for shadows without spread: `drop-shadow()` and `text-shadow`.
const SPREADLESS_NAMESPACES: [&str; 2] = ["drop-shadow", "text-shadow"];

pub(super) struct DeclarationWriter<'a> {
    pub(super) names: &'a NameTable,
    /// For Tailwind, the main property of a typography token is its font size, and its family is omitted.
    pub(super) for_tailwind: bool,
}

impl DeclarationWriter<'_> {
    /// Whether a token is a shadow without spread, judging by its Tailwind name. It cannot refer to other
    /// shadows, because these have a spread.
    pub(super) fn is_spreadless_shadow(&self, path: &str) -> bool {
        self.for_tailwind
            && SPREADLESS_NAMESPACES.iter().any(|space| self.names.name(path).starts_with(space))
    }

    pub(super) fn declare(
        &self,
        text: &mut String,
        indent: &str,
        path: &str,
        kind: TokenKind,
        said: &ExportValue,
    ) {
        let var = |path: &str| format!("var(--{})", self.names.name(path));
        let writer = CssValueWriter(&var);
        let name = self.names.name(path);
        let own = match said {
            ExportValue::Alias(target) => var(target),
            ExportValue::Value(TokenValue::Shadow(shadows)) if self.is_spreadless_shadow(path) => {
                writer.spreadless_shadows(shadows).join(", ")
            }
            ExportValue::Value(value) => writer.value(value),
        };
        let parts = match said {
            _ if kind != TokenKind::Typography => None,
            ExportValue::Alias(target) => {
                Some(TYPOGRAPHY_PROPERTIES.map(|part| var(&NameTable::part_key(target, part))))
            }
            ExportValue::Value(TokenValue::Typography(typography)) => {
                Some(writer.typography_parts(typography))
            }
            ExportValue::Value(_) => None,
        };
        let Some(parts) = parts else {
            let _ = writeln!(text, "{indent}--{name}: {own};");
            return;
        };
        let own = match (self.for_tailwind, said) {
            (true, ExportValue::Value(_)) => parts[1].clone(),
            _ => own,
        };
        let _ = writeln!(text, "{indent}--{name}: {own};");
        for (part, value) in TYPOGRAPHY_PROPERTIES.into_iter().zip(parts) {
            if !(self.for_tailwind && (part == "font-size" || part == "font-family")) {
                let _ = writeln!(
                    text,
                    "{indent}--{}: {value};",
                    self.names.name(&NameTable::part_key(path, part))
                );
            }
        }
    }
}

/// Characters of a description in a comment. A group passes its deprecation reason on to all its tokens.
const MAX_COMMENT_CHARS: usize = 200;

/// The beginning of a text, escaped for a comment.
fn truncated_comment(text: &str) -> String {
    match text.char_indices().nth(MAX_COMMENT_CHARS) {
        Some((end, _)) => escape_comment(&text[..end]) + "…",
        None => escape_comment(text),
    }
}

/// The description and deprecation of a token as comments.
pub(super) fn token_comments(token: &Token<'_>) -> Vec<String> {
    let description = token.map.get("$description").and_then(Json::as_str).map(truncated_comment);
    let deprecated = match token.deprecated {
        Some(Json::Bool(true)) => Some("deprecated".to_owned()),
        Some(Json::String(why)) => Some(format!("deprecated: {}", truncated_comment(why))),
        _ => None,
    };
    description.into_iter().chain(deprecated).filter(|remark| !remark.is_empty()).collect()
}

pub(super) fn css_comments(token: &Token<'_>) -> String {
    token_comments(token).iter().fold(String::new(), |text, remark| text + "  /* " + remark + " */\n")
}
