//! Where in a sheet something stands, by what is before its block.

use crate::import::item::closing;
use crate::import::tokenizer::{Spanned, Token};
use crate::limits::MAX_NAME;

/// Where in a sheet something stands: where tokens have their usual values, in modes, or in neither.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) base: bool,
    pub(super) modes: Vec<Mode>,
}

/// What may be a mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mode {
    pub(super) name: String,
    /// Whether its name says so. A class may also belong to some part of a page.
    pub(super) is_sure: bool,
}

/// Modes that one list of selectors may name; the rest is left out.
const MAX_LISTED: usize = 64;
/// Selectors in selectors that are followed.
const MAX_NESTING: usize = 8;

impl Place {
    pub(super) fn base() -> Self {
        Self { base: true, modes: Vec::new() }
    }

    /// What is longer than a name may be is no mode that anybody chose.
    fn mode(name: &str, is_sure: bool) -> Self {
        let can_be = !name.is_empty() && name.len() <= MAX_NAME;
        let mode = can_be.then(|| Mode { name: name.to_owned(), is_sure });
        Self { base: false, modes: mode.into_iter().collect() }
    }

    fn nowhere() -> Self {
        Self::default()
    }

    /// Where a block is that has this before it.
    pub(super) fn of(head: &[Spanned], text: &str) -> Self {
        let Some((first, rest)) = head.split_first() else { return Self::nowhere() };
        let Token::At(name) = &first.token else { return selectors(head, 0) };
        let is_not =
            |token: &Spanned| matches!(&token.token, Token::Ident(word) if word.eq_ignore_ascii_case("not"));
        match name.to_lowercase().as_str() {
            "theme" | "layer" => Self::base(),
            // What holds where something is missing is not the usual value.
            "supports" if !rest.iter().any(is_not) => Self::base(),
            "media" => {
                let text = text[first.end..rest.last().map_or(first.end, |last| last.end)].to_lowercase();
                let text: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
                match without_medium(&text) {
                    "(prefers-color-scheme:dark)" => Self::mode("dark", true),
                    "(prefers-color-scheme:light)" => Self::mode("light", true),
                    _ => Self::nowhere(),
                }
            }
            _ => Self::nowhere(),
        }
    }

    /// The place inside another.
    pub(super) fn within(&self, outer: &Self) -> Self {
        let is_in = |mode: &Mode, place: &Self| place.modes.iter().any(|known| known.name == mode.name);
        let mut modes: Vec<_> =
            outer.modes.iter().filter(|mode| self.base || is_in(mode, self)).cloned().collect();
        modes.extend(self.modes.iter().filter(|mode| outer.base && !is_in(mode, outer)).cloned());
        Self { base: outer.base && self.base, modes }
    }

    fn join(&mut self, other: Self) {
        self.base |= other.base;
        for mode in other.modes {
            if self.modes.len() < MAX_LISTED && !self.modes.iter().any(|known| known.name == mode.name) {
                self.modes.push(mode);
            }
        }
    }
}

/// A media query, without its spaces, that is no longer for screens: tokens are seen there anyway.
fn without_medium(query: &str) -> &str {
    let bare = query.strip_prefix("only").unwrap_or(query);
    ["screenand", "alland"].iter().find_map(|medium| bare.strip_prefix(medium)).unwrap_or(query)
}

pub(super) fn trim(tokens: &[Spanned]) -> &[Spanned] {
    let solid = |token: &Spanned| token.token != Token::Space;
    let start = tokens.iter().position(solid).unwrap_or(tokens.len());
    let end = tokens.iter().rposition(solid).map_or(start, |at| at + 1);
    &tokens[start..end]
}

/// What stands between the commas that are in no bracket.
pub(super) fn parts(tokens: &[Spanned]) -> Vec<&[Spanned]> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while at < tokens.len() {
        at = match &tokens[at].token {
            Token::Open(_) | Token::Function(_) => closing(tokens, at + 1) + 1,
            Token::Delim(',') => {
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

/// The places that a list of selectors names.
fn selectors(head: &[Spanned], depth: usize) -> Place {
    let mut all = Place::nowhere();
    if depth < MAX_NESTING {
        for part in parts(head) {
            all.join(selector(trim(part), depth));
        }
    }
    all
}

/// The place that one selector names.
fn selector(tokens: &[Spanned], depth: usize) -> Place {
    let mut place = if tokens.is_empty() { Place::nowhere() } else { Place::base() };
    let mut rest = tokens;
    while let Some((first, more)) = rest.split_first() {
        let (found, after) = match (&first.token, more) {
            // What the block around it is for, which `within` adds.
            (Token::Delim('&'), _) => (Place::base(), more),
            (Token::Ident(name), _) if ["html", "body"].contains(&name.as_str()) => (Place::base(), more),
            (Token::Delim(':'), [next, more @ ..]) => pseudo_class(&next.token, more, depth),
            (Token::Delim('.'), [next, more @ ..]) => match &next.token {
                Token::Ident(name) => (class(name), more),
                _ => return Place::nowhere(),
            },
            (Token::Open('['), _) => {
                let (inner, after) = bracketed(more);
                (attribute(inner), after)
            }
            _ => return Place::nowhere(),
        };
        place = found.within(&place);
        rest = after;
    }
    place
}

/// What stands in a bracket, and what after it.
fn bracketed(tokens: &[Spanned]) -> (&[Spanned], &[Spanned]) {
    let end = closing(tokens, 0);
    (&tokens[..end], tokens.get(end + 1..).unwrap_or_default())
}

fn pseudo_class<'a>(name: &Token, more: &'a [Spanned], depth: usize) -> (Place, &'a [Spanned]) {
    match name {
        Token::Ident(name) if ["root", "host"].contains(&name.as_str()) => (Place::base(), more),
        Token::Function(name) => {
            let (inner, after) = bracketed(more);
            match name.as_str() {
                "not" => (Place::base(), after), // It only says when another mode does not apply.
                "is" | "where" | "host" => (selectors(inner, depth + 1), after),
                _ => (Place::nowhere(), after),
            }
        }
        _ => (Place::nowhere(), more),
    }
}

fn class(name: &str) -> Place {
    let mode = name.trim_start_matches("theme-").trim_end_matches("-theme");
    Place::mode(mode, mode != name || ["dark", "light"].contains(&name))
}

fn attribute(tokens: &[Spanned]) -> Place {
    let [name, equals, value] = tokens else { return Place::nowhere() };
    match (&name.token, &equals.token, &value.token) {
        (Token::Ident(name), Token::Delim('='), Token::Text(mode) | Token::Ident(mode))
            if name.starts_with("data-") =>
        {
            Place::mode(mode, ["theme", "mode", "scheme"].iter().any(|word| name.contains(word)))
        }
        _ => Place::nowhere(),
    }
}
