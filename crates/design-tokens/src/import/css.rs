//! Custom properties of a stylesheet as tokens.

mod place;

use std::collections::{HashMap, HashSet};

use self::place::{Mode, Place, parts, trim};
use super::Imported;
use super::item::{closing, items};
use super::name::paths;
use super::tokenizer::{Spanned, Token, tokenize};
use super::values::{Held, Shapes, line_style};
use crate::document::{Document, ParseError, make_group};
use crate::finding::{Finding, Findings, shown};
use crate::json::Map;
use crate::limits::{MAX_BYTES, MAX_MODES, MAX_TOKENS};

/// Takes the custom properties of a stylesheet.
///
/// What stands in `:root`, `html`, `:host` or `@theme` is the value without a mode. `[data-theme="dark"]`, `.dark`,
/// `.theme-dark` and `@media (prefers-color-scheme: dark)` are the mode `dark`, also where they stand in `:root` as `&.dark`,
/// and so is the second part of `light-dark()`; other names likewise. Other classes and attributes are modes for the properties that have a value without
/// a mode, or for all if none has one. `var(--x)` is an alias. Everything else, and every value that no type has, is left out
/// and told.
///
/// There may be no token in it; [`stylesheet`](super::stylesheet) refuses that.
pub fn css(text: &str) -> Result<Imported, ParseError> {
    if text.len() > MAX_BYTES {
        return Err(ParseError::TooLarge { bytes: text.len() });
    }
    let tokens = tokenize(text);
    let mut sheet = Sheet { text, ..Sheet::default() };
    sheet.rules(&tokens, &Place::base(), 0);
    if sheet.properties.len() > MAX_TOKENS { Err(ParseError::TooManyTokens) } else { sheet.into_document() }
}

/// A property and what it was given, without a mode and in modes, which are numbers here.
struct Property<'a> {
    name: &'a str,
    values: Vec<(Option<usize>, &'a [Spanned])>,
}

impl<'a> Property<'a> {
    fn base(&self) -> Option<&'a [Spanned]> {
        self.base_at().map(|at| self.values[at].1)
    }

    /// Which of its values is the one without a mode.
    fn base_at(&self) -> Option<usize> {
        self.values.iter().position(|(mode, _)| mode.is_none())
    }

    /// Whether it can be a token, by what could be read of it. What it is without a mode is what a token is first of all;
    /// a mode stands in for that only where nothing is said of it.
    fn has_value(&self, read: &[Option<Held>]) -> bool {
        match self.base_at() {
            Some(base) => read[base].is_some(),
            None => read.iter().any(Option::is_some),
        }
    }
}

#[derive(Default)]
struct Sheet<'a> {
    text: &'a str,
    properties: Vec<Property<'a>>,
    index: HashMap<&'a str, usize>,
    /// Where the value of a property in a mode is.
    places: HashMap<(usize, Option<usize>), usize>,
    modes: Vec<Mode>,
    modes_index: HashMap<String, usize>,
    findings: Findings,
}

/// Blocks in blocks that are followed.
const MAX_NESTING: usize = 32;
/// What is said of a property whose value in a mode could be a token.
const NO_BASE: &str = "what it is in modes is left out too, for a token needs a value without a mode";
/// Why something is left out that stands where tokens cannot be.
const ELSEWHERE: &str = "it is set for some elements only, which tokens cannot say; it is left out";

impl<'a> Sheet<'a> {
    /// Reads rules, and declarations between them.
    fn rules(&mut self, tokens: &'a [Spanned], place: &Place, depth: usize) {
        let mut at = 0;
        // A block may have many declarations; its modes are looked up for the first of them.
        let mut modes: Option<Vec<usize>> = None;
        while at < tokens.len() {
            let start = at;
            let declares = declared_name(&tokens[start..]);
            // A rule ends with its block, a declaration with `;`. A property may hold a block.
            while let Some(token) = tokens.get(at).map(|token| &token.token) {
                at = match token {
                    Token::Delim(';') => break,
                    Token::Open('{') if declares.is_none() => break,
                    Token::Open(_) | Token::Function(_) => closing(tokens, at + 1) + 1,
                    _ => at + 1,
                };
            }
            at = at.min(tokens.len());
            let head = &tokens[start..at];
            if let Some((name, from)) = declares {
                let modes =
                    modes.get_or_insert_with(|| place.modes.iter().map(|mode| self.mode(mode)).collect());
                self.declare(name, without_importance(&head[from..]), place.base, modes);
            } else if tokens.get(at).is_some_and(|token| token.token == Token::Open('{')) {
                let end = closing(tokens, at + 1);
                if depth < MAX_NESTING {
                    let inside = Place::of(trim(head), self.text).within(place);
                    self.rules(&tokens[at + 1..end], &inside, depth + 1);
                }
                at = end;
            }
            at += 1;
        }
    }

    fn declare(&mut self, name: &'a str, value: &'a [Spanned], is_base: bool, modes: &[usize]) {
        if !is_base && modes.is_empty() {
            return self.findings.push(Finding::warning(format!("--{}", shown(name)), ELSEWHERE));
        }
        let property = *self.index.entry(name).or_insert_with(|| {
            self.properties.push(Property { name, values: Vec::new() });
            self.properties.len() - 1
        });
        if is_base {
            self.put(property, None, value);
        }
        for mode in modes {
            self.put(property, Some(*mode), value);
        }
    }

    fn mode(&mut self, mode: &Mode) -> usize {
        let at = *self.modes_index.entry(mode.name.clone()).or_insert_with(|| {
            self.modes.push(mode.clone());
            self.modes.len() - 1
        });
        self.modes[at].is_sure |= mode.is_sure;
        at
    }

    fn put(&mut self, property: usize, mode: Option<usize>, value: &'a [Spanned]) {
        let values = &mut self.properties[property].values;
        let place = *self.places.entry((property, mode)).or_insert_with(|| {
            values.push((mode, value));
            values.len() - 1
        });
        values[place].1 = value; // The last one counts, as in CSS.
    }

    /// Makes two values of `light-dark()`. What a rule says of a mode counts more than what a value without one says of it.
    fn split_light_dark(&mut self) {
        for at in 0..self.properties.len() {
            let Some((light, dark)) = self.properties[at].base().and_then(light_dark) else { continue };
            self.put(at, None, light);
            let mode = self.mode(&Mode { name: "dark".to_owned(), is_sure: true });
            if !self.places.contains_key(&(at, Some(mode))) {
                self.put(at, Some(mode), dark);
            }
        }
    }

    /// Leaves out what no mode is, and what there are too many modes for.
    fn settle_modes(&mut self) {
        let mut used = HashSet::new();
        let mut too_many = HashSet::new();
        let has_base = self.properties.iter().any(|property| property.base().is_some());
        for property in &mut self.properties {
            let base = property.base();
            let before = property.values.len();
            property.values.retain(|(mode, value)| {
                let Some(mode) = *mode else { return true };
                // Where it says the same there is nothing to say.
                (self.modes[mode].is_sure || base.is_some() || !has_base)
                    && base.is_none_or(|base| !is_same(base, value))
            });
            if property.values.is_empty() && before > 0 {
                self.findings.push(Finding::warning(format!("--{}", shown(property.name)), ELSEWHERE));
            }
            property.values.retain(|(mode, _)| {
                let Some(mode) = *mode else { return true };
                let has_room = used.contains(&mode) || used.len() < MAX_MODES;
                if has_room {
                    used.insert(mode)
                } else {
                    too_many.insert(mode)
                };
                has_room
            });
        }
        if !too_many.is_empty() {
            let message = format!(
                "there may be {MAX_MODES} modes; what is set for {} more is left out",
                too_many.len()
            );
            self.findings.push(Finding::warning("", message));
        }
        self.properties.retain(|property| !property.values.is_empty());
    }

    fn into_document(mut self) -> Result<Imported, ParseError> {
        self.split_light_dark();
        self.settle_modes();
        let known = paths(self.properties.iter().map(|property| property.name));
        let declared = self.properties.iter().map(|property| property.name).collect();
        let has_path = |property: &Property<'_>| known.contains_key(property.name);
        for property in self.properties.iter().filter(|property| !has_path(property)) {
            let message = "its name is too long for a token; it is left out";
            self.findings.push(Finding::warning(format!("--{}", shown(property.name)), message));
        }
        self.properties.retain(has_path);
        let read = self.read(known.clone(), &declared);
        let mut root = Map::new();
        for (property, values) in self.properties.iter().zip(&read) {
            if let Some(token) = self.token(property, values) {
                let path = &known[property.name];
                let (group, name) = path.rsplit_once('.').unwrap_or(("", path));
                make_group(&mut root, group).set(name, token);
            }
        }
        let document = Document::from_map(root)?;
        let mut findings = self.findings;
        findings.extend(crate::validate::validate(&document));
        Ok(Imported { document, findings: findings.into_vec() })
    }

    /// What every property holds. One that refers to one that is left out is left out, too.
    fn read(
        &mut self,
        mut known: HashMap<&'a str, String>,
        declared: &HashSet<&'a str>,
    ) -> Vec<Vec<Option<Held>>> {
        let lines: HashSet<&str> =
            self.properties.iter().filter(|one| is_line_style(one.base())).map(|one| one.name).collect();
        let mut users: HashMap<&str, Vec<(usize, usize)>> = HashMap::new();
        let mut read: Vec<Vec<_>> =
            self.properties.iter().map(|property| vec![None; property.values.len()]).collect();
        let mut todo: Vec<(usize, usize)> = Vec::new();
        for (at, property) in self.properties.iter().enumerate() {
            for (nth, (_, value)) in property.values.iter().enumerate() {
                todo.push((at, nth));
                let names = value.iter().filter_map(|token| match &token.token {
                    Token::Ident(name) => name.strip_prefix("--"),
                    _ => None,
                });
                names.for_each(|name| users.entry(name).or_default().push((at, nth)));
            }
        }
        let mut gone = Vec::new();
        while !todo.is_empty() {
            for (at, nth) in todo.drain(..) {
                let property = &self.properties[at];
                if !known.contains_key(property.name) {
                    continue; // It was left out since.
                }
                let value = property.values[nth].1;
                let shapes = Shapes { paths: &known, declared, name: property.name, lines: &lines };
                let name = format!("--{}", shown(property.name));
                match shapes.read(&items(value, self.text)) {
                    Ok((held, note)) => {
                        read[at][nth] = Some(held);
                        self.findings.extend(note.map(|note| Finding::warning(name, note)));
                    }
                    Err(why) => {
                        read[at][nth] = None;
                        let shown = shown(source(value, self.text));
                        self.findings.push(Finding::warning(name, format!("`{shown}` is left out: {why}")));
                        gone.push(at);
                    }
                }
            }
            for at in gone.drain(..) {
                let name = self.properties[at].name;
                if !self.properties[at].has_value(&read[at]) && known.remove(name).is_some() {
                    if read[at].iter().any(Option::is_some) {
                        self.findings.push(Finding::warning(format!("--{}", shown(name)), NO_BASE));
                        read[at].fill(None);
                    }
                    let users = users.get(name).into_iter().flatten().copied();
                    todo.extend(users.filter(|(user, nth)| read[*user][*nth].is_some()));
                }
            }
        }
        read
    }

    /// A token of what a property holds. One that has values for modes alone has the first of them without a mode too.
    fn token(&self, property: &Property<'_>, values: &[Option<Held>]) -> Option<Map> {
        let read =
            property.values.iter().zip(values).filter_map(|((mode, _), held)| Some((*mode, held.as_ref()?)));
        let (_, base) = read.clone().find(|(mode, _)| mode.is_none()).or_else(|| read.clone().next())?;
        let mut token = Map::new();
        if let Some(kind) = base.kind() {
            token.set("$type", kind.as_str());
        }
        token.set("$value", base.to_json());
        for (mode, held) in read {
            if let Some(mode) = mode {
                let name = self.modes[mode].name.as_str();
                token.object_mut("$extensions").object_mut("mode").set(name, held.to_json());
            }
        }
        Some(token)
    }
}

/// The name, without its dashes, of a custom property that is declared, and where its value begins.
fn declared_name(tokens: &[Spanned]) -> Option<(&str, usize)> {
    let mut solid = tokens.iter().enumerate().filter(|(_, token)| token.token != Token::Space);
    let Token::Ident(name) = &solid.next()?.1.token else { return None };
    let name = name.strip_prefix("--").filter(|name| !name.is_empty())?;
    let (colon, token) = solid.next()?;
    (token.token == Token::Delim(':')).then_some((name, colon + 1))
}

/// A value without `!important`, which says nothing about it.
fn without_importance(value: &[Spanned]) -> &[Spanned] {
    let value = trim(value);
    let is_important =
        |word: &Token| matches!(word, Token::Ident(word) if word.eq_ignore_ascii_case("important"));
    match value.split_last() {
        Some((last, rest)) if is_important(&last.token) => match trim(rest).split_last() {
            Some((mark, rest)) if mark.token == Token::Delim('!') => trim(rest),
            _ => value,
        },
        _ => value,
    }
}

/// The two values of `light-dark()`.
fn light_dark(value: &[Spanned]) -> Option<(&[Spanned], &[Spanned])> {
    let (first, rest) = value.split_first()?;
    let Token::Function(name) = &first.token else { return None };
    let end = closing(rest, 0);
    let commas = parts(&rest[..end]);
    match commas.as_slice() {
        [light, dark] if name.eq_ignore_ascii_case("light-dark") && end + 1 == rest.len() => {
            Some((trim(light), trim(dark)))
        }
        _ => None,
    }
}

fn is_same(one: &[Spanned], other: &[Spanned]) -> bool {
    one.iter().map(|token| &token.token).eq(other.iter().map(|token| &token.token))
}

fn is_line_style(value: Option<&[Spanned]>) -> bool {
    matches!(value, Some([Spanned { token: Token::Ident(word), .. }]) if line_style(word).is_some())
}

/// A value as it is written.
fn source<'a>(value: &[Spanned], text: &'a str) -> &'a str {
    match (value.first(), value.last()) {
        (Some(first), Some(last)) => &text[first.start..last.end],
        _ => "",
    }
}
