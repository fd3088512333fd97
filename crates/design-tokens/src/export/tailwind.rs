//! Tailwind CSS: a theme for version 4, and for version 3.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::css::{Block, blocks, remark};
use super::escape::identifier;
use super::names::Names;
use super::paper::Paper;
use super::sheet::{Different, Said, Sheet, TEXT_PARTS, Writer};
use super::{Exported, Options};
use crate::color::Color;
use crate::document::Document;
use crate::finding::Finding;
use crate::json::{Json, Map};
use crate::kind::Kind;
use crate::model::Model;
use crate::value::Value;

/// A namespace of Tailwind: its names in version 4 and in version 3 (empty: it has none there), the type it takes, and the
/// words by which a path shows that it belongs there. With an empty word the type alone is enough.
struct Space {
    v4: &'static str,
    v3: &'static str,
    kind: Kind,
    words: &'static [&'static str],
}

const fn space(v4: &'static str, v3: &'static str, kind: Kind, words: &'static [&'static str]) -> Space {
    Space { v4, v3, kind, words }
}

/// The first that fits is taken. Lengths that fit none are spacing.
const SPACES: [Space; 19] = [
    space("radius", "borderRadius", Kind::Dimension, &RADII),
    space("text", "fontSize", Kind::Dimension, &["text", "fontsize", "fontsizes", "textsize"]),
    space("tracking", "letterSpacing", Kind::Dimension, &["tracking", "letterspacing"]),
    space("breakpoint", "screens", Kind::Dimension, &["breakpoint", "breakpoints", "screen", "screens"]),
    space("container", "maxWidth", Kind::Dimension, &["container", "containers"]),
    space("blur", "blur", Kind::Dimension, &["blur"]),
    space("perspective", "", Kind::Dimension, &["perspective", "perspectives"]),
    space("spacing", "spacing", Kind::Dimension, &["spacing", "space", ""]),
    space("leading", "lineHeight", Kind::Number, &["leading", "lineheight", "lineheights"]),
    space("color", "colors", Kind::Color, &["color", "colors", "colour", "colours", ""]),
    space("font", "fontFamily", Kind::FontFamily, &FONTS),
    space("font-weight", "fontWeight", Kind::FontWeight, &["fontweight", "fontweights", "weight", ""]),
    space("inset-shadow", "", Kind::Shadow, &["insetshadow", "insetshadows"]),
    space("drop-shadow", "dropShadow", Kind::Shadow, &["dropshadow", "dropshadows"]),
    space("text-shadow", "", Kind::Shadow, &["textshadow", "textshadows"]),
    space("shadow", "boxShadow", Kind::Shadow, &["shadow", "shadows", "boxshadow", "boxshadows", ""]),
    space("ease", "transitionTimingFunction", Kind::CubicBezier, &["ease", "easing", "easings", ""]),
    space("", "transitionDuration", Kind::Duration, &["duration", "durations", ""]),
    space("text", "fontSize", Kind::Typography, &["text", "typography", "type", ""]),
];
const RADII: [&str; 5] = ["radius", "radii", "rounded", "borderradius", "cornerradius"];
const FONTS: [&str; 6] = ["font", "fonts", "fontfamily", "fontfamilies", "family", ""];

/// The namespaces whose own name means something: `rounded` and `shadow` without more, and what spacing is counted in.
const BARE: [&str; 7] = ["spacing", "radius", "shadow", "inset-shadow", "drop-shadow", "text-shadow", "blur"];

/// The namespace of a token, among those that a version has a name for, and its name there: none if it is the namespace
/// itself.
fn place(
    path: &str,
    kind: Kind,
    called: fn(&Space) -> &'static str,
) -> Option<(&'static Space, Option<String>)> {
    let path = path.strip_suffix(".$root").unwrap_or(path);
    let names: Vec<_> = path.split('.').collect();
    let word = |name: &str| name.replace(['-', '_', ' '], "").to_lowercase();
    for space in SPACES.iter().filter(|space| space.kind == kind && !called(space).is_empty()) {
        // `font.size.sm` says it in two names, `fontSize.sm` in one.
        for count in [2, 1] {
            let Some((head, rest)) = names.split_at_checked(count) else { continue };
            let has_place = !rest.is_empty() || BARE.contains(&space.v4);
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

/// The namespace of a token in version 4. What Tailwind itself begins with `default-` is in none.
fn place_v4(path: &str, kind: Kind) -> Option<(&'static Space, Option<String>)> {
    if identifier(path).starts_with("default-") { None } else { place(path, kind, |space| space.v4) }
}

/// The shadows that say something else in a mode, and that Tailwind would not hear of.
///
/// It takes shadows apart when it builds, so what their properties are later it never sees. It leaves alone what is nothing
/// but a `var()`.
fn moving_shadows(document: &Document, sheet: &Sheet<'_, '_>) -> HashSet<usize> {
    let mut moving = HashSet::new();
    let is_shadow = |at: usize| sheet.model.kinds[at] == Some(Kind::Shadow);
    if !sheet.usable.iter().any(|(at, _)| is_shadow(*at)) {
        return moving;
    }
    let space = |at: usize| place_v4(&sheet.model.tokens()[at].path, Kind::Shadow).map(|(space, _)| space.v4);
    // What a sheet tells of modes it tells once.
    let mut other = Sheet::of(document, sheet.model);
    for mode in &sheet.modes {
        let different = other.different(mode).into_iter().filter(|one| is_shadow(one.at));
        for Different { at, said, .. } in different {
            let is_moving = match space(at) {
                Some("drop-shadow") => false, // A filter is not taken apart.
                Some("text-shadow") => true,  // It is written by its final value, whatever it refers to.
                _ => other.said(at) != Some(said),
            };
            if is_moving {
                moving.insert(at);
            }
        }
    }
    moving
}

/// The name of a shadow in the theme, if its value stands elsewhere.
fn in_theme(path: &str) -> String {
    Names::part(path, "theme")
}

fn names_v4(sheet: &Sheet<'_, '_>, moving: &HashSet<usize>) -> Names {
    // Tailwind's own namespaces are what makes the utilities; a prefix would hide the tokens from it.
    let mut names = Names::new("");
    for (at, kind) in sheet.usable.iter().copied() {
        let path = &sheet.model.tokens()[at].path;
        let name = match place_v4(path, kind) {
            Some((space, Some(name))) => format!("{}-{name}", space.v4),
            Some((space, None)) => space.v4.to_owned(),
            None => identifier(path),
        };
        if moving.contains(&at) {
            names.claim(&in_theme(path), &name);
        } else {
            names.claim(path, &name);
        }
    }
    for (at, kind) in sheet.usable.iter().copied() {
        let path = &sheet.model.tokens()[at].path;
        if moving.contains(&at) {
            let value = format!("{}-value", names.of(&in_theme(path)));
            names.claim(path, &value);
        }
        if kind == Kind::Typography {
            let name = names.of(path);
            for part in TEXT_PARTS {
                names.claim(&Names::part(path, part), &format!("{name}--{part}"));
            }
        }
    }
    names
}

/// What a token says in the theme.
fn said_v4(sheet: &Sheet<'_, '_>, block: &Block<'_>, at: usize, kind: Kind) -> Option<Said> {
    let path = &sheet.model.tokens()[at].path;
    // A media query and a container query know no properties.
    let is_query =
        place_v4(path, kind).is_some_and(|(space, _)| ["breakpoint", "container"].contains(&space.v4));
    if is_query || block.is_flat(path) { sheet.literal(at).map(Said::Value) } else { sheet.said(at) }
}

/// The document as a theme for Tailwind 4: `@theme` with its namespaces, and a block for each mode.
///
/// Where Tailwind has no namespace for a type, the token is a property under its own name. A shadow that is another in a
/// mode is a `var()` in the theme, and its value stands in `:root`. There is no prefix.
pub fn tailwind_v4(document: &Document, options: &Options) -> Exported {
    let model = Model::of(document);
    let mut sheet = Sheet::of(document, &model);
    let moving = moving_shadows(document, &sheet);
    let names = names_v4(&sheet, &moving);
    let block = Block { names: &names, text: true };
    let mut paper = Paper::new();
    let mut root = String::new();
    paper.text.push_str("@theme {\n");
    for (at, kind) in sheet.usable.iter().copied() {
        if paper.is_full() {
            break;
        }
        let token = &sheet.model.tokens()[at];
        let mut piece = if options.bare { String::new() } else { remark(token) };
        let mut value = String::new();
        if let Some(said) = said_v4(&sheet, &block, at, kind) {
            block.declare(&mut value, "  ", &token.path, kind, &said);
        }
        if moving.contains(&at) {
            let name = names.of(&in_theme(&token.path));
            let _ = writeln!(piece, "  --{name}: var(--{});", names.of(&token.path));
        } else {
            piece += &std::mem::take(&mut value);
        }
        if paper.has_room(piece.len() + value.len(), &token.path) {
            paper.text.push_str(&piece);
            root.push_str(&value);
        }
    }
    paper.text.push_str("}\n");
    if !root.is_empty() {
        let _ = write!(paper.text, "\n:root {{\n{root}}}\n");
    }
    blocks(&mut paper, &mut sheet, &block);
    paper.done(sheet.findings.into_vec()).without_prefix(options)
}

/// The document as `theme.extend` for Tailwind 3, in JSON. Values are final and of no mode.
pub fn tailwind_v3(document: &Document) -> Exported {
    let model = Model::of(document);
    let mut sheet = Sheet::of(document, &model);
    let mut extend = Map::new();
    let mut names = Names::new("");
    let mut paper = Paper::new();
    for (at, kind) in sheet.usable.iter().copied() {
        if paper.is_full() {
            break;
        }
        let path = &sheet.model.tokens()[at].path;
        let Some((space, name)) = place(path, kind, |space| space.v3) else {
            let message = format!("the token is not exported: Tailwind 3 has no place for a {kind}");
            sheet.findings.push(Finding::warning(&**path, message));
            continue;
        };
        let Some(value) = sheet.literal(at) else { continue };
        let json = json_v3(space, &value);
        // Names are unique in their namespace.
        names.claim(path, &format!("{}-{}", space.v3, name.as_deref().unwrap_or("DEFAULT")));
        let name = names.of(path).split_off(space.v3.len() + 1);
        if paper.has_room(json.to_string().len() + name.len(), path) {
            extend.object_mut(space.v3).set(name, json);
        }
    }
    let theme: Map = [("theme", Map::from_iter([("extend", extend)]))].into_iter().collect();
    paper.text = Json::Object(theme).pretty();
    paper.done(sheet.findings.into_vec()).without_modes(&sheet.modes)
}

/// A value as the configuration of version 3 has it.
fn json_v3(space: &Space, value: &Value) -> Json {
    let writer = Writer(&|_| String::new());
    match value {
        Value::Color(color) => with_alpha(color).into(),
        Value::FontFamily(names) => {
            let names = names.iter().map(|name| Json::String(writer.family(std::slice::from_ref(name))));
            Json::Array(names.collect())
        }
        Value::Typography(text) => {
            let [_, size, weight, spacing, height] = writer.text_parts(text);
            let parts = [("lineHeight", height), ("letterSpacing", spacing), ("fontWeight", weight)];
            Json::Array(vec![size.into(), parts.into_iter().collect::<Map>().into()])
        }
        Value::Shadow(shadows) if space.v3 == "dropShadow" => {
            Json::Array(writer.flat_shadows(shadows).into_iter().map(Json::String).collect())
        }
        other => writer.value(other).into(),
    }
}

/// A colour that utilities such as `bg-brand/50` can make translucent. Version 3 finds the place for that in `#`, `rgb` and
/// `hsl` itself; elsewhere it has to be shown.
fn with_alpha(color: &Color) -> String {
    let text = color.to_css();
    let is_known = ["#", "rgb", "hsl"].iter().any(|known| text.starts_with(known));
    match text.strip_suffix(')') {
        Some(open) if !is_known && color.alpha >= 1.0 => format!("{open} / <alpha-value>)"),
        _ => text,
    }
}
