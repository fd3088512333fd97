//! Tailwind CSS themes for versions 4 and 3.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::css::{DeclarationWriter, css_comments, write_mode_blocks};
use super::escape::identifier;
use super::names::NameTable;
use super::stylesheet::{CssValueWriter, ExportModel, ExportValue, ModeOverride, TYPOGRAPHY_PROPERTIES};
use super::writer::BoundedWriter;
use super::{ExportOptions, ExportOutput};
use crate::color::Color;
use crate::document::TokenDocument;
use crate::finding::TokenFinding;
use crate::json::{Json, JsonMap};
use crate::kind::TokenKind;
use crate::model::TokenModel;
use crate::value::TokenValue;

/// A Tailwind namespace: its names in versions 4 and 3 (empty if it does not exist there), its token type,
/// and the words in a path that select it. An empty word matches every path.
struct TailwindNamespace {
    v4: &'static str,
    v3: &'static str,
    kind: TokenKind,
    words: &'static [&'static str],
}

const fn namespace(
    v4: &'static str,
    v3: &'static str,
    kind: TokenKind,
    words: &'static [&'static str],
) -> TailwindNamespace {
    TailwindNamespace { v4, v3, kind, words }
}

/// The first match is used. Lengths that match nothing else are spacing.
const NAMESPACES: [TailwindNamespace; 19] = [
    namespace("radius", "borderRadius", TokenKind::Dimension, &RADIUS_WORDS),
    namespace("text", "fontSize", TokenKind::Dimension, &["text", "fontsize", "fontsizes", "textsize"]),
    namespace("tracking", "letterSpacing", TokenKind::Dimension, &["tracking", "letterspacing"]),
    namespace(
        "breakpoint",
        "screens",
        TokenKind::Dimension,
        &["breakpoint", "breakpoints", "screen", "screens"],
    ),
    namespace("container", "maxWidth", TokenKind::Dimension, &["container", "containers"]),
    namespace("blur", "blur", TokenKind::Dimension, &["blur"]),
    namespace("perspective", "", TokenKind::Dimension, &["perspective", "perspectives"]),
    namespace("spacing", "spacing", TokenKind::Dimension, &["spacing", "space", ""]),
    namespace("leading", "lineHeight", TokenKind::Number, &["leading", "lineheight", "lineheights"]),
    namespace("color", "colors", TokenKind::Color, &["color", "colors", "colour", "colours", ""]),
    namespace("font", "fontFamily", TokenKind::FontFamily, &FONT_WORDS),
    namespace(
        "font-weight",
        "fontWeight",
        TokenKind::FontWeight,
        &["fontweight", "fontweights", "weight", ""],
    ),
    namespace("inset-shadow", "", TokenKind::Shadow, &["insetshadow", "insetshadows"]),
    namespace("drop-shadow", "dropShadow", TokenKind::Shadow, &["dropshadow", "dropshadows"]),
    namespace("text-shadow", "", TokenKind::Shadow, &["textshadow", "textshadows"]),
    namespace(
        "shadow",
        "boxShadow",
        TokenKind::Shadow,
        &["shadow", "shadows", "boxshadow", "boxshadows", ""],
    ),
    namespace("ease", "transitionTimingFunction", TokenKind::CubicBezier, &["ease", "easing", "easings", ""]),
    namespace("", "transitionDuration", TokenKind::Duration, &["duration", "durations", ""]),
    namespace("text", "fontSize", TokenKind::Typography, &["text", "typography", "type", ""]),
];
const RADIUS_WORDS: [&str; 5] = ["radius", "radii", "rounded", "borderradius", "cornerradius"];
const FONT_WORDS: [&str; 6] = ["font", "fonts", "fontfamily", "fontfamilies", "family", ""];

/// Namespaces whose bare name has a meaning: `rounded` and `shadow` without a suffix, and the unit of
/// spacing.
const BARE_NAMESPACES: [&str; 7] =
    ["spacing", "radius", "shadow", "inset-shadow", "drop-shadow", "text-shadow", "blur"];

/// The namespace of a token in a version, and the token's name there. The name is `None` if the token is the
/// namespace itself.
fn find_namespace(
    path: &str,
    kind: TokenKind,
    called: fn(&TailwindNamespace) -> &'static str,
) -> Option<(&'static TailwindNamespace, Option<String>)> {
    let path = path.strip_suffix(".$root").unwrap_or(path);
    let names: Vec<_> = path.split('.').collect();
    let word = |name: &str| name.replace(['-', '_', ' '], "").to_lowercase();
    for space in NAMESPACES.iter().filter(|space| space.kind == kind && !called(space).is_empty()) {
        // `font.size.sm` needs two names for it, `fontSize.sm` one.
        for count in [2, 1] {
            let Some((head, rest)) = names.split_at_checked(count) else { continue };
            let has_place = !rest.is_empty() || BARE_NAMESPACES.contains(&space.v4);
            let head = word(&head.concat());
            if has_place && space.words.iter().any(|known| !known.is_empty() && *known == head) {
                return Some((space, (!rest.is_empty()).then(|| identifier(&rest.join(".")))));
            }
        }
        if space.words.contains(&"") {
            return Some((space, Some(identifier(path))));
        }
    }
    None
}

/// The namespace of a token in version 4. Names with the prefix `default-`, which Tailwind reserves, get
/// none.
fn find_namespace_v4(path: &str, kind: TokenKind) -> Option<(&'static TailwindNamespace, Option<String>)> {
    if identifier(path).starts_with("default-") { None } else { find_namespace(path, kind, |space| space.v4) }
}

/// Shadows that differ in a mode without Tailwind noticing.
///
/// Tailwind splits shadows at build time, so it never sees later values of their properties. A plain `var()`
/// is left alone.
fn mode_dependent_shadows(document: &TokenDocument, model: &ExportModel<'_, '_>) -> HashSet<usize> {
    let mut moving = HashSet::new();
    let is_shadow = |at: usize| model.model.kinds[at] == Some(TokenKind::Shadow);
    if !model.usable.iter().any(|(at, _)| is_shadow(*at)) {
        return moving;
    }
    let space = |at: usize| {
        find_namespace_v4(&model.model.tokens()[at].path, TokenKind::Shadow).map(|(space, _)| space.v4)
    };
    // A separate model, so that findings about modes are not reported twice.
    let mut other = ExportModel::new(document, model.model);
    for mode in &model.modes {
        let different = other.mode_overrides(mode).into_iter().filter(|one| is_shadow(one.at));
        for ModeOverride { at, value: said, .. } in different {
            let is_moving = match space(at) {
                Some("drop-shadow") => false, // Filters are not split.
                Some("text-shadow") => true,  // Written with its resolved value, even if it is a reference.
                _ => other.value(at) != Some(said),
            };
            if is_moving {
                moving.insert(at);
            }
        }
    }
    moving
}

/// Key for the name of a shadow in the theme, if its value is declared elsewhere.
fn theme_key(path: &str) -> String {
    NameTable::part_key(path, "theme")
}

fn names_v4(model: &ExportModel<'_, '_>, moving: &HashSet<usize>) -> NameTable {
    // Utilities are generated from Tailwind's namespaces; a prefix would hide the tokens from it.
    let mut names = NameTable::new("");
    for (at, kind) in model.usable.iter().copied() {
        let path = &model.model.tokens()[at].path;
        let name = match find_namespace_v4(path, kind) {
            Some((space, Some(name))) => format!("{}-{name}", space.v4),
            Some((space, None)) => space.v4.to_owned(),
            None => identifier(path),
        };
        if moving.contains(&at) {
            names.claim(&theme_key(path), &name);
        } else {
            names.claim(path, &name);
        }
    }
    for (at, kind) in model.usable.iter().copied() {
        let path = &model.model.tokens()[at].path;
        if moving.contains(&at) {
            let value = format!("{}-value", names.name(&theme_key(path)));
            names.claim(path, &value);
        }
        if kind == TokenKind::Typography {
            let name = names.name(path);
            for part in TYPOGRAPHY_PROPERTIES {
                names.claim(&NameTable::part_key(path, part), &format!("{name}--{part}"));
            }
        }
    }
    names
}

/// The value of a token in the theme.
fn theme_value(
    model: &ExportModel<'_, '_>,
    block: &DeclarationWriter<'_>,
    at: usize,
    kind: TokenKind,
) -> Option<ExportValue> {
    let path = &model.model.tokens()[at].path;
    // Media and container queries cannot use custom properties.
    let is_query = find_namespace_v4(path, kind)
        .is_some_and(|(space, _)| ["breakpoint", "container"].contains(&space.v4));
    if is_query || block.is_spreadless_shadow(path) {
        model.resolved_value(at).map(ExportValue::Value)
    } else {
        model.value(at)
    }
}

/// Exports a theme for Tailwind 4: `@theme` with its namespaces, and a block for each mode.
///
/// If Tailwind has no namespace for a type, the token keeps its own name. A shadow that differs in a mode is
/// a `var()` in the theme, with its value in `:root`. A prefix is not supported.
pub fn tailwind_v4(document: &TokenDocument, options: &ExportOptions) -> ExportOutput {
    let model = TokenModel::new(document);
    let mut sheet = ExportModel::new(document, &model);
    let moving = mode_dependent_shadows(document, &sheet);
    let names = names_v4(&sheet, &moving);
    let block = DeclarationWriter { names: &names, for_tailwind: true };
    let mut paper = BoundedWriter::new();
    let mut root = String::new();
    paper.text.push_str("@theme {\n");
    for (at, kind) in sheet.usable.iter().copied() {
        if paper.is_full() {
            break;
        }
        let token = &sheet.model.tokens()[at];
        let mut piece = if options.omit_comments { String::new() } else { css_comments(token) };
        let mut value = String::new();
        if let Some(said) = theme_value(&sheet, &block, at, kind) {
            block.declare(&mut value, "  ", &token.path, kind, &said);
        }
        if moving.contains(&at) {
            let name = names.name(&theme_key(&token.path));
            let _ = writeln!(piece, "  --{name}: var(--{});", names.name(&token.path));
        } else {
            piece += &std::mem::take(&mut value);
        }
        if paper.reserve(piece.len() + value.len(), &token.path) {
            paper.text.push_str(&piece);
            root.push_str(&value);
        }
    }
    paper.text.push_str("}\n");
    if !root.is_empty() {
        let _ = write!(paper.text, "\n:root {{\n{root}}}\n");
    }
    write_mode_blocks(&mut paper, &mut sheet, &block);
    paper.finish(sheet.findings.into_vec()).warn_if_prefix_ignored(options)
}

/// Exports `theme.extend` for Tailwind 3 as JSON. Values are resolved, without modes.
pub fn tailwind_v3(document: &TokenDocument) -> ExportOutput {
    let model = TokenModel::new(document);
    let mut sheet = ExportModel::new(document, &model);
    let mut extend = JsonMap::new();
    let mut names = NameTable::new("");
    let mut paper = BoundedWriter::new();
    for (at, kind) in sheet.usable.iter().copied() {
        if paper.is_full() {
            break;
        }
        let path = &sheet.model.tokens()[at].path;
        let Some((space, name)) = find_namespace(path, kind, |space| space.v3) else {
            let message = format!("the token is not exported: Tailwind 3 does not support type {kind}");
            sheet.findings.push(TokenFinding::warning(&**path, message));
            continue;
        };
        let Some(value) = sheet.resolved_value(at) else { continue };
        let json = to_v3_json(space, &value);
        // Names are unique per namespace.
        names.claim(path, &format!("{}-{}", space.v3, name.as_deref().unwrap_or("DEFAULT")));
        let name = names.name(path).split_off(space.v3.len() + 1);
        if paper.reserve(json.to_string().len() + name.len(), path) {
            extend.object_entry(space.v3).set(name, json);
        }
    }
    let theme: JsonMap = [("theme", JsonMap::from_iter([("extend", extend)]))].into_iter().collect();
    paper.text = Json::Object(theme).to_pretty_string();
    paper.finish(sheet.findings.into_vec()).warn_if_modes_ignored(&sheet.modes)
}

/// A value for the configuration of version 3.
fn to_v3_json(space: &TailwindNamespace, value: &TokenValue) -> Json {
    let writer = CssValueWriter(&|_| String::new());
    match value {
        TokenValue::Color(color) => with_alpha_placeholder(color).into(),
        TokenValue::FontFamily(names) => {
            let names = names.iter().map(|name| Json::String(writer.family(std::slice::from_ref(name))));
            Json::Array(names.collect())
        }
        TokenValue::Typography(text) => {
            let [_, size, weight, spacing, height] = writer.typography_parts(text);
            let parts = [("lineHeight", height), ("letterSpacing", spacing), ("fontWeight", weight)];
            Json::Array(vec![size.into(), parts.into_iter().collect::<JsonMap>().into()])
        }
        TokenValue::Shadow(shadows) if space.v3 == "dropShadow" => {
            Json::Array(writer.spreadless_shadows(shadows).into_iter().map(Json::String).collect())
        }
        other => writer.value(other).into(),
    }
}

/// A colour that utilities such as `bg-brand/50` can make translucent. Version 3 handles `#`, `rgb` and `hsl`
/// itself; other notations need a placeholder.
fn with_alpha_placeholder(color: &Color) -> String {
    let text = color.to_css();
    let is_known = ["#", "rgb", "hsl"].iter().any(|known| text.starts_with(known));
    match text.strip_suffix(')') {
        Some(open) if !is_known && color.alpha >= 1.0 => format!("{open} / <alpha-value>)"),
        _ => text,
    }
}
