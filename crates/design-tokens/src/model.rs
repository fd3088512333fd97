//! Tokens with their types and the references between them.

use std::collections::HashMap;
use std::rc::Rc;

use super::budget::CostBudget;
use super::document::{TokenDocument, mode_value, mode_values};
use super::finding::{TokenFinding, excerpt};
use super::flatten::{FlatTokens, Token, follow_pointer};
use super::json::Json;
use super::kind::TokenKind;
use super::limits::MAX_VALUE_NODES;
use super::reference::{MalformedReference, TokenReference};

/// A document prepared for queries.
#[derive(Debug)]
pub(super) struct TokenModel<'a> {
    pub(super) flat: FlatTokens<'a>,
    /// The type of each token, if known.
    pub(super) kinds: Vec<Option<TokenKind>>,
}

/// The target of a reference.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ReferenceTarget<'a> {
    /// The value of a token.
    Token(usize),
    /// A part of a token's value.
    Part(usize, Vec<String>),
    /// Anything else in the file.
    Raw(&'a Json),
}

/// Where a token gets its value: inline, or by a pointer to another token.
#[derive(Clone, Copy, Debug)]
pub(super) enum ValueSource<'a> {
    Value(&'a Json),
    Pointer(&'a Json),
}

impl<'a> TokenModel<'a> {
    pub(super) fn new(document: &'a TokenDocument) -> Self {
        let flat = FlatTokens::from_document(document);
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

    /// The source of a token's value in a mode, or its base value.
    pub(super) fn source(&self, token: usize, mode: Option<&str>) -> ValueSource<'a> {
        let map = self.flat.tokens[token].map;
        let special = mode.and_then(|mode| mode_value(map, mode));
        match (special.or_else(|| map.get("$value")), map.get("$ref")) {
            (Some(value), _) => ValueSource::Value(value),
            (None, Some(pointer)) => ValueSource::Pointer(pointer),
            (None, None) => ValueSource::Value(&Json::Null),
        }
    }

    /// The reference, if the token is an alias.
    pub(super) fn alias(
        &self,
        token: usize,
        mode: Option<&str>,
    ) -> Option<Result<TokenReference, MalformedReference>> {
        match self.source(token, mode) {
            ValueSource::Value(value) => TokenReference::from_value(value),
            ValueSource::Pointer(pointer) => Some(
                pointer
                    .as_str()
                    .ok_or(MalformedReference::NotAString)
                    .and_then(TokenReference::parse_pointer),
            ),
        }
    }

    /// The target of a reference, or why there is none.
    pub(super) fn locate(&self, reference: &TokenReference) -> Result<ReferenceTarget<'a>, String> {
        match reference {
            TokenReference::Path(path) => {
                self.index().get(path.as_str()).copied().map(ReferenceTarget::Token).ok_or_else(|| {
                    let root = format!("{path}.$root");
                    let text = reference.to_text();
                    let text = excerpt(&text);
                    if self.index().contains_key(root.as_str()) {
                        format!("{text} is a group; its own token is `{{{}}}`", excerpt(&root))
                    } else if self.flat.groups.contains(path) {
                        format!("{text} is a group; only tokens can be referenced")
                    } else {
                        format!("{text} does not exist in the document; correct the path or add the token")
                    }
                })
            }
            TokenReference::Pointer(segments) => self.locate_pointer(segments).ok_or_else(|| {
                let text = reference.to_text();
                format!("{} does not point to a value in the document; correct the pointer", excerpt(&text))
            }),
        }
    }

    fn locate_pointer(&self, segments: &[String]) -> Option<ReferenceTarget<'a>> {
        let mut path = String::new();
        for (at, segment) in segments.iter().enumerate() {
            if at > 0 {
                path.push('.');
            }
            path.push_str(segment);
            let Some(&token) = self.index().get(path.as_str()) else { continue };
            return match &segments[at + 1..] {
                [] => Some(ReferenceTarget::Token(token)),
                [value] if value == "$value" => Some(ReferenceTarget::Token(token)),
                [value, rest @ ..] if value == "$value" => Some(ReferenceTarget::Part(token, rest.to_vec())),
                rest => {
                    let rest: Vec<_> = rest.iter().map(String::as_str).collect();
                    follow_pointer(self.flat.tokens[token].map, &rest)
                        .filter(|value| is_literal(value))
                        .map(ReferenceTarget::Raw)
                }
            };
        }
        let segments: Vec<_> = segments.iter().map(String::as_str).collect();
        match follow_pointer(self.flat.root, &segments)? {
            Json::Object(_) => None, // A group has no value.
            value => Some(ReferenceTarget::Raw(value)).filter(|_| is_literal(value)),
        }
    }

    /// Determines the types: a token's own, else that of its alias target, else that of its group.
    fn find_kinds(&mut self) {
        let mut done = vec![false; self.kinds.len()];
        for start in 0..self.kinds.len() {
            let mut way = Vec::new();
            let mut at = start;
            let kind = loop {
                if done[at] {
                    break self.kinds[at];
                }
                done[at] = true; // Also stops cycles.
                way.push(at);
                let token = &self.flat.tokens[at];
                if let Some(own) = token.map.get("$type") {
                    break own.as_str().and_then(|name| name.parse().ok());
                }
                let inherited = token.group_type.and_then(|name| name.parse().ok());
                match self.alias(at, None) {
                    Some(Ok(reference)) => match self.locate(&reference) {
                        Ok(ReferenceTarget::Token(next)) => at = next,
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

    /// `None`, followed by the modes that a token has a value for.
    pub(super) fn mode_choices(&self, token: usize) -> impl Iterator<Item = Option<&'a str>> {
        std::iter::once(None).chain(mode_values(self.flat.tokens[token].map).map(|(mode, _)| Some(mode)))
    }

    /// Every reference in a token's value, with the part that contains it. None for values that are too
    /// large.
    pub(super) fn references(
        &self,
        token: usize,
        mode: Option<&str>,
    ) -> Vec<(String, Result<TokenReference, MalformedReference>)> {
        let mut found = Vec::new();
        match self.source(token, mode) {
            ValueSource::Value(value) if is_within_value_limit(value) => {
                collect_references(value, &mut String::new(), &mut found);
            }
            ValueSource::Value(_) => {}
            ValueSource::Pointer(_) => {
                found.extend(self.alias(token, mode).map(|alias| (String::new(), alias)));
            }
        }
        found
    }

    /// Problems found while flattening groups.
    pub(super) fn findings(&self) -> &[TokenFinding] {
        &self.flat.findings
    }
}

/// Whether a path is inside a group.
pub(super) fn is_descendant(path: &str, group: &str) -> bool {
    path.strip_prefix(group).is_some_and(|rest| rest.starts_with('.'))
}

/// Whether a value is within the size limit.
pub(super) fn is_within_value_limit(value: &Json) -> bool {
    value.charge(&mut CostBudget::new(MAX_VALUE_NODES)).is_some()
}

/// Whether a value is within the size limit and contains no references.
pub(super) fn is_literal(value: &Json) -> bool {
    let mut found = Vec::new();
    if is_within_value_limit(value) {
        collect_references(value, &mut String::new(), &mut found);
        return found.is_empty();
    }
    false
}

fn collect_references(
    value: &Json,
    part: &mut String,
    found: &mut Vec<(String, Result<TokenReference, MalformedReference>)>,
) {
    if let Some(reference) = TokenReference::from_value(value) {
        found.push((part.clone(), reference));
        return;
    }
    let length = part.len();
    let mut inside = |name: &str, value: &Json| {
        part.push('/');
        part.push_str(&excerpt(name));
        collect_references(value, part, found);
        part.truncate(length);
    };
    match value {
        Json::Array(items) => items.iter().enumerate().for_each(|(at, item)| inside(&at.to_string(), item)),
        Json::Object(map) => map.iter().for_each(|(name, value)| inside(name, value)),
        _ => {}
    }
}
