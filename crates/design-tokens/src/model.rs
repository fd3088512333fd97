//! Tokens with their types and the references between them.

use std::collections::HashMap;
use std::rc::Rc;

use super::budget::Budget;
use super::document::{Document, mode_value, mode_values};
use super::finding::{Finding, shown};
use super::flat::{Flat, Token, look_up};
use super::json::Json;
use super::kind::Kind;
use super::limits::MAX_VALUE_NODES;
use super::reference::{Malformed, Reference};

/// A document that questions can be asked of.
#[derive(Debug)]
pub(super) struct Model<'a> {
    pub(super) flat: Flat<'a>,
    /// The type of each token, as far as it can be known.
    pub(super) kinds: Vec<Option<Kind>>,
}

/// What a reference leads to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Target<'a> {
    /// A token: its value.
    Token(usize),
    /// A part of the value of a token.
    Part(usize, Vec<String>),
    /// Something else in the file.
    Raw(&'a Json),
}

/// What a token holds: a value, or a pointer to another token instead of one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source<'a> {
    Value(&'a Json),
    Pointer(&'a Json),
}

impl<'a> Model<'a> {
    pub(super) fn of(document: &'a Document) -> Self {
        let flat = Flat::of(document);
        let kinds = vec![None; flat.tokens.len()];
        let mut model = Self { flat, kinds };
        model.find_kinds();
        model
    }

    pub(super) fn tokens(&self) -> &[Token<'a>] {
        &self.flat.tokens
    }

    pub(super) fn index(&self) -> &HashMap<Rc<str>, usize> {
        &self.flat.index
    }

    /// What a token holds in a mode, or without one.
    pub(super) fn source(&self, token: usize, mode: Option<&str>) -> Source<'a> {
        let map = self.flat.tokens[token].map;
        let special = mode.and_then(|mode| mode_value(map, mode));
        match (special.or_else(|| map.get("$value")), map.get("$ref")) {
            (Some(value), _) => Source::Value(value),
            (None, Some(pointer)) => Source::Pointer(pointer),
            (None, None) => Source::Value(&Json::Null),
        }
    }

    /// The reference that a token consists of, if it is an alias.
    pub(super) fn alias(&self, token: usize, mode: Option<&str>) -> Option<Result<Reference, Malformed>> {
        match self.source(token, mode) {
            Source::Value(value) => Reference::of(value),
            Source::Pointer(pointer) => {
                Some(pointer.as_str().ok_or(Malformed::NoText).and_then(Reference::in_pointer))
            }
        }
    }

    /// What a reference leads to, or why to nothing.
    pub(super) fn locate(&self, reference: &Reference) -> Result<Target<'a>, String> {
        match reference {
            Reference::Path(path) => {
                self.index().get(path.as_str()).copied().map(Target::Token).ok_or_else(|| {
                    let root = format!("{path}.$root");
                    let text = reference.text();
                    let text = shown(&text);
                    if self.index().contains_key(root.as_str()) {
                        format!("{text} is a group; its own token is `{{{}}}`", shown(&root))
                    } else if self.flat.groups.contains(path) {
                        format!("{text} is a group; only tokens can be referenced")
                    } else {
                        format!("{text} is nowhere in the document; correct the path or add the token")
                    }
                })
            }
            Reference::Pointer(segments) => self.locate_pointer(segments).ok_or_else(|| {
                let text = reference.text();
                format!("{} points to nothing usable in the document; correct the pointer", shown(&text))
            }),
        }
    }

    fn locate_pointer(&self, segments: &[String]) -> Option<Target<'a>> {
        let mut path = String::new();
        for (at, segment) in segments.iter().enumerate() {
            if at > 0 {
                path.push('.');
            }
            path.push_str(segment);
            let Some(&token) = self.index().get(path.as_str()) else { continue };
            return match &segments[at + 1..] {
                [] => Some(Target::Token(token)),
                [value] if value == "$value" => Some(Target::Token(token)),
                [value, rest @ ..] if value == "$value" => Some(Target::Part(token, rest.to_vec())),
                rest => {
                    let rest: Vec<_> = rest.iter().map(String::as_str).collect();
                    look_up(self.flat.tokens[token].map, &rest)
                        .filter(|value| is_plain(value))
                        .map(Target::Raw)
                }
            };
        }
        let segments: Vec<_> = segments.iter().map(String::as_str).collect();
        match look_up(self.flat.root, &segments)? {
            Json::Object(_) => None, // A group: it has no value.
            value => Some(Target::Raw(value)).filter(|_| is_plain(value)),
        }
    }

    /// Finds the types: a token's own, else that of the token it is an alias of, else that of its group.
    fn find_kinds(&mut self) {
        let mut done = vec![false; self.kinds.len()];
        for start in 0..self.kinds.len() {
            let mut way = Vec::new();
            let mut at = start;
            let kind = loop {
                if done[at] {
                    break self.kinds[at];
                }
                done[at] = true; // Also what stops a circle.
                way.push(at);
                let token = &self.flat.tokens[at];
                if let Some(own) = token.map.get("$type") {
                    break own.as_str().and_then(|name| name.parse().ok());
                }
                let inherited = token.group_type.and_then(|name| name.parse().ok());
                match self.alias(at, None) {
                    Some(Ok(reference)) => match self.locate(&reference) {
                        Ok(Target::Token(next)) => at = next,
                        _ => break inherited,
                    },
                    _ => break inherited,
                }
            };
            for token in way {
                self.kinds[token] = kind;
            }
        }
    }

    /// The modes that a token has a value for, after none.
    pub(super) fn choices(&self, token: usize) -> impl Iterator<Item = Option<&'a str>> {
        std::iter::once(None).chain(mode_values(self.flat.tokens[token].map).map(|(mode, _)| Some(mode)))
    }

    /// Every reference in the value of a token, with the part that it stands in. A value that is too large has none.
    pub(super) fn references(
        &self,
        token: usize,
        mode: Option<&str>,
    ) -> Vec<(String, Result<Reference, Malformed>)> {
        let mut found = Vec::new();
        match self.source(token, mode) {
            Source::Value(value) if fits(value) => collect(value, &mut String::new(), &mut found),
            Source::Value(_) => {}
            Source::Pointer(_) => found.extend(self.alias(token, mode).map(|alias| (String::new(), alias))),
        }
        found
    }

    /// What reading the groups already showed to be wrong.
    pub(super) fn findings(&self) -> &[Finding] {
        &self.flat.findings
    }
}

/// Whether a path is inside another.
pub(super) fn beneath(path: &str, group: &str) -> bool {
    path.strip_prefix(group).is_some_and(|rest| rest.starts_with('.'))
}

/// Whether a value is one that could be used, by its size.
pub(super) fn fits(value: &Json) -> bool {
    value.weigh(&mut Budget::of(MAX_VALUE_NODES)).is_some()
}

/// Whether a value is small and has no references in it.
pub(super) fn is_plain(value: &Json) -> bool {
    let mut found = Vec::new();
    if fits(value) {
        collect(value, &mut String::new(), &mut found);
        return found.is_empty();
    }
    false
}

fn collect(value: &Json, part: &mut String, found: &mut Vec<(String, Result<Reference, Malformed>)>) {
    if let Some(reference) = Reference::of(value) {
        found.push((part.clone(), reference));
        return;
    }
    let length = part.len();
    let mut inside = |name: &str, value: &Json| {
        part.push('/');
        part.push_str(&shown(name));
        collect(value, part, found);
        part.truncate(length);
    };
    match value {
        Json::Array(items) => items.iter().enumerate().for_each(|(at, item)| inside(&at.to_string(), item)),
        Json::Object(map) => map.iter().for_each(|(name, value)| inside(name, value)),
        _ => {}
    }
}
