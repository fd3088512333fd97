//! The scope of a block in a stylesheet, derived from its prelude.

use crate::import::component::find_closing;
use crate::import::tokenizer::{CssToken, SpannedToken};
use crate::limits::MAX_NAME_BYTES;

/// A scope in a stylesheet: base values, modes, or neither.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CssScope {
    pub(super) base: bool,
    pub(super) modes: Vec<CssMode>,
}

/// A possible mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CssMode {
    pub(super) name: String,
    /// Whether the name proves that it is a mode. A class may also belong to a part of a page.
    pub(super) is_certain: bool,
}

/// Maximum number of modes in a selector list; the rest is dropped.
const MAX_MODES_PER_SELECTOR_LIST: usize = 64;
/// Maximum nesting of selectors.
const MAX_SELECTOR_NESTING: usize = 8;

impl CssScope {
    pub(super) fn base() -> Self {
        Self { base: true, modes: Vec::new() }
    }

    /// Names beyond the length limit are not modes.
    fn mode(name: &str, is_sure: bool) -> Self {
        let can_be = !name.is_empty() && name.len() <= MAX_NAME_BYTES;
        let mode = can_be.then(|| CssMode { name: name.to_owned(), is_certain: is_sure });
        Self { base: false, modes: mode.into_iter().collect() }
    }

    fn none() -> Self {
        Self::default()
    }

    /// The scope of a block with this prelude.
    pub(super) fn from_prelude(head: &[SpannedToken], text: &str) -> Self {
        let Some((first, rest)) = head.split_first() else { return Self::none() };
        let CssToken::At(name) = &first.token else { return parse_selector_list(head, 0) };
        let is_not = |token: &SpannedToken| matches!(&token.token, CssToken::Ident(word) if word.eq_ignore_ascii_case("not"));
        match name.to_lowercase().as_str() {
            "theme" | "layer" => Self::base(),
            // Values for browsers without a feature are not base values.
            "supports" if !rest.iter().any(is_not) => Self::base(),
            "media" => {
                let text = text[first.end..rest.last().map_or(first.end, |last| last.end)].to_lowercase();
                let text: String = text.chars().filter(|decoded| !decoded.is_whitespace()).collect();
                match strip_media_type(&text) {
                    "(prefers-color-scheme:dark)" => Self::mode("dark", true),
                    "(prefers-color-scheme:light)" => Self::mode("light", true),
                    _ => Self::none(),
                }
            }
            _ => Self::none(),
        }
    }

    /// The scope inside another one.
    pub(super) fn nested_in(&self, outer: &Self) -> Self {
        let is_in = |mode: &CssMode, place: &Self| place.modes.iter().any(|known| known.name == mode.name);
        let mut modes: Vec<_> =
            outer.modes.iter().filter(|mode| self.base || is_in(mode, self)).cloned().collect();
        modes.extend(self.modes.iter().filter(|mode| outer.base && !is_in(mode, outer)).cloned());
        Self { base: outer.base && self.base, modes }
    }

    fn merge(&mut self, other: Self) {
        self.base |= other.base;
        for mode in other.modes {
            if self.modes.len() < MAX_MODES_PER_SELECTOR_LIST
                && !self.modes.iter().any(|known| known.name == mode.name)
            {
                self.modes.push(mode);
            }
        }
    }
}

/// Removes `screen` or `all` from a media query without spaces, because tokens apply to screens anyway.
fn strip_media_type(query: &str) -> &str {
    let bare = query.strip_prefix("only").unwrap_or(query);
    ["screenand", "alland"].iter().find_map(|medium| bare.strip_prefix(medium)).unwrap_or(query)
}

pub(super) fn trim_whitespace(tokens: &[SpannedToken]) -> &[SpannedToken] {
    let solid = |token: &SpannedToken| token.token != CssToken::Space;
    let start = tokens.iter().position(solid).unwrap_or(tokens.len());
    let end = tokens.iter().rposition(solid).map_or(start, |at| at + 1);
    &tokens[start..end]
}

/// Splits at commas outside brackets.
pub(super) fn split_at_commas(tokens: &[SpannedToken]) -> Vec<&[SpannedToken]> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while at < tokens.len() {
        at = match &tokens[at].token {
            CssToken::Open(_) | CssToken::Function(_) => find_closing(tokens, at + 1) + 1,
            CssToken::Delim(',') => {
                parts.push(&tokens[start..at]);
                start = at + 1;
                start
            }
            _ => at + 1,
        };
    }
    parts.push(tokens.get(start..).unwrap_or_default());
    parts
}

fn parse_selector_list(head: &[SpannedToken], depth: usize) -> CssScope {
    let mut all = CssScope::none();
    if depth < MAX_SELECTOR_NESTING {
        for part in split_at_commas(head) {
            all.merge(parse_selector(trim_whitespace(part), depth));
        }
    }
    all
}

fn parse_selector(tokens: &[SpannedToken], depth: usize) -> CssScope {
    let mut place = if tokens.is_empty() { CssScope::none() } else { CssScope::base() };
    let mut rest = tokens;
    while let Some((first, more)) = rest.split_first() {
        let (found, after) = match (&first.token, more) {
            // `&` stands for the surrounding block, which `nested_in` accounts for.
            (CssToken::Delim('&'), _) => (CssScope::base(), more),
            (CssToken::Ident(name), _) if ["html", "body"].contains(&name.as_str()) => {
                (CssScope::base(), more)
            }
            (CssToken::Delim(':'), [next, more @ ..]) => parse_pseudo_class(&next.token, more, depth),
            (CssToken::Delim('.'), [next, more @ ..]) => match &next.token {
                CssToken::Ident(name) => (parse_class(name), more),
                _ => return CssScope::none(),
            },
            (CssToken::Open('['), _) => {
                let (inner, after) = split_bracket(more);
                (parse_attribute(inner), after)
            }
            _ => return CssScope::none(),
        };
        place = found.nested_in(&place);
        rest = after;
    }
    place
}

/// The content of a bracket, and what follows it.
fn split_bracket(tokens: &[SpannedToken]) -> (&[SpannedToken], &[SpannedToken]) {
    let end = find_closing(tokens, 0);
    (&tokens[..end], tokens.get(end + 1..).unwrap_or_default())
}

fn parse_pseudo_class<'a>(
    name: &CssToken,
    more: &'a [SpannedToken],
    depth: usize,
) -> (CssScope, &'a [SpannedToken]) {
    match name {
        CssToken::Ident(name) if ["root", "host"].contains(&name.as_str()) => (CssScope::base(), more),
        CssToken::Function(name) => {
            let (inner, after) = split_bracket(more);
            match name.as_str() {
                "not" => (CssScope::base(), after), // `:not()` only restricts when another mode applies.
                "is" | "where" | "host" => (parse_selector_list(inner, depth + 1), after),
                _ => (CssScope::none(), after),
            }
        }
        _ => (CssScope::none(), more),
    }
}

fn parse_class(name: &str) -> CssScope {
    let mode = name.trim_start_matches("theme-").trim_end_matches("-theme");
    CssScope::mode(mode, mode != name || ["dark", "light"].contains(&name))
}

fn parse_attribute(tokens: &[SpannedToken]) -> CssScope {
    let [name, equals, value] = tokens else { return CssScope::none() };
    match (&name.token, &equals.token, &value.token) {
        (CssToken::Ident(name), CssToken::Delim('='), CssToken::Text(mode) | CssToken::Ident(mode))
            if name.starts_with("data-") =>
        {
            CssScope::mode(mode, ["theme", "mode", "scheme"].iter().any(|word| name.contains(word)))
        }
        _ => CssScope::none(),
    }
}
